//! The value of an option: `node,nodeid=0,cpus=0-1,cpus=4`, or the same as JSON.

use serde_json::Value;

/// Keys and values in their order; what has no key is under an empty one.
#[derive(Debug)]
pub(super) struct Options {
    /// As it was written.
    pub(super) text: String,
    pairs: Vec<(String, String)>,
}

impl Options {
    /// Reads a value; `None`: it is damaged JSON.
    pub(super) fn read(text: &str) -> Option<Self> {
        let pairs = if text.starts_with('{') { of_json(text)? } else { of_text(text) };
        Some(Self { text: text.to_owned(), pairs })
    }

    /// What the value begins with, if it has no key.
    pub(super) fn first(&self) -> Option<&str> {
        self.pairs.first().filter(|(key, _)| key.is_empty()).map(|(_, value)| value.as_str())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().rfind(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn all<'o>(&'o self, key: &'o str) -> impl Iterator<Item = &'o str> {
        self.pairs.iter().filter(move |(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, key: &str) -> Option<i64> {
        self.get(key)?.parse::<u32>().ok().map(i64::from)
    }
}

/// A comma in a value is doubled.
fn of_text(text: &str) -> Vec<(String, String)> {
    const DOUBLED: &str = "\u{0}";
    let text = text.replace(",,", DOUBLED);
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or(("", part));
        (key.trim().to_owned(), value.trim().replace(DOUBLED, ","))
    };
    text.split(',').map(pair).collect()
}

fn of_json(text: &str) -> Option<Vec<(String, String)>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let pair = |(key, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (key.clone(), value)
    };
    Some(value.as_object()?.iter().map(pair).collect())
}

/// `4096`, `4G`, `0.5T`; `unit` is that of a number alone. In bytes.
pub(super) fn size(text: &str, unit: u64) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(end)?;
    let unit: u64 = match suffix.trim_end_matches(['b', 'B', 'i']).to_ascii_lowercase().as_str() {
        "" if suffix.is_empty() => unit,
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let tenths = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part = if part.is_empty() { 0 } else { part.parse::<u64>().ok()?.checked_mul(unit)? / tenths };
    whole.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::{Options, size};

    #[test]
    fn sizes_are_read_in_each_unit() {
        for (text, bytes) in [
            ("4096", Some(4096 << 20)),
            ("4G", Some(4 << 30)),
            ("512m", Some(512 << 20)),
            ("0.5G", Some(1 << 29)),
            ("1B", Some(1)),
            ("x", None),
            ("4X", None),
        ] {
            assert_eq!(size(text, 1 << 20), bytes, "{text}");
        }
    }

    #[test]
    fn keys_can_be_repeated_and_commas_doubled() {
        let options = Options::read("node,cpus=0-1,cpus=4,path=a,,b").unwrap();
        assert_eq!(options.first(), Some("node"));
        assert_eq!(options.all("cpus").collect::<Vec<_>>(), ["0-1", "4"]);
        assert_eq!(options.get("path"), Some("a,b"));
        assert_eq!(Options::read(r#"{"id":"m0","size":1024}"#).unwrap().get("size"), Some("1024"));
        assert!(Options::read("{").is_none());
    }
}
