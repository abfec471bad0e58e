//! Amounts as arguments have them.

use anyhow::{Context as _, ensure};
use k8s_quantity::{Quantity, Sign};

/// The bytes, or the number, of an amount in whatever form, if they are whole.
pub(crate) fn whole_units(size: &str) -> anyhow::Result<u64> {
    let no_amount = || format!("expected an amount such as 64Gi, found {size:?}");
    let amount: Quantity = size.parse().ok().with_context(no_amount)?;
    ensure!(amount.sign() != Sign::Negative, no_amount());
    // A quantity that is read ends at the largest number, so that what is there may be more.
    let bytes = amount.ceil_units().and_then(|bytes| i64::try_from(bytes).ok());
    let bytes = bytes.filter(|bytes| *bytes < i64::MAX);
    let bytes = bytes.with_context(|| format!("no memory has the size {size}"))?;
    ensure!(Quantity::from_units(bytes, amount.format()) == amount, "{size} is no whole number of bytes");
    Ok(u64::try_from(bytes)?)
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
            ("64gi", "expected an amount such as 64Gi, found \"64gi\""),
            ("", "expected an amount such as 64Gi, found \"\""),
            ("-1", "expected an amount such as 64Gi, found \"-1\""),
            ("9Ei", "no memory has the size 9Ei"),
        ] {
            assert_eq!(whole_units(text).unwrap_err().to_string(), error);
        }
    }
}
