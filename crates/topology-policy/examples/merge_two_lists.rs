//! Merges the hints for CPUs and for a network card: `cargo run -p topology-policy --example merge_two_lists`.

use topology_policy::numa_bitmask::NodeMask;
use topology_policy::topology_hint::{Answers, Hint};
use topology_policy::{KubeletPolicy, MergeError};

fn main() -> Result<(), MergeError> {
    let mut answers = Answers::new();
    answers.push_list("cpu", [Hint::preferred([0]), Hint::preferred([1]), Hint::acceptable([0, 1])]);
    answers.push_list("acme.com/nic", [Hint::preferred([1]), Hint::acceptable([0, 1])]);
    let merged = KubeletPolicy::SingleNumaNode.merge(NodeMask::all(2), &answers)?;
    assert_eq!(merged.admitted(), Some(Hint::preferred([1])));
    Ok(())
}
