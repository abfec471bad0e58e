//! What can be wrong with a text, and what belongs there instead.

use core::fmt;

use k8s_quantity::ParseError;
use kubernetes_yaml::MAX_DEPTH;
use thiserror::Error;

use crate::Complaint;
use crate::source::{MAX_BYTES, MAX_LIST_BYTES};

/// What is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is larger than [`MAX_BYTES`].
    #[error("the text has {bytes} bytes")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// The text is larger than [`MAX_LIST_BYTES`].
    #[error("the text has {bytes} bytes")]
    ListTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// An object of a text, or an item of a list, is larger than [`MAX_BYTES`].
    #[error("what begins here has {bytes} bytes")]
    ObjectTooLarge {
        /// How large it is.
        bytes: usize,
    },
    /// The bytes are no UTF-8.
    #[error("this byte is not UTF-8")]
    NotUtf8,
    /// There is no document in the text.
    #[error("the file has no document")]
    Empty,
    /// It is no YAML or JSON; the parser's words.
    #[error("{0}")]
    Syntax(String),
    /// A template of Helm, Jinja or the like.
    #[error("this is a template that is not rendered yet")]
    Template {
        /// What is to be given in its place.
        expected: &'static str,
    },
    /// More mappings and lists within each other than anyone writes.
    #[error("values are nested too deeply")]
    TooDeep,
    /// A key that its mapping already has.
    #[error("key {} is given twice", Quoted(.0))]
    DuplicateKey(String),
    /// Something else than belongs there.
    #[error("found {found}")]
    Unexpected {
        /// What is there.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A form of file that the reader knows and cannot read.
    #[error("{what}")]
    OtherForm {
        /// What it is.
        what: String,
        /// What to give in its place.
        instead: &'static str,
    },
    /// Something that is well written and of no use: a machine that does not exist, a pod that fits nowhere.
    #[error("{what}")]
    Useless {
        /// What is the matter with it.
        what: String,
        /// What would be of use.
        expected: &'static str,
    },
    /// A flag with which a kubelet does not start.
    #[error("{text}")]
    Flag {
        /// The kubelet's words.
        text: String,
        /// What belongs there, if that is known.
        instead: Option<String>,
    },
    /// A required field is absent.
    #[error("field {field} is missing")]
    Missing {
        /// Its name.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// An object of another kind than the reader reads.
    #[error("{} is not read here", Quoted(.found))]
    Kind {
        /// Its kind.
        found: String,
        /// The kinds that are read.
        expected: &'static str,
    },
    /// A known kind in an unknown version.
    #[error("{} is not read here", Quoted(.found))]
    ApiVersion {
        /// Its version.
        found: String,
        /// The version that is read.
        expected: &'static str,
    },
    /// No quantity.
    #[error("{} is no quantity", Quoted(.text))]
    Quantity {
        /// What is there.
        text: String,
        /// Kubernetes' own words.
        #[source]
        error: ParseError,
    },
    /// A quantity below zero.
    #[error("quantity {} is negative", Quoted(.0))]
    NegativeQuantity(String),
    /// A quantity that no machine can have.
    #[error("quantity {} is more than any machine has", Quoted(.0))]
    AbsurdQuantity(String),
    /// A name that Kubernetes would refuse.
    #[error("{} is no name", Quoted(.0))]
    Name(String),
    /// Two containers of a pod share a name.
    #[error("the pod already has a container {}", Quoted(.0))]
    DuplicateContainer(String),
    /// Two pods share a namespace and a name, or a UID.
    #[error("the text already has a pod {}", Quoted(.0))]
    DuplicatePod(String),
    /// A field of a kubelet configuration that its own decoder refuses, in its words.
    #[error("failed to decode: json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")]
    Decode {
        /// JSON's name of what is there.
        found: String,
        /// The field as the kubelet names it: `KubeletConfiguration.kubeReserved`.
        field: String,
        /// Go's name of what belongs there.
        wanted: &'static str,
    },
    /// A value of an object that an API server cannot decode, in its words.
    #[error("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")]
    WrongType {
        /// JSON's name of what is there.
        found: String,
        /// The struct and the path of the field: `ResourceSliceSpec.spec.devices`.
        field: String,
        /// Go's name of what belongs there.
        wanted: String,
    },
    /// A text that is no moment, in Go's words.
    #[error("{0}")]
    Time(String),
    /// An object of a kind that API servers do not have in that version, in their words.
    #[error(
        "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )]
    NoSuchKind {
        /// Its kind.
        kind: String,
        /// Its version.
        version: String,
    },
    /// A kubelet configuration of an unknown kind or version; the kubelet's words.
    #[error(
        "failed to decode: no kind \"{kind}\" is registered for version \"{version}\" in scheme \
         \"pkg/runtime/scheme.go:111\""
    )]
    NotRegistered {
        /// Its kind.
        kind: String,
        /// Its version.
        version: String,
    },
    /// A field that the format does not have.
    #[error("there is no field {}", Quoted(.found))]
    UnknownField {
        /// Its name.
        found: String,
        /// The fields that there are.
        expected: &'static str,
    },
    /// A field that the format does not have, and one that it has.
    #[error("there is no field {}", Quoted(.found))]
    MisspeltField {
        /// Its name.
        found: String,
        /// The field that may have been meant.
        meant: &'static str,
    },
    /// A field of an object that its kind does not have; an API server's words.
    #[error("unknown field \"{path}\"")]
    UnknownObjectField {
        /// Its path in the object: `spec.containers[0].resource`.
        path: String,
        /// A field that there is and that may have been meant.
        meant: Option<&'static str>,
    },
    /// What an API server would refuse, in its words.
    #[error("{0}")]
    Refused(Complaint),
    /// What was found in an object that was judged as a whole, in the judge's words.
    #[error("{0}")]
    Judged(String),
    /// More pods than any node has.
    #[error("{0} pods are too many")]
    TooManyPods(u64),
    /// More pods than the reader was asked for.
    #[error("{pods} pods are too many for one request: its limit is {most}")]
    TooManyPodsAsked {
        /// How many there are up to this object; later objects are not counted.
        pods: u64,
        /// The limit.
        most: u64,
    },
    /// A device that its resource already has.
    #[error("the resource already has a device {}", Quoted(.0))]
    DuplicateDevice(String),
    /// A resource that the inventory already has.
    #[error("the inventory already has a resource {}", Quoted(.0))]
    DuplicateResource(String),
    /// A number out of its range.
    #[error("{} is out of range", Quoted(.found))]
    Range {
        /// What is there.
        found: String,
        /// The range.
        expected: &'static str,
    },
}

