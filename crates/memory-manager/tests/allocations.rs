//! What a decision costs in memory.

mod cases;

use topology_hint::Answers;

#[test]
fn families_allocate_nothing() {
    let mut answers = Answers::new();
    for case in cases::all() {
        case.run(&mut answers);
        let counted = allocation_counter::measure(|| case.run(&mut answers)).count_total;
        assert_eq!(counted, 0, "{}", case.name);
    }
}
