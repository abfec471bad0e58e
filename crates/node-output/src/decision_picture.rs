//! A decision as a picture: what each NUMA node had, what was chosen or what lacked. The sentences are those of the
//! report.

use std::collections::BTreeMap;

use admission_report::{Cell, Conclusion, ContainerReport, Report, Resource, ResourceReport};
use cpuset::{CpuId, CpuSet};
use device_manager::Inventory;
use machine_picture::svg::{AskedRoom, CpuUse, Decision, NodePart, NodeRoom, ResourceRoom, RoomFit};
use pod_spec::{ResourceName, Role};
use topology_admission::{Ledger, Node, Search, Standing};
use topology_model::{CpuTable, NodeId, NodeIds};

use crate::cells::{container, with_role};
use crate::decision::{fit, stock};

/// The node that a decision was made on, before the pod came.
#[derive(Clone, Debug)]
pub struct NodeBefore<'a> {
    node: &'a Node,
    cpus: &'a CpuTable,
    free: Option<CpuSet>,
    inventory: &'a Inventory,
}

impl<'a> NodeBefore<'a> {
    /// A node with its CPUs as the kubelet counts them, and what it held.
    #[must_use]
    pub fn new(node: &'a Node, cpus: &'a CpuTable, ledger: &'a Ledger) -> Self {
        Self { node, cpus, free: free_cpus(node, ledger), inventory: ledger.inventory() }
    }

    /// The same, of what is kept of a decision: the CPUs that were free.
    #[must_use]
    pub const fn kept(
        node: &'a Node,
        cpus: &'a CpuTable,
        free: Option<CpuSet>,
        inventory: &'a Inventory,
    ) -> Self {
        Self { node, cpus, free, inventory }
    }
}

/// The CPUs that containers could get for themselves; `None` if the CPU manager gives none to containers.
#[must_use]
pub fn free_cpus(node: &Node, ledger: &Ledger) -> Option<CpuSet> {
    Some(node.cpus()?.available(ledger.cpus()?))
}

/// The parts of the picture of a decision; `lines` stand above it.
#[must_use]
pub fn decision_picture(report: &Report, before: NodeBefore<'_>, lines: Vec<String>) -> Decision {
    let drawing = Drawing { report, before };
    let ids = drawing.before.node.nodes().iter().map(|(_, id)| id);
    let (nodes, without): (Vec<NodeRoom>, Vec<NodeRoom>) =
        ids.map(|id| drawing.room(id)).partition(|room| !is_bare(room));
    let without: NodeIds = without.iter().filter_map(|room| room.node).collect();
    Decision {
        headline: headline(report),
        lines,
        nodes: nodes.into_iter().chain(drawing.elsewhere()).collect(),
        without: if without.is_empty() { String::new() } else { format!("NUMA {without}: none") },
        containers: report.containers().iter().map(|given| (with_role(given), got(given))).collect(),
        lists: lists(report),
    }
}

/// Whether there is nothing to be drawn of a node.
fn is_bare(room: &NodeRoom) -> bool {
    let has_any = room.resources.iter().any(|resource| resource.all > 0 || !resource.chosen.is_empty());
    room.part == NodePart::Unused && !has_any && (room.cores.is_empty() || !room.resources.is_empty())
}

fn headline(report: &Report) -> String {
    let pod = &report.pod;
    match &report.conclusion {
        Conclusion::Admitted(_) => format!("{pod} admitted"),
        Conclusion::WithoutClaims(_, claims) => format!("{pod} {claims}"),
        Conclusion::Unschedulable(why) => format!("{pod} {why}"),
        Conclusion::Deferred(deferred) => format!("{pod} deferred: {deferred}"),
        Conclusion::Undecided(why) => format!("{pod}: {why}"),
        Conclusion::Fated(fated) => format!("{pod}: {fated}"),
        Conclusion::Refused(refusal) => {
            let whose = refusal.container.as_ref().map_or_else(String::new, |name| format!(" · {name}"));
            format!("{pod}{whose} refused: {}: {}", refusal.reason, refusal.message)
        }
    }
}

/// What a container got: `NUMA 0, CPUs 2-5, 1Gi, nvidia.com/gpu gpu-0`.
fn got(given: &ContainerReport) -> String {
    let [_, nodes, cpus, memory, devices] = &container(given)[..] else { return String::new() };
    let nodes = if nodes == "any" { "any NUMA node".to_owned() } else { format!("NUMA {nodes}") };
    let cpus = if given.exclusive_cpus.is_some() { format!("CPUs {cpus}") } else { "shared CPUs".to_owned() };
    let rest = [memory, devices].into_iter().filter(|cell| *cell != "-").cloned();
    [nodes, cpus].into_iter().chain(rest).collect::<Vec<_>>().join(" · ")
}

