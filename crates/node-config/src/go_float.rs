//! Numbers as Go's `strconv.FormatFloat(value, 'g', -1, 64)` writes them: in the kubelet's messages and metrics.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

/// Exponents below this are written with `e-`.
const SMALLEST_PLAIN: i32 = -4;
/// Exponents from this on are written with `e+`.
const FIRST_LARGE: i32 = 6;

/// The shortest text that reads as the same number, with an exponent from a million on and below 0.0001.
#[must_use]
pub fn go_float(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
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

    /// Answers of Go 1.26.
    #[test]
    fn numbers_are_written_as_go_writes_them() {
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.0, "-1"),
            (0.05, "0.05"),
            (819.2, "819.2"),
            (2.5e-6, "2.5e-06"),
            (1e-6, "1e-06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e5, "100000"),
            (123_456.0, "123456"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e20, "1e+20"),
            (6_442_450_944.0, "6.442450944e+09"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
        ] {
            assert_eq!(go_float(value), expected, "{value:e}");
        }
    }
}
