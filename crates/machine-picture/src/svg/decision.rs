//! A decision on one pod: for each NUMA node what was free and what the pod's containers got, or what the node lacks.
//!
//! The texts come from the caller, who also says them in other forms.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use cpuset::CpuId;
use topology_model::NodeId;

use super::document::written;
use super::figure::{Anchor, Figure, Ink, grid, key_rows, small_text};
use super::look::Look;
use super::pods;
use super::text::{BAR, FONT, GAP, Pixels, SMALL_FONT, folded, text_width, wrapped};
use crate::shares::{Owner, PodIndex, PodShare, Shares};

/// A decision on one pod.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The pod and what came out: `default/web admitted`. It is the title of the document too.
    pub headline: String,
    /// The node and its rules, and what was not looked at.
    pub lines: Vec<String>,
    /// The NUMA nodes, in the order in which they are drawn.
    pub nodes: Vec<NodeRoom>,
    /// The NUMA nodes that have nothing of what is asked for; empty: there are none.
    pub without: String,
    /// The pod's containers, which have letters by their position, each with what it got.
    pub containers: Vec<(String, String)>,
    /// Paragraphs below the nodes, each with its head: why, what would fit.
    pub lists: Vec<(String, Vec<String>)>,
}

/// What one NUMA node has.
#[derive(Clone, Debug)]
pub struct NodeRoom {
    /// Which; `None`: what is near no single node.
    pub node: Option<NodeId>,
    /// What came out for the node.
    pub part: NodePart,
    /// Its CPUs, core by core.
    pub cores: Vec<Vec<(CpuId, CpuUse)>>,
    /// What is asked for, in the order in which the managers were asked.
    pub resources: Vec<ResourceRoom>,
}

/// What a NUMA node is to a decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodePart {
    /// The pod got something here.
    Chosen,
    /// It is not used.
    Unused,
}

/// What one CPU is used for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CpuUse {
    /// A container could get it for itself.
    Free,
    /// Containers of the pod got it, by position; an init container's CPUs go to later ones too.
    Chosen(Vec<usize>),
    /// Another pod holds it.
    Held,
    /// No container gets it for itself.
    Reserved,
}

/// What one NUMA node has of one resource.
#[derive(Clone, Debug)]
pub struct ResourceRoom {
    /// `memory, asked 4Gi: fits, 90Gi free of 93Gi`.
    pub text: String,
    /// What pods can get in all: CPUs, bytes or devices.
    pub all: u64,
    /// What of it was free before the decision.
    pub free: u64,
    /// What containers got of it, by position.
    pub chosen: Vec<(usize, u64)>,
    /// The pods that hold what is not free.
    pub holders: Vec<String>,
    /// What is asked for, where nothing was given; `None`: it is not marked.
    pub asked: Option<AskedRoom>,
}

/// What is asked for of a resource on a NUMA node that gave nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AskedRoom {
    /// CPUs, bytes or devices.
    pub amount: u64,
    /// Whether the node could give it.
    pub fit: RoomFit,
}

/// Whether a NUMA node could give what is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomFit {
    /// It could.
    Fits,
    /// It could not.
    Lacks,
}

/// The width of a paragraph: that of the NUMA nodes above it, within these.
const PARAGRAPH: core::ops::RangeInclusive<Pixels> = 600..=1400;
/// The most CPUs in a row, unless one core has more.
const CPUS_IN_ROW: usize = 16;
/// Width and height of the box of a CPU.
const CPU: (Pixels, Pixels) = (30, 26);
/// Height of the bar of a resource.
const USED: Pixels = 8;
/// Width of the mark at the end of what is asked for.
const MARK: Pixels = 2;
/// The least width of a bar.
const LEAST_BAR: Pixels = 200;
/// What the letters in the boxes of CPUs mean.
const HELD: &str = "held";
const RESERVED: &str = "res";

