//! The set against a plain sorted set, and the texts that people and kernels write.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use cpuset::{CpuId, CpuOutOfRange, CpuSet, KernelListError, KernelMaskError, ParseError, go_atoi, go_quote};
use proptest::prelude::*;

fn cpu(id: usize) -> CpuId {
    CpuId::new(id).unwrap_or_else(|error| panic!("{id}: {error}"))
}

fn set(ids: &BTreeSet<usize>) -> CpuSet {
    ids.iter().map(|&id| cpu(id)).collect()
}

fn ids(set: &CpuSet) -> BTreeSet<usize> {
    set.iter().map(CpuId::get).collect()
}

fn hash(set: &CpuSet) -> u64 {
    let mut hasher = DefaultHasher::new();
    set.hash(&mut hasher);
    hasher.finish()
}

/// The canonical list, written the slow way.
fn naive_list(ids: &BTreeSet<usize>) -> String {
    let starts = ids.iter().filter(|&&id| id == 0 || !ids.contains(&(id - 1)));
    let runs = starts.map(|&start| {
        (start, (start..CpuId::LIMIT).take_while(|id| ids.contains(id)).last().unwrap_or(start))
    });
    let texts =
        runs.map(|(start, end)| if start == end { start.to_string() } else { format!("{start}-{end}") });
    texts.collect::<Vec<_>>().join(",")
}

/// Sets of every density and width, most of them with runs.
fn some_ids() -> impl Strategy<Value = BTreeSet<usize>> {
    let runs = prop::collection::vec((0..CpuId::LIMIT, 1..80_usize), 0..6);
    let near = prop::collection::vec((0..200_usize, 1..5_usize), 0..20);
    prop_oneof![runs, near].prop_map(|runs| {
        runs.into_iter().flat_map(|(start, len)| start..(start + len).min(CpuId::LIMIT)).collect()
    })
}

proptest! {
    #[test]
    fn algebra_is_that_of_sorted_sets(a in some_ids(), b in some_ids()) {
        let (one, two) = (set(&a), set(&b));
        prop_assert_eq!(ids(&(&one | &two)), &a | &b);
        prop_assert_eq!(ids(&(&one & &two)), &a & &b);
        prop_assert_eq!(ids(&(&one - &two)), &a - &b);
        prop_assert_eq!(one.intersection_len(&two), (&a & &b).len());
        prop_assert_eq!(one.is_subset(&two), a.is_subset(&b));
        prop_assert_eq!((&one & &two).is_subset(&one), true);
        prop_assert_eq!(one.is_disjoint(&two), a.is_disjoint(&b));
        prop_assert_eq!(one == two, a == b);
        prop_assert_eq!((one.len(), one.is_empty()), (a.len(), a.is_empty()));
        prop_assert_eq!(one.first().map(CpuId::get), a.first().copied());
        prop_assert_eq!(one.last().map(CpuId::get), a.last().copied());
    }

    #[test]
    fn equal_sets_are_equal_however_they_came_about(a in some_ids(), b in some_ids()) {
        let (direct, two) = (set(&(&a - &b)), set(&b));
        let mut one_by_one = set(&(&a | &b));
        for id in &two {
            prop_assert!(one_by_one.remove(id));
            prop_assert!(!one_by_one.remove(id) && !one_by_one.contains(id));
        }
        let mut assigned = set(&a);
        assigned |= &two;
        assigned -= &two;
        for same in [&one_by_one, &assigned, &(&direct & &direct)] {
            prop_assert_eq!(same, &direct);
            prop_assert_eq!(hash(same), hash(&direct));
        }
    }

    #[test]
    fn every_text_form_reads_back(a in some_ids()) {
        let one = set(&a);
        prop_assert_eq!(one.to_string(), naive_list(&a));
        prop_assert_eq!(one.to_string().parse::<CpuSet>(), Ok(one.clone()));
        prop_assert_eq!(CpuSet::from_kernel_list(&format!("{one}\n")), Ok(one.clone()));
        prop_assert_eq!(CpuSet::from_kernel_mask(&format!("{}\n", one.kernel_mask())), Ok(one));
    }

    #[test]
    fn ranges_hold_what_lies_between(start in 0..300_usize, end in 0..300_usize) {
        prop_assert_eq!(ids(&CpuSet::range(cpu(start)..=cpu(end))), (start..=end).collect());
    }

    #[test]
    fn no_text_panics(text in "[-+,:/0-9a-f \n]{0,20}|\\PC{0,12}") {
        let _ = (text.parse::<CpuSet>(), CpuSet::from_kernel_list(&text), CpuSet::from_kernel_mask(&text));
    }
}