/// Why, what would fit, and what the owner may not expect.
fn lists(report: &Report) -> Vec<(String, Vec<String>)> {
    let mut lists = Vec::new();
    if let Some(refusal) = report.refusal() {
        let why = refusal.why().into_iter().chain(refusal.outlook().map(str::to_owned));
        lists.push(("why", why.collect()));
        let fits = refusal.alternatives.iter();
        let mut fits: Vec<String> =
            fits.map(|fit| format!("{}: {} → {}", fit.remedy.kind(), fit.remedy, fit.result())).collect();
        if refusal.search == Search::Cut {
            fits.push("more was not tried; topolet explain --tries NUMBER tries more".to_owned());
        }
        fits.extend(refusal.nothing_fits());
        lists.push(("would fit", fits));
    }
    if let Some(fated) = report.fated() {
        lists.push(("avoided by", fated.ways_out()));
    }
    let said = report.kubelet_said.iter().map(|said| said.compared(&report.conclusion));
    lists.push(("the kubelet", said.collect()));
    let notes = report.notes.iter().map(|note| {
        let names: Vec<&str> = note.containers.iter().map(pod_spec::ContainerName::as_str).collect();
        let whose = if names.is_empty() { String::new() } else { format!("{}: ", names.join(", ")) };
        format!("{whose}{}", note.remark)
    });
    lists.push(("notes", notes.collect()));
    let lists = lists.into_iter().filter(|(_, lines)| !lines.is_empty());
    lists.map(|(head, lines)| (head.to_owned(), lines)).collect()
}

struct Drawing<'a> {
    report: &'a Report,
    before: NodeBefore<'a>,
}

