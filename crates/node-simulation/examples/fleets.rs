//! What each scheduler refuses on a fleet, one line of JSON for each: `cargo xtask placement --fleet`.
//!
//! Reads a fleet from standard input, or takes a small one where that is a terminal or empty:
//!
//! ```text
//! fleet NODES PODS SEED RUNS SECONDS-BETWEEN PRICE-SECONDS kubelet|serve
//! devices RESOURCE NUMA-NODE COUNT
//! pod NAME WEIGHT exponential|log-normal SECONDS
//! container limits|requests RESOURCE=AMOUNT...
//! ```

use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{IsTerminal as _, Read as _};

use device_manager::{Device, Inventory};
use node_config::{KubeletConfiguration, OwnOptions, Placement, ReservedMemory, Strategy};
use node_simulation::{
    Distribution, Fleet, Host, Lifetime, Limits, NoObserver, NoPlugins, Repack, Retry, Scheduler, Template,
    Weight, arrivals, run,
};
use pod_spec::{Container, ContainerName, Pod, PodLevelResources, ResourceList, Role};
use topology_admission::{Compat, Node, StartOptions};
use topology_model::{KubeletView, MachineInfo};

/// Two sockets of 24 cores, as most servers have.
const MACHINE: &str = "pack:2 [numa(memory=96GiB)] core:24 pu:2";

const SMALL: &str = "fleet 2 100 1 2 600 300 kubelet\npod web 1 exponential 7200\ncontainer limits cpu=12 memory=4Gi\n\
                     pod large 1 exponential 7200\ncontainer limits cpu=30 memory=8Gi\n";

const SCHEDULERS: [Scheduler; 5] =
    [Scheduler::Spread, Scheduler::Pack, Scheduler::TopologyMatch, Scheduler::Kai, Scheduler::Topolet];

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    if !std::io::stdin().is_terminal() {
        std::io::stdin().read_to_string(&mut text)?;
    }
    let asked: Asked = if text.is_empty() { SMALL } else { &text }.parse()?;
    let view = KubeletView::new(&MACHINE.parse::<MachineInfo>()?)?;
    let node = node(&view, asked.is_served)?;
    let mut inventory = Inventory::new(view.nodes().clone());
    for (resource, devices) in &asked.devices {
        inventory = inventory.with(resource.as_str(), devices.clone());
    }
    let repack = Repack { most: NonZeroU32::MIN, price: asked.price };
    let ways = SCHEDULERS.map(|scheduler| (scheduler, None)).into_iter();
    let ways: Vec<_> = ways.chain([(Scheduler::Topolet, Some(repack))]).collect();
    let host = || Host::new(&node, view.cpus(), inventory.clone(), &NoPlugins);
    let fleet = |(scheduler, repack)| Fleet {
        hosts: vec![(host(), asked.nodes)],
        scheduler,
        retry: Retry::Never,
        repack,
    };
    let mut most = vec![0; usize::try_from(asked.runs)?];
    for way in ways {
        let (mut refused, mut moves) = (Vec::new(), 0);
        for (seed, most) in (asked.seed..).zip(&mut most) {
            let pods = arrivals(&asked.kinds, asked.every, asked.pods, seed);
            let outcome = run(&fleet(way), &asked.kinds, &pods, &mut NoObserver);
            refused.push(outcome.arrived() - outcome.admitted());
            moves += outcome.moves;
            *most = outcome.admitted().max(*most);
        }
        let (name, moved) = (way.0.name(), way.1.map_or("null".to_owned(), |_| moves.to_string()));
        println!("{{\"scheduler\":\"{name}\",\"moves\":{moved},\"refused\":{refused:?}}}");
    }
    let mut unavoidable = Vec::new();
    for (seed, most) in (asked.seed..).zip(most) {
        let pods = arrivals(&asked.kinds, asked.every, asked.pods, seed);
        let limits =
            Limits::new(&fleet((Scheduler::Spread, None)), &asked.kinds).ok_or("there is no bound")?;
        unavoidable.push(pods.len() as u64 - limits.at_most(&pods, most));
    }
    println!("{{\"scheduler\":\"every placement\",\"moves\":null,\"refused\":{unavoidable:?}}}");
    Ok(())
}

