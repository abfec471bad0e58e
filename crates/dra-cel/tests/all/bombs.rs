//! Expressions that are made to cost much: what they take is measured in allocations and bytes, where time would be noise.
//! None of them has to pass an API server, which limits expressions to 10 KiB and an estimate of their cost.

use allocation_counter::measure;
use dra_cel::{DeviceVariable, Environment, EvaluationError, Program};
use dra_model::Device;

/// The most that may be in use at once while an expression is compiled.
const COMPILED_BYTES: u64 = 48 << 20;
/// The most allocations that compilation may make.
const COMPILED_ALLOCATIONS: u64 = 3_000_000;
/// The most that may be in use at once during an evaluation.
const EVALUATED_BYTES: u64 = 256 << 20;
/// The most allocations that an evaluation may make: some for each unit of the limit of costs.
const EVALUATED_ALLOCATIONS: u64 = 8 * Program::COST_LIMIT;

/// What became of an expression.
#[derive(Clone, PartialEq, Debug)]
enum End {
    Refused,
    Answered(bool),
    Failed,
    Cut,
}

/// Compiles and evaluates an expression within bounds.
fn end(name: &str, expression: &str) -> End {
    let mut compiled = None;
    let cost = measure(|| compiled = Some(Program::compile(expression, &Environment::stored())));
    println!("{name}: compiled, {} KiB at once, {} allocations", cost.bytes_max >> 10, cost.count_total);
    assert!(cost.bytes_max < COMPILED_BYTES, "{name}: {} bytes at once", cost.bytes_max);
    assert!(cost.count_total < COMPILED_ALLOCATIONS, "{name}: {} allocations", cost.count_total);
    let Ok(program) = compiled.unwrap() else { return End::Refused };
    let device = DeviceVariable::of("gpu.example.com", &Device::new("gpu-0"));
    let mut evaluation = None;
    let cost = measure(|| evaluation = Some(program.evaluate(&device)));
    println!("{name}: evaluated, {} KiB at once, {} allocations", cost.bytes_max >> 10, cost.count_total);
    assert!(cost.bytes_max < EVALUATED_BYTES, "{name}: {} bytes at once", cost.bytes_max);
    assert!(cost.count_total < EVALUATED_ALLOCATIONS, "{name}: {} allocations", cost.count_total);
    match evaluation.unwrap().outcome {
        Ok(value) => End::Answered(value),
        Err(EvaluationError::CostLimit) => End::Cut,
        Err(_) => End::Failed,
    }
}

/// A text with another one around it, so many times.
fn around(times: usize, before: &str, inner: &str, after: &str) -> String {
    [&before.repeat(times), inner, &after.repeat(times)].concat()
}

#[test]
fn depth_is_refused_before_it_is_followed() {
    for (name, expression) in [
        ("parentheses", around(100_000, "(", "true", ")")),
        ("lists", around(50_000, "[", "1", "]") + " == []"),
        ("maps", around(30_000, "{1: ", "1", "}") + " == {}"),
        ("negations", "!".repeat(99_999) + "true"),
        ("signs", "-".repeat(99_999) + "1 == 1"),
        ("fields", "device".to_owned() + &".a".repeat(49_000)),
        ("indices", "device.attributes".to_owned() + &"[0]".repeat(30_000)),
        ("calls", around(20_000, "size(", "[]", ")") + " == 0"),
        ("conditions", "true ? ".repeat(14_000) + "true" + &" : false".repeat(11_000)),
        ("macros", around(5_000, "[1].all(x, ", "true", ")")),
        ("binds", around(5_000, "cel.bind(a, 1, ", "true", ")")),
        ("unclosed", "([{".repeat(30_000)),
    ] {
        assert_eq!(end(name, &expression), End::Refused, "{name}");
    }
}