/// The decision as an SVG document.
pub fn decision(decision: &Decision) -> String {
    let panels = decision.nodes.iter().map(|node| panel(node, 0));
    let widest = panels.map(|panel| panel.width).max().unwrap_or(0);
    let nodes = grid(decision.nodes.iter().map(|node| panel(node, widest)).collect());
    let width = nodes.width.clamp(*PARAGRAPH.start(), *PARAGRAPH.end());
    let mut page = Figure::default();
    for (at, line) in wrapped(&decision.headline, width, FONT).iter().enumerate() {
        let y = if at == 0 { 0 } else { page.height + 2 };
        let mut text = Figure { width: text_width(line, FONT), height: FONT, shapes: Vec::new() };
        text.text(0, FONT, line, FONT, Anchor::Heading);
        page.put(0, y, text);
    }
    let lines = decision.lines.iter().flat_map(|line| folded(line, width));
    for line in lines.flat_map(|line| wrapped(&line, width, SMALL_FONT)) {
        page.put_below(small_text(&line));
    }
    if nodes.height > 0 {
        page.put_below(nodes);
    }
    if !decision.without.is_empty() {
        page.put_below(Figure::bar(&decision.without, Look::Nothing, 0));
    }
    page.put_below(key(decision, width));
    for (at, (name, got)) in decision.containers.iter().enumerate() {
        let index = PodIndex(at);
        let text = format!("{} {name}", pods::letters(index));
        let lines = wrapped(got, width, SMALL_FONT);
        page.put_below(pods::entry(Look::Cpu, Owner::Pod(index), &text, &lines));
    }
    for (head, lines) in &decision.lists {
        page.put_below(paragraphs(head, lines, width));
    }
    let pods = decision.containers.iter().map(|(name, _)| PodShare::new(name.as_str())).collect();
    written(page, &decision.headline, &Shares { pods, notes: Vec::new() })
}

/// A NUMA node, at least `at_least` wide.
fn panel(room: &NodeRoom, at_least: Pixels) -> Figure {
    let name = room.node.map_or_else(|| "no single NUMA node".to_owned(), |id| format!("NUMA {id}"));
    let (look, name) = match room.part {
        NodePart::Chosen => (Look::Package, format!("{name}: chosen")),
        NodePart::Unused => (Look::Group, name),
    };
    let mut title = Figure { width: text_width(&name, FONT), height: FONT + 2, shapes: Vec::new() };
    title.text(0, FONT, &name, FONT, Anchor::Start);
    let cores = cores(&room.cores);
    let widest = room.resources.iter().map(|resource| text_width(&resource.text, SMALL_FONT)).max();
    let width = widest
        .unwrap_or(0)
        .max(cores.width)
        .max(LEAST_BAR)
        .max(title.width)
        .max(at_least.saturating_sub(2 * GAP));
    let mut inner = title;
    if cores.height > 0 {
        inner.put_below(cores);
    }
    for resource in &room.resources {
        let text = small_text(&resource.text);
        inner.put_below(if resource.lacks() { text.inked(Ink::Lack) } else { text });
        let bar = bar(resource, width);
        let y = inner.height + 4;
        inner.put(0, y, bar);
    }
    inner.width = inner.width.max(width);
    inner.in_box(look, (at_least, 0))
}

fn cores(cores: &[Vec<(CpuId, CpuUse)>]) -> Figure {
    let mut all = Figure::default();
    let threads = cores.iter().map(Vec::len).max().unwrap_or(1).max(1);
    for row in cores.chunks((CPUS_IN_ROW / threads).max(1)) {
        let mut line = Figure::default();
        for core in row {
            let mut cpus = Figure::default();
            for (at, (cpu, used)) in (0..).zip(core) {
                cpus.put(at * (CPU.0 + 2), 0, self::cpu(*cpu, used));
            }
            let x = if line.width == 0 { 0 } else { line.width + 3 };
            let mut boxed = Figure::boxed(cpus.width + 4, cpus.height + 4, Look::Core);
            boxed.put(2, 2, cpus);
            line.put(x, 0, boxed);
        }
        let y = if all.height == 0 { 0 } else { all.height + 3 };
        all.put(0, y, line);
    }
    all
}

