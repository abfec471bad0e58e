//! Attributes of devices.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dra_model::{Attribute, AttributeValue};

use crate::errors::Faults;
use crate::path::Path;

/// The longest text or version, in bytes.
const LONGEST: usize = 64;

pub(crate) fn by_hand(attribute: &Attribute, at: &Path, faults: &mut Faults) {
    for value in &attribute.values {
        let at = at.child(value.field());
        match value {
            AttributeValue::String(text) => too_long(text, &at, faults),
            AttributeValue::Version(text) => version(text, &at, faults),
            AttributeValue::Versions(all) => {
                for (number, text) in all.iter().enumerate() {
                    version(text, &at.index(number), faults);
                }
            }
            _ => {}
        }
        if value.is_empty_list() {
            faults.invalid_value(&at, &"[]", "must not be empty if specified");
        }
    }
}

pub(crate) fn declared(attribute: &Attribute, at: &Path, faults: &mut Faults) {
    // A list without values is not set.
    let set: Vec<&str> =
        attribute.values.iter().filter(|value| !value.is_empty_list()).map(AttributeValue::field).collect();
    let all = "`int`, `bool`, `string`, `version`, `ints`, `bools`, `strings`, `versions`";
    match set.as_slice() {
        [] => faults.invalid(at, "", &format!("must specify one of: {all}")),
        [_] => {}
        several => {
            let several: String = format!("{{{}}}", several.join(", "));
            faults.invalid(at, &several, &format!("must specify exactly one of: {all}"));
        }
    }
    for value in &attribute.values {
        if let AttributeValue::Strings(all) = value {
            for (number, text) in all.iter().enumerate() {
                too_long(text, &at.child("strings").index(number), faults);
            }
        }
    }
}

fn too_long(text: &str, at: &Path, faults: &mut Faults) {
    if text.len() > LONGEST {
        faults.too_long(at, LONGEST);
    }
}

fn version(text: &str, at: &Path, faults: &mut Faults) {
    if !is_version(text) {
        faults.invalid(at, text, "must be a string compatible with semver.org spec 2.0.0");
    }
    too_long(text, at, faults);
}

/// `1.2.3`, `1.2.3-rc.1`, `1.2.3+build.7`: no leading zeros but in build identifiers.
fn is_version(text: &str) -> bool {
    let (rest, build) = text.split_once('+').map_or((text, None), |(rest, build)| (rest, Some(build)));
    let (core, before) = rest.split_once('-').map_or((rest, None), |(core, before)| (core, Some(before)));
    let is_number = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_pre_release =
        |part: &str| is_number(part) || (is_word(part) && !part.bytes().all(|byte| byte.is_ascii_digit()));
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && before.is_none_or(|before| before.split('.').all(is_pre_release))
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_semver_2() {
        for (text, expected) in [
            ("1.2.3", true),
            ("0.0.0", true),
            ("1.2.3-rc.1+build.007", true),
            ("1.2.3--", true),
            ("1.2.3-01a", true),
            ("1.2", false),
            ("v1.2.3", false),
            ("01.2.3", false),
            ("1.2.3-01", false),
            ("1.2.3-", false),
            ("1.2.3+", false),
            ("1.2.3+a+b", false),
            ("1.2.3 ", false),
            ("", false),
        ] {
            assert_eq!(is_version(text), expected, "{text}");
        }
    }
}
