//! Values as text: YAML in block style and in one line, and JSON.

use serde_json::Value as Json;

/// In which language a text is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// JSON, which YAML is too.
    Json,
    /// YAML that is no JSON.
    Yaml,
}

impl Language {
    /// That of a text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() { Self::Json } else { Self::Yaml }
    }
}

/// A value in one line.
pub(super) fn flow(value: &Json, language: Language) -> String {
    if language == Language::Json {
        return value.to_string();
    }
    match value {
        Json::Object(fields) => {
            let fields =
                ordered(fields).map(|(key, value)| format!("{}: {}", scalar(key), flow(value, language)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Json::Array(items) => {
            format!("[{}]", items.iter().map(|own| flow(own, language)).collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// JSON over several lines, the first of which begins anywhere and the others at `indent` blanks.
pub(super) fn pretty(value: &Json, indent: usize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{}", " ".repeat(indent)))
}

/// `key: value` as lines that begin at `indent` blanks, each with its end.
pub(super) fn block(key: &str, value: &Json, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let key = scalar(key);
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            let lines: String = ordered(fields).map(|(key, value)| block(key, value, indent + 2)).collect();
            format!("{margin}{key}:\n{lines}")
        }
        Json::Array(items) if !items.is_empty() => {
            let items: String = items.iter().map(|own| item(own, indent)).collect();
            format!("{margin}{key}:\n{items}")
        }
        other => format!("{margin}{key}: {}\n", flow(other, Language::Yaml)),
    }
}

fn item(value: &Json, indent: usize) -> String {
    let margin = " ".repeat(indent);
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            let lines: String = ordered(fields).map(|(key, value)| block(key, value, indent + 2)).collect();
            let rest = lines.get(indent + 2..).unwrap_or_default();
            format!("{margin}- {rest}")
        }
        other => format!("{margin}- {}\n", flow(other, Language::Yaml)),
    }
}

/// Scalars first: `numaNode` before its `limits`.
fn ordered(fields: &serde_json::Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    let is_nested = |value: &Json| value.is_object() || value.is_array();
    let scalars = fields.iter().filter(move |(_, value)| !is_nested(value));
    scalars.chain(fields.iter().filter(move |(_, value)| is_nested(value)))
}

/// A document of these fields in this order.
#[must_use]
pub fn document(fields: &[(String, Json)], language: Language) -> String {
    match language {
        Language::Yaml => fields.iter().map(|(key, value)| block(key, value, 0)).collect(),
        Language::Json => {
            let fields = fields
                .iter()
                .map(|(key, value)| format!("  {}: {}", Json::from(key.as_str()), pretty(value, 2)));
            format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n"))
        }
    }
}

/// A text as a scalar of YAML: plain where every reader takes it for a text, else in double quotes.
fn scalar(text: &str) -> String {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    let begins_well = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'/');
    // Quantities and percentages: digits and a unit.
    let unit = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    let is_quantity = unit.len() < text.len() && matches!(unit, "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "m" | "%");
    let keyword = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let is_keyword = keyword.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_quantity || (begins_well && text.bytes().all(is_word) && !is_keyword) {
        text.to_owned()
    } else {
        Json::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_texts() {
        for (text, written) in [
            ("static", "static"),
            ("/system.slice", "/system.slice"),
            ("memory.available", "memory.available"),
            ("2Gi", "2Gi"),
            ("10%", "10%"),
            ("0", "\"0\""),
            ("0,24", "\"0,24\""),
            ("true", "\"true\""),
            ("No", "\"No\""),
            ("1e3", "\"1e3\""),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn reservations_are_written_as_people_write_them() {
        let value = serde_json::json!([{"limits": {"memory": "1Gi"}, "numaNode": 0}]);
        let lines = "  reservedMemory:\n  - numaNode: 0\n    limits:\n      memory: 1Gi\n";
        assert_eq!(block("reservedMemory", &value, 2), lines);
        assert_eq!(flow(&value, Language::Yaml), "[{numaNode: 0, limits: {memory: 1Gi}}]");
    }
}
