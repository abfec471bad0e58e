//! Selectors as people write them, and expressions that are made to take long.

use dra_cel::{DeviceVariable, Environment, EvaluationError, Program, Purpose, Reads};
use dra_model::{Attribute, AttributeValue, Capacity, Device, Feature, Features};

const NO_KEY: &str = "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields";

fn gpu() -> DeviceVariable {
    DeviceVariable::of("gpu.example.com", &device())
}

fn device() -> Device {
    let mut device = Device::new("gpu-0");
    device.attributes = [
        ("model".into(), "H100 80GB".into()),
        ("index".into(), 3.into()),
        ("driverVersion".into(), version("1.2.3+build.5")),
        ("resource.kubernetes.io/numaNode".into(), 1.into()),
    ]
    .into();
    let memory = Capacity { value: "80Gi".parse().unwrap(), policy: None };
    device.capacity = [("memory".into(), memory)].into();
    device
}

fn version(text: &str) -> Attribute {
    Attribute::new(AttributeValue::Version(text.into()))
}

/// The answer of a stored selector, or the text of its error.
fn answer(expression: &str) -> Result<bool, String> {
    let program = Program::compile(expression, &Environment::stored()).map_err(|error| error.to_string())?;
    program.matches(&gpu()).map_err(|error| error.to_string())
}

