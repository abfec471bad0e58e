//! What a call costs, by its arguments and its result.

use crate::value::Value;

/// A rule of costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Price {
    One,
    /// The traversal of an argument, so many times.
    Traversal {
        argument: usize,
        times: f64,
    },
    /// Twice the traversal of the result.
    Joined,
    /// The size of the second argument.
    SizeOfList,
    /// The traversal of the smaller of two.
    Smaller,
    /// As `Smaller`, but one for types of Kubernetes.
    Equality,
    /// The traversal of both.
    Sum,
    Matched,
    Contained,
    /// One for each element or tenth character of the first argument.
    Elements,
    Sets(f64),
    /// A list of the result's size is made.
    Output,
    Flattened,
    /// All elements of an argument are compared with all.
    SelfCompared(usize),
    ContainsAddress(Other),
    ContainsNetwork(Other),
    Validated,
}

/// What an address or network is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Other {
    Parsed,
    /// It has to be parsed first.
    Text,
}

/// cel-go panics where a list was expected and the argument is none.
pub(crate) struct NotAList;

const TRAVERSAL: f64 = 0.1;
const PATTERN: f64 = 0.25;
const LIST: u64 = 10;

impl Price {
    /// The rule of a function, and of its overload if only one is possible.
    pub(super) fn of(function: &str, overload: &str) -> Self {
        Self::of_overload(overload).or_else(|| Self::of_function(function, overload)).unwrap_or(Self::One)
    }

    /// cel-go's rules for its lists and sets, which come first.
    fn of_overload(overload: &str) -> Option<Self> {
        Some(match overload {
            "list_slice" | "lists_range" | "list_reverse" => Self::Output,
            "list_flatten" | "list_flatten_int" => Self::Flattened,
            "list_distinct" => Self::SelfCompared(0),
            "list_sets_contains_list" | "list_sets_intersects_list" => Self::Sets(1.0),
            "list_sets_equivalent_list" => Self::Sets(2.0),
            _ if overload.starts_with("list_") && overload.ends_with("_sort") => Self::SelfCompared(0),
            _ if overload.ends_with("_sortByAssociatedKeys") => Self::SelfCompared(1),
            _ => return None,
        })
    }

    /// Kubernetes' rules by function, then cel-go's by overload.
    fn of_function(function: &str, overload: &str) -> Option<Self> {
        let traversal = |times| Some(Self::Traversal { argument: 0, times });
        let other = |text: &str| if overload == text { Other::Text } else { Other::Parsed };
        match function {
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
                Some(Self::Elements)
            }
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
            | "quantity" | "isQuantity" | "semver" | "isSemver" => traversal(1.0),
            "ip" if overload == "cidr_ip" => Some(Self::One),
            "ip" => traversal(1.0),
            "replace" | "split" | "ip.isCanonical" => traversal(2.0),
            "join" => Some(Self::Joined),
            "find" | "findAll" => Some(Self::Matched),
            "containsIP" => Some(Self::ContainsAddress(other("cidr_contains_ip_string"))),
            "containsCIDR" => Some(Self::ContainsNetwork(other("cidr_contains_cidr_string"))),
            "validate" => Some(Self::Validated),
            _ => Self::standard(overload),
        }
    }

    fn standard(overload: &str) -> Option<Self> {
        let traversal = |argument| Some(Self::Traversal { argument, times: 1.0 });
        match overload {
            "starts_with_string" | "ends_with_string" => traversal(1),
            "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => traversal(0),
            "in_list" => Some(Self::SizeOfList),
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes" => Some(Self::Smaller),
            "add_string" | "add_bytes" => Some(Self::Sum),
            "matches" | "matches_string" => Some(Self::Matched),
            "contains_string" => Some(Self::Contained),
            _ => None,
        }
    }

    /// The cost of a call. A fault counts as a value of size 1.
    pub(crate) fn cost(self, arguments: &[Value], result: &Value) -> Result<u64, NotAList> {
        let size = |at: usize| arguments.get(at).map_or(1, Value::size);
        let inner = |at: usize| arguments.get(at).map_or(1, Value::inner_size);
        Ok(match self {
            Self::One => 1,
            Self::Traversal { argument, times } => scaled(inner(argument), times * TRAVERSAL),
            Self::Joined => scaled(result.size(), 2.0 * TRAVERSAL),
            Self::SizeOfList => inner(1),
            Self::Smaller => scaled(inner(0).min(inner(1)), TRAVERSAL),
            Self::Equality if arguments.first().is_some_and(is_of_kubernetes) => 1,
            Self::Equality => scaled(inner(0).min(inner(1)), TRAVERSAL),
            Self::Sum => scaled(inner(0).saturating_add(inner(1)), TRAVERSAL),
            Self::Matched => {
                scaled(inner(0).saturating_add(1), TRAVERSAL).saturating_mul(scaled(inner(1), PATTERN))
            }
            Self::Contained => scaled(inner(0), TRAVERSAL).saturating_mul(scaled(inner(1), TRAVERSAL)),
            Self::Elements => arguments.first().map_or(1, elements),
            Self::Sets(factor) => floor(size(0).saturating_mul(size(1)), factor).saturating_add(1),
            Self::Output => listed(size_of_result(result), 1.0),
            Self::Flattened => flattened(arguments)?,
            Self::SelfCompared(at) => self_compared(arguments.get(at))?,
            Self::ContainsAddress(other) => scaled(size(0) * 2, TRAVERSAL) + parsed(other, size(1)),
            Self::ContainsNetwork(other) => {
                scaled(size(0) * 2, TRAVERSAL) + scaled(size(0), TRAVERSAL) + 1 + parsed(other, size(1))
            }
            Self::Validated => match arguments {
                [Value::Format(format), _] => scaled(size(1).saturating_add(1), TRAVERSAL)
                    .saturating_mul(scaled(format.pattern, PATTERN)),
                _ => 1,
            },
        })
    }
}

