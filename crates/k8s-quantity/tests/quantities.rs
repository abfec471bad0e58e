//! What a user of quantities sees, and properties against plain rational arithmetic.

use k8s_quantity::{Format, ParseError, Quantity, Sign, hugepage_resource_name};
use proptest::prelude::*;

fn quantity(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn keeps_or_rewrites_the_text() {
    for (text, shown, canonical) in [
        ("500m", "500m", "500m"),
        ("0.5", "500m", "500m"),
        ("1000m", "1", "1"),
        ("1000", "1k", "1k"),
        ("+1", "+1", "1"),
        ("001Gi", "001Gi", "1Gi"),
        ("1024Mi", "1Gi", "1Gi"),
        ("1.5Gi", "1536Mi", "1536Mi"),
        ("0.1Gi", "107374182400m", "107374182400m"),
        ("1023", "1023", "1023"),
        ("1E+3", "1E+3", "1e3"),
        ("1e17", "100e15", "100e15"),
        ("1.1n", "2n", "2n"),
        ("1e-4000", "1e-9", "1e-9"),
        ("1000E", "1", "1"),
        ("-", "0", "0"),
        (".Ki", "0", "0"),
        ("0e2000000000", "0", "0"),
    ] {
        let read = quantity(text);
        assert_eq!((&*read.to_string(), &*read.canonical().to_string()), (shown, canonical), "{text:?}");
    }
}

#[test]
fn the_inner_form_comes_with_the_text_and_with_arithmetic() {
    for (text, is_big) in [
        ("1536Mi", false),
        ("1.5Gi", true),
        ("1Pi", true),
        ("1.5G", false),
        ("12345678901234567890", true),
        ("1e19", false),
    ] {
        assert_eq!(quantity(text).is_big(), is_big, "{text}");
    }
    assert!((quantity("1.5Gi") + quantity("512Mi")).is_big());
    let small = quantity("2Gi");
    let big = small.clone().into_big();
    assert_eq!((small.as_int64(), big.as_int64()), (Some(2 << 30), None));
    assert_eq!((small == big, big.to_string()), (true, "2Gi".to_owned()));
}

#[test]
fn refuses_with_the_texts_of_kubernetes() {
    for text in ["", " 1", "1 Gi", "1B", "1e3.5", "1e1e1", "1..2", "1\n", "ä", "1µ"] {
        assert_eq!(text.parse::<Quantity>().unwrap_err(), ParseError::Format, "{text:?}");
    }
    for text in ["--1", "1+1", "1m1", "1K", "1ki", "1kk", "5-", "1e", "1e+", "1Ee1", "1e9223372036854775808"]
    {
        assert_eq!(text.parse::<Quantity>().unwrap_err(), ParseError::Suffix, "{text:?}");
    }
    for text in ["Ei", ".Pi", "-Pi"] {
        assert_eq!(text.parse::<Quantity>().unwrap_err(), ParseError::Numeric, "{text:?}");
    }
    assert_eq!(
        ParseError::Format.to_string(),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    );
}

#[test]
fn absurd_sizes_are_refused_and_absurd_smallness_is_a_billionth() {
    let long = "1".repeat(1 << 20);
    for text in ["1e2147483647", "-1e1000", "12345.6e100000", "1e99999999", &long, &format!("0.{long}Gi")] {
        assert_eq!(
            text.parse::<Quantity>().unwrap_err(),
            ParseError::TooLarge,
            "{}",
            &text[..text.len().min(20)]
        );
    }
    assert_eq!(quantity("1e999") - quantity("1e999"), Quantity::default());
    assert_eq!(quantity("1e-2147483648"), quantity("1n"));
    assert_eq!(quantity("-123.4e-99999"), quantity("-1n"));
    // An exponent of more than 32 bits is cut to them, as in the reference.
    assert_eq!(quantity("1e4294967297"), quantity("10"));
    // A zero's exponent and places are worth nothing, so they may not cost anything either.
    for zero in ["0e2147483647", "0e-2147483648", "0.00000000000000000000e-2147483648"] {
        assert_eq!((quantity(zero) + quantity("1Pi")).to_string(), "1Pi", "{zero}");
    }
}

#[test]
fn the_inner_form_decides_whether_there_is_an_integer() {
    for (text, expected) in [
        ("1Gi", Some(1 << 30)),
        ("2k", Some(2000)),
        ("1536Mi", Some(1536 << 20)),
        ("99Ti", Some(99 << 40)),
        ("0e100", Some(0)),
        ("1.5Gi", None),
        ("100Ti", None),
        ("1000m", None),
        ("1.0", None),
        ("10E", None),
    ] {
        assert_eq!(quantity(text).as_int64(), expected, "{text}");
    }
    assert_eq!((quantity("1Gi") + quantity("512Mi")).as_int64(), Some(1536 << 20));
    assert_eq!((quantity("1Gi") + quantity("0.5Gi")).as_int64(), None, "one big operand makes it big");
}

#[test]
fn rounds_up_to_thousandths() {
    for (text, rounded) in [
        ("1u", "1m"),
        ("-1u", "-1m"),
        ("1500u", "2m"),
        ("+0.5", "500m"),
        ("+1", "+1"),
        ("0.1Gi", "107374182400m"),
    ] {
        assert_eq!(quantity(text).round_up_to_milli().to_string(), rounded, "{text}");
    }
}

#[test]
fn sums_keep_the_format_of_what_is_not_zero() {
    for (a, b, sum, format) in [
        ("1Gi", "1Gi", "2Gi", Format::BinarySi),
        ("1Gi", "1000M", "2073741824", Format::BinarySi),
        ("0", "1Gi", "1Gi", Format::BinarySi),
        ("1Gi", "0", "1Gi", Format::BinarySi),
        ("500m", "1e0", "1500m", Format::DecimalSi),
        ("9E", "9E", "18E", Format::DecimalSi),
        ("1Gi", "-1Gi", "0", Format::BinarySi),
    ] {
        let total = quantity(a) + quantity(b);
        assert_eq!((total.to_string().as_str(), total.format()), (sum, format), "{a} + {b}");
    }
    assert_eq!(-quantity("+1"), quantity("-1"));
    assert_eq!((-quantity("+1")).to_string(), "-1");
    assert_eq!(
        (quantity("1") - Quantity::from_units(i64::MIN, Format::DecimalSi)).to_string(),
        "9223372036854775809"
    );
}

#[cfg(feature = "serde")]
#[test]
fn serialises_as_its_text() {
    let read: Vec<Quantity> = serde_json::from_str(r#"["001Gi", 1000, -1]"#).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), r#"["001Gi","1k","-1"]"#);
    assert!(serde_json::from_str::<Quantity>("1.5").is_err());
}

#[test]
fn constructors_and_names() {
    assert_eq!(Quantity::from_milli(1500, Format::DecimalSi).to_string(), "1500m");
    assert_eq!(Quantity::from_units(3 << 30, Format::BinarySi).to_string(), "3Gi");
    assert_eq!(Quantity::default().sign(), Sign::Zero);
    assert_eq!(Quantity::from_json_token("null").unwrap().format(), Format::Unspecified);
    assert_eq!(quantity("-0.5").ceil_units(), Some(0));
    assert_eq!(quantity("1.1").ceil_units(), Some(2));
    assert_eq!(quantity("1e21").ceil_units(), Some(10_i128.pow(21)));
    assert_eq!(quantity("1e50").ceil_units(), None);
    for (kib, name) in [
        (64, "64Ki"),
        (1536, "1536Ki"),
        (2048, "2Mi"),
        (1 << 24, "16Gi"),
        (0, "0"),
        (u64::MAX, "18446744073709551615Ki"),
    ] {
        assert_eq!(hugepage_resource_name(kib), format!("hugepages-{name}"));
    }
}

/// A quantity below the cap of binary ones (8Ei): its text, and its value in billionths.
fn modest() -> impl Strategy<Value = (String, i128)> {
    const SUFFIXES: [(&str, i128); 12] = [
        ("n", 1),
        ("u", 1_000),
        ("m", 1_000_000),
        ("", 1_000_000_000),
        ("k", 1_000_000_000_000),
        ("M", 1_000_000_000_000_000),
        ("e2", 100_000_000_000),
        ("E-1", 100_000_000),
        ("Ki", 1_000_000_000 << 10),
        ("Mi", 1_000_000_000 << 20),
        ("Gi", 1_000_000_000 << 30),
        ("Ti", 1_000_000_000 << 40),
    ];
    (-8_000_000_i64..8_000_000, 0..1000_i128, prop::sample::select(&SUFFIXES)).prop_map(
        |(whole, thousandths, (suffix, unit))| {
            let magnitude = (i128::from(whole.abs()) * 1000 + thousandths) * unit;
            // The finest suffixes lose digits below a billionth, always away from zero.
            let nanos = (magnitude + 999) / 1000;
            let sign = if whole < 0 { "-" } else { "" };
            let text = format!("{sign}{}.{thousandths:03}{suffix}", whole.abs());
            (text, if whole < 0 { -nanos } else { nanos })
        },
    )
}

proptest! {
    #[test]
    fn arithmetic_is_exact((a_text, a) in modest(), (b_text, b) in modest()) {
        let (a_read, b_read) = (quantity(&a_text), quantity(&b_text));
        prop_assert_eq!(a_read.cmp(&b_read), a.cmp(&b));
        let sum = &a_read + &b_read;
        prop_assert_eq!(&sum, &quantity(&format!("{}n", a + b)));
        prop_assert_eq!(&sum - &b_read, a_read);
        prop_assert_eq!(sum.ceil_units(), Some((a + b).div_euclid(1_000_000_000) + i128::from((a + b) % 1_000_000_000 != 0)));
    }

    #[test]
    fn canonical_text_reads_back_equal((text, _) in modest()) {
        let read = quantity(&text);
        let again = quantity(&read.canonical().to_string());
        prop_assert_eq!(&again, &read);
        prop_assert_eq!(again.canonical().to_string(), read.canonical().to_string());
    }

    #[test]
    fn values_of_requests_are_plain_ceilings(nanos in 0..9_000_000_000_000_000_000_i64) {
        let read = quantity(&format!("{nanos}n"));
        prop_assert_eq!(read.value(), (nanos + 999_999_999) / 1_000_000_000);
        prop_assert_eq!(read.milli_value(), (nanos + 999_999) / 1_000_000);
        prop_assert_eq!(read.nano_units(), Some(i128::from(nanos)));
        prop_assert_eq!(read.into_big().nano_units(), Some(i128::from(nanos)));
    }

    #[test]
    fn no_text_panics(text in "[-+.0-9a-zA-Z ]{0,12}|\\PC{0,12}|[-+]?[0-9.]{0,40}([eE][-+]?[0-9]{0,20}|[numkMGTPE]i?)") {
        if let Ok(read) = text.parse::<Quantity>() {
            let _ = (read.to_string(), read.canonical().to_string(), read.value(), read.milli_value(), read.as_int64());
            let _ = (&read + &read, -&read, read.cmp(&Quantity::default()), read.ceil_units(), read.round_up_to_milli());
        }
    }
}
