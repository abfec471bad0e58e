//! Why a kubelet does not start with a command line.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use cpuset::go_quote;
use kubelet_release::FlagTexts;
use thiserror::Error;

use super::csv::CsvError;
use super::labels::{LABEL_NAMESPACES, LABELS};
use crate::{CpuConfigError, GateError, Invalid, MemoryConfigError, ReservedMemoryFlagError};

/// Why a kubelet does not start with its command line; [`NoPods`](Self::NoPods) alone is a limit of this crate. The
/// texts are the kubelet's, without the `failed to parse kubelet flag: ` that it puts in front of some.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FlagError {
    /// A word that is neither a flag nor the value of one.
    #[error("unknown command {0}")]
    Command(String),
    /// Two dashes, and then no name.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// A flag that the kubelet does not have. The name is as written, without the dashes.
    #[error("unknown flag: --{0}")]
    Unknown(String),
    /// A letter behind one dash that the kubelet does not have.
    #[error("unknown shorthand flag: '{letter}' in -{letters}")]
    UnknownLetter {
        /// The letter.
        letter: char,
        /// The letters from it on, as written.
        letters: String,
    },
    /// Labels of Kubernetes that a kubelet must not give its node.
    #[error(
        "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{}]\n--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix ({}) or be in the specifically allowed set ({})",
        .0.join(" "), LABEL_NAMESPACES.join(", "), LABELS.join(", ")
    )]
    Labels(Vec<String>),
    /// The last argument is a flag that needs a value. The name is as written, without the dashes.
    #[error("flag needs an argument: --{0}")]
    NoValue(String),
    /// A value that the flag does not take.
    #[error("invalid argument {} for \"--{flag}\" flag: {fault}", go_quote(value))]
    Value {
        /// The flag's name, without the dashes.
        flag: &'static str,
        /// Its value, as written.
        value: String,
        /// What is wrong with it.
        fault: FlagFault,
    },
    /// Gates that cannot be set. The kubelet sets those of `--feature-gates` before it reads a file, so that a gate of
    /// the file does not help one of the flag that depends on it.
    #[error("failed to set feature gates from initial flags-based config: {}", aggregate(.0))]
    Gates(Vec<GateError>),
    /// `--root-dir` without a value.
    #[error("invalid root directory \"\"")]
    NoRootDirectory,
    /// `--cpu-manager-policy` without a value. In a file that means `none`.
    #[error(transparent)]
    CpuPolicy(CpuConfigError),
    /// `--memory-manager-policy` without a value. In a file that means `None`.
    #[error(transparent)]
    MemoryPolicy(MemoryConfigError),
    /// `--topology-manager-policy` or `--topology-manager-scope` without a value. In a file that means `none` or
    /// `container`.
    #[error(transparent)]
    Configuration(Invalid),
    /// `--max-pods=0`, which a [`KubeletConfiguration`](crate::KubeletConfiguration) cannot express: in a file 0
    /// means 110. The kubelet starts and refuses every pod.
    #[error("--max-pods=0: a kubelet refuses every pod with it")]
    NoPods,
}

/// Several errors as Kubernetes joins them.
fn aggregate(errors: &[GateError]) -> String {
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    match &texts[..] {
        [text] => text.clone(),
        texts => alloc::format!("[{}]", texts.join(", ")),
    }
}

impl FlagError {
    /// The flag's name without the dashes; `None` where no flag is at fault.
    #[must_use]
    pub fn flag(&self) -> Option<&str> {
        match self {
            Self::Command(_) | Self::Syntax(_) | Self::UnknownLetter { .. } => None,
            Self::Unknown(flag) | Self::NoValue(flag) => Some(flag),
            Self::Labels(_) => Some("node-labels"),
            Self::Value { flag, .. } => Some(flag),
            Self::Gates(_) => Some("feature-gates"),
            Self::NoRootDirectory => Some("root-dir"),
            Self::CpuPolicy(_) => Some("cpu-manager-policy"),
            Self::MemoryPolicy(_) => Some("memory-manager-policy"),
            Self::Configuration(invalid) => match invalid.field() {
                crate::InvalidField::TopologyScope(_) => Some("topology-manager-scope"),
                _ => Some("topology-manager-policy"),
            },
            Self::NoPods => Some("max-pods"),
        }
    }

