//! JSON that readers of YAML take too.

use core::fmt::Write as _;

/// A text of JSON in which every character is escaped that a reader of YAML refuses or takes for a line's end, such as
/// U+007F; for the others the text is the same.
///
/// ```
/// use kubernetes_yaml::plain_json;
///
/// assert_eq!(plain_json("{\"a\": \"\u{7f} b \u{2028}\"}"), r#"{"a": "\u007f b \u2028"}"#);
/// ```
#[must_use]
pub fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            // All that is not ASCII is inside of strings; beyond 16 bits an escape would be two.
            code @ 0x7f..=0xffff => {
                // A `String` takes everything.
                let _ = write!(plain, "\\u{code:04x}");
            }
            _ => plain.push(c),
        }
    }
    plain
}