#[test]
fn size_is_bounded() {
    let long = "a".repeat(90_000);
    for (name, expression, expected) in [
        ("sum", "1 + ".repeat(20_000) + "1 == 1", End::Refused),
        ("and", "true && ".repeat(12_000) + "true", End::Answered(true)),
        ("list", format!("[{}1].size() == 40001", "1,".repeat(40_000)), End::Answered(true)),
        ("text", format!("'{long}'.size() == 90000"), End::Answered(true)),
        ("over the limit", format!("'{long}{long}' == ''"), End::Refused),
        ("blanks", " ".repeat(1_000_000) + "true", End::Refused),
        ("not closed", format!("'{long}"), End::Refused),
        ("escapes", format!("'{}' == ''", "\\u0041".repeat(15_000)), End::Answered(false)),
    ] {
        assert_eq!(end(name, &expression), expected, "{name}");
    }
}

#[test]
fn types_and_values_that_double_are_bounded() {
    let doubled = |times: usize, inner: &str, step: &str| {
        (0..times).fold(inner.to_owned(), |value, _| step.replace('$', &value))
    };
    for (name, expression) in [
        ("types", doubled(40, "{1: 1}", "cel.bind(a, $, {1: [a, a]})") + " == {}"),
        ("lists", doubled(60, "[1]", "cel.bind(a, $, a + a)") + ".size() == 1"),
        ("texts", doubled(60, "'ab'", "cel.bind(a, $, a + a)") + ".size() == 1"),
        ("nested lists", doubled(50, "[1]", "cel.bind(a, $, [a, a])") + " == []"),
        ("optional types", "!".to_owned() + &doubled(50, "optional.of(1)", "optional.of($)") + ".hasValue()"),
        ("joined", doubled(20, "'ab'", "[$, 'c'].join('-')") + " == ''"),
        ("replaced", doubled(10, "'aaaaaaaaaa'", "$.replace('a', 'aaaaaaaaaa')") + ".size() == 1"),
        (
            "formatted",
            "'%s%s%s%s'.format([1, 2, 3, 4]).matches('1') && '%.999999999f'.format([1.0]) == ''".to_owned(),
        ),
    ] {
        // Whether it is refused, cut or answered depends on its costs; within bounds it is in any case.
        let end = end(name, &expression);
        assert!(end != End::Answered(true), "{name}");
    }
}

#[test]
fn loops_end_at_the_limit_of_costs() {
    let nested = |depth: usize| {
        let opened: String = (0..depth).map(|at| format!("lists.range(100).all(x{at}, ")).collect();
        opened + "true" + &")".repeat(depth)
    };
    for (name, expression) in [
        ("all in all", nested(8)),
        ("map in map", "lists.range(3000).map(x, lists.range(3000).map(y, x * y)).size() == 1".to_owned()),
        ("absorbed", nested(5) + " || true"),
        ("sorted", "lists.range(2000).all(x, lists.range(2000).sortBy(y, -y).size() > x)".to_owned()),
        ("long range", "lists.range(9000000000).size() == 1".to_owned()),
        ("flat", "lists.range(2000).map(x, lists.range(2000)).flatten().size() == 1".to_owned()),
    ] {
        assert_eq!(end(name, &expression), End::Cut, "{name}");
    }
}

#[test]
fn regular_expressions_neither_backtrack_nor_grow() {
    let text = "a".repeat(5_000);
    for (name, expression) in [
        ("nested stars", format!("'{text}'.matches('(a*)*(a*)*b')")),
        ("alternatives", format!("'{text}'.matches('(a|aa)+b')")),
        ("backtracking", format!("'{text}'.matches('(a?){{200}}a{{200}}b')")),
        ("found", format!("'{text}'.findAll('(a|aa)*?').size() == 1")),
        ("repeated", "'a'.matches('((a{100}){100}){100}')".to_owned()),
        ("classes", format!("'a'.matches('{}')", "\\\\pL".repeat(5_000))),
        ("groups", format!("'a'.matches('{}')", around(5_000, "(", "a", ")"))),
        (
            "at run time",
            "lists.range(900).exists(x, 'a'.matches('(\\\\pL{50}){' + string(x) + '}b'))".to_owned(),
        ),
        (
            "patterns of a device",
            format!("device.driver.matches('{}' + device.driver)", "(x+x+)+".repeat(300)),
        ),
    ] {
        assert!(end(name, &expression) != End::Answered(true), "{name}");
    }
}
