//! Bodies that are JSON. An object is written as one, and with each key once: what is written otherwise is refused.
//!
//! serde by itself reads a struct from an array of its fields too, and of equal keys of a map the last one counts.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use super::failure::Failure;

/// Reads a body.
pub(super) fn parsed<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, Failure> {
    let read = serde_json::from_slice(body).map(|Object(read)| read);
    read.map_err(|error| Failure::wrong(format!("body: {error}")))
}

/// Reads a field that is an object.
pub(super) fn object<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<T, D::Error> {
    Object::deserialize(field).map(|Object(read)| read)
}

/// Reads a field that is a list of objects.
pub(super) fn objects<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Vec<T>, D::Error> {
    let list = Vec::<Object<T>>::deserialize(field)?;
    Ok(list.into_iter().map(|Object(read)| read).collect())
}

/// Reads a field that is an object with any keys, each of them once.
pub(super) fn unique<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    field: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    object(field).map(|Unique(read)| read)
}

/// What is written as an object.
struct Object<T>(T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        // Where a map is asked for, an array is an error that does not say so.
        field.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<T, A::Error> {
        Err(A::Error::custom("expected an object, found an array"))
    }
}

/// Values by key.
struct Unique<T>(BTreeMap<String, T>);

struct UniqueVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Unique<T> {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        field.deserialize_map(UniqueVisitor(PhantomData)).map(Self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for UniqueVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut all = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
            all.insert(key, map.next_value()?);
        }
        Ok(all)
    }
}
