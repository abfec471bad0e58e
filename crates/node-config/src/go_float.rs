//! Numbers as Go's `%v` prints them.

use alloc::format;
use alloc::string::{String, ToString};

/// Exponents below this are printed with `e-`.
const SMALLEST_PLAIN: i32 = -4;
/// Exponents from this on are printed with `e+`.
const FIRST_LARGE: i32 = 6;

/// The shortest text that reads as the same number, which is finite.
pub(crate) fn go_float(value: f64) -> String {
    let shortest = format!("{value:e}");
    let Some((digits, exponent)) = shortest.split_once('e') else { return shortest };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (SMALLEST_PLAIN..FIRST_LARGE).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::go_float;

    #[test]
    fn large_and_small_numbers_have_exponents() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.1, "-0.1"),
            (1.1, "1.1"),
            (0.0001, "0.0001"),
            (-0.00001, "-1e-05"),
            (999_999.0, "999999"),
            (1_234_567.0, "1.234567e+06"),
            (1.5e300, "1.5e+300"),
        ] {
            assert_eq!(go_float(value), expected);
        }
    }
}
