//! Boxes in boxes, as lstopo draws them: memory and caches above the cores that they are near to.
//!
//! On small machines each core has its caches drawn; on others they are named once for all cores that are alike.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use cpuset::{CpuId, CpuSet};
use terminal_text::Glyphs;
use topology_model::{Core, CoreKind, CpuCache, Machine, Node};

use super::document::written;
use super::figure::{Anchor, Figure, grid, key_rows, small_text};
use super::look::Look;
use super::text::{FONT, GAP, Pixels, SMALL_FONT, folded, text_width, wrapped};
use super::{devices, distances, pods};
use crate::labels;
use crate::nest::{CoreGroup, Inside, Nest, Part, Place, alike};
use crate::reserved::Reserved;
use crate::shares::{Owner, Shares};

/// The most cores of a machine whose caches are drawn at each core.
const MOST_CORES_WITH_CACHES: usize = 32;
/// The most CPUs of a core that stand beside each other.
const CPUS_IN_ROW: usize = 4;
const CPU_HEIGHT: Pixels = 16;
/// The same where pods have letters in the boxes.
const CPU_HEIGHT_WITH_LETTERS: Pixels = 26;
/// The least width of the lines above a picture.
const LEAST_HEADING: Pixels = 320;

/// In the box of a reserved CPU.
const RESERVED: &str = "res";

/// The lines above a picture.
#[derive(Clone, Copy, Debug)]
pub struct Heading<'a> {
    /// The name of the machine; it is the title of the document too.
    pub title: &'a str,
    /// What the machine has in all, in a line.
    pub summary: &'a str,
}

/// What is drawn in the boxes of a machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contents<'a> {
    /// What pods hold, listed below the machine; `None`: it is not known which pods run, and there is no list.
    pub shares: Option<&'a Shares>,
    /// What a configuration keeps from pods; `None`: not known.
    pub reserved: Option<&'a Reserved>,
}

/// The machine as an SVG document. With `shares` there is a list of the pods below it; `None` leaves the list out,
/// for a machine on which it is not known which pods run.
pub fn picture(machine: &Machine, heading: Heading<'_>, shares: Option<&Shares>) -> String {
    picture_of(machine, heading, Contents { shares, reserved: None })
}

/// The same with what a configuration keeps from pods.
pub fn picture_of(machine: &Machine, heading: Heading<'_>, contents: Contents<'_>) -> String {
    let Heading { title: name, summary } = heading;
    let nest = Nest::new(machine);
    let none = Shares::default();
    let drawing = Drawing::new(machine, contents.shares.unwrap_or(&none), contents.reserved);
    let mut page = Figure::default();
    page.text(0, FONT, name, FONT, Anchor::Heading);
    (page.width, page.height) = (text_width(name, FONT), FONT);
    let body = drawing.inside(&nest.inside, 0);
    let width = body.width.max(LEAST_HEADING);
    for line in folded(summary, width).iter().flat_map(|line| wrapped(line, width, SMALL_FONT)) {
        page.put_below(small_text(&line));
    }
    if let Some(caches) = &drawing.all_cores {
        page.put_below(small_text(&format!("each core has {caches}")));
    }
    page.put_below(body);
    for text in labels::bare(&nest, machine) {
        page.put_below(Figure::bar(&text, Look::Nothing, 0));
    }
    page.put_below(drawing.key(width));
    if let Some(shares) = contents.shares {
        page.put_below(pods::legend(shares, contents.reserved, page.width));
    }
    if let Some(matrix) = distances::matrix(machine) {
        page.put_below(matrix);
    }
    written(page, name, drawing.shares)
}

struct Drawing<'m> {
    machine: &'m Machine,
    shares: &'m Shares,
    reserved: Option<&'m Reserved>,
    /// Width of the box of one CPU.
    cpu_width: Pixels,
    cpu_height: Pixels,
    has_own_caches: bool,
    /// Whether all cores have the same caches, CPUs and kind.
    are_alike: bool,
    /// The caches of each core, where all cores are alike and have none drawn.
    all_cores: Option<String>,
}

