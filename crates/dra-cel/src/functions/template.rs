//! `format`: templates with clauses such as `%s`, `%d` and `%.2f`.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::checker::Checked;
use crate::checker::types::Type;
use crate::fault::Place;
use crate::syntax::expression::{Call, Expression, Kind, Literal};
use crate::value::double_text;
use crate::value::{Budget, Fault, Key, Value};

/// More decimals make no sense; cel-go would write them.
const MOST_DECIMALS: usize = 10_000;

/// A part of a template.
enum Piece<'a> {
    Text(&'a str),
    Clause { letter: char, precision: Option<usize> },
}

/// Cuts a template into pieces.
fn pieces(template: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        pieces.push(Piece::Text(&rest[..at]));
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = behind;
            continue;
        }
        let precision = match rest.strip_prefix('.') {
            None => None,
            Some(behind) => {
                let end = behind.bytes().position(|byte| !byte.is_ascii_digit());
                let end = end.ok_or("could not find end of precision specifier")?;
                let precision = behind[..end].parse().ok().filter(|precision| *precision <= MOST_DECIMALS);
                rest = &behind[end..];
                Some(precision.ok_or("error while converting precision to integer")?)
            }
        };
        let letter = rest.chars().next().ok_or("unexpected end of string")?;
        if !"sdfebxXo".contains(letter) {
            let clause = "could not parse formatting clause: unrecognized formatting clause";
            return Err(format!("{clause} \"{letter}\""));
        }
        pieces.push(Piece::Clause { letter, precision });
        rest = &rest[letter.len_utf8()..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Checks a template that is a literal against arguments that are a list in the source.
pub(crate) fn validate(expression: &Expression, call: &Call, checked: &Checked) -> Result<(), Place> {
    let Some(Kind::Literal(Literal::String(template))) = call.target.as_deref().map(|target| &target.kind)
    else {
        return Ok(());
    };
    let [Expression { kind: Kind::List(arguments), .. }] = &*call.arguments else { return Ok(()) };
    let pieces = pieces(template).map_err(|error| Place::new(expression.offset, error))?;
    let mut given = arguments.iter();
    let mut wanted = 0;
    for piece in pieces {
        let Piece::Clause { letter, .. } = piece else { continue };
        let argument = given.next();
        let argument =
            argument.ok_or_else(|| Place::new(expression.offset, format!("index {wanted} out of range")))?;
        wanted += 1;
        suits(letter, &argument.value, checked)?;
    }
    if arguments.len() > wanted {
        let message = "too many arguments supplied to string.format";
        let message = format!("{message} (expected {wanted}, got {})", arguments.len());
        return Err(Place::new(expression.offset, message));
    }
    Ok(())
}

fn suits(letter: char, argument: &Expression, checked: &Checked) -> Result<(), Place> {
    let found = checked.type_of(argument);
    let is_right = match letter {
        'd' | 'o' => matches!(found, Type::Int | Type::Uint),
        'f' | 'e' => matches!(found, Type::Double | Type::String),
        'b' => matches!(found, Type::Int | Type::Uint | Type::Bool),
        'x' | 'X' => matches!(found, Type::Int | Type::Uint | Type::String | Type::Bytes),
        _ => !matches!(found, Type::Any | Type::Object(_) | Type::Opaque(..)),
    };
    if *found != Type::Dyn && !is_right {
        let message = format!("error during formatting: {}", refusal(letter, found.runtime_name()));
        return Err(Place::new(argument.offset, message));
    }
    match &argument.kind {
        Kind::List(_) | Kind::Map(_) if letter == 's' => {
            argument.children().into_iter().try_for_each(|child| suits(letter, child, checked))
        }
        _ => Ok(()),
    }
}

fn refusal(letter: char, found: &str) -> String {
    let allowed = match letter {
        'd' => "decimal clause can only be used on integers",
        'o' => "octal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        _ => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
             and timestamps"
        }
    };
    format!("{allowed}, was given {found}")
}

/// `template.format(arguments)`.
pub(super) fn format(values: &[Value], budget: &Budget) -> Result<Value, Fault> {
    let [Value::String(template), Value::List(arguments)] = values else { return Err(Fault::NoOverload) };
    let mut text = String::new();
    let mut next = 0;
    for piece in pieces(template).map_err(Fault::Text)? {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Clause { letter, precision } => {
                let argument = arguments.get(next);
                let argument = argument.ok_or_else(|| Fault::text(format!("index {next} out of range")))?;
                next += 1;
                text.push_str(&clause(letter, precision.unwrap_or(6), argument, budget)?);
            }
        }
    }
    Ok(Value::text(&text))
}