impl Drawing<'_> {
    /// What each resource was when it was first asked for; of a refusal, when it could not be had.
    fn resources(&self) -> Vec<&ResourceReport> {
        let units = match self.report.conclusion {
            Conclusion::Refused(_) => self.report.units.last().map(core::slice::from_ref).unwrap_or_default(),
            _ => self.report.units.as_slice(),
        };
        let mut found: Vec<&ResourceReport> = Vec::new();
        for resource in units.iter().flat_map(|unit| &unit.resources) {
            if !found.iter().any(|known| known.resource == resource.resource) {
                found.push(resource);
            }
        }
        found
    }

    fn room(&self, id: NodeId) -> NodeRoom {
        let own = self.before.cpus.cpus_in_node(id).cloned().unwrap_or_default();
        let resources: Vec<ResourceRoom> =
            self.resources().into_iter().filter_map(|resource| self.resource(id, &own, resource)).collect();
        let is_hinted = |given: &ContainerReport| {
            given.nodes.as_ref().is_some_and(|nodes| nodes.iter().any(|node| node == id))
        };
        let is_chosen = resources.iter().any(|resource| !resource.chosen.is_empty())
            || self
                .report
                .containers()
                .iter()
                .any(|given| is_hinted(given) || !cpus_of(given, &own).is_empty());
        NodeRoom {
            node: Some(id),
            part: if is_chosen { NodePart::Chosen } else { NodePart::Unused },
            cores: self.cores(&own),
            resources,
        }
    }

    /// Devices that are near no single node.
    fn elsewhere(&self) -> Option<NodeRoom> {
        let rooms = self.resources().into_iter().filter_map(|resource| {
            let cell = resource.elsewhere.as_ref()?;
            let text = text(resource, &resource.stock(cell));
            Some(ResourceRoom {
                text,
                all: cell.allocatable,
                free: cell.free,
                chosen: Vec::new(),
                holders: holders(cell),
                asked: None,
            })
        });
        let resources: Vec<ResourceRoom> = rooms.collect();
        (!resources.is_empty()).then_some(NodeRoom {
            node: None,
            part: NodePart::Unused,
            cores: Vec::new(),
            resources,
        })
    }

    fn resource(&self, id: NodeId, own: &CpuSet, resource: &ResourceReport) -> Option<ResourceRoom> {
        let at = resource.nodes.iter().position(|cell| cell.node == id)?;
        let cell = &resource.nodes.get(at)?.cell;
        let given = self.report.containers();
        let amount = |given: &ContainerReport| self.amount(given, &resource.resource, id, own);
        let chosen = given.iter().enumerate().map(|(at, container)| {
            // What an init container leaves goes to later containers, and is theirs.
            let later = match container.role {
                Role::Init => given[at + 1..].iter().map(amount).sum(),
                Role::App | Role::Sidecar => 0_u64,
            };
            (at, amount(container).saturating_sub(later))
        });
        Some(ResourceRoom {
            text: text(resource, &stock_in_words(resource, at)),
            all: cell.allocatable,
            free: cell.free,
            chosen: chosen.filter(|(_, amount)| *amount > 0).collect(),
            holders: holders(cell),
            asked: self.asked(resource, at),
        })
    }

    /// What a refused pod asked for, with whether the node at this place could give it.
    fn asked(&self, resource: &ResourceReport, at: usize) -> Option<AskedRoom> {
        self.report.refusal()?;
        let fit = match fit(resource, at)? {
            Standing::Fits => RoomFit::Fits,
            Standing::Lacks(_) | Standing::Closed => RoomFit::Lacks,
        };
        Some(AskedRoom { amount: resource.asked, fit })
    }

    /// How much of a resource a container got on a node. An amount on several nodes is taken to be in equal parts, as
    /// the kubelet does not say how much lies on each.
    fn amount(&self, given: &ContainerReport, resource: &Resource, id: NodeId, own: &CpuSet) -> u64 {
        match resource {
            Resource::Cpu => u64::try_from(cpus_of(given, own).len()).unwrap_or(u64::MAX),
            Resource::Memory | Resource::HugePages(_) => {
                let blocks = given.memory.iter().filter(|block| block.resource == *resource);
                let here = blocks.filter(|block| block.nodes.iter().any(|node| node == id));
                here.map(|block| block.bytes / u64::try_from(block.nodes.len().max(1)).unwrap_or(1)).sum()
            }
            Resource::Extended(name) => self.devices(given, name, id),
            Resource::Claims(_) | Resource::Other(_) => 0,
        }
    }

    /// How many of a container's devices are near a node alone.
    fn devices(&self, given: &ContainerReport, resource: &ResourceName, id: NodeId) -> u64 {
        let sets = given.devices.iter().filter(|set| set.resource.as_str() == resource.as_str());
        let near = sets.flat_map(|set| &set.ids).filter(|device| {
            self.before.inventory.device(resource, device).is_some_and(|device| device.topology.ids() == [id])
        });
        u64::try_from(near.count()).unwrap_or(u64::MAX)
    }

    /// The CPUs of a node core by core; none if the CPU manager gives none to containers.
    fn cores(&self, own: &CpuSet) -> Vec<Vec<(CpuId, CpuUse)>> {
        let (Some(manager), Some(available)) = (self.before.node.cpus(), &self.before.free) else {
            return Vec::new();
        };
        let mut chosen: BTreeMap<CpuId, Vec<usize>> = BTreeMap::new();
        for (at, given) in self.report.containers().iter().enumerate() {
            for cpu in &cpus_of(given, own) {
                chosen.entry(cpu).or_default().push(at);
            }
        }
        let used = |cpu| match chosen.get(&cpu) {
            Some(containers) => CpuUse::Chosen(containers.clone()),
            None if manager.reserved().contains(cpu) => CpuUse::Reserved,
            None if available.contains(cpu) => CpuUse::Free,
            None => CpuUse::Held,
        };
        let cores = self.before.cpus.cores().map(|(_, cpus)| cpus & own).filter(|cpus| !cpus.is_empty());
        let mut cores: Vec<Vec<_>> =
            cores.map(|cpus| cpus.iter().map(|cpu| (cpu, used(cpu))).collect()).collect();
        cores.sort_by_key(|core| core.first().map(|(cpu, _)| *cpu));
        cores
    }
}

fn holders(cell: &Cell) -> Vec<String> {
    cell.held_by.iter().map(ToString::to_string).collect()
}

fn text(resource: &ResourceReport, stock: &str) -> String {
    format!("{}, asked {}: {stock}", resource.resource, resource.asked_amount())
}

/// The exclusive CPUs of a container that are among these.
fn cpus_of(given: &ContainerReport, own: &CpuSet) -> CpuSet {
    given.exclusive_cpus.as_ref().map_or_else(CpuSet::new, |cpus| cpus & own)
}

/// The cell of the table, with a word instead of a mark: a picture has whatever font is there.
fn stock_in_words(resource: &ResourceReport, at: usize) -> String {
    let word = match fit(resource, at) {
        None => return "none".to_owned(),
        Some(Standing::Fits) => "fits",
        Some(Standing::Lacks(_) | Standing::Closed) => "does not fit",
    };
    format!("{word}, {}", stock(resource, at))
}