impl<'m> Drawing<'m> {
    fn new(machine: &'m Machine, shares: &'m Shares, reserved: Option<&'m Reserved>) -> Self {
        let last = machine.online().last().map_or(String::new(), |cpu| cpu.to_string());
        let cpu = text_width(&last, SMALL_FONT) + GAP;
        let has_own_caches = machine.cores().len() <= MOST_CORES_WITH_CACHES;
        let cores: Vec<_> = machine.cores().iter().collect();
        let groups = alike(machine, &cores);
        let all_cores = match groups.as_slice() {
            [only] if !has_own_caches => Some(caches_of(only)).filter(|caches| !caches.is_empty()),
            _ => None,
        };
        let has_reserved = reserved.and_then(|reserved| reserved.cpus.as_ref()).is_some();
        let has_letters = has_reserved || shares.pods.iter().any(|pod| !pod.cpus.is_empty());
        let cpu_height = if has_letters { CPU_HEIGHT_WITH_LETTERS } else { CPU_HEIGHT };
        let are_alike = groups.len() <= 1;
        Self {
            machine,
            shares,
            reserved,
            cpu_width: cpu.max(20),
            cpu_height,
            has_own_caches,
            are_alike,
            all_cores,
        }
    }

    /// The contents of a place: memory above, then places and cores, devices beside them.
    fn inside(&self, inside: &Inside<'_>, at_least: Pixels) -> Figure {
        let mut body = Figure::default();
        let places: Vec<_> = inside.places.iter().map(|place| self.place(place, (0, 0))).collect();
        // Neighbours are of one size, unless one would be half empty.
        let widest = places.iter().map(|place| place.width).max().unwrap_or(0);
        let tallest = places.iter().map(|place| place.height).max().unwrap_or(0);
        let are_alike = places.iter().all(|place| place.height * 5 >= tallest * 4);
        let size = (widest, if are_alike { tallest } else { 0 });
        // In the order of their CPUs: fast cores come before the small ones that share a cache.
        let first_core = inside.cores.first().and_then(|core| core.cpus.first());
        let cores_first = inside.places.first().is_none_or(|place| first_core < place.cpus.first());
        let cores = |body: &mut Figure| {
            for group in alike(self.machine, &inside.cores) {
                body.put_below(self.cores(&group));
            }
        };
        if cores_first {
            cores(&mut body);
        }
        if !places.is_empty() {
            body.put_below(grid(inside.places.iter().map(|place| self.place(place, size)).collect()));
        }
        if !cores_first {
            cores(&mut body);
        }
        let roots: Vec<_> =
            inside.roots.iter().map(|root| devices::root(self.machine, self.shares, root)).collect();
        if !roots.is_empty() {
            let devices = devices::column(roots, body.height);
            let x = if body.width == 0 { 0 } else { body.width + GAP };
            body.put(x, 0, devices);
        }
        let mut all = Figure::default();
        if !inside.memory.is_empty() {
            let widest = inside.memory.iter().map(|node| self.memory(node, 0).width).max().unwrap_or(0);
            let room = body.width.max(at_least);
            let count = Pixels::try_from(inside.memory.len()).unwrap_or(1);
            let columns = ((room + GAP) / (widest + GAP)).clamp(1, count);
            let width = widest.max((room.saturating_sub((columns - 1) * GAP)) / columns);
            for row in inside.memory.chunks(columns as usize) {
                let mut bars = Figure::default();
                for (at, node) in (0..).zip(row) {
                    bars.put(at * (width + GAP), 0, self.memory(node, width));
                }
                all.put_below(bars);
            }
        }
        if body.height > 0 {
            all.put_below(body);
        }
        all
    }

