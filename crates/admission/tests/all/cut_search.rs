//! A manager's search for nodes that was cut shows in the trace, as a merge that was cut does.

use crate::fixture;
use crate::fixture::Asked;
use device_manager::{Device, Inventory};
use node_config::OwnOptions;
use topology_admission::{Compat, Detail, Search};

/// The search of a trace in which `vfs` devices are asked for, of 200 that are each near two of 64 nodes.
fn search(vfs: u64) -> Search {
    let info = fixture::machine("pack:64 [numa(memory=8GiB)] core:2 pu:2", 0);
    let config = fixture::config(&info, "single-numa-node", "container", 2);
    let node = fixture::node(&info, &config, Compat::default(), OwnOptions::default());
    let device = |n: u64| {
        let nodes = [n.wrapping_mul(0x9e37_79b9) >> 7 & 63, n.wrapping_mul(0x85eb_ca6b) >> 9 & 63];
        Device::new(&format!("vf-{n}"), &nodes.map(u64::cast_signed))
    };
    let inventory = Inventory::new(node.nodes().clone());
    let inventory = if vfs == 0 { inventory } else { inventory.with("example.com/vf", (0..200).map(device)) };
    let ledger = node.empty_ledger().with_inventory(inventory);
    let pod = fixture::pod("p", &[Asked { cpus: 2, memory: 64, vfs, ..Asked::default() }]);
    let (_, trace) = node.admission(&ledger, &pod).trace(Detail::Short);
    trace.units.first().unwrap().search
}

#[test]
fn a_cut_search_of_a_manager_reaches_the_trace() {
    assert_eq!(search(150), Search::Cut);
    assert_eq!(search(0), Search::Complete);
}
