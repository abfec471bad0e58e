//! On which NUMA node each container has what it holds, in the form of the Go module `numaplacement`, version `v001`.
//!
//! A reader knows the containers of the node, and asks where each is. So the object does not name them: containers are
//! sorted by a hash of their names, and each zone lists the places of its containers in that order as a vector. The zone
//! with most containers has no vector: what no vector lists is there.
//!
//! - The hash is XXH64, seeded with 0, of namespace, pod and container with a zero byte between them.
//! - A vector is the first place and then the differences of the others, ascending, each as [`leb89`] writes a number.
//! - The metadata has the number of containers (`cc`), of NUMA nodes (`nn`) and the node without a vector (`bn`).
//!
//! Listed are containers of a pod's steady state, so no ordinary init containers, that hold exclusive CPUs,
//! memory bound to nodes, or devices with a NUMA node. The form has one node for a container: if one of them
//! has resources from several, no placement is published, as a reader would take it for none of the node's
//! containers.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::Hasher as _;

use device_manager::{DeviceId, HeldOn};
use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, Role};
use topology_model::NodeId;
use twox_hash::XxHash64;

use crate::facts::NodeFacts;

/// The placement of all containers of a node that are on one NUMA node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Placement {
    metadata: String,
    vectors: BTreeMap<NodeId, String>,
}

/// Where a container has what it holds.
enum Place {
    /// It holds nothing that has a NUMA node.
    Anywhere,
    /// On one node.
    On(NodeId),
    /// On several, or on a node that is none.
    Elsewhere,
}

impl Placement {
    /// `None` if a container is on several NUMA nodes, or the names of a pod that holds something are not known.
    pub(crate) fn of(facts: &NodeFacts<'_>) -> Option<Self> {
        let mut placed = BTreeMap::new();
        for pod in facts.ledger.pods() {
            for container in pod.containers.iter().filter(|container| container.role != Role::Init) {
                match facts.place(pod, container) {
                    Place::Anywhere => {}
                    Place::On(_) if pod.namespace.is_empty() => return None,
                    Place::On(node) => {
                        let name = container.name.as_str();
                        placed.insert(hash(&pod.namespace, &pod.name, name), node);
                    }
                    Place::Elsewhere => return None,
                }
            }
        }
        Some(Self::encode(&placed, facts.node.nodes().ids()))
    }

    fn encode(placed: &BTreeMap<u64, NodeId>, nodes: impl Iterator<Item = NodeId>) -> Self {
        let mut places: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        for (place, node) in placed.values().enumerate() {
            places.entry(*node).or_default().push(place);
        }
        // Of several the lowest.
        let mut busiest = (NodeId(0), 0);
        for (node, own) in &places {
            if own.len() > busiest.1 {
                busiest = (*node, own.len());
            }
        }
        // A reader takes a node for one only below this number, so it counts ids that the machine lacks too.
        let count = nodes.map(|node| node.0 + 1).max().unwrap_or(0);
        let metadata = format!("npv0v001::ve=leb89::cc={}::nn={count}::bn={}", placed.len(), busiest.0.0);
        places.remove(&busiest.0);
        let vectors = places.into_iter().map(|(node, own)| (node, vector(&own))).collect();
        Self { metadata, vectors }
    }

    pub(crate) fn metadata(&self) -> &str {
        &self.metadata
    }

    /// `None` for the node with most containers, and those without.
    pub(crate) fn vector(&self, node: NodeId) -> Option<&str> {
        self.vectors.get(&node).map(String::as_str)
    }
}

impl NodeFacts<'_> {
    /// CPUs and memory decide; devices have to agree with them.
    fn place(&self, pod: &Pod, container: &Container) -> Place {
        let (nodes, name) = (self.node.nodes(), &container.name);
        let cpus = self.ledger.cpus().and_then(|held| held.assigned(&pod.uid, name));
        let cpus = cpus.zip(self.node.cpus()).map(|(cpus, policy)| policy.nodes_of(cpus));
        let memory = self.ledger.memory().and_then(|held| held.assigned(&pod.uid, name));
        let memory = memory.into_iter().flatten().flat_map(|block| block.nodes.iter());
        let bound = memory.fold(cpus.unwrap_or(NodeMask::EMPTY), NodeMask::with);
        let mut candidates: Option<BTreeSet<NodeId>> =
            (!bound.is_empty()).then(|| nodes.ids_of(bound).collect());
        if candidates.as_ref().is_some_and(|bound| bound.len() > 1) {
            return Place::Elsewhere;
        }
        for (_, held) in self.ledger.devices().of_container(&pod.uid, name) {
            let mut by_device: BTreeMap<&DeviceId, BTreeSet<NodeId>> = BTreeMap::new();
            for (on, devices) in held.by_node() {
                let HeldOn::Node(node) = on else { continue };
                for device in devices {
                    by_device.entry(device).or_default().insert(node);
                }
            }
            for own in by_device.into_values() {
                candidates = Some(match candidates {
                    Some(before) => before.intersection(&own).copied().collect(),
                    None => own,
                });
            }
        }
        let Some(candidates) = candidates else { return Place::Anywhere };
        let mut each = candidates.into_iter();
        match (each.next(), each.next()) {
            (Some(only), None) if nodes.index_of(only).is_some() => Place::On(only),
            _ => Place::Elsewhere,
        }
    }
}

