//! A merge allocates nothing, on any machine that is measured.

#[path = "../benches/cases/mod.rs"]
mod cases;

#[test]
fn merges_allocate_nothing() {
    for case in cases::all() {
        assert!(case.is_finished(), "{}", case.name);
        let mut merged = None;
        let allocations = allocation_counter::measure(|| merged = case.run());
        let (name, must_reach) = (&case.name, case.must_reach);
        assert_eq!(allocations.count_total, 0, "{name}, to be reached in {must_reach} ns: {merged:?}");
    }
}
