//! A ledger brought in line with what really runs.

use crate::fixture;
use crate::fixture::Asked;
use node_config::OwnOptions;
use pod_spec::{Holder, PodUid};
use topology_admission::{Compat, Ledger, Node, RunningPods};

const ASKED: [Asked; 2] = [
    Asked { cpus: 2, memory: 512, pages: 1, vfs: 1, gpus: 0 },
    Asked { cpus: 1, memory: 256, pages: 0, vfs: 0, gpus: 1 },
];

fn node() -> Node {
    let info = fixture::machine("xeon-2s-96cpu-sriov", 4);
    let config = fixture::config(&info, "single-numa-node", "pod", 2);
    fixture::node(&info, &config, Compat::default(), OwnOptions::default())
}

fn with_pods(node: &Node, names: &[&str]) -> Ledger {
    let empty = node.empty_ledger().with_inventory(fixture::inventory(node, 8));
    names.iter().fold(empty, |ledger, name| {
        let attempt = node.admission(&ledger, &fixture::pod(name, &ASKED)).attempt();
        ledger.commit(attempt).unwrap()
    })
}

fn held(ledger: &Ledger) -> String {
    let pods: Vec<_> = ledger.pods().map(|pod| &pod.name).collect();
    let hints: Vec<_> = ledger.hints().collect();
    let devices: Vec<_> = ledger.devices().iter().collect();
    let taken: Vec<_> = ledger.devices().all_taken().collect();
    format!("{pods:?} {:?} {:?} {devices:?} {taken:?} {hints:?}", ledger.cpus(), ledger.memory())
}

#[test]
fn a_pod_stays_whole_while_one_of_its_containers_runs() {
    let node = node();
    let all = with_pods(&node, &["a", "b", "c"]);
    assert_eq!(all.pods().count(), 3);
    let uid = |name: &str| all.pods().find(|pod| pod.name == name).unwrap().uid.clone();
    let (a, b, c) = (uid("a"), uid("b"), uid("c"));
    let runs =
        |holder: &Holder| *holder.pod() == b && holder.container().is_some_and(|name| name.as_str() == "c1");

    let after = all.retain(runs);
    assert_eq!(held(&after), held(&all.release(&a).release(&c)));
    assert!(after.version() > all.version());
    assert_eq!(after.devices().of_pod(&b).count(), 2, "what its other container was granted, too");

    // What runs as it is booked is no change.
    assert_eq!(after.retain(runs).version(), after.version());
    let nothing = all.retain(|_| false);
    assert_eq!(held(&nothing), held(&with_pods(&node, &[])));
}

#[test]
fn what_a_state_file_has_of_pods_that_nobody_knows_stays_if_they_run() {
    let node = node();
    let before = with_pods(&node, &["a", "b"]);
    let uids: Vec<PodUid> = before.pods().map(|pod| pod.uid.clone()).collect();
    let found = node.restore(node.stored(&before), RunningPods::default()).unwrap();
    let after = found.retain(|holder| *holder.pod() == uids[1]);
    let (cpus, memory) = (after.cpus().unwrap(), after.memory().unwrap());
    assert!(cpus.iter().all(|(pod, ..)| *pod == uids[1]) && cpus.iter().count() == 2);
    assert!(memory.iter().all(|(pod, ..)| *pod == uids[1]) && memory.iter().count() == 2);
    assert_eq!(after.devices().pods().collect::<Vec<_>>(), [&uids[1]]);
}