fn cpu(cpu: CpuId, used: &CpuUse) -> Figure {
    let (look, letters) = match used {
        CpuUse::Free => (Look::Cpu, String::new()),
        CpuUse::Held => (Look::Held, HELD.to_owned()),
        CpuUse::Reserved => (Look::Reserved, RESERVED.to_owned()),
        CpuUse::Chosen(containers) => {
            (Look::Cpu, containers.iter().map(|at| pods::letters(PodIndex(*at))).collect())
        }
    };
    let mut figure = Figure::boxed(CPU.0, CPU.1, look);
    figure.text(CPU.0 / 2, 12, &cpu.to_string(), SMALL_FONT, Anchor::Middle);
    if !letters.is_empty() {
        figure.text(CPU.0 / 2, 22, &letters, SMALL_FONT, Anchor::Middle);
    }
    match used {
        CpuUse::Chosen(containers) => {
            figure.owned(containers.last().map_or(Owner::Nobody, |at| Owner::Pod(PodIndex(*at))))
        }
        CpuUse::Free | CpuUse::Held | CpuUse::Reserved => figure,
    }
}

impl ResourceRoom {
    fn lacks(&self) -> bool {
        self.asked.is_some_and(|asked| asked.fit == RoomFit::Lacks)
    }
}

/// What others hold, what the containers got, and what stays free, to scale; and where what is asked for ends, behind what is
/// held. What of it the node has not got is drawn beyond the end of the bar.
fn bar(resource: &ResourceRoom, whole: Pixels) -> Figure {
    let held = resource.all.saturating_sub(resource.free);
    let reach = resource.asked.map_or(0, |asked| held.saturating_add(asked.amount));
    let scale = resource.all.max(reach);
    let width = pods::to_scale(resource.all, scale, whole);
    let mut bar = Figure::boxed(width, USED, Look::Cpu).titled("free".to_owned());
    let mut left = 0;
    let segments = core::iter::once((None, held))
        .chain(resource.chosen.iter().map(|(container, amount)| (Some(*container), *amount)));
    for (container, amount) in segments {
        let own = pods::to_scale(amount, resource.all, width).min(width - left);
        if own == 0 {
            continue;
        }
        let segment = match container {
            None => Figure::boxed(own, USED, Look::Held).titled(held_by(&resource.holders)),
            Some(at) => Figure::boxed(own, USED, Look::Memory).owned(Owner::Pod(PodIndex(at))),
        };
        bar.put(left, 0, segment);
        left += own;
    }
    if resource.asked.is_some() {
        if reach > resource.all && width < whole {
            let lack = Figure::boxed(whole - width, USED, Look::Lack);
            bar.put(width, 0, lack.titled("asked for, and not here".to_owned()));
        }
        let end = pods::to_scale(reach, scale, whole).saturating_sub(MARK);
        bar.put(end, 0, Figure::boxed(MARK, USED, Look::Asked).titled("asked for up to here".to_owned()));
    }
    bar
}

fn held_by(holders: &[String]) -> String {
    if holders.is_empty() {
        "held or not to be had".to_owned()
    } else {
        format!("held by {}", holders.join(", "))
    }
}

/// What boxes and letters mean, of those that are there.
fn key(decision: &Decision, width: Pixels) -> Figure {
    let uses = || decision.nodes.iter().flat_map(|node| node.cores.iter().flatten()).map(|(_, used)| used);
    let has_cpus = uses().next().is_some();
    let has_held = uses().any(|used| *used == CpuUse::Held);
    let has_reserved = uses().any(|used| *used == CpuUse::Reserved);
    let mut entries = Vec::new();
    if has_cpus {
        entries.push((Look::Core, "core"));
    }
    entries.push((Look::Cpu, "free before the decision"));
    if has_held || decision.nodes.iter().flat_map(|node| &node.resources).any(|room| room.free < room.all) {
        entries.push((Look::Held, "\"held\": other pods have it"));
    }
    if has_reserved {
        entries.push((Look::Reserved, "\"res\": reserved, which no container gets for itself"));
    }
    let rooms = || decision.nodes.iter().flat_map(|node| &node.resources);
    if rooms().any(|room| room.asked.is_some()) {
        entries.push((Look::Asked, "end of what is asked for"));
    }
    if rooms().any(ResourceRoom::lacks) {
        entries.push((Look::Lack, "asked for, and not there"));
    }
    key_rows(&entries, width)
}

