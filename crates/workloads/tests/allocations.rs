//! What must not allocate does not, and what allocates does so no more often than it did.

use workloads::{Prepared, catalogue};

#[test]
fn bounds_of_allocations_hold() {
    let bounded =
        catalogue().unwrap().into_iter().filter_map(|row| Some((row.work, row.target.allocations?)));
    let mut seen = 0;
    for (work, most) in bounded {
        let prepared = Prepared::new(&work).unwrap();
        prepared.once();
        let counted = allocation_counter::measure(|| prepared.once());
        assert!(counted.count_total <= most, "{}: {} allocations", work.name, counted.count_total);
        seen += 1;
    }
    assert!(seen > 0, "no bound was looked at");
}
