//! What pods hold, in their colours: strips below the memory of a node, and a list of the pods.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use serde::Serialize;
use terminal_text::Glyphs;
use topology_model::Node;

use super::figure::{Anchor, Figure};
use super::look::Look;
use super::text::{FONT, GAP, Pixels, SMALL_FONT, text_width};
use crate::reserved::Reserved;
use crate::shares::{Owner, PodIndex, PodShare, Shares};

/// Fill of the first pods, light enough for black letters and apart from each other; later ones have a hue by their
/// number, and every pod has letters.
const COLOURS: [&str; 20] = [
    "#f5a742", "#6fa8ff", "#5fd06a", "#ff8fc0", "#ffe14d", "#a98bff", "#3fd0c9", "#ff7058", "#b8e04a",
    "#c08a55", "#8fe3ff", "#e070ff", "#93a86a", "#ffcfa8", "#8494d8", "#a8f5c8", "#d89a9a", "#d9d2ff",
    "#c8bf4a", "#9fb8bf",
];

/// Height of the bar of a node's memory that pods hold.
const USED: Pixels = 8;
/// Side of the square before a pod's name.
const SQUARE: Pixels = 9;
/// Height of a line of names.
const LINE: Pixels = 14;
/// The most characters of a name where there is little room.
const SHORT: usize = 16;
/// The most devices of a pod that are named.
const MOST_DEVICES: usize = 4;
/// The most characters in a line of the list.
const WIDEST_ENTRY: usize = 90;

/// The class of a pod's boxes.
pub(super) fn class(pod: PodIndex) -> String {
    format!("p{}", pod.0)
}

pub(super) fn style(pod: PodIndex) -> String {
    match COLOURS.get(pod.0) {
        Some(colour) => format!("fill:{colour};stroke:#404040"),
        None => format!("fill:hsl({},55%,72%);stroke:#404040", pod.0 * 137 % 360),
    }
}

/// The letters of a pod in the boxes of its CPUs: `A` to `Z`, then `AA`.
pub(super) fn letters(pod: PodIndex) -> String {
    let mut letters = Vec::new();
    let mut rest = pod.0 + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

/// How a pod is found again in a picture, and what it holds in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PodKey {
    /// `NAMESPACE/NAME`, or the UID of a pod whose name is not known.
    pub name: String,
    /// The class of its boxes in the picture.
    pub class: String,
    /// The letters in the boxes of its CPUs.
    pub letters: String,
    /// `CPUs 1-4`, `4Gi on NUMA 0`, `nvidia.com/gpu gpu-0`; empty for a pod that holds nothing.
    pub holds: Vec<String>,
}

/// The pods of a picture that is drawn with these shares, in the same order.
pub fn pod_keys(shares: &Shares) -> Vec<PodKey> {
    let each = shares.pods.iter().enumerate().map(|(at, pod)| {
        let devices = Some(devices(pod)).filter(|devices| !devices.is_empty());
        PodKey {
            name: pod.name.clone(),
            class: class(PodIndex(at)),
            letters: letters(PodIndex(at)),
            holds: pod.parts(Glyphs::Unicode).into_iter().chain(devices).collect(),
        }
    });
    each.collect()
}

