//! Words that stand for an option.

use crate::ManifestError;
use crate::node::Field;

/// Sets an option to what the word at `key` means; where there is none it stays.
pub(super) fn choose<T: Copy>(
    parent: &Field<'_>,
    key: &str,
    expected: &'static str,
    words: &[(&str, T)],
    option: &mut T,
) -> Result<(), ManifestError> {
    if let Some(field) = parent.get(key)? {
        let text = field.text(expected)?;
        let meant = words.iter().find(|(word, _)| *word == text);
        *option = meant.ok_or_else(|| field.unexpected(expected))?.1;
    }
    Ok(())
}
