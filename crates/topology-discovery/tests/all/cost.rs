//! What a reading costs, in memory: measured where time would be noise.

use allocation_counter::measure;
use topology_discovery::{SysfsTree, read};

/// The most that may be in use at once, unpacked archive included.
const MOST_BYTES: u64 = 32 << 20;

#[test]
fn the_largest_machines_are_read_in_little_memory() {
    for name in ["turin-9755-nps4-l3numa-32node", "lx2-608cpu-hbm-32node", "power8-phyp-1024cpu-16node"] {
        let archive = machine_fixtures::archive(name).unwrap();
        let mut cpus = 0;
        let cost = measure(|| {
            let tree = SysfsTree::archive(archive).unwrap();
            cpus = read(&tree).unwrap().machine.online().len() as u64;
        });
        println!("{name}: {} KiB at once, {} allocations", cost.bytes_max >> 10, cost.count_total);
        assert!(cost.bytes_max < MOST_BYTES, "{name}: {} bytes at once", cost.bytes_max);
        // A CPU has some thirty files and folders.
        assert!(cost.count_total < 320 * cpus, "{name}: {} allocations for {cpus} CPUs", cost.count_total);
    }
}