fn clause(letter: char, precision: usize, value: &Value, budget: &Budget) -> Result<String, Fault> {
    budget.spend(precision.div_ceil(64))?;
    let text = match (letter, value) {
        ('s', _) => return shown(value, budget),
        ('d', Value::Int(number)) => number.to_string(),
        ('d', Value::Uint(number)) => number.to_string(),
        ('f', Value::Double(_) | Value::String(_)) => {
            double(value).map(|number| fixed(number, precision)).unwrap_or_default()
        }
        ('e', Value::Double(_) | Value::String(_)) => {
            double(value).map(|number| scientific(number, precision)).unwrap_or_default()
        }
        ('b', Value::Bool(value)) => u8::from(*value).to_string(),
        ('b', Value::Int(number)) => format!("{}{:b}", sign(*number), number.unsigned_abs()),
        ('b', Value::Uint(number)) => format!("{number:b}"),
        ('o', Value::Int(number)) => format!("{}{:o}", sign(*number), number.unsigned_abs()),
        ('o', Value::Uint(number)) => format!("{number:o}"),
        ('x' | 'X', Value::Int(number)) => format!("{}{:x}", sign(*number), number.unsigned_abs()),
        ('x' | 'X', Value::Uint(number)) => format!("{number:x}"),
        ('x' | 'X', Value::String(text)) => hexadecimal(text.as_bytes()),
        ('x' | 'X', Value::Bytes(bytes)) => hexadecimal(bytes),
        _ => String::new(),
    };
    if text.is_empty() && !matches!(value, Value::String(_) | Value::Bytes(_)) {
        return Err(Fault::text(format!("error during formatting: {}", refusal(letter, value.type_name()))));
    }
    Ok(if letter == 'X' { text.to_uppercase() } else { text })
}

const fn sign(number: i64) -> &'static str {
    if number < 0 { "-" } else { "" }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(number: f64) -> Option<String> {
    let name = if number.is_nan() {
        "NaN"
    } else if number.is_infinite() {
        if number > 0.0 { "∞" } else { "-∞" }
    } else {
        return None;
    };
    Some(name.to_owned())
}

/// With groups of three digits, as in American English.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(name) = special(number) {
        return name;
    }
    let plain = format!("{number:.precision$}");
    let (whole, fraction) =
        plain.split_once('.').map_or((&*plain, None), |(whole, rest)| (whole, Some(rest)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    fraction.map_or_else(|| grouped.clone(), |fraction| format!("{grouped}.{fraction}"))
}

/// As `1.052033 × 10⁰³`, with narrow spaces.
fn scientific(number: f64, precision: usize) -> String {
    if let Some(name) = special(number) {
        return name;
    }
    let plain = format!("{number:.precision$e}");
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let raised = |digit: char| match digit {
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        _ => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    };
    let exponent: String = format!("{exponent:0>2}").chars().map(raised).collect();
    format!("{digits}\u{202f}×\u{202f}10{sign}{exponent}")
}

/// What `%s` writes.
fn shown(value: &Value, budget: &Budget) -> Result<String, Fault> {
    budget.spend(1)?;
    match value {
        Value::Null => Ok("null".to_owned()),
        Value::List(list) => {
            let parts: Result<Vec<_>, _> = list.iter().map(|element| nested(element, budget)).collect();
            Ok(format!("[{}]", parts?.join(", ")))
        }
        Value::Map(map) => {
            let entry = |(key, value): (&Key, &Value)| {
                Ok(format!("{}:{}", nested(&key.value(), budget)?, nested(value, budget)?))
            };
            let mut parts = map.iter().map(entry).collect::<Result<Vec<_>, Fault>>()?;
            parts.sort();
            Ok(format!("{{{}}}", parts.join(", ")))
        }
        Value::Address(_) | Value::Prefix(_) => Err(Fault::text(refusal('s', value.type_name()))),
        _ => value.to_text().ok_or_else(|| {
            Fault::text(format!("error during formatting: {}", refusal('s', value.type_name())))
        }),
    }
}

/// A value inside a list or map.
fn nested(value: &Value, budget: &Budget) -> Result<String, Fault> {
    Ok(match value {
        Value::String(text) => format!("{text:?}"),
        Value::Double(number) if number.is_finite() => format!("{number:.6}"),
        Value::Double(number) => format!("{:?}", double_text(*number)),
        Value::Bytes(_) => format!("b{:?}", shown(value, budget)?),
        Value::Duration(_) => format!("duration({:?})", shown(value, budget)?),
        Value::Timestamp(_) => format!("timestamp({:?})", shown(value, budget)?),
        Value::Type(name) => format!("type({name})"),
        _ => shown(value, budget)?,
    })
}
