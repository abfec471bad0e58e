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

#[test]
fn holdings_of_500_pods_are_small() {
    let policy = cases::policy(8);
    let mut held = None;
    let used = allocation_counter::measure(|| held = Some(cases::crowded(&policy, 500)));
    let (pods, bytes) = (held.iter().flat_map(cpu_manager::Holdings::iter).count(), used.bytes_current);
    assert_eq!(pods, 500);
    assert!(bytes <= 256 << 10, "{bytes} bytes");
}
