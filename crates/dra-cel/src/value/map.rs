//! Maps, and the values that can be keys.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Value;

/// A map. Its entries are visited in the order of their keys; cel-go's order is random.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    entries: BTreeMap<Key, Value>,
    /// Entries in the order of their keys, of a map that was made at once; then there are no others.
    fixed: Vec<(Key, Value)>,
    absent: Absent,
}

/// What is found under a key that a map does not have.
#[derive(Clone, Debug, Default)]
pub(crate) enum Absent {
    #[default]
    Nothing,
    /// This, as in `device.attributes`.
    Default(Value),
}

/// A value that can be a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// By its bits.
    Double(u64),
    String(Arc<str>),
}

impl Key {
    /// The key that a value is; `None` for lists, maps and the like.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Int(value) => Self::Int(*value),
            Value::Uint(value) => Self::Uint(*value),
            Value::Double(value) => Self::Double(value.to_bits()),
            Value::String(value) => Self::String(value.clone()),
            _ => return None,
        })
    }

    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Uint(value) => Value::Uint(*value),
            Self::Double(bits) => Value::Double(f64::from_bits(*bits)),
            Self::String(value) => Value::String(value.clone()),
        }
    }

    /// The same number in the other types.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "compared afterwards")]
    #[expect(clippy::cast_sign_loss, clippy::float_cmp, reason = "compared afterwards, for equality")]
    fn same_numbers(&self) -> [Option<Self>; 2] {
        match *self {
            Self::Int(value) => {
                [u64::try_from(value).ok().map(Self::Uint), Some(Self::Double((value as f64).to_bits()))]
            }
            Self::Uint(value) => {
                [i64::try_from(value).ok().map(Self::Int), Some(Self::Double((value as f64).to_bits()))]
            }
            Self::Double(bits) => {
                let value = f64::from_bits(bits);
                let int = (value as i64) as f64 == value;
                let uint = (value as u64) as f64 == value;
                [int.then_some(Self::Int(value as i64)), uint.then_some(Self::Uint(value as u64))]
            }
            _ => [None, None],
        }
    }
}

impl Map {
    /// Of entries by ascending key, each key once. Such a map costs one allocation, which counts for devices.
    pub(crate) fn of_sorted(fixed: Vec<(Key, Value)>) -> Self {
        Self { fixed, ..Self::default() }
    }

    pub(crate) fn with_default(mut self, value: Value) -> Self {
        self.absent = Absent::Default(value);
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() + self.fixed.len()
    }

    /// Sets an entry, and says whether the key was new.
    pub(crate) fn insert(&mut self, key: Key, value: Value) -> Inserted {
        self.entries.extend(self.fixed.drain(..));
        match self.entries.insert(key, value) {
            None => Inserted::New,
            Some(_) => Inserted::Replaced,
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.entries.extend(self.fixed.drain(..));
        self.entries.remove(key);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.fixed.iter().map(|(key, value)| (key, value)).chain(&self.entries)
    }

    /// The entry of a key, or of the same number in another type; without a default.
    pub(crate) fn entry(&self, key: &Key) -> Option<&Value> {
        self.own(key).or_else(|| key.same_numbers().iter().flatten().find_map(|other| self.own(other)))
    }

    fn own(&self, key: &Key) -> Option<&Value> {
        if self.fixed.is_empty() {
            return self.entries.get(key);
        }
        let place = self.fixed.binary_search_by(|(other, _)| other.cmp(key)).ok()?;
        self.fixed.get(place).map(|(_, value)| value)
    }

    /// As [`Self::entry`], or the default.
    pub(crate) fn find(&self, key: &Key) -> Option<&Value> {
        self.entry(key).or(match &self.absent {
            Absent::Nothing => None,
            Absent::Default(value) => Some(value),
        })
    }
}

/// What an insertion did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inserted {
    New,
    Replaced,
}