#[cfg(feature = "serde")]
#[test]
fn serialises_as_its_text() {
    let set: CpuSet = serde_json::from_str(r#""2,0-1""#).unwrap();
    assert_eq!(serde_json::to_string(&set).unwrap(), r#""0-2""#);
    assert!(serde_json::from_str::<CpuSet>(r#""1-""#).is_err());
}

#[test]
fn the_kubelets_grammar() {
    for (text, expected) in [
        ("", Ok("")),
        ("3,1,2-2,0", Ok("0-3")),
        ("+1,007", Ok("1,7")),
        ("8191", Ok("8191")),
        ("-1", Err(r#"strconv.Atoi: parsing "": invalid syntax"#)),
        ("0-3\n", Err(r#"strconv.Atoi: parsing "3\n": invalid syntax"#)),
        ("1-2-3", Err(r#"strconv.Atoi: parsing "2-3": invalid syntax"#)),
        ("1--2", Err(r#"invalid range "1--2" (1 > -2)"#)),
        ("3-+1,x", Err(r#"invalid range "3-+1" (3 > 1)"#)),
        ("0-8192", Err("CPU 8192 is out of range: ids are 0 to 8191")),
        ("0-9223372036854775807", Err("CPU 9223372036854775807 is out of range: ids are 0 to 8191")),
        ("9000,x", Err(r#"strconv.Atoi: parsing "x": invalid syntax"#)),
        (
            "99999999999999999999x",
            Err(r#"strconv.Atoi: parsing "99999999999999999999x": value out of range"#),
        ),
    ] {
        let read = text.parse::<CpuSet>();
        let shown = read.as_ref().map(CpuSet::to_string).map_err(ParseError::to_string);
        assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
    }
}

#[test]
fn the_kernels_lists() {
    for (text, expected) in [
        ("\n", Ok("")),
        ("", Ok("")),
        ("0-3,8\n", Ok("0-3,8")),
        ("0-31:1/2\n", Ok("0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30")),
        ("0-31:2/8,40", Ok("0-1,8-9,16-17,24-25,40")),
        ("4-9:3/3", Ok("4-9")),
        ("0 2", Ok("0,2")),
        ("3-1", Err("not a CPU list: bad part \"3-1\"")),
        ("0-7:3/2", Err("not a CPU list: bad part \"0-7:3/2\"")),
        ("0-7:0/0", Err("not a CPU list: bad part \"0-7:0/0\"")),
        ("5:1/2", Err("not a CPU list: bad part \"5:1/2\"")),
        ("+1", Err("not a CPU list: bad part \"+1\"")),
        (
            "0-99999999999999999999",
            Err("CPU list part \"0-99999999999999999999\" is out of range: ids are 0 to 8191"),
        ),
    ] {
        let read = CpuSet::from_kernel_list(text);
        let shown = read.as_ref().map(CpuSet::to_string).map_err(KernelListError::to_string);
        assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
    }
}

#[test]
fn the_kernels_masks() {
    let wide = format!("{}ff", "00000000,".repeat(400));
    for (text, expected) in [
        ("0\n", Ok("")),
        ("ff", Ok("0-7")),
        ("FF,00000001", Ok("0,32-39")),
        ("1,1", Ok("0,32")),
        (wide.as_str(), Ok("0-7")),
        ("", Err("not a CPU mask: bad group \"\"")),
        ("ff,", Err("not a CPU mask: bad group \"\"")),
        ("0xff", Err("not a CPU mask: bad group \"0xff\"")),
        ("+f", Err("not a CPU mask: bad group \"+f\"")),
        ("123456789", Err("not a CPU mask: bad group \"123456789\"")),
    ] {
        let read = CpuSet::from_kernel_mask(text);
        let shown = read.as_ref().map(CpuSet::to_string).map_err(KernelMaskError::to_string);
        assert_eq!(shown, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
    }
    let past_the_limit = format!("1{}", ",00000000".repeat(256));
    assert_eq!(CpuSet::from_kernel_mask(&past_the_limit), Err(KernelMaskError::TooLarge));
    assert_eq!(CpuSet::from(cpu(33)).kernel_mask().to_string(), "00000002,00000000");
    assert_eq!(CpuSet::new().kernel_mask().to_string(), "00000000");
}

#[test]
fn quotes_as_go_does() {
    for (text, quoted) in [
        ("a\"b\\c'", r#""a\"b\\c'""#),
        ("\x07\x08\x0c\n\r\t\x0b\0\x1b\x7f", r#""\a\b\f\n\r\t\v\x00\x1b\x7f""#),
        ("é–日🎉", "\"é–日🎉\""),
        ("\u{301}x", "\"\u{301}x\""),
        (
            "\u{a0}\u{85}\u{200b}\u{feff}\u{2028}\u{e000}\u{ad}",
            r#""\u00a0\u0085\u200b\ufeff\u2028\ue000\u00ad""#,
        ),
        ("\u{e0001}\u{10fffd}", r#""\U000e0001\U0010fffd""#),
    ] {
        assert_eq!(go_quote(text).to_string(), quoted);
    }
    assert_eq!(go_atoi("-9223372036854775808"), Ok(i64::MIN));
    assert!(["9223372036854775808", "-9223372036854775809"].iter().all(|text| go_atoi(text).is_err()));
}

#[test]
fn ids_end_where_the_kernel_ends() {
    assert_eq!(CpuId::new(8191).map(CpuId::get), Ok(8191));
    assert_eq!((CpuId::new(8192), CpuId::try_from(-1)), (Err(CpuOutOfRange), Err(CpuOutOfRange)));
    assert_eq!(format!("{:?} {}", CpuSet::range(cpu(0)..=cpu(3)), cpu(7)), "CpuSet(0-3) 7");
}