    fn place(&self, place: &Place<'_>, at_least: (Pixels, Pixels)) -> Figure {
        let widths = place.parts.iter().map(|part| match part {
            Part::Node(node) => self.memory(node, 0).width,
            Part::Package(_) | Part::Cache(_) => {
                text_width(&labels::part(self.machine, *part, Glyphs::Unicode), FONT) + 2 * GAP
            }
        });
        let widest = widths.max().unwrap_or(0);
        let inner_least = at_least.0.saturating_sub(2 * GAP).max(widest);
        let body = self.inside(&place.inside, inner_least);
        let width = body.width.max(inner_least);
        let mut figure = Figure::default();
        let mut look = Look::Group;
        for part in &place.parts {
            let text = labels::part(self.machine, *part, Glyphs::Unicode);
            match part {
                Part::Package(_) => {
                    look = Look::Package;
                    let mut title = Figure { width, height: FONT + 2, shapes: Vec::new() };
                    title.text(2, FONT, &text, FONT, Anchor::Start);
                    figure.put_below(title);
                }
                Part::Node(node) => figure.put_below(self.memory(node, width)),
                Part::Cache(_) => figure.put_below(Figure::bar(&text, Look::Cache, width)),
            }
        }
        if body.height > 0 {
            figure.put_below(body);
        }
        figure.in_box(look, at_least)
    }

    /// The memory of a node, at least `at_least` wide, above what pods hold of it.
    fn memory(&self, node: &Node, at_least: Pixels) -> Figure {
        let mut text = labels::node(self.machine, node, Glyphs::Unicode);
        if node.cpus.is_empty() {
            text.push_str(", no CPUs");
        }
        let bar = Figure::bar(&text, Look::Memory, at_least);
        let strips = pods::memory_of_pods(self.shares, self.reserved, node, bar.width);
        let mut figure = Figure::bar(&text, Look::Memory, bar.width.max(strips.width));
        if strips.height > 0 {
            let y = figure.height + 2;
            figure.put(0, y, strips);
        }
        figure
    }

    fn cores(&self, group: &CoreGroup<'_>) -> Figure {
        let mut figure = Figure::default();
        let boxes: Vec<_> = group.cores.iter().map(|core| self.core(core, &group.caches)).collect();
        let cells = grid(boxes);
        if !self.has_own_caches && self.all_cores.is_none() {
            let caches = caches_of(group);
            let what = if caches.is_empty() { String::new() } else { format!(" with {caches}") };
            figure.put_below(small_text(&format!("{}{what}", labels::cores(group))));
        } else if group.kind != CoreKind::Plain || !self.are_alike {
            figure.put_below(small_text(&labels::cores(group)));
        }
        figure.put_below(cells);
        figure
    }

    /// The legend of boxes without a text, in lines no wider than that.
    fn key(&self, width: Pixels) -> Figure {
        let mut looks =
            vec![(Look::Core, "core"), (Look::Cpu, "CPU"), (Look::Memory, "memory of a NUMA node")];
        if !self.isolated().is_empty() {
            looks.push((Look::Isolated, "isolated CPU: the kernel schedules nothing there by itself"));
        }
        if self.reserved.is_some_and(|reserved| reserved.cpus.is_some()) {
            looks.push((Look::Reserved, "\"res\": reserved CPU, which no container gets for itself"));
        }
        let mut key = key_rows(&looks, width);
        for text in self.remarks() {
            for line in wrapped(&text, width, SMALL_FONT) {
                key.put_below(small_text(&line));
            }
        }
        let offline = self.machine.offline();
        if !offline.is_empty() {
            let lines = wrapped(&format!("offline CPUs {offline}"), width, SMALL_FONT);
            let mut text = Figure::default();
            for line in &lines {
                text.put_below(small_text(line));
            }
            key.put_below(text.in_box(Look::Nothing, (0, 0)));
        }
        key
    }

