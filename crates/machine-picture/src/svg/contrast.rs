//! How well letters of a colour can be read on another, for tests of the colours.

/// The contrast of two colours, `#rrggbb` or `#rgb`, from 1 to 21: WCAG 2.2's ratio.
pub(super) fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let wide = digits.len() / 3;
    let part = |at: usize| {
        let value = u32::from_str_radix(&digits[at * wide..(at + 1) * wide], 16).expect("a colour in a test");
        let share = f64::from(value) / f64::from(16_u32.pow(if wide == 1 { 1 } else { 2 }) - 1);
        if share <= 0.040_45 { share / 12.92 } else { libm::pow((share + 0.055) / 1.055, 2.4) }
    };
    0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
}

#[test]
fn contrasts_are_those_of_the_standard() {
    for (one, other, expected) in
        [("#fff", "#000000", 21.0), ("#777777", "#ffffff", 4.48), ("#abc", "#aabbcc", 1.0)]
    {
        let found = contrast(one, other);
        assert!((found - expected).abs() < 0.01, "{one} on {other}: {found}");
    }
}
