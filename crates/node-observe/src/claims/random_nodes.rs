//! The condition and the counts on random nodes, beside a plain computation of the same from what was drawn.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::Replies;
use dra_model::{
    AllocationResult, Consumer, Device, DeviceId, DeviceResult, Metadata, NodeSelection, Pool, ResourceClaim,
    ResourceSlice,
};
use kubelet_checkpoint::claims::{PreparedClaim, PreparedDevice};
use node_input::{DeviceText, LoadedMachine, LoadedNode, RulesSource};
use node_view::{ClaimDevices, ClaimsFound};
use pod_spec::Pod;
use topology_admission::{Detail, Ledger, Series, Tries};
use topology_manifest::{Source, read_pods};

use super::found::Found;
use super::held::{HeldClaims, Places, names, needs_list};
use super::sources::{ClusterClaims, SourceAnswers};

const MACHINES: [&str; 3] = ["xeon-2s-96cpu-sriov", "spr-8480-snc4-8node", "epyc-2s-96cpu-16l3-8gpu"];
const SEEDS: u64 = 100;
const DRIVERS: [&str; 2] = ["gpu.example.com", "nic.example.com"];

/// Numbers that depend on a seed alone.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What is drawn of a claim.
struct Drawn {
    name: String,
    pod: usize,
    /// The container that uses it, and whether it uses its first request alone.
    container: usize,
    is_first_alone: bool,
    /// Driver, name, NUMA node if one is published, whether it is only looked at, and whether it is of the first request.
    devices: Vec<(&'static str, String, Option<i64>, bool, bool)>,
    fate: Fate,
}

/// What the sources say of a claim.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// The same.
    Agreed,
    /// The kubelet has not prepared it.
    NotPrepared,
    /// The kubelet's file has it, without the devices of its drivers.
    NoDevices,
    /// Another pod uses it too.
    Shared,
    Released,
    Gone,
    MadeAnew,
    NotReserved,
}

impl Fate {
    const ALL: [Self; 8] = [
        Self::Agreed,
        Self::NotPrepared,
        Self::NoDevices,
        Self::Shared,
        Self::Released,
        Self::Gone,
        Self::MadeAnew,
        Self::NotReserved,
    ];

    const fn is_doubtful(self) -> bool {
        matches!(self, Self::Released | Self::Gone | Self::MadeAnew | Self::NotReserved)
    }
}

struct Case<'m> {
    node: LoadedNode,
    machine: &'m LoadedMachine,
    ledger: Ledger,
    pods: Vec<Pod>,
    claims: Vec<Drawn>,
}

impl<'m> Case<'m> {
    fn drawn(seed: u64, machines: &'m [LoadedMachine]) -> Self {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let machine = &machines[random.below(machines.len())];
        let policy = ["none", "best-effort", "single-numa-node"][random.below(3)];
        let rules = RulesSource { policy: Some(policy.to_owned()), ..RulesSource::default() };
        let node = LoadedNode::on(machine, &rules, DeviceText::of(&rules).unwrap()).unwrap();
        let nodes: Vec<i64> =
            machine.machine.as_ref().unwrap().nodes().iter().map(|node| node.id.0).collect();
        // On every other node the sources agree, and most devices are on the node that is filled first.
        let mood = if random.below(2) == 0 { Mood::Calm } else { Mood::Wild };
        let (mut claims, mut texts) = (Vec::new(), Vec::new());
        for pod in 0..=random.below(4) {
            let own: Vec<Drawn> =
                (0..random.below(3)).map(|number| Drawn::by(random, mood, [pod, number], &nodes)).collect();
            texts.push(manifest(random, pod, &own));
            claims.extend(own);
        }
        let pods = read_pods(&Source { name: "pods", text: &texts.join("---\n") }).unwrap();
        let mut series = Series::new(&node.node, node.node.empty_ledger(), Detail::default(), Tries(0));
        for pod in &pods {
            let _ = series.decide(pod, &Replies::default());
        }
        let ledger = series.ledger().clone();
        Self { node, machine, ledger, pods, claims }
    }

    /// What the sources say.
    fn answers(&self) -> SourceAnswers {
        let mut cluster = ClusterClaims { slices: self.slices(), ..ClusterClaims::default() };
        let mut prepared = Vec::new();
        for claim in &self.claims {
            let key = ("default".to_owned(), claim.name.clone());
            cluster.asked.insert(key.clone());
            if claim.fate != Fate::Gone {
                cluster.claims.insert(key, claim.at_server(&self.pods[claim.pod]));
            }
            if claim.fate != Fate::NotPrepared {
                prepared.push(claim.prepared(&self.pods[claim.pod]));
            }
        }
        SourceAnswers { prepared: Ok(prepared), listed: None, cluster: Ok(cluster) }
    }