    /// What the picture says in few letters, and what is not known.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let has_pages = |node: &Node| node.hugepages.iter().any(|pages| pages.num_pages > 0);
        if self.machine.nodes().iter().any(has_pages) {
            remarks.push("N×SIZE after the memory of a NUMA node: huge pages".to_owned());
        }
        let has_memory = self.shares.pods.iter().any(|pod| !pod.memory().is_empty());
        if has_memory || self.reserved.is_some_and(|reserved| reserved.memory.is_some()) {
            remarks.push("the bar below a memory is what is held of it, to scale".to_owned());
        }
        let policies = self.reserved.into_iter().flat_map(Reserved::policies);
        remarks.extend(policies.map(ToOwned::to_owned));
        if self.machine.cpus().isolated.is_none() {
            remarks.push("which CPUs the kernel isolates is not known".to_owned());
        }
        remarks
    }

    /// CPUs that the kernel's scheduler leaves alone.
    fn isolated(&self) -> CpuSet {
        self.machine.cpus().isolated.as_ref().map_or_else(CpuSet::new, |cpus| cpus & self.machine.online())
    }

    fn cpu(&self, cpu: CpuId) -> Figure {
        let owner = self.shares.of_cpu(cpu);
        let is_isolated = self.machine.cpus().isolated.as_ref().is_some_and(|cpus| cpus.contains(cpu));
        let is_reserved = self.reserved.is_some_and(|reserved| reserved.has_cpu(cpu));
        let look = match (is_reserved, is_isolated) {
            (true, _) => Look::Reserved,
            (false, true) => Look::Isolated,
            (false, false) => Look::Cpu,
        };
        let mut figure = Figure::boxed(self.cpu_width, self.cpu_height, look);
        let middle = self.cpu_width / 2;
        figure.text(middle, CPU_HEIGHT - 4, &cpu.to_string(), SMALL_FONT, Anchor::Middle);
        let letters = match owner {
            Owner::Pod(pod) => Some(pods::letters(pod)),
            _ if is_reserved => Some(RESERVED.to_owned()),
            Owner::Nobody | Owner::Several => None,
        };
        if let Some(letters) = letters {
            figure.text(middle, CPU_HEIGHT + 6, &letters, SMALL_FONT, Anchor::Middle);
        }
        figure.owned(owner)
    }

    fn core(&self, core: &Core, caches: &[&CpuCache]) -> Figure {
        let mut cpus = Figure::default();
        for (at, cpu) in core.cpus.iter().enumerate() {
            let (row, column) = (at / CPUS_IN_ROW, at % CPUS_IN_ROW);
            let place = |at: usize, size: Pixels| Pixels::try_from(at).unwrap_or(0) * (size + 2);
            cpus.put(place(column, self.cpu_width), place(row, self.cpu_height), self.cpu(cpu));
        }
        let pad = 3;
        let boxed = |inner: Figure, width: Pixels| {
            let mut outer =
                Figure::boxed(width.max(inner.width + 2 * pad), inner.height + 2 * pad, Look::Core);
            outer.put(pad, pad, inner);
            outer
        };
        if !self.has_own_caches {
            return boxed(cpus, 0);
        }
        let texts: Vec<_> = farthest_first(caches).map(labels::cache).collect();
        let widest = texts.iter().map(|text| text_width(text, FONT) + 2 * GAP).max().unwrap_or(0);
        let core = boxed(cpus, widest);
        let mut figure = Figure::default();
        for text in &texts {
            figure.put_below(Figure::bar(text, Look::Cache, core.width));
        }
        figure.put_below(core);
        figure
    }
}

/// The caches of each core of a group, the farthest first.
fn caches_of(group: &CoreGroup<'_>) -> String {
    farthest_first(&group.caches).map(labels::cache).collect::<Vec<_>>().join(", ")
}

/// By level, and of one level data before instructions.
fn farthest_first<'c>(caches: &[&'c CpuCache]) -> impl Iterator<Item = &'c CpuCache> {
    let mut sorted = caches.to_vec();
    sorted.sort_by_key(|cache| (Reverse(cache.level), cache.kind));
    sorted.into_iter()
}
