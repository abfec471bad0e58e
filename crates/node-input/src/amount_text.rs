//! Amounts as arguments have them.

use anyhow::{Context as _, ensure};
use k8s_quantity::{Quantity, Sign};

/// The bytes, or the number, of an amount in whatever form, if they are whole.
pub(crate) fn whole_units(size: &str) -> anyhow::Result<u64> {
    let amount = quantity(size)?;
    let no_amount = || no_quantity(size);
    ensure!(amount.sign() != Sign::Negative, no_amount());
    // A quantity that is read ends at the largest number, so that what is there may be more.
    let bytes = amount.ceil_units().and_then(|bytes| i64::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| *bytes < i64::MAX);
    let bytes = bytes.with_context(|| format!("{size} is more than any machine has"))?;
    ensure!(Quantity::from_units(bytes, amount.format()) == amount, "{size} is no whole number of bytes");
    Ok(u64::try_from(bytes)?)
}

/// An amount in whatever form.
///
/// # Errors
/// It is none.
pub fn quantity(text: &str) -> anyhow::Result<Quantity> {
    text.parse().ok().with_context(|| no_quantity(text))
}

/// That a text is no amount, in the words of every reader of amounts.
#[must_use]
pub fn no_quantity(text: &str) -> String {
    format!("{text:?} is no quantity, expected an amount such as 2, 500m or 1.5Gi")
}

/// The bytes of a page of this size, in whatever form; `None`: no page has it.
pub(crate) fn page_size(size: &str) -> Option<u64> {
    let bytes = u64::try_from(size.parse::<Quantity>().ok()?.as_int64()?).ok()?;
    (bytes.is_power_of_two() && bytes >= 4096).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_bytes_in_any_form() {
        for (text, bytes) in [
            ("64Gi", 64 << 30),
            ("1.5Gi", 3 << 29),
            ("3.5Gi", 7 << 29),
            ("65536.5Mi", (65536 << 20) + (1 << 19)),
            ("1Pi", 1 << 50),
            ("2000m", 2),
            ("0", 0),
        ] {
            assert_eq!(whole_units(text).unwrap(), bytes, "{text}");
        }
        for (text, error) in [
            ("1500m", "1500m is no whole number of bytes"),
            ("0.3Ki", "0.3Ki is no whole number of bytes"),
            ("64gi", "\"64gi\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
            ("", "\"\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
            ("-1", "\"-1\" is no quantity, expected an amount such as 2, 500m or 1.5Gi"),
            ("9Ei", "9Ei is more than any machine has"),
        ] {
            assert_eq!(whole_units(text).unwrap_err().to_string(), error);
        }
    }
}
