//! Small texts: quantities, lists of CPUs, durations, addresses of PCI functions. Whatever the text, each reader ends,
//! and what is read and written again is the same.
//!
//! `cargo xtask fuzz values`.
#![no_main]

use cpuset::{CpuSet, go_atoi, go_quote};
use k8s_quantity::Quantity;
use node_config::Duration;
use topology_model::PciAddress;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(quantity) = text.parse::<Quantity>() {
        check(&quantity);
        let token = format!("\"{text}\"");
        assert_eq!(Quantity::from_json_token(&token).as_ref(), Ok(&quantity), "{token}");
    }
    let _ = Quantity::from_json_token(text).as_ref().map(check);
    if let Ok(set) = text.parse::<CpuSet>() {
        let again = set.to_string().parse::<CpuSet>();
        assert_eq!(again.as_ref(), Ok(&set));
        assert_eq!(set.iter().count(), set.len());
    }
    if let Ok(number) = go_atoi(text) {
        assert_eq!(go_atoi(&number.to_string()), Ok(number));
    }
    let quoted = go_quote(text).to_string();
    assert!(quoted.starts_with('"') && quoted.ends_with('"') && !quoted.contains('\n'), "{quoted}");
    if let Ok(duration) = text.parse::<Duration>() {
        assert_eq!(duration.to_string().parse().as_ref(), Ok(&duration), "{text}");
    }
    if let Ok(address) = text.parse::<PciAddress>() {
        assert_eq!(address.to_string().parse::<PciAddress>().ok(), Some(address));
    }
});

/// Every question that can be asked of a quantity has an answer, and its canonical text means the same.
fn check(quantity: &Quantity) {
    let _ = (quantity.value(), quantity.milli_value(), quantity.as_int64(), quantity.ceil_units());
    let _ = quantity.clone().round_up_to_milli().to_string();
    // Beyond exa Kubernetes has no suffix and writes none: 1000E is written `1`.
    let has_suffix = quantity.ceil_units().is_some_and(|units| units.unsigned_abs() < 10_u128.pow(21));
    if has_suffix {
        for text in [quantity.to_string(), quantity.canonical().to_string()] {
            assert_eq!(text.parse::<Quantity>().as_ref(), Ok(quantity), "{text}");
        }
    }
}
