//! Errors of an evaluation, and the bound of its work.

use alloc::format;
use alloc::string::String;
use core::cell::Cell;

use super::Value;

/// Why a value could not be found.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    NoKey(Value),
    NoOverload,
    Text(String),
    /// The cost limit: no operator absorbs it.
    CostLimit,
    /// cel-go panics there, which no operator absorbs.
    Internal(&'static str),
}

impl Fault {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Whether it ends the evaluation, whatever `&&`, `||` and macros are around it.
    pub(crate) const fn is_final(&self) -> bool {
        matches!(self, Self::CostLimit | Self::Internal(_))
    }

    /// As kube-scheduler shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::NoKey(key) => format!(
                "no such key: {}. consider using CEL optional chaining (.? followed by orValue()) or guarding the \
                 check with has() for optional fields",
                key.shown()
            ),
            Self::NoOverload => "no such overload".into(),
            Self::Text(text) => text.clone(),
            Self::CostLimit => "operation cancelled: actual cost limit exceeded".into(),
            Self::Internal(text) => format!("internal error: {text}"),
        }
    }
}

/// Elements that functions may still visit, beyond what costs count: values that share parts can be far larger than
/// what they cost.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    /// Far above what an evaluation within the cost limit needs.
    pub(crate) const fn new() -> Self {
        Self(Cell::new(20_000_000))
    }

    pub(crate) fn spend(&self, elements: usize) -> Result<(), Fault> {
        let elements = u64::try_from(elements).unwrap_or(u64::MAX);
        let left = self.0.get().checked_sub(elements).ok_or(Fault::CostLimit)?;
        self.0.set(left);
        Ok(())
    }
}