fn node(view: &KubeletView, is_served: bool) -> Result<Node, Box<dyn Error>> {
    let text = |text: &str| Some(text.to_owned());
    let mut config = KubeletConfiguration {
        cpu_manager_policy: text("static"),
        memory_manager_policy: text("Static"),
        topology_manager_policy: text("single-numa-node"),
        reserved_system_cpus: text("0"),
        reserved_memory: vec![ReservedMemory {
            numa_node: 0,
            limits: [("memory".to_owned(), "1Gi".parse()?)].into(),
        }],
        ..KubeletConfiguration::default()
    };
    config.system_reserved.insert("memory".to_owned(), "924Mi".to_owned());
    if !is_served {
        return Ok(Node::start(view, &config)?);
    }
    let placement = Placement { strategy: Strategy::KeepRoom, ..Placement::default() };
    let own = OwnOptions { placement, ..OwnOptions::default() };
    Ok(Node::start_with(view, &config, StartOptions::decided_as(Compat::default()).with_own(own))?)
}

/// A fleet, and what comes to it.
struct Asked {
    nodes: usize,
    pods: usize,
    seed: u64,
    runs: u64,
    every: Distribution,
    price: Duration,
    is_served: bool,
    devices: BTreeMap<String, Vec<Device>>,
    kinds: Vec<Template>,
}

impl core::str::FromStr for Asked {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut lines = text.lines();
        let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let ["fleet", nodes, pods, seed, runs, every, price, who] = words[..] else {
            return Err("the first line is no fleet".into());
        };
        let seconds = |text: &str| Ok::<_, Box<dyn Error>>(Duration::try_from_secs_f64(text.parse()?)?);
        let mut asked = Self {
            nodes: nodes.parse()?,
            pods: pods.parse()?,
            seed: seed.parse()?,
            runs: runs.parse()?,
            every: Distribution::exponential(seconds(every)?)?,
            price: seconds(price)?,
            is_served: who == "serve",
            devices: BTreeMap::new(),
            kinds: Vec::new(),
        };
        let mut containers: Vec<Vec<Container>> = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["devices", resource, numa, count] => {
                    let (numa, count): (i64, usize) = (numa.parse()?, count.parse()?);
                    let new = (0..count).map(|at| Device::new(&format!("{numa}-{at}"), &[numa]));
                    asked.devices.entry(resource.to_owned()).or_default().extend(new);
                }
                ["pod", name, weight, runs, time] => {
                    let time = seconds(time)?;
                    let lifetime = Lifetime::Drawn(match runs {
                        "exponential" => Distribution::exponential(time)?,
                        _ => Distribution::log_normal(time, 1.0)?,
                    });
                    let pod = Pod::new("default", name, Vec::new());
                    containers.push(Vec::new());
                    asked.kinds.push(Template {
                        name: name.to_owned(),
                        pod,
                        weight: Weight(weight.parse()?),
                        lifetime,
                    });
                }
                ["container", which, ref amounts @ ..] => {
                    let mut list = ResourceList::new();
                    for amount in amounts {
                        let (resource, amount) = amount.split_once('=').ok_or("an amount has no `=`")?;
                        list.insert(resource.into(), amount.parse()?);
                    }
                    let none = ResourceList::new();
                    let (requests, limits) = if which == "limits" { (none, list) } else { (list, none) };
                    let own = containers.last_mut().ok_or("a container is of no pod")?;
                    let name = ContainerName::new(&format!("c{}", own.len()));
                    own.push(Container { name, role: Role::App, requests, limits });
                }
                _ => return Err(format!("{line:?} is no line of a fleet").into()),
            }
        }
        for (kind, containers) in asked.kinds.iter_mut().zip(containers) {
            kind.pod = Pod::new("default", &kind.name, containers).with_defaults(PodLevelResources::Count);
        }
        Ok(asked)
    }
}