fn size_of_result(result: &Value) -> u64 {
    result.size()
}

fn parsed(other: Other, size: u64) -> u64 {
    if other == Other::Text { scaled(size, TRAVERSAL) } else { 0 }
}

const fn is_of_kubernetes(value: &Value) -> bool {
    matches!(
        value,
        Value::Quantity(_)
            | Value::Computed(_)
            | Value::Address(_)
            | Value::Prefix(_)
            | Value::Format(_)
            | Value::Url(_)
            | Value::Version(_)
    )
}

/// Rounded up.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as cel-go"
)]
fn scaled(size: u64, factor: f64) -> u64 {
    libm::ceil(size as f64 * factor) as u64
}

/// Rounded down.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as cel-go"
)]
fn floor(size: u64, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

/// A call that makes a list of so many elements.
fn listed(size: u64, factor: f64) -> u64 {
    let factor = if factor < 0.0 { 1.0 } else { factor };
    floor(size, factor).saturating_add(1 + LIST)
}

fn flattened(arguments: &[Value]) -> Result<u64, NotAList> {
    let size = arguments.first().map_or(1, Value::size);
    match arguments {
        #[expect(clippy::cast_precision_loss, reason = "as cel-go")]
        [_, Value::Int(depth)] => Ok(listed(size, *depth as f64)),
        [_, _] => Err(NotAList),
        _ => Ok(listed(size, 1.0)),
    }
}

fn self_compared(argument: Option<&Value>) -> Result<u64, NotAList> {
    let Some(Value::List(list)) = argument else { return Err(NotAList) };
    let size = u64::try_from(list.len()).unwrap_or(u64::MAX);
    let is_text = matches!(list.get(0), Some(Value::String(_) | Value::Bytes(_)));
    let factor = if is_text { 2.0 + TRAVERSAL } else { 2.0 };
    Ok(listed(size.saturating_mul(size), factor))
}

/// What it costs to look at all that a value consists of.
fn elements(value: &Value) -> u64 {
    match value {
        Value::String(text) => floor(u64::try_from(text.len()).unwrap_or(u64::MAX), TRAVERSAL),
        Value::Bytes(bytes) => floor(u64::try_from(bytes.len()).unwrap_or(u64::MAX), TRAVERSAL),
        Value::List(list) if list.len() <= LONGEST => list.iter().map(elements).fold(0, u64::saturating_add),
        Value::Map(map) => {
            map.iter().fold(0, |sum, (key, value)| sum + elements(&key.value()) + elements(value))
        }
        Value::List(_) => u64::MAX,
        _ => 1,
    }
}

/// The elements of longer lists cost more than an evaluation may.
const LONGEST: usize = 10_000_000;
