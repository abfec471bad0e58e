//! Taints of devices, and tolerations of requests.

use alloc::string::String;

/// A taint: only requests that tolerate it get the device.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceTaint {
    /// Label key.
    pub key: String,
    /// Label value; may be empty.
    pub value: String,
    /// What it does.
    pub effect: TaintEffect,
    /// `timeAdded`, as API servers write it.
    pub added: Option<String>,
}

/// Effect of a taint.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaintEffect {
    /// Nothing: the taint informs.
    None,
    /// Not for new allocations.
    NoSchedule,
    /// Not for new allocations, and pods that use the device are evicted.
    NoExecute,
    /// What was written in place of these; may be empty.
    Other(String),
}

/// A toleration of taints.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceToleration {
    /// Label key; empty with `Exists`: every key.
    pub key: String,
    /// How the value is compared.
    pub operator: TolerationOperator,
    /// The value with `Equal`.
    pub value: String,
    /// The effect that it tolerates; `None`: every effect.
    pub effect: Option<TaintEffect>,
    /// `tolerationSeconds`: for how long `NoExecute` is tolerated.
    pub seconds: Option<i64>,
}

/// Operator of a toleration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TolerationOperator {
    /// The taint has the key.
    Exists,
    /// The taint has the key and value. An empty operator is this one.
    #[default]
    Equal,
    /// What was written in place of these: tolerates nothing.
    Other(String),
}

impl Default for TaintEffect {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl TaintEffect {
    /// The effect of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "None" => Self::None,
            "NoSchedule" => Self::NoSchedule,
            "NoExecute" => Self::NoExecute,
            _ => Self::Other(text.into()),
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "None",
            Self::NoSchedule => "NoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Other(text) => text,
        }
    }

    /// Whether it keeps a device from requests that do not tolerate it.
    #[must_use]
    pub const fn prevents_allocation(&self) -> bool {
        matches!(self, Self::NoSchedule | Self::NoExecute)
    }
}

impl TolerationOperator {
    /// The operator of this text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "Exists" => Self::Exists,
            "" | "Equal" => Self::Equal,
            _ => Self::Other(text.into()),
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Exists => "Exists",
            Self::Equal => "Equal",
            Self::Other(text) => text,
        }
    }
}

impl DeviceToleration {
    /// Whether it tolerates the taint. Time does not matter.
    #[must_use]
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        let same_effect = self.effect.as_ref().is_none_or(|effect| *effect == taint.effect);
        let same_key = self.key.is_empty() || self.key == taint.key;
        let same_value = match &self.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Other(_) => false,
        };
        same_effect && same_key && same_value
    }
}
