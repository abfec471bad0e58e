//! What is measured: machines and requests of the sizes that the project answers for.

use numa_bitmask::{NodeIndex, NodeMask};
use topology_hint::{Affinity, Answers, Hint, ListedHint, Preference};
use topology_policy::{DistanceIndex, Distances, KubeletPolicy, Ties};

/// One merge.
pub(crate) struct Case {
    pub(crate) name: String,
    /// In nanoseconds, on an idle 2.5 GHz core.
    pub(crate) must_reach: u64,
    policy: KubeletPolicy,
    nodes: NodeMask,
    distances: Option<Distances>,
    answers: Answers,
}

impl Case {
    pub(crate) fn run(&self) -> Option<NodeMask> {
        let ties = self.distances.as_ref().map_or(Ties::LowestNumber, Ties::Closest);
        let merged = self.policy.merge_with(self.nodes, &self.answers, ties.into());
        merged.ok().and_then(|merged| merged.hint.affinity.nodes())
    }

    /// Whether the merge ends within the default bound.
    pub(crate) fn is_finished(&self) -> bool {
        let ties = self.distances.as_ref().map_or(Ties::LowestNumber, Ties::Closest);
        self.policy.merge_with(self.nodes, &self.answers, ties.into()).is_ok()
    }
}

const ALIGNED: [KubeletPolicy; 3] =
    [KubeletPolicy::BestEffort, KubeletPolicy::Restricted, KubeletPolicy::SingleNumaNode];

/// Every case, the smallest machine first.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (note, preferred) in [("preferred exists", 1), ("nothing preferred", 0)] {
        cases.push(Case {
            name: format!("2 nodes, 3 providers x 3 hints, {note}"),
            must_reach: 200,
            policy: KubeletPolicy::BestEffort,
            nodes: NodeMask::all(2),
            distances: None,
            answers: lists(2, 3, preferred),
        });
        cases.push(Case {
            name: format!("8 nodes, 4 providers x 255 hints, {note}"),
            must_reach: 20_000,
            policy: KubeletPolicy::BestEffort,
            nodes: NodeMask::all(8),
            distances: None,
            answers: lists(8, 4, preferred),
        });
    }
    for (note, asked) in [("preferred exists", 20), ("nothing preferred", 24), ("one wants two nodes", 31)] {
        cases.push(Case {
            name: format!("8-node families, 4 providers, {note}"),
            must_reach: 2_000,
            policy: KubeletPolicy::BestEffort,
            nodes: NodeMask::all(8),
            distances: None,
            answers: eight_nodes(asked),
        });
    }
    for gpus in [Gpus::OnCpuNodes, Gpus::OnMemoryNodes] {
        for (note, cpus) in [("fits", 60), ("does not fit", 71)] {
            for policy in ALIGNED {
                cases.push(Case {
                    name: format!("GB200 tray, 34 nodes, {}, {note}, {}", gpus.note(), policy.name()),
                    must_reach: 50_000,
                    policy,
                    nodes: NodeMask::all(34),
                    distances: None,
                    answers: gb200(gpus, cpus),
                });
            }
        }
    }
    for (note, cpus, sizes) in
        [("", 96, (8, 8)), (", sizes differ", 96, (8, 2)), (", no 8 suffice", 127, (8, 8))]
    {
        for (ties, must_reach) in [("", 60_000), (", prefer-closest", 10_000_000)] {
            cases.push(Case {
                name: format!("32-node EPYC, 8 nodes needed, fragmented{note}{ties}"),
                must_reach,
                policy: KubeletPolicy::BestEffort,
                nodes: NodeMask::all(32),
                distances: (!ties.is_empty()).then(turin_distances),
                answers: turin(cpus, sizes),
            });
        }
    }
    for policy in [KubeletPolicy::BestEffort, KubeletPolicy::Restricted] {
        cases.push(Case {
            name: format!("64 nodes each in single use, CPUs over 8 nodes, {}", policy.name()),
            must_reach: 1_000_000,
            policy,
            nodes: NodeMask::all(64),
            distances: None,
            answers: single_use(),
        });
    }
    cases
}

/// Every node set as a hint of each provider; those of `preferred` nodes are preferred.
fn lists(nodes: usize, providers: usize, preferred: u32) -> Answers {
    let mut answers = Answers::new();
    for _ in 0..providers {
        let hint = |mask: NodeMask| {
            let is_preferred = mask.len() == preferred;
            let preference = if is_preferred { Preference::Preferred } else { Preference::Acceptable };
            ListedHint::from(Hint { affinity: Affinity::Nodes(mask), preference })
        };
        answers.push_list("r", NodeMask::all(nodes).subsets().map(hint));
    }
    answers
}

