//! Merges the hints for CPUs and for a network card: `cargo run -p topology-policy --example merge_two_lists`.

use topology_policy::numa_bitmask::NodeMask;
use topology_policy::topology_hint::{Affinity, Answers, Hint, Preference};
use topology_policy::{KubeletPolicy, MergeError, Policy as _, Ties, WorkLimit};

fn main() -> Result<(), MergeError> {
    use Preference::{Acceptable, Preferred};
    let hint = |bits, preference| Hint { affinity: Affinity::Nodes(NodeMask::from_bits(bits)), preference };
    let mut answers = Answers::new();
    // CPUs are free on node 0 and on node 1; the card is on node 1.
    let cpus = [hint(0b01, Preferred), hint(0b10, Preferred), hint(0b11, Acceptable)];
    answers.push_list("cpu".into(), cpus.map(Into::into));
    let card = [hint(0b10, Preferred), hint(0b11, Acceptable)];
    answers.push_list("acme.com/nic".into(), card.map(Into::into));

    let (machine, limit) = (NodeMask::all(2), WorkLimit::default());
    let merged = KubeletPolicy::SingleNumaNode.merge(machine, Ties::LowestNumber, &answers, limit)?;
    assert_eq!(merged.admitted(), Some(hint(0b10, Preferred)));
    Ok(())
}
