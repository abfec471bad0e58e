//! Time and memory of a view of many nodes, one line of JSON for each number of nodes:
//! `cargo run --release -p scheduler-extender --features std --example growth`.
//!
//! Each node has eight NUMA nodes, 256 CPUs and 60 pods; no two nodes are alike. The numbers of nodes are the arguments:
//! `-- 10 100 1000 5000 10000`; without any they are 10 and 100.

use std::collections::BTreeSet;
use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scheduler_extender::pod_spec::{Container, Pod, PodLevelResources, ResourceList, Role};
use scheduler_extender::topology_admission::node_config::{KubeletConfiguration, ReservedMemory};
use scheduler_extender::topology_admission::topology_model::{KubeletView, MachineInfo};
use scheduler_extender::topology_admission::{Ledger, Node, Verdict};
use scheduler_extender::{NodeFacts, NodeState, OneThread, ScopedThreads, StateVersion, Threads, View};

const PODS: usize = 60;
/// So many nodes change before a known shape is measured.
const CHANGED: usize = 10;
/// A new shape is measured so often, and the least of the times is taken: others use the machine, too.
const TIMES: usize = 5;
/// So many kinds of pods have room kept for them.
const KINDS: u64 = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let asked = std::env::args().skip(1).map(|count| count.parse()).collect::<Result<Vec<usize>, _>>()?;
    let counts = if asked.is_empty() { vec![10, 100] } else { asked };
    let node = Arc::new(node()?);
    let mut fleet = Fleet {
        node,
        view: View::new(),
        nodes: 0,
        ledgers: Vec::new(),
        random: 1,
        change: 0,
        shapes: 0,
        publishing: Duration::ZERO,
        fit: 0,
    };
    if std::env::var("WITHOUT_ROOM").is_err() {
        fleet.learn()?;
    }
    let before = resident_bytes()?;
    for count in counts {
        fleet.grow(count)?;
        let new = fleet.new_shape(&OneThread)?;
        let new_by_two = fleet.new_shape(&ScopedThreads(NonZeroUsize::MIN.saturating_add(1)))?;
        let bytes = resident_bytes()?.saturating_sub(before);
        let (changed, unchanged, scored) = fleet.known_shape()?;
        let in_flight = fleet.in_flight()?;
        let published = fleet.publishing.as_micros() / u128::from(fleet.change.max(1));
        let fit = fleet.fit;
        println!(
            "{{\"nodes\":{count},\"fit\":{fit},\"new_shape_ms\":{new:.3},\"new_shape_two_threads_ms\":{new_by_two:.3},\
             \"ten_changed_ms\":{changed:.3},\"unchanged_ms\":{unchanged:.3},\"score_ms\":{scored:.3},\"one_in_flight_ms\":{in_flight:.3},\"publish_us_per_node\":{published},\
             \"bytes\":{bytes},\"bytes_per_node\":{}}}",
            bytes / count.max(1)
        );
    }
    Ok(())
}

fn node() -> Result<Node, Box<dyn Error>> {
    let machine: MachineInfo = "pack:2 numa:4(memory=64GiB) l3:2 core:8 pu:2".parse()?;
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        reserved_system_cpus: text("0"),
        topology_manager_policy: text("single-numa-node"),
        reserved_memory: vec![ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), "1Gi".parse()?)].into(),
        }],
        ..KubeletConfiguration::default()
    };
    config.system_reserved.insert("memory".to_owned(), "924Mi".to_owned());
    Ok(Node::start(&KubeletView::new(&machine)?, &config)?)
}

struct Fleet {
    node: Arc<Node>,
    view: View,
    nodes: usize,
    /// Of the first ten nodes, which change.
    ledgers: Vec<Ledger>,
    random: u64,
    change: u64,
    shapes: u64,
    /// How long the view took for everything that was published.
    publishing: Duration,
    /// How many nodes the last new shape fits.
    fit: usize,
}

impl Fleet {
    fn grow(&mut self, count: usize) -> Result<(), Box<dyn Error>> {
        while self.nodes < count {
            let at = self.nodes;
            let mut ledger = self.node.empty_ledger();
            for number in 0..PODS {
                ledger = self.admitted(&ledger, &format!("pod-{at}-{number}"))?;
            }
            self.publish(at, ledger.clone());
            self.nodes += 1;
            if at < CHANGED {
                self.ledgers.push(ledger);
            }
        }
        Ok(())
    }

    /// Pods of so many kinds as room is kept for have come.
    fn learn(&mut self) -> Result<(), Box<dyn Error>> {
        let kind = |at: u64| Ok((pod("kind", &(1 + at % 10).to_string(), 256 * (1 + at))?, 1));
        let kinds = (0..KINDS).map(kind).collect::<Result<Vec<(Pod, u32)>, Box<dyn Error>>>()?;
        self.view.pin_mix(kinds);
        Ok(())
    }

