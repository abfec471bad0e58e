//! Expressions of selectors and derived attributes: any text compiles or is refused, and what compiles is evaluated within
//! the limit of costs, to the same answer each time.
//!
//! The first byte chooses the environment, the rest is the expression. `cargo xtask fuzz selector`.
#![no_main]

use std::sync::LazyLock;

use dra_cel::{DeviceVariable, Environment, EvaluationError, Program, Purpose};
use dra_model::{Attribute, AttributeValue, Capacity, Device, Features};

/// A device with attributes of every type, and one without any.
static DEVICES: LazyLock<[DeviceVariable; 2]> = LazyLock::new(|| {
    let mut device = Device::new("gpu-0");
    for (name, value) in [
        ("model", AttributeValue::String("H100 80GB".into())),
        ("index", AttributeValue::Int(3)),
        ("ecc", AttributeValue::Bool(true)),
        ("driverVersion", AttributeValue::Version("1.2.3+build.5".into())),
        ("ports", AttributeValue::Ints(vec![1, 2, 3])),
        ("links", AttributeValue::Strings(vec!["a".into(), "b".into()])),
        ("resource.kubernetes.io/numaNode", AttributeValue::Int(1)),
    ] {
        device.attributes.insert(name.into(), Attribute::new(value));
    }
    if let Ok(value) = "80Gi".parse() {
        device.capacity.insert("memory".into(), Capacity { value, policy: None });
    }
    device.allow_multiple_allocations = Some(true);
    [device, Device::new("plain")].map(|device| DeviceVariable::of("gpu.example.com", &device))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((first, expression)) = bytes.split_first() else { return };
    let Ok(expression) = std::str::from_utf8(expression) else { return };
    let environment = match first % 4 {
        0 | 1 => Environment::stored(),
        2 => Environment::new_expressions(Features::DEFAULT),
        _ => Environment::new_expressions(Features::ALL),
    };
    let purpose = if first % 8 == 1 { Purpose::DerivedAttribute } else { Purpose::Selector };
    let program = match Program::compile(expression, &environment.for_purpose(purpose)) {
        Ok(program) => program,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = (program.estimated_cost(), program.reads());
    for device in &*DEVICES {
        let (error, cost) = if purpose == Purpose::DerivedAttribute {
            let evaluation = program.derive(device);
            assert_eq!(evaluation, program.derive(device), "{expression}");
            (evaluation.outcome.err(), evaluation.cost)
        } else {
            let evaluation = program.evaluate(device);
            assert_eq!(evaluation, program.evaluate(device), "{expression}");
            (evaluation.outcome.err(), evaluation.cost)
        };
        let is_cut = error == Some(EvaluationError::CostLimit);
        assert!(is_cut || cost <= Program::COST_LIMIT, "{expression} cost {cost}");
    }
});