/// What to give in the place of a form from which the kubelet's configuration cannot be read.
pub(crate) const CONFIGZ: &str =
    "the configuration that a node runs with: `kubectl get --raw /api/v1/nodes/NODE/proxy/configz`";

/// What is read as a configuration, for people.
pub(crate) const ACCEPTED_CONFIGS: &str = "a KubeletConfiguration (kubelet.config.k8s.io/v1beta1), a KubeletConfig or PerformanceProfile of OpenShift, a NodeConfig of EKS, settings of Bottlerocket, a machine configuration of Talos, a config.yaml of k3s or RKE2, or what a kubelet answers at /configz, which has its flags and drop-ins in it";

impl Problem {
    /// What belongs there instead.
    #[must_use]
    pub fn expected(&self) -> Option<&str> {
        Some(match self {
            Self::Syntax(_)
            | Self::NotUtf8
            | Self::Refused(_)
            | Self::Judged(_)
            | Self::MisspeltField { .. }
            | Self::UnknownObjectField { meant: Some(_), .. } => return None,
            Self::OtherForm { instead, .. } => instead,
            Self::Flag { instead, .. } => return instead.as_deref(),
            Self::UnknownObjectField { meant: None, .. } => "a field of Kubernetes v1.36.3",
            Self::TooManyPods(_) => "fewer pods, or smaller ones",
            Self::TooManyPodsAsked { .. } => "fewer pods",
            Self::ListTooLarge { .. } => {
                const { assert!(MAX_LIST_BYTES == 67_108_864, "the text below names the limit") };
                "at most 67108864 bytes (64 MiB)"
            }
            Self::TooLarge { .. } | Self::ObjectTooLarge { .. } => {
                const { assert!(MAX_BYTES == 1_048_576, "the text below names the limit") };
                "at most 1048576 bytes (1 MiB)"
            }
            Self::TooDeep => {
                const { assert!(MAX_DEPTH == 200, "the text below names the limit") };
                "at most 200 levels"
            }
            Self::Empty => "a YAML or JSON document",
            Self::DuplicateKey(_) => "each key once",
            Self::Template { expected }
            | Self::Unexpected { expected, .. }
            | Self::Useless { expected, .. }
            | Self::Missing { expected, .. }
            | Self::Kind { expected, .. }
            | Self::ApiVersion { expected, .. }
            | Self::UnknownField { expected, .. }
            | Self::Range { expected, .. } => expected,
            Self::Quantity { .. } => "an amount such as 2, 500m or 1.5Gi",
            Self::NegativeQuantity(_) => "zero or more",
            Self::AbsurdQuantity(_) => "less than 8Ei, or of CPUs less than 8Ei thousandths",
            Self::Name(_) => "1 to 253 letters, digits and dashes, first and last no dash",
            Self::DuplicateContainer(_) => "container names that differ, init containers included",
            Self::DuplicatePod(_) => "each pod once",
            Self::NotRegistered { .. } => ACCEPTED_CONFIGS,
            Self::NoSuchKind { .. } => "a kind and version of Kubernetes v1.37.2, such as resource.k8s.io/v1",
            Self::Time(_) => "a moment such as 2026-11-29T02:40:48Z",
            Self::Decode { wanted: "string", .. } => "text in quotes",
            Self::WrongType { wanted, .. } if wanted == "string" => "text in quotes",
            Self::Decode { wanted, .. } => of_type(wanted),
            Self::WrongType { wanted, .. } => of_type(wanted),
            Self::DuplicateDevice(_) => "each device once",
            Self::DuplicateResource(_) => "each resource once",
        })
    }
}