/// A pod's name where there is little room.
pub(super) fn short(pod: &PodShare) -> String {
    cut(pod.short_name(), SHORT)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// What pods hold of a node's memory: a bar to scale, and below it the pods with their amounts.
///
/// How much of an amount on several nodes lies on each is not known: it is drawn in equal parts. A node of unknown
/// size has no bar.
///
/// What is reserved stands first.
pub(super) fn memory_of_pods(
    shares: &Shares,
    reserved: Option<&Reserved>,
    node: &Node,
    width: Pixels,
) -> Figure {
    let mut all = Figure::default();
    let mut left = 0;
    let all_bytes = node.memory.unwrap_or(0);
    let kept = reserved.into_iter().flat_map(|reserved| reserved.on_node(node.id));
    let kept = kept.fold(0_u64, |sum, share| sum.saturating_add(share.bytes));
    let kept_text = reserved.map_or_else(String::new, |reserved| reserved.amounts(node.id, Glyphs::Unicode));
    let own = to_scale(kept, all_bytes, width);
    if own > 0 {
        all.put(0, 0, Figure::boxed(own, USED, Look::Reserved).titled(format!("{kept_text} reserved")));
        left = own;
    }
    for (index, pod, held) in shares.on_node(node.id, Glyphs::Unicode) {
        let on_node = pod.memory().iter().filter(|share| share.nodes.iter().any(|id| id == node.id));
        let bytes = on_node.fold(0_u64, |sum, share| {
            sum.saturating_add(share.bytes / u64::try_from(share.nodes.len().max(1)).unwrap_or(1))
        });
        let own = to_scale(bytes, all_bytes, width).min(width.saturating_sub(left));
        if own > 0 {
            let segment = Figure::boxed(own, USED, Look::Memory).titled(held).owned(Owner::Pod(index));
            all.put(left, 0, segment);
            left += own;
        }
    }
    let (mut x, mut y) = (0, if left > 0 { USED + 3 } else { 0 });
    let kept =
        (!kept_text.is_empty()).then(|| (Look::Reserved, Owner::Nobody, format!("reserved {kept_text}")));
    let held = shares.on_node(node.id, Glyphs::Unicode).map(|(index, pod, held)| {
        (Look::Memory, Owner::Pod(index), format!("{} {} {held}", letters(index), short(pod)))
    });
    for (look, owner, text) in kept.into_iter().chain(held) {
        let own = SQUARE + 3 + text_width(&text, SMALL_FONT);
        if x > 0 && x + own > width {
            (x, y) = (0, y + LINE);
        }
        let mut name = Figure::boxed(SQUARE, SQUARE, look).owned(owner);
        name.text(SQUARE + 3, SQUARE, &text, SMALL_FONT, Anchor::Start);
        (name.width, name.height) = (own, LINE);
        all.put(x, y, name);
        x += own + GAP;
    }
    all
}

/// The share of a width that bytes are of all bytes, rounded; at least a pixel of anything.
pub(super) fn to_scale(bytes: u64, all: u64, width: Pixels) -> Pixels {
    if bytes == 0 || all == 0 {
        return 0;
    }
    let scaled = (u128::from(bytes) * u128::from(width) + u128::from(all) / 2) / u128::from(all);
    Pixels::try_from(scaled).unwrap_or(width).clamp(1, width.max(1))
}

/// Every pod with its colour and what it holds, in as many columns as fit; then the colours of no pod, and the notes.
pub(super) fn legend(shares: &Shares, reserved: Option<&Reserved>, width: Pixels) -> Figure {
    let pods = shares.pods.iter().enumerate();
    let entries: Vec<_> = pods
        .map(|(at, pod)| {
            let lines = [pod.parts(Glyphs::Unicode).join(" · "), devices(pod)];
            let name = format!("{} {}", letters(PodIndex(at)), pod.name);
            entry(Look::Cpu, Owner::Pod(PodIndex(at)), &name, &lines)
        })
        .collect();
    let widest = entries.iter().map(|entry| entry.width).max().unwrap_or(1) + 3 * GAP;
    let columns = (width / widest).max(1);
    let mut all = Figure::default();
    let mut row = Figure::default();
    for (at, entry) in (0..).zip(entries) {
        if at > 0 && at % columns == 0 {
            all.put_below(mem::take(&mut row));
        }
        row.put(at % columns * widest, 0, entry);
    }
    all.put_below(row);
    let shared = "CPUs without a pod's colour; other memory and devices are free".to_owned();
    let unknown = if reserved.is_none() { "which of the CPUs are reserved is not known" } else { "" };
    all.put_below(entry(Look::Cpu, Owner::Nobody, "shared pool", &[shared, unknown.to_owned()]));
    if shares.has_overlaps() {
        let text = "two pods hold the same, which no kubelet grants".to_owned();
        all.put_below(entry(Look::Cpu, Owner::Several, "several", &[text]));
    }
    for note in &shares.notes {
        all.put_below(Figure::bar(&cut(note, WIDEST_ENTRY), Look::Nothing, 0));
    }
    all
}

pub(super) fn entry(look: Look, owner: Owner, name: &str, lines: &[String]) -> Figure {
    let mut figure = Figure::boxed(FONT + 4, FONT + 2, look).owned(owner);
    let x = FONT + 4 + GAP;
    figure.text(x, FONT - 1, name, FONT, Anchor::Start);
    figure.width = figure.width.max(x + text_width(name, FONT));
    for line in lines.iter().filter(|line| !line.is_empty()) {
        let line = cut(line, WIDEST_ENTRY);
        figure.height += SMALL_FONT + 3;
        figure.width = figure.width.max(x + text_width(&line, SMALL_FONT));
        figure.text(x, figure.height - 2, &line, SMALL_FONT, Anchor::Start);
    }
    figure
}

/// `intel.com/sriov_vf 0000:18:01.0, 0000:18:01.1 and 6 more`.
fn devices(pod: &PodShare) -> String {
    let parts = pod.devices.iter().map(|(resource, ids)| {
        let named: Vec<_> = ids.iter().take(MOST_DEVICES).map(String::as_str).collect();
        let more = ids.len().saturating_sub(MOST_DEVICES);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{resource} {}{more}", named.join(", "))
    });
    parts.collect::<Vec<_>>().join(" · ")
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        for (at, shown) in [(0, "A"), (25, "Z"), (26, "AA"), (51, "AZ"), (52, "BA"), (702, "AAA")] {
            assert_eq!(letters(PodIndex(at)), shown);
        }
    }

    #[test]
    fn a_key_names_the_boxes_of_its_pod_in_the_picture() {
        let machine: topology_model::Machine = "core:4 pu:1".parse().unwrap();
        let mut pods = vec![PodShare::new("a/one"), PodShare::new("a/two")];
        pods[0].cpus = "0-1".parse().unwrap();
        pods[1].cpus = "3".parse().unwrap();
        pods[1].devices.insert("a/card".to_owned(), vec!["x".to_owned()]);
        let shares = Shares { pods, notes: Vec::new() };
        let heading = crate::svg::Heading { title: "m", summary: "" };
        let picture = crate::svg::picture(&machine, heading, Some(&shares));
        let keys = pod_keys(&shares);
        assert_eq!(keys[1].holds, ["CPU 3", "a/card x"]);
        for (key, pod) in keys.iter().zip(&shares.pods) {
            // Its CPUs and its square in the list.
            let boxes = picture.matches(&format!("class=\"cpu {}\"", key.class)).count();
            assert_eq!((key.name.as_str(), boxes), (pod.name.as_str(), pod.cpus.len() + 1));
        }
    }

    #[test]
    fn a_bar_is_as_wide_as_its_share() {
        for (bytes, all, width, own) in
            [(0, 8, 100, 0), (8, 0, 100, 0), (2, 8, 100, 25), (1, 1 << 40, 100, 1), (9, 8, 100, 100)]
        {
            assert_eq!(to_scale(bytes, all, width), own, "{bytes} of {all}");
        }
    }

    /// Red, green and blue.
    fn parts(colour: &str) -> [i64; 3] {
        [1, 3, 5].map(|at| i64::from_str_radix(&colour[at..at + 2], 16).unwrap())
    }

    #[test]
    fn twenty_colours_stay_apart_and_carry_black_letters() {
        for (at, one) in COLOURS.iter().enumerate() {
            let [red, green, blue] = parts(one);
            let light = (2126 * red + 7152 * green + 722 * blue) / 10_000;
            assert!(light >= 125, "{one} is too dark: {light}");
            for other in &COLOURS[at + 1..] {
                let [r, g, b] = parts(other);
                // The usual cheap measure of how different two colours look.
                let mean = i64::midpoint(red, r);
                let (dr, dg, db) = (red - r, green - g, blue - b);
                let apart =
                    ((512 + mean) * dr * dr / 256 + 4 * dg * dg + (767 - mean) * db * db / 256).isqrt();
                assert!(apart >= 60, "{one} and {other}: {apart}");
            }
        }
    }
}