fn paragraphs(head: &str, lines: &[String], width: Pixels) -> Figure {
    let mut all = Figure { width: text_width(head, FONT), height: BAR, shapes: Vec::new() };
    all.text(0, BAR - 4, head, FONT, Anchor::Heading);
    for line in lines.iter().flat_map(|line| wrapped(line, width, SMALL_FONT)) {
        let y = all.height + 4;
        all.put(2 * GAP, y, small_text(&line));
    }
    all
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::figure::Shape;
    use super::*;

    #[test]
    fn what_was_chosen_held_and_reserved_has_letters() {
        let uses = [CpuUse::Reserved, CpuUse::Held, CpuUse::Chosen(vec![0, 1]), CpuUse::Free];
        let cores = (0..).zip(uses).map(|(number, used)| vec![(CpuId::new(number).unwrap(), used)]).collect();
        let memory = ResourceRoom { chosen: vec![(1, 2)], ..room_of("memory", 8, 6, None) };
        let room = NodeRoom { node: Some(NodeId(3)), part: NodePart::Chosen, cores, resources: vec![memory] };
        let text = decision(&Decision {
            headline: "web admitted".to_owned(),
            nodes: vec![room],
            containers: vec![("init".to_owned(), String::new()), ("app".to_owned(), String::new())],
            ..Decision::default()
        });
        for part in [">NUMA 3: chosen<", ">held<", ">res<", ">AB<", ">A init<", ">B app<"] {
            assert!(text.contains(part), "no {part} in {text}");
        }
        assert!(text.contains("class=\"memory p1\""), "the memory of the second container");
    }

    fn room_of(text: &str, all: u64, free: u64, asked: Option<AskedRoom>) -> ResourceRoom {
        let holders = vec!["ran/other".to_owned()];
        ResourceRoom { text: text.to_owned(), all, free, chosen: Vec::new(), holders, asked }
    }

    #[test]
    fn what_is_asked_is_marked_and_what_lacks_is_red_behind_the_bar() {
        let asked = |amount, fit| Some(AskedRoom { amount, fit });
        for (room, lack, mark, red) in [
            // 12 of 16 are held and 8 asked for: the bar is 16 of 20, and 4 lack.
            (room_of("cpu", 16, 4, asked(8, RoomFit::Lacks)), Some((160, 40)), 198, 1),
            (room_of("cpu", 16, 12, asked(8, RoomFit::Fits)), None, 148, 0),
            // It has enough, and must not give it alone.
            (room_of("cpu", 16, 12, asked(8, RoomFit::Lacks)), None, 148, 1),
            (room_of("card", 0, 0, asked(1, RoomFit::Lacks)), Some((0, 200)), 198, 1),
        ] {
            let figure = bar(&room, 200);
            let of = |wanted: Look| {
                figure.shapes.iter().find_map(|(x, _, shape)| match shape {
                    Shape::Box { look, width, .. } if *look == wanted => Some((*x, *width)),
                    _ => None,
                })
            };
            assert_eq!(of(Look::Lack), lack, "{room:?}");
            assert_eq!(of(Look::Asked), Some((mark, MARK)), "{room:?}");
            let nodes = vec![NodeRoom {
                node: Some(NodeId(0)),
                part: NodePart::Unused,
                cores: Vec::new(),
                resources: vec![room],
            }];
            let text = decision(&Decision { nodes, ..Decision::default() });
            assert_eq!(text.matches("<text class=\"x\"").count(), red, "{text}");
        }
    }
}