    fn slices(&self) -> Vec<ResourceSlice> {
        let of = |driver: &str| {
            let own = self.claims.iter().flat_map(|claim| &claim.devices).filter(|device| device.0 == driver);
            let devices = own.map(|(_, name, node, ..)| {
                let mut device = Device::new(name);
                if let Some(node) = node {
                    device.attributes.insert("resource.kubernetes.io/numaNode".into(), (*node).into());
                }
                device
            });
            ResourceSlice {
                metadata: Metadata::named(driver),
                driver: driver.into(),
                pool: Pool { name: "w".into(), generation: 1, slice_count: 1 },
                nodes: NodeSelection { node_name: Some("w".to_owned()), ..NodeSelection::default() },
                devices: Some(devices.collect()),
                ..ResourceSlice::default()
            }
        };
        DRIVERS.into_iter().map(of).collect()
    }

    /// The NUMA nodes of the CPUs and of the memory that a container holds.
    fn pinned(&self, pod: &Pod, container: usize) -> (BTreeSet<i64>, BTreeSet<i64>) {
        let name = &pod.containers[container].name;
        let machine = self.machine.machine.as_ref().unwrap();
        let held = self.ledger.cpus().and_then(|held| held.assigned(&pod.uid, name));
        let cpus = held.into_iter().flatten().map(|cpu| machine.node_of(cpu).unwrap().0).collect();
        let blocks = self.ledger.memory().and_then(|held| held.assigned(&pod.uid, name)).unwrap_or_default();
        let memory = blocks.iter().flat_map(|block| block.nodes.iter());
        let ids: Vec<i64> = self.node.node.nodes().ids().map(|id| id.0).collect();
        (cpus, memory.map(|index| ids[index.get()]).collect())
    }

    /// The status of each claim, where there is one, and the counts by driver.
    fn expected(&self) -> (Vec<Status>, BTreeMap<&'static str, [usize; 3]>) {
        let (mut statuses, mut counts) = (Vec::new(), BTreeMap::<&str, [usize; 3]>::new());
        for claim in &self.claims {
            let (cpus, memory) = self.pinned(&self.pods[claim.pod], claim.container);
            let own = claim.devices.iter().filter(|(.., looks, first)| {
                (claim.fate.is_doubtful() || !looks) && (*first || !claim.is_first_alone)
            });
            let own: Vec<_> = own.collect();
            if (cpus.is_empty() && memory.is_empty()) || own.is_empty() {
                continue;
            }
            let mut each = Vec::new();
            for (driver, _, node, ..) in own {
                let is_off = |node: i64, set: &BTreeSet<i64>| !set.is_empty() && !set.contains(&node);
                let status = match node {
                    _ if claim.fate.is_doubtful() => Status::Unknown,
                    None => Status::Unknown,
                    Some(node) if is_off(*node, &cpus) || is_off(*node, &memory) => Status::Elsewhere,
                    Some(_) if claim.fate == Fate::Shared => Status::Unknown,
                    Some(_) => Status::Aligned,
                };
                counts.entry(driver).or_default()[status as usize] += 1;
                each.push(status);
            }
            let is_shared = claim.fate == Fate::Shared;
            statuses.push(if each.contains(&Status::Elsewhere) {
                Status::Elsewhere
            } else if is_shared || each.contains(&Status::Unknown) {
                Status::Unknown
            } else {
                Status::Aligned
            });
        }
        (statuses, counts)
    }
}

#[derive(Clone, Copy)]
enum Mood {
    Calm,
    Wild,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Status {
    Aligned,
    Elsewhere,
    Unknown,
}

impl Drawn {
    fn by(random: &mut Random, mood: Mood, [pod, number]: [usize; 2], nodes: &[i64]) -> Self {
        let fates = match mood {
            Mood::Calm => &Fate::ALL[..3],
            Mood::Wild => &Fate::ALL[..],
        };
        let fate = fates[random.below(fates.len())];
        let devices = (0..=random.below(3)).map(|device| {
            let driver = DRIVERS[random.below(2)];
            let node = match mood {
                Mood::Calm => Some(nodes[random.below(12) / 11]),
                Mood::Wild => (random.below(8) > 0).then(|| nodes[random.below(2)]),
            };
            let looks = !fate.is_doubtful() && random.below(8) == 0;
            (driver, format!("d-{pod}-{number}-{device}"), node, looks, random.below(2) == 0)
        });
        let devices = devices.collect();
        Self {
            name: format!("claim-{pod}-{number}"),
            pod,
            container: random.below(2),
            is_first_alone: random.below(4) == 0,
            devices,
            fate,
        }
    }

