//! What a decision costs in memory.

#[path = "../benches/cases/mod.rs"]
mod cases;

use cases::Allocates;
use topology_hint::Answers;

#[test]
fn families_allocate_nothing() {
    let mut answers = Answers::new();
    let families = cases::all().into_iter().filter(|case| case.allocates == Allocates::Nothing);
    for case in families {
        case.run(&mut answers);
        let counted = allocation_counter::measure(|| case.run(&mut answers)).count_total;
        assert_eq!(counted, 0, "{}, to be reached in {} ns", case.name, case.must_reach);
    }
}
