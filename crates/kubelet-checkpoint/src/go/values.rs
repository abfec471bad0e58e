//! Go's basic types: strings, numbers, bytes, lists, maps and pointers.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use cpuset::go_atoi;
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use super::{
    Dump, Found, Go, Item, JsonError, JsonFault, Key, Kind, List, Map, Reader, TypeName, base64, quote,
};

macro_rules! text {
    ($($type:ty: $name:literal;)*) => {$(
        impl Go for $type {
            const TYPE: TypeName = TypeName::Plain($name);

            fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
                match reader.kind() {
                    Kind::Text => *self = Self::from(&*reader.string()),
                    other => reader.other(other, of),
                }
                Ok(())
            }

            fn write(&self, json: &mut String) {
                quote(json, self.as_str());
            }

            fn dump(&self, dump: &mut Dump, of: TypeName) {
                dump.begin(of);
                dump.put(self.as_str());
            }

            fn is_left_out(&self) -> bool {
                self.as_str().is_empty()
            }
        }

        impl Item for $type {
            fn zero() -> Self {
                Self::from("")
            }
        }

        impl Key for $type {
            const TYPE: TypeName = TypeName::Plain($name);

            fn parse(text: &str) -> Option<Self> {
                Some(Self::from(text))
            }

            fn shown(&self) -> Cow<'_, str> {
                Cow::Borrowed(self.as_str())
            }
        }
    )*};
}

text! {
    String: "string";
    PodUid: "string";
    ContainerName: "string";
    ResourceName: "v1.ResourceName";
}

macro_rules! integer {
    ($($type:ty, $name:literal, $make:expr, $number:expr;)*) => {$(
        impl Go for $type {
            const TYPE: TypeName = TypeName::Plain($name);

            fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
                match reader.kind() {
                    Kind::Number => {
                        let at = reader.at();
                        let text = reader.number();
                        match text.parse() {
                            Ok(number) => *self = $make(number),
                            Err(_) => reader.refuse(at, JsonFault::wrong_type(Found::Number(text), of)),
                        }
                    }
                    other => reader.other(other, of),
                }
                Ok(())
            }

            fn write(&self, json: &mut String) {
                // Writing to a text cannot fail.
                let _ = write!(json, "{}", $number(*self));
            }

            fn dump(&self, dump: &mut Dump, of: TypeName) {
                dump.begin(of);
                dump.show($number(*self));
            }
        }

        impl Item for $type {
            fn zero() -> Self {
                $make(0)
            }
        }
    )*};
}

integer! {
    u64, "uint64", core::convert::identity, core::convert::identity;
    i64, "int64", core::convert::identity, core::convert::identity;
    NodeId, "int", NodeId, |id: NodeId| id.0;
}

impl Key for i64 {
    const TYPE: TypeName = TypeName::Plain("int64");

    fn parse(text: &str) -> Option<Self> {
        go_atoi(text).ok()
    }

    fn shown(&self) -> Cow<'_, str> {
        Cow::Owned(self.to_string())
    }
}

impl Key for NodeId {
    const TYPE: TypeName = TypeName::Plain("int");

    fn parse(text: &str) -> Option<Self> {
        go_atoi(text).ok().map(Self)
    }

    fn shown(&self) -> Cow<'_, str> {
        Cow::Owned(self.0.to_string())
    }
}

impl<T: Item> Go for List<T> {
    const TYPE: TypeName = TypeName::List(&T::TYPE);

    fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
        match reader.kind() {
            Kind::Array => {
                // A list that is read a second time is read into the items that it has.
                let items = self.get_or_insert_default();
                let mut count = 0;
                reader.array(|reader| {
                    if count == items.len() {
                        items.push(T::zero());
                    }
                    count += 1;
                    items.get_mut(count - 1).map_or(Ok(()), |item| item.read(reader, T::TYPE))
                })?;
                items.truncate(count);
            }
            Kind::Null => {
                *self = None;
                reader.skip();
            }
            other => reader.other(other, of),
        }
        Ok(())
    }

    fn write(&self, json: &mut String) {
        let Some(items) = self else { return json.push_str("null") };
        json.push('[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            item.write(json);
        }
        json.push(']');
    }

    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        let Some(items) = self else { return dump.put("<nil>") };
        dump.put("[");
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                dump.put(" ");
            }
            item.dump(dump.item(), T::TYPE);
        }
        dump.put("]");
    }

    fn is_left_out(&self) -> bool {
        self.as_ref().is_none_or(Vec::is_empty)
    }
}

impl<K: Key, V: Item> Go for Map<K, V> {
    const TYPE: TypeName = TypeName::Map(&K::TYPE, &V::TYPE);

    fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
        match reader.kind() {
            Kind::Object => {
                // A map that is read a second time keeps the entries that it has.
                let entries = self.get_or_insert_default();
                reader.object(|reader, name, offset| {
                    let mut value = V::zero();
                    value.read(reader, V::TYPE)?;
                    match K::parse(&name) {
                        Some(key) => {
                            if entries.insert(key, value).is_some() {
                                reader.repeated(offset, &name);
                            }
                        }
                        None => reader.refuse(offset, JsonFault::wrong_type(Found::Number(&name), K::TYPE)),
                    }
                    Ok(())
                })?;
            }
            Kind::Null => {
                *self = None;
                reader.skip();
            }
            other => reader.other(other, of),
        }
        Ok(())
    }

    fn write(&self, json: &mut String) {
        let Some(entries) = self else { return json.push_str("null") };
        // By the bytes of their text, also where keys are numbers.
        let mut sorted: Vec<(Cow<'_, str>, &V)> =
            entries.iter().map(|(key, value)| (key.shown(), value)).collect();
        sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
        json.push('{');
        for (at, (key, value)) in sorted.into_iter().enumerate() {
            if at > 0 {
                json.push(',');
            }
            quote(json, &key);
            json.push(':');
            value.write(json);
        }
        json.push('}');
    }

    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        let Some(entries) = self else { return dump.put("<nil>") };
        dump.put("map[");
        for (at, (key, value)) in entries.iter().enumerate() {
            if at > 0 {
                dump.put(" ");
            }
            dump.put(&key.shown());
            dump.put(":");
            value.dump(dump.item(), V::TYPE);
        }
        dump.put("]");
    }

    fn is_left_out(&self) -> bool {
        self.as_ref().is_none_or(BTreeMap::is_empty)
    }
}

impl<T: Item> Item for List<T> {
    fn zero() -> Self {
        None
    }
}

impl<K: Key, V: Item> Item for Map<K, V> {
    fn zero() -> Self {
        None
    }
}

/// Bytes.
impl Go for Option<Vec<u8>> {
    const TYPE: TypeName = TypeName::Plain("[]uint8");

    fn read(&mut self, reader: &mut Reader<'_>, of: TypeName) -> Result<(), JsonError> {
        match reader.kind() {
            Kind::Text => {
                let at = reader.at();
                match base64::decode(reader.string().as_bytes()) {
                    Ok(bytes) => *self = Some(bytes),
                    Err(wrong) => reader.refuse(at, JsonFault::Base64 { at: wrong }),
                }
            }
            // Go takes a list of numbers too.
            Kind::Array => {
                let mut numbers = self.take().map(|bytes| bytes.into_iter().map(Byte).collect::<Vec<_>>());
                numbers.read(reader, of)?;
                *self = numbers.map(|numbers| numbers.into_iter().map(|Byte(byte)| byte).collect());
            }
            Kind::Null => {
                *self = None;
                reader.skip();
            }
            other => reader.other(other, of),
        }
        Ok(())
    }

    fn write(&self, json: &mut String) {
        let Some(bytes) = self else { return json.push_str("null") };
        json.push('"');
        base64::encode(json, bytes);
        json.push('"');
    }

    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        let Some(bytes) = self else { return dump.put("<nil>") };
        dump.put("[");
        for (at, byte) in bytes.iter().enumerate() {
            if at > 0 {
                dump.put(" ");
            }
            dump.byte(*byte);
        }
        dump.put("]");
    }
}

/// One byte in a list of numbers.
#[derive(Clone, Copy)]
struct Byte(u8);

integer! {
    Byte, "uint8", Byte, |byte: Byte| byte.0;
}

/// What a pointer in a map points to.
macro_rules! pointed_to {
    ($($type:ty),*) => {$(
        impl $crate::go::Go for Option<$type> {
            const TYPE: $crate::go::TypeName =
                $crate::go::TypeName::Pointer(&<$type as $crate::go::Go>::TYPE);

            fn read(
                &mut self,
                reader: &mut $crate::go::Reader<'_>,
                _: $crate::go::TypeName,
            ) -> Result<(), $crate::go::JsonError> {
                if reader.kind() == $crate::go::Kind::Null {
                    *self = None;
                    reader.skip();
                    return Ok(());
                }
                let of = <$type as $crate::go::Go>::TYPE;
                self.get_or_insert_default().read(reader, of)
            }

            fn write(&self, json: &mut alloc::string::String) {
                match self {
                    Some(value) => value.write(json),
                    None => json.push_str("null"),
                }
            }

            fn dump(&self, dump: &mut $crate::go::Dump, _: $crate::go::TypeName) {
                match self {
                    Some(value) => {
                        dump.put("<*>");
                        value.dump(dump.item(), <$type as $crate::go::Go>::TYPE);
                    }
                    None => dump.put("<nil>"),
                }
            }
        }

        impl $crate::go::Item for Option<$type> {
            fn zero() -> Self {
                None
            }
        }
    )*};
}
pub(crate) use pointed_to;