    fn at_server(&self, pod: &Pod) -> ResourceClaim {
        let user = |name: &str, uid: &str| Consumer {
            resource: "pods".to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            ..Consumer::default()
        };
        let mut claim = ResourceClaim::default();
        claim.metadata.name.clone_from(&self.name);
        claim.metadata.namespace = "default".to_owned();
        claim.metadata.uid = if self.fate == Fate::MadeAnew { "new" } else { "uid" }.to_owned();
        let results = self.devices.iter().map(|(driver, name, _, looks, first)| DeviceResult {
            request: if *first { "first" } else { "second" }.into(),
            device: DeviceId { driver: (*driver).into(), pool: "w".into(), device: name.as_str().into() },
            admin_access: looks.then_some(true),
            ..DeviceResult::default()
        });
        if self.fate != Fate::Released {
            let results = results.collect();
            claim.status.allocation = Some(AllocationResult { results, ..AllocationResult::default() });
        }
        if self.fate != Fate::NotReserved {
            claim.status.reserved_for.push(user(&pod.name, pod.uid.as_str()));
        }
        if self.fate == Fate::Shared {
            claim.status.reserved_for.push(user("another", "another"));
        }
        claim
    }

    fn prepared(&self, pod: &Pod) -> PreparedClaim {
        let mut drivers: BTreeMap<String, Vec<PreparedDevice>> = BTreeMap::new();
        for (driver, name, _, _, first) in &self.devices {
            let own = drivers.entry((*driver).to_owned()).or_default();
            if self.fate != Fate::NoDevices {
                let requests = vec![if *first { "first" } else { "second" }.to_owned()];
                own.push(PreparedDevice {
                    pool: "w".to_owned(),
                    device: name.clone(),
                    share: None,
                    requests,
                });
            }
        }
        PreparedClaim {
            uid: "uid".to_owned(),
            namespace: "default".to_owned(),
            name: self.name.clone(),
            pods: BTreeSet::from([pod.uid.clone()]),
            drivers,
        }
    }
}

/// A pod of two containers, one of which may share CPUs, with these claims.
fn manifest(random: &mut Random, pod: usize, claims: &[Drawn]) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{pod}, uid: u{pod}}}\nspec:\n  resourceClaims:\n"
    );
    for claim in claims {
        text.push_str(&format!("  - {{name: {0}, resourceClaimName: {0}}}\n", claim.name));
    }
    if claims.is_empty() {
        text = text.replace("  resourceClaims:\n", "");
    }
    text.push_str("  containers:\n");
    let kind = random.below(4);
    for container in 0..2 {
        let used = claims.iter().filter(|claim| claim.container == container).map(|claim| {
            let request = if claim.is_first_alone { ", request: first" } else { "" };
            format!("{{name: {}{request}}}", claim.name)
        });
        let used: Vec<String> = used.collect();
        let amounts = match kind {
            0 => "requests: {cpu: 1}".to_owned(),
            _ => format!("limits: {{cpu: {}, memory: 1Gi}}", 1 + random.below(12)),
        };
        text.push_str(&format!(
            "  - {{name: c{container}, image: x, resources: {{{amounts}, claims: [{}]}}}}\n",
            used.join(", ")
        ));
    }
    text
}

#[test]
fn the_condition_is_what_was_drawn() {
    let machines = MACHINES.map(|name| LoadedMachine::named(name).unwrap());
    let mut seen = BTreeMap::<&str, usize>::new();
    for seed in 0..SEEDS {
        let case = Case::drawn(seed, &machines);
        let pods: Vec<&Pod> = case.pods.iter().collect();
        let answers = case.answers();
        let places = Places::of(&case.node, "w", &answers.cluster);
        let held = HeldClaims::all(&pods, &answers, &places);
        let found = Found::of(&case.node.node, &case.ledger, &held);
        let (statuses, counts) = case.expected();
        let expected = if statuses.contains(&Status::Elsewhere) {
            "elsewhere"
        } else if statuses.contains(&Status::Unknown) {
            "unknown"
        } else if statuses.is_empty() {
            "none"
        } else {
            "aligned"
        };
        let condition = found.condition();
        let is = match &condition {
            None => "none",
            Some(ClaimsFound::Aligned) => "aligned",
            Some(ClaimsFound::Elsewhere(_)) => "elsewhere",
            Some(ClaimsFound::Unknown(_)) => "unknown",
        };
        assert_eq!(is, expected, "seed {seed}: {condition:?}, {statuses:?}");
        assert_eq!(found.claims().len(), statuses.len(), "seed {seed}");
        let by_driver = found.by_driver().into_iter().map(|own| {
            let ClaimDevices { driver, aligned, elsewhere, unknown } = own;
            (driver, [aligned, elsewhere, unknown])
        });
        let counts: BTreeMap<String, [usize; 3]> =
            counts.into_iter().map(|(driver, counts)| (driver.to_owned(), counts)).collect();
        // A claim without a device that is known has no driver.
        let by_driver: BTreeMap<String, [usize; 3]> = by_driver.collect();
        assert_eq!(by_driver, counts, "seed {seed}: {condition:?}");
        assert!(
            !needs_list(&pods, &answers.prepared)
                && names(&pods, &answers.prepared).len() == case.claims.len()
        );
        *seen.entry(expected).or_default() += 1;
    }
    assert!(seen.len() == 4 && seen.values().all(|count| *count >= 5), "{seen:?}");
}