/// What fills in variables such as `${NAME}`.
const FILL: &str =
    "a value: fill the variable in first, `envsubst < FILE > FILLED`, and give FILLED in its place";
/// The same of `{{NAME}}`.
const RENDER: &str = "a value: what renders the template, or runs the object, fills it in";

/// The same of what stands for a value: `<name>`, `PUT_NAME_HERE`.
const PLACEHOLDER: &str = "a value: this looks like a placeholder, fill it in first";

/// What stands before and behind a name whose value is to be written there.
const BRACKETS: [(&str, &str); 6] =
    [("<", ">"), ("__", "__"), ("%", "%"), ("@", "@"), ("[[", "]]"), ("$(", ")")];

/// Whether a text stands for a value that someone is to write: a name between [`BRACKETS`], `$NAME`, `...`, `%s`, `CHANGEME`, or
/// several words in capitals.
fn is_placeholder(text: &str) -> bool {
    const WORDS: [&str; 8] =
        ["CHANGEME", "FIXME", "PLACEHOLDER", "REPLACEME", "TBD", "TODO", "changeme", "placeholder"];
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let text = text.trim();
    let is_between = |(before, behind): &(&str, &str)| {
        let inner = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).map(str::trim);
        inner.is_some_and(|inner| inner.bytes().any(|byte| byte.is_ascii_alphabetic()))
    };
    let words: Vec<&str> = text.split([' ', '_', '-']).collect();
    let are_capitals = words.len() > 1
        && words.iter().all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase()));
    are_capitals
        || WORDS.contains(&text)
        || matches!(text, "..." | "\u{2026}" | "%s" | "%d" | "%v")
        || text.strip_prefix('$').is_some_and(is_name)
        || BRACKETS.iter().any(is_between)
}

impl Problem {
    /// What to do instead, where the problem names it: another file to give, a program to run first, the name that is meant.
    /// `None`: it says what is wrong, and at most what belongs there.
    #[must_use]
    pub fn next_step(&self) -> Option<&str> {
        match self {
            problem if problem.filled_by().is_some() => problem.filled_by(),
            Self::Empty | Self::NoSuchKind { .. } => self.expected(),
            Self::OtherForm { instead, .. } => Some(instead),
            Self::Template { expected } | Self::Kind { expected, .. } | Self::ApiVersion { expected, .. } => {
                Some(expected)
            }
            Self::NotRegistered { .. } => Some(ACCEPTED_CONFIGS),
            Self::MisspeltField { meant, .. } | Self::UnknownObjectField { meant: Some(meant), .. } => {
                Some(meant)
            }
            _ => None,
        }
    }

    /// Whether it is about a value that is to be filled in first.
    pub(crate) fn is_open(&self) -> bool {
        self.filled_by().is_some()
    }

    /// What fills in a value that a shell or another program was to fill in; `None`: it is not such a value.
    fn filled_by(&self) -> Option<&'static str> {
        let (Self::Unexpected { found: text, .. }
        | Self::Quantity { text, .. }
        | Self::Name(text)
        | Self::Range { found: text, .. }
        | Self::Refused(Complaint::Invalid { value: text, .. })) = self
        else {
            return None;
        };
        if text.contains("{{") {
            Some(RENDER)
        } else if text.contains("${") {
            Some(FILL)
        } else {
            // What is there may be described and in quotes: `text "NAME"`.
            let bare = text.strip_prefix("text ").unwrap_or(text);
            let bare = bare.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(bare);
            is_placeholder(bare).then_some(PLACEHOLDER)
        }
    }

    /// What is to be done about it, as a fragment: `expected ...`, `did you mean ...?`.
    pub(crate) fn advice(&self) -> Option<String> {
        match self {
            Self::MisspeltField { meant, .. } | Self::UnknownObjectField { meant: Some(meant), .. } => {
                Some(format!("did you mean {meant}?"))
            }
            Self::Refused(complaint) if complaint.meant_resource().is_some() => {
                complaint.meant_resource().map(|meant| format!("did you mean {meant}?"))
            }
            problem if problem.filled_by().is_some() => {
                problem.filled_by().map(|filled| format!("expected {filled}"))
            }
            other => other.expected().map(|expected| format!("expected {expected}")),
        }
    }
}

/// Text from outside in quotes: nothing unprintable, and not more than a line can take.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 60;
        match self.0.char_indices().nth(MOST) {
            None => write!(f, "{:?}", self.0),
            Some((end, _)) => write!(f, "{:?}...", self.0.get(..end).unwrap_or_default()),
        }
    }
}

/// What a value of a Go type looks like.
fn of_type(wanted: &str) -> &'static str {
    match wanted {
        "bool" => "true or false, without quotes",
        number if ["int", "uint", "float"].iter().any(|start| number.starts_with(start)) => {
            "a number, without quotes"
        }
        _ => "a value of that type",
    }
}