fn push_each(
    answers: &mut Answers,
    name: &str,
    need: u64,
    free: impl Fn(usize) -> usize,
    nodes: NodeMask,
    size: u32,
) {
    let supply = nodes.iter().map(|node| (NodeMask::single(node), free(node.get()) as u64));
    answers.push_family(name).open(nodes).need(need, supply).preferred_size(size);
}

/// CPUs, memory, huge pages and virtual functions; 30 CPUs are installed on a node.
fn eight_nodes(cpus: u64) -> Answers {
    let all = NodeMask::all(8);
    let mut answers = Answers::new();
    push_each(&mut answers, "cpu", cpus, |node| [4, 12, 8, 26, 30, 16, 22, 6][node], all, 1);
    push_each(&mut answers, "memory", 64, |node| 40 + 10 * node, all, 1);
    push_each(&mut answers, "hugepages-1Gi", 8, |node| node % 4 * 4, all, 1);
    push_each(&mut answers, "intel.com/vf", 2, |node| [0, 1, 2, 0, 1, 2, 2, 0][node], all, 1);
    answers
}

#[derive(Clone, Copy)]
enum Gpus {
    OnCpuNodes,
    OnMemoryNodes,
}

impl Gpus {
    const fn note(self) -> &'static str {
        match self {
            Self::OnCpuNodes => "GPUs on the CPU nodes",
            Self::OnMemoryNodes => "GPUs on 4 memory nodes",
        }
    }
}

/// 72 CPUs a socket, two GPUs a socket; memory on the two CPU nodes and the four nodes of the GPUs.
fn gb200(gpus: Gpus, cpus: u64) -> Answers {
    let node = |at| NodeIndex::new(at).map_or(NodeMask::EMPTY, NodeMask::single);
    let cpu_nodes = NodeMask::all(2);
    let gpu_nodes = [2, 10, 18, 26].map(node);
    let memory_nodes = gpu_nodes.into_iter().fold(cpu_nodes, |all, node| all | node);
    let mut answers = Answers::new();
    let (gpus_of, within): (Vec<(NodeMask, u64)>, NodeMask) = match gpus {
        Gpus::OnCpuNodes => (vec![(node(0), 2), (node(1), 2)], cpu_nodes),
        Gpus::OnMemoryNodes => (gpu_nodes.map(|node| (node, 1)).to_vec(), memory_nodes - cpu_nodes),
    };
    answers.push_family("nvidia.com/gpu").open(within).need(2, gpus_of).preferred_size(1);
    push_each(&mut answers, "cpu", cpus, |node| [70, 64][node], cpu_nodes, 1);
    push_each(&mut answers, "memory", 200, |node| if node < 2 { 480 } else { 186 }, memory_nodes, 1);
    answers
}

/// 16 CPUs and 64 GiB on each of 32 nodes, of which a part is free.
fn turin(cpus: u64, (size, memory_size): (u32, u32)) -> Answers {
    let all = NodeMask::all(32);
    let mut answers = Answers::new();
    push_each(&mut answers, "cpu", cpus, |node| 2 + node * 7 % 15, all, size);
    push_each(&mut answers, "memory", 300, |node| 20 + node * 11 % 37, all, memory_size);
    push_each(&mut answers, "intel.com/vf", 8, |node| node * 5 % 4, all, size);
    answers
}

/// Four nodes a quadrant, four quadrants a socket, two sockets.
fn turin_distances() -> Distances {
    let distance = |a: u64, b: u64| match (a == b, a / 4 == b / 4, a / 16 == b / 16) {
        (true, ..) => 10,
        (_, true, _) => 11,
        (_, _, true) => 12,
        _ => 32,
    };
    let row = |node: u64| (0..32).map(|other| distance(node, other)).collect();
    Distances::new((0..32_u64).zip(0..).map(|(node, id)| (id, Some(row(node)))), DistanceIndex::ByPosition)
}

/// Memory and huge pages of every node in single use, so that each node fits alone only.
fn single_use() -> Answers {
    let all = NodeMask::all(64);
    let mut answers = Answers::new();
    push_each(&mut answers, "cpu", 60, |node| 5 + node % 4, all, 8);
    for name in ["memory", "hugepages-1Gi"] {
        let mut family = answers.push_family(name);
        family.preferred_size(1);
        for node in all {
            family.mask(node.into(), Preference::Preferred);
        }
    }
    answers
}