fn hash(namespace: &str, pod: &str, container: &str) -> u64 {
    let mut sum = XxHash64::with_seed(0);
    for (at, name) in [namespace, pod, container].into_iter().enumerate() {
        if at > 0 {
            sum.write(&[0]);
        }
        sum.write(name.as_bytes());
    }
    sum.finish()
}

/// Ascending numbers: the first, and then by how much each is more than the one before.
fn vector(places: &[usize]) -> String {
    let mut text = String::new();
    let mut before = 0;
    for place in places {
        leb89(place - before, &mut text);
        before = *place;
    }
    text
}

/// Those that end a number.
const LAST: usize = 64;
/// Those that more follow.
const MORE: usize = 25;

/// A number in letters: the last is one of 64, those before it each one of 25 others. Numbers from 64 on are written less
/// 64, as those below need one letter.
fn leb89(number: usize, to: &mut String) {
    let Some(rest) = number.checked_sub(LAST) else { return to.push(letter(number)) };
    let (mut high, last) = (rest / LAST, rest % LAST);
    let mut digits = Vec::new();
    loop {
        digits.push(high % MORE);
        high /= MORE;
        if high == 0 {
            break;
        }
    }
    to.extend(digits.into_iter().rev().map(|digit| letter(LAST + digit)));
    to.push(letter(last));
}

/// Printable ASCII letters but for the five that JSON of Go escapes.
fn letter(at: usize) -> char {
    let mut letters = ('!'..='~').filter(|letter| !matches!(letter, '"' | '&' | '<' | '>' | '\\'));
    // There are as many as the alphabets together.
    letters.nth(at).unwrap_or('!')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: usize) -> String {
        let mut text = String::new();
        leb89(number, &mut text);
        text
    }

    /// The numbers are those of numaplacement's own tests.
    #[test]
    fn hashes_are_those_of_numaplacement() {
        assert_eq!(hash("", "", ""), 11_145_182_160_106_660_097);
        assert_eq!(hash("ns", "pod", "cnt"), 9_468_815_510_407_277_218);
    }

    /// What `leb89` reads back.
    fn read(text: &str) -> usize {
        let at = |letter: char| (0..LAST + MORE).find(|at| super::letter(*at) == letter).unwrap();
        let (mut high, mut is_long) = (0, false);
        for letter in text.chars() {
            match at(letter) {
                last if last < LAST && !is_long => return last,
                last if last < LAST => return LAST + high * LAST + last,
                digit => {
                    high = high * MORE + digit - LAST;
                    is_long = true;
                }
            }
        }
        panic!("{text} does not end")
    }

    #[test]
    fn numbers_are_written_as_leb89() {
        let letters: String = (0..LAST + MORE).map(letter).collect();
        assert_eq!(letters.len(), 89);
        assert!(letters.starts_with("!#$%'()") && letters.ends_with("{|}~"), "{letters}");
        for (number, length) in [(0, 1), (63, 1), (64, 2), (1663, 2), (1664, 3), (40_063, 3), (40_064, 4)] {
            assert_eq!(written(number).len(), length, "{number}");
        }
        let texts = [0, 63, 64, 1663].map(written);
        assert_eq!(texts, ["!", "e", "f!", "~e"]);
        for number in (0..3000).chain([40_063, 40_064, 1_000_063]) {
            assert_eq!(read(&written(number)), number);
        }
    }

    /// The containers and the vector of the resource topology exporter's own test.
    #[test]
    fn vectors_are_those_of_the_exporter() {
        let containers = [
            ("guaranteed-ns", "pod1", "app", 0),
            ("guaranteed-ns", "pod1", "app-2", 0),
            ("burst-ns", "pod2", "sidecar", 1),
            ("mem-ns", "pod4", "cnt-mem-1", 1),
            ("mem-ns", "pod4", "cnt-mem-2", 0),
        ];
        let placed = containers.map(|(space, pod, name, node)| (hash(space, pod, name), NodeId(node)));
        let placement = Placement::encode(&placed.into(), [NodeId(0), NodeId(1)].into_iter());
        assert_eq!(placement.metadata(), "npv0v001::ve=leb89::cc=5::nn=2::bn=0");
        assert_eq!((placement.vector(NodeId(0)), placement.vector(NodeId(1))), (None, Some("!#")));
    }

    #[test]
    fn an_empty_node_and_one_with_a_gap_in_its_ids() {
        let empty = Placement::encode(&BTreeMap::new(), [NodeId(0), NodeId(1)].into_iter());
        assert_eq!((empty.metadata(), empty.vectors.len()), ("npv0v001::ve=leb89::cc=0::nn=2::bn=0", 0));
        let placed = BTreeMap::from([(1, NodeId(2)), (2, NodeId(0)), (3, NodeId(2))]);
        let gap = Placement::encode(&placed, [NodeId(0), NodeId(2)].into_iter());
        assert_eq!(gap.metadata(), "npv0v001::ve=leb89::cc=3::nn=3::bn=2");
        assert_eq!(gap.vector(NodeId(0)), Some("#"), "the second of them");
    }
}