#[test]
fn selectors_have_kubernetes_answers() {
    for (expression, expected) in [
        (r#"device.driver == "gpu.example.com""#, true),
        (r#"device.attributes["gpu.example.com"].model.startsWith("H100")"#, true),
        (r#"device.attributes["resource.kubernetes.io"].numaNode == 1.0"#, true),
        (r#"device.attributes["gpu.example.com"].driverVersion == semver("1.2.3")"#, true),
        (r#"device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))"#, true),
        (r#""absent" in device.attributes"#, false),
        (r#"device.attributes[?"absent"].hasValue()"#, true),
        (r#"has(device.attributes["absent"].x)"#, false),
        (r#"device.attributes["gpu.example.com"].absent == 1 || true"#, true),
        (r#"cel.bind(a, device.attributes["gpu.example.com"], a.index > 2 && has(a.model))"#, true),
        (
            r#"device.attributes["gpu.example.com"].?model.optMap(m, m.matches("^H[0-9]+")).orValue(false)"#,
            true,
        ),
        (r#"device.attributes["gpu.example.com"].exists(k, v, k == "index" && v == 3)"#, true),
        ("[3, 1, 2].sort() == [1, 2, 3] && [1, 2].map(x, x * 2).sum() == 6", true),
        (r#"cidr("10.0.0.0/8").containsIP("10.1.2.3") && url("https://a.b:80/x").getPort() == "80""#, true),
    ] {
        assert_eq!(answer(expression), Ok(expected), "{expression}");
    }
}

/// What Go's `time.Parse` takes for RFC 3339.
#[test]
fn timestamps_are_read_as_by_go() {
    for (text, year) in [
        ("2026-01-01T0:00:00Z", Some(2026)),
        ("2026-01-01T00:00:00,5Z", Some(2026)),
        ("2026-01-01T00:00:00+24:00", Some(2025)),
        ("2026-01-01T00:00:00.1234567891Z", Some(2026)),
        ("0001-01-01T00:00:00Z", Some(1)),
        ("2026-01-01T00:0:00Z", None),
        ("2026-1-01T00:00:00Z", None),
        ("2026-01-01T009:00:00Z", None),
        ("2026-01-01T00:00:00.Z", None),
        ("2026-01-01T00:00:00++1:00", None),
        ("2026-01-01T00:00:00+00:61", None),
        ("2026-02-29T00:00:00Z", None),
        ("2026-01-01T0\u{e9}:00:00Z", None),
    ] {
        let found = answer(&format!("timestamp(\"{text}\").getFullYear() == {}", year.unwrap_or(0)));
        assert_eq!(found.ok(), year.map(|_| true), "{text}");
    }
}

#[test]
fn a_missing_attribute_is_an_error_with_a_hint() {
    let expected = Err(format!("no such key: absent. {NO_KEY}"));
    assert_eq!(answer(r#"device.attributes["gpu.example.com"].absent"#), expected);
    assert_eq!(answer(r#"device.attributes["nowhere"].absent == 1"#), expected);
}

#[test]
fn what_does_not_compile_says_why() {
    for (expression, reason) in [
        ("device.name == 1", "undefined field 'name'"),
        ("1", "must evaluate to bool or the unknown type, not int"),
        (
            r#"quantity("1") < quantity("2")"#,
            "no matching overload for '_<_' applied to '(kubernetes.Quantity, kubernetes.Quantity)'",
        ),
        (r#""a".matches("[")"#, "invalid matches argument"),
        ("math.greatest(1, 2) == 2", "undeclared reference to 'math'"),
        ("true ||", "Syntax error"),
        ("[1, dyn(2)].size() == 2", "expected type 'int' but found 'dyn'"),
    ] {
        let error = answer(expression).unwrap_err();
        assert!(error.contains(reason), "{expression}: {error}");
    }
}

#[test]
fn costs_are_those_of_kubernetes() {
    for (expression, actual, most) in [
        (r#"device.driver == "gpu.example.com""#, 4, 4),
        (r#"device.attributes["gpu.example.com"].index in [0, 2, 4] && true"#, 4, 17),
        (
            r#"device.capacity["gpu.example.com"].memory.sub(quantity("1Gi")).isGreaterThan(quantity("1Gi"))"#,
            8,
            8,
        ),
    ] {
        let program = Program::compile(expression, &Environment::stored()).unwrap();
        assert_eq!((program.evaluate(&gpu()).cost, program.estimated_cost()), (actual, most), "{expression}");
    }
}

#[test]
fn new_expressions_lack_what_the_compatible_release_lacks() {
    let expression = r#"device.attributes["gpu.example.com"].index.includes(3)"#;
    assert_eq!(answer(expression), Ok(true));
    for (features, is_there) in
        [(Features::DEFAULT, false), (Features::of(&[Feature::ListTypeAttributes]), true)]
    {
        let program = Program::compile(expression, &Environment::new_expressions(features));
        assert_eq!(program.is_ok(), is_there, "{features:?}");
    }
}

#[test]
fn a_device_with_a_bad_version_fails_every_expression() {
    let mut device = device();
    device.attributes.insert("old".into(), version("v1.0.0"));
    let device = DeviceVariable::of("gpu.example.com", &device);
    let program = Program::compile("true", &Environment::stored()).unwrap();
    let error = program.matches(&device).unwrap_err().to_string();
    assert_eq!(
        error,
        "attribute old: parse semantic version: Invalid character(s) found in major number \"v1\""
    );
}

#[test]
fn a_derived_attribute_has_the_type_of_its_value() {
    let environment = Environment::stored().for_purpose(Purpose::DerivedAttribute);
    let program = Program::compile(r#"[device.driver, "b"]"#, &environment).unwrap();
    let expected = AttributeValue::Strings(vec!["gpu.example.com".into(), "b".into()]);
    assert_eq!(program.derive(&gpu()).outcome, Ok(expected));
    assert!(Program::compile("1.5", &environment).is_err());
}

#[test]
fn what_a_selector_reads_is_known() {
    let reads =
        |expression: &str| Program::compile(expression, &Environment::stored()).unwrap().reads().clone();
    let found = reads(
        r#"device.driver == "a" && device.attributes["d"].x == device.capacity["d"].?y.orValue(quantity("1"))"#,
    );
    let one = |id: &str| [("d".to_owned(), id.to_owned())].into();
    let expected =
        Reads::Fields { driver: true, multiple_allocations: false, attributes: one("x"), capacity: one("y") };
    assert_eq!(found, expected);
    assert_eq!(reads(r#"device.attributes["d"].all(k, k != "x")"#), Reads::Everything);
}

#[test]
fn expressions_that_are_made_to_take_long_end_soon() {
    let nested = ["(".repeat(5_000), "1".into(), ")".repeat(5_000)].concat();
    let ladder = (0..200).fold("[]".to_owned(), |inner, _| format!("[{inner}]")) + ".size() == 1";
    let doubled = (0..60).fold("[1]".to_owned(), |list, _| format!("cel.bind(a, {list}, a + a)"))
        + ".exists(x, x == 2)";
    let types =
        (0..40).fold("{1: 1}".to_owned(), |map, _| format!("cel.bind(a, {map}, {{1: [a, a]}})")) + " == {}";
    for expression in [
        nested,
        ladder,
        "1 + ".repeat(2_000) + "1 == 1",
        "a.".repeat(3_000) + "b",
        doubled,
        types,
        "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))".to_owned(),
        "lists.range(9000000000).size() == 1".to_owned(),
        format!(r#""{}".matches("(a*)*(a*)*(a|aa)+$")"#, "a".repeat(2_000)),
        r#""a".matches("((a{100}){100}){100}")"#.to_owned(),
        r#""%.999999999f".format([1.0]) == """#.to_owned(),
    ] {
        let _ = answer(&expression);
    }
}

#[test]
fn the_cost_limit_ends_an_evaluation_whatever_absorbs_errors() {
    let long = "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))";
    let program = Program::compile(&format!("{long} || true"), &Environment::stored()).unwrap();
    assert_eq!(program.matches(&gpu()), Err(EvaluationError::CostLimit));
}
