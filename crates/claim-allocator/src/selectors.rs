//! Who evaluates expressions.

use alloc::string::String;

use dra_model::{Attribute, Device};

/// Evaluates the expressions of selectors and derived attributes. The search asks only what kube-scheduler would have asked:
/// an expression that is never reached is never an error.
pub trait Selectors {
    /// Whether an expression holds for a device of a driver.
    fn matches(&self, expression: &str, driver: &str, device: &Device) -> Result<bool, SelectorError>;

    /// The attribute that an expression derives from a device of a driver.
    fn derive(&self, expression: &str, driver: &str, device: &Device) -> Result<Attribute, SelectorError>;
}

/// An expression without an answer. The texts are those of kube-scheduler's CEL library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SelectorError {
    /// It does not compile.
    Compile(String),
    /// It fails on this device.
    Runtime(String),
}