    /// The text as a release spells it.
    #[must_use]
    pub fn text(&self, texts: FlagTexts) -> String {
        match self {
            Self::Value { flag, value, fault: FlagFault::ReservedMemory(fault) } => {
                alloc::format!(
                    "invalid argument {} for \"--{flag}\" flag: {}",
                    go_quote(value),
                    fault.text(texts)
                )
            }
            error => error.to_string(),
        }
    }
}

/// What is wrong with the value of a flag. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum FlagFault {
    /// None of the words that [`parse_bool`](crate::parse_bool) reads.
    #[error("strconv.ParseBool: parsing {}: invalid syntax", go_quote(.0))]
    Boolean(String),
    /// No integer: decimal digits, or `0x`, `0o`, `0b` or `0` and digits of that base.
    #[error("strconv.ParseInt: parsing {}: invalid syntax", go_quote(.0))]
    Integer(String),
    /// More than 32 bits.
    #[error("strconv.ParseInt: parsing {}: value out of range", go_quote(.0))]
    IntegerRange(String),
    /// No span of time.
    #[error(transparent)]
    Duration(DurationFault),
    /// An entry of a map without its separator; what was expected.
    #[error("malformed pair, expect {0}")]
    Pair(&'static str),
    /// A gate that is set neither to true nor to false.
    #[error(
        "invalid value of {gate}: {value}, err: strconv.ParseBool: parsing {}: invalid syntax",
        go_quote(value)
    )]
    Gate {
        /// The gate.
        gate: String,
        /// What it was to be.
        value: String,
    },
    /// Quotes of a list that do not match.
    #[error(transparent)]
    List(CsvError),
    /// A value of `--reserved-memory`.
    #[error(transparent)]
    ReservedMemory(ReservedMemoryFlagError),
    /// Not `KEY=VALUE:EFFECT` or `KEY:EFFECT`, or not the key or value of a label. The kubelet adds which rule of
    /// labels that breaks.
    #[error("invalid taint spec: {0}")]
    Taint(String),
    /// No such effect of a taint.
    #[error("invalid taint effect: {0}, unsupported taint effect")]
    TaintEffect(String),
    /// Two taints of one key and effect; the second.
    #[error("duplicated taints with the same key and effect: {{{key} {value} {effect} <nil>}}")]
    TaintTwice {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The effect.
        effect: String,
    },
}

/// Why Go does not read a text as a duration. The texts are Go's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DurationFault {
    /// No number, or more than 292 years.
    #[error("time: invalid duration {}", Bytes(.0))]
    Invalid(String),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", Bytes(.0))]
    NoUnit(String),
    /// No such unit.
    #[error("time: unknown unit {} in duration {}", Bytes(unit), Bytes(text))]
    Unit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

impl DurationFault {
    /// What `text`, which is no duration, is at fault with.
    pub(super) fn of(text: &str) -> Self {
        let invalid = || Self::Invalid(text.into());
        let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
        while !rest.is_empty() {
            let is_number = |byte: u8| byte == b'.' || byte.is_ascii_digit();
            let whole = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
            let after = rest.get(whole..).unwrap_or_default();
            let fraction = after
                .strip_prefix('.')
                .map(|digits| digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len()));
            if whole + fraction.unwrap_or(0) == 0 {
                return invalid();
            }
            let number = whole + fraction.map_or(0, |digits| digits + 1);
            let after = rest.get(number..).unwrap_or_default();
            let unit = after.bytes().position(is_number).unwrap_or(after.len());
            let (unit, after) = after.split_at_checked(unit).unwrap_or_default();
            if unit.is_empty() {
                return Self::NoUnit(text.into());
            }
            if !crate::duration::is_unit(unit) {
                return Self::Unit { unit: unit.into(), text: text.into() };
            }
            rest = after;
        }
        invalid()
    }
}

/// A text as Go's package `time` quotes it, byte by byte.
struct Bytes<'a>(&'a str);

impl core::fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                b' '..=b'\x7f' => write!(f, "{}", char::from(byte))?,
                _ => write!(f, "\\x{byte:02x}")?,
            }
        }
        f.write_str("\"")
    }
}
