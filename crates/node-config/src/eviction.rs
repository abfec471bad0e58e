//! Hard eviction thresholds: how much is kept free, in amounts or per cent.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::go_quote;
use k8s_quantity::{Format, ParseError, Quantity, Sign};
use thiserror::Error;

/// The signals that a threshold can be set for.
const SIGNALS: [&str; 9] = [
    "allocatableMemory.available",
    "containerfs.available",
    "containerfs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "pid.available",
];

/// Why `evictionHard` is refused. The texts are the kubelet's.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum EvictionError {
    /// No such signal.
    #[error("unsupported eviction signal {0}")]
    Signal(String),
    /// Less than nothing per cent.
    #[error("eviction percentage threshold {signal} must be >= 0%: {value}")]
    Below {
        /// The signal.
        signal: String,
        /// What was written.
        value: String,
    },
    /// More than everything.
    #[error("eviction percentage threshold {signal} must be <= 100%: {value}")]
    Above {
        /// The signal.
        signal: String,
        /// What was written.
        value: String,
    },
    /// An amount that is not above zero.
    #[error("eviction threshold {signal} must be positive: {}", value.canonical())]
    NotPositive {
        /// The signal.
        signal: String,
        /// The amount.
        value: Quantity,
    },
    /// No number before the per cent sign.
    #[error("strconv.ParseFloat: parsing {}: invalid syntax", go_quote(.0))]
    Percentage(String),
    /// No quantity.
    #[error(transparent)]
    Quantity(#[from] ParseError),
}

/// How much is kept free.
#[derive(Clone, PartialEq, Debug)]
enum Threshold {
    Amount(Quantity),
    /// A share of the capacity, in the precision in which the kubelet keeps it.
    Share(f32),
}

/// Hard eviction thresholds by signal.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Eviction(BTreeMap<String, Threshold>);

impl Eviction {
    /// Reads thresholds by signal. `0%` and `100%` mean that there is none.
    ///
    /// # Errors
    /// Each signal that is at fault, in order of names; which one the kubelet would report is left to chance.
    pub fn parse(thresholds: &BTreeMap<String, String>) -> Result<Self, Vec<EvictionError>> {
        let mut read = BTreeMap::new();
        let mut faults = Vec::new();
        for (signal, value) in thresholds {
            match threshold(signal, value) {
                Ok(Some(threshold)) => {
                    read.insert(signal.clone(), threshold);
                }
                Ok(None) => {}
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() { Ok(Self(read)) } else { Err(faults) }
    }

    /// What is kept of a resource by these thresholds, of `capacity` in all; `None` if no threshold names it.
    /// Only memory and the node's file system count.
    pub(crate) fn reserved(&self, resource: &str, capacity: &Quantity) -> Option<Quantity> {
        let signal = match resource {
            "memory" => "memory.available",
            "ephemeral-storage" => "nodefs.available",
            _ => return None,
        };
        Some(match self.0.get(signal)? {
            Threshold::Amount(amount) => amount.clone(),
            Threshold::Share(share) => Quantity::from_units(part(capacity.value(), *share), Format::BinarySi),
        })
    }
}

fn threshold(signal: &str, value: &str) -> Result<Option<Threshold>, EvictionError> {
    if !SIGNALS.contains(&signal) {
        return Err(EvictionError::Signal(signal.to_owned()));
    }
    let both = || (signal.to_owned(), value.to_owned());
    let Some(number) = value.strip_suffix('%') else {
        let amount: Quantity = value.parse()?;
        if amount.sign() != Sign::Positive {
            return Err(EvictionError::NotPositive { signal: signal.to_owned(), value: amount });
        }
        return Ok(Some(Threshold::Amount(amount)));
    };
    if matches!(value, "0%" | "100%") {
        return Ok(None);
    }
    let percentage: f32 = number.parse().map_err(|_| EvictionError::Percentage(number.to_owned()))?;
    let share = percentage / 100.0;
    if share < 0.0 {
        let (signal, value) = both();
        return Err(EvictionError::Below { signal, value });
    }
    if share > 1.0 {
        let (signal, value) = both();
        return Err(EvictionError::Above { signal, value });
    }
    Ok(Some(Threshold::Share(share)))
}

/// A share of an amount in whole units, rounded down.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "the kubelet's own arithmetic, whose rounding is part of the answer"
)]
fn part(capacity: i64, share: f32) -> i64 {
    (capacity as f64 * f64::from(share)) as i64
}