    fn publish(&mut self, at: usize, ledger: Ledger) {
        self.change += 1;
        let state = NodeState {
            version: StateVersion { run: 0, change: self.change },
            facts: NodeFacts::Exact { node: Arc::clone(&self.node), ledger },
            told: BTreeSet::new(),
        };
        let began = Instant::now();
        self.view.update(&name(at), state);
        self.publishing += began.elapsed();
    }

    /// A pod of a size that is drawn comes, if it fits.
    fn admitted(&mut self, ledger: &Ledger, name: &str) -> Result<Ledger, Box<dyn Error>> {
        let (kind, cpus, memory) = (self.draw(3), 1 + self.draw(10), 256 * (1 + self.draw(12)));
        let cpus = if kind == 0 { format!("{}m", 100 * cpus) } else { cpus.to_string() };
        let attempt = self.node.admission(ledger, &pod(name, &cpus, memory)?).attempt();
        Ok(match attempt.verdict {
            Verdict::Admitted(_) => ledger.commit(attempt)?,
            Verdict::Refused(_) | Verdict::NeedsPlugin(_) => ledger.clone(),
        })
    }

    /// The least of some times, in milliseconds.
    fn new_shape(&mut self, threads: &impl Threads) -> Result<f64, Box<dyn Error>> {
        let names: Vec<String> = (0..self.nodes).map(name).collect();
        let mut times = Vec::new();
        for _ in 0..TIMES {
            self.shapes += 1;
            let pod = pod("new", "16", 1024 + self.shapes)?;
            let began = Instant::now();
            let judged = self.view.filter(&pod, &names, threads);
            times.push(began.elapsed().as_secs_f64() * 1000.0);
            assert_eq!(judged.len(), names.len());
            self.fit = judged.iter().filter(|judged| judged.verdict.fits()).count();
        }
        Ok(times.into_iter().fold(f64::INFINITY, f64::min))
    }

    /// A filter after ten nodes have changed, one after none has, and the scores.
    fn known_shape(&mut self) -> Result<(f64, f64, f64), Box<dyn Error>> {
        let names: Vec<String> = (0..self.nodes).map(name).collect();
        let pod = pod("new", "16", 1024 + self.shapes)?;
        for at in 0..self.ledgers.len() {
            let Some(before) = self.ledgers.get(at).cloned() else { continue };
            let Some(leaves) = before.pods().next().map(|pod| pod.uid.clone()) else { continue };
            let after = self.admitted(&before.release(&leaves), &format!("later-{at}-{}", self.change))?;
            self.publish(at, after.clone());
            if let Some(ledger) = self.ledgers.get_mut(at) {
                *ledger = after;
            }
        }
        let began = Instant::now();
        let first = self.view.filter(&pod, &names, &OneThread);
        let changed = began.elapsed().as_secs_f64() * 1000.0;
        let began = Instant::now();
        let second = self.view.filter(&pod, &names, &OneThread);
        let unchanged = began.elapsed().as_secs_f64() * 1000.0;
        assert_eq!(first, second);
        let began = Instant::now();
        self.view.score(&pod, &names, &OneThread);
        Ok((changed, unchanged, began.elapsed().as_secs_f64() * 1000.0))
    }

    /// A filter of a new shape while another pod may come to every node, by two threads; then it is bound.
    fn in_flight(&mut self) -> Result<f64, Box<dyn Error>> {
        let names: Vec<String> = (0..self.nodes).map(name).collect();
        self.shapes += 1;
        let (other, pod) = (pod("other", "8", 1024 + self.shapes)?, pod("new", "16", 1024 + self.shapes)?);
        self.view.offered(&other, &names);
        let began = Instant::now();
        self.view.filter(&pod, &names, &ScopedThreads(NonZeroUsize::MIN.saturating_add(1)));
        let took = began.elapsed().as_secs_f64() * 1000.0;
        self.view.gone(&other.uid);
        Ok(took)
    }

    /// A number below `limit`, the same in every run.
    fn draw(&mut self, limit: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % limit
    }
}

fn name(at: usize) -> String {
    format!("node-{at:05}")
}

/// Guaranteed, with exclusive CPUs if they are whole.
fn pod(name: &str, cpus: &str, mebibytes: u64) -> Result<Pod, Box<dyn Error>> {
    let limits: ResourceList =
        [("cpu".into(), cpus.parse()?), ("memory".into(), format!("{mebibytes}Mi").parse()?)].into();
    let app = Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
    Ok(Pod::new("default", name, vec![app]).with_defaults(PodLevelResources::Count))
}

/// What of this process is in memory, as Linux says.
fn resident_bytes() -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("there is no VmRSS")?;
    let kibibytes: usize = line.split_whitespace().next().ok_or("VmRSS is empty")?.parse()?;
    Ok(kibibytes * 1024)
}
