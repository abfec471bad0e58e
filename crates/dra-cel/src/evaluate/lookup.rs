//! What has a key or an index in a value.

use crate::value::{Fault, Key, Value};

/// A value of the device, which is not copied, or another.
#[derive(Debug)]
pub(super) enum Held<'a> {
    Borrowed(&'a Value),
    Owned(Value),
}

impl Held<'_> {
    pub(super) const fn value(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Owned(value) => value,
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Owned(value) => value,
        }
    }
}

/// What has a key or an index in a value.
pub(super) fn found_in<'a>(held: &Held<'a>, shown: &Value, key: &Key) -> Result<Option<Held<'a>>, Fault> {
    match held {
        Held::Borrowed(value) => looked_up(value, shown, key).map(|found| Some(Held::Borrowed(found))),
        Held::Owned(value) => looked_up(value, shown, key).map(|found| Some(Held::Owned(found.clone()))),
    }
}

fn looked_up<'v>(value: &'v Value, shown: &Value, key: &Key) -> Result<&'v Value, Fault> {
    match value {
        Value::Map(map) => map.find(key).ok_or_else(|| Fault::NoKey(shown.clone())),
        Value::List(list) => {
            let index = index(key)?;
            let found = usize::try_from(index).ok().and_then(|index| list.get(index));
            found.ok_or_else(|| Fault::Text(alloc::format!("{OUT_OF_BOUNDS}{}", shown.shown())))
        }
        _ => Err(Fault::NoKey(shown.clone())),
    }
}

const OUT_OF_BOUNDS: &str = "index out of bounds: ";

/// Whether a fault says that something is not there, which an optional access takes for an answer.
pub(super) fn is_absence(fault: &Fault) -> bool {
    match fault {
        Fault::NoKey(_) => true,
        Fault::Text(text) => text.starts_with(OUT_OF_BOUNDS),
        _ => false,
    }
}

/// A number of any type as an index.
fn index(key: &Key) -> Result<i64, Fault> {
    let number = match *key {
        Key::Int(number) => Some(number),
        Key::Uint(number) => i64::try_from(number).ok(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "compared afterwards"
        )]
        Key::Double(bits) => {
            let number = f64::from_bits(bits);
            let whole = number as i64;
            (whole as f64 - number == 0.0).then_some(whole)
        }
        _ => None,
    };
    number.ok_or_else(|| Fault::text("unsupported index type in list"))
}
