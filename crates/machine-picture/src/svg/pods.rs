//! What pods hold, in their colours: strips below the memory of a node, and a list of the pods.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use terminal_text::Glyphs;
use topology_model::NodeId;

use super::{Anchor, FONT, Figure, GAP, Look, Pixels, SMALL_FONT, text_width};
use crate::shares::{Owner, PodIndex, PodShare, Shares};

/// Fill of the first pods; later ones have a hue by their number.
const COLOURS: [&str; 10] = [
    "#f6a94a", "#6db1f2", "#c493e8", "#f2d93b", "#4fc7b7", "#f58b7d", "#8fd14f", "#f29ac9", "#cda671",
    "#93a0f0",
];

/// Height of a strip.
const STRIP: Pixels = 16;
/// The most characters of a name in a strip.
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

/// The pods that hold memory of a node, side by side in rows of a width; wider only if a single strip is.
pub(super) fn strips(shares: &Shares, node: NodeId, width: Pixels) -> Figure {
    let mut all = Figure::default();
    let (mut x, mut y) = (0, 0);
    for (index, pod, held) in shares.on_node(node, Glyphs::Unicode) {
        let text = format!("{} {held}", short(pod));
        let own = text_width(&text, SMALL_FONT) + 2 * GAP;
        let mut strip = Figure::boxed(own, STRIP, Look::Memory).owned(Owner::Pod(index));
        strip.text(GAP, STRIP - 4, &text, SMALL_FONT, Anchor::Start);
        if x > 0 && x + own > width {
            (x, y) = (0, y + STRIP + 2);
        }
        all.put(x, y, strip);
        x += own + 2;
    }
    all
}

/// Every pod with its colour and what it holds, in as many columns as fit; then the colours of no pod, and the notes.
pub(super) fn legend(shares: &Shares, width: Pixels) -> Figure {
    let pods = shares.pods.iter().enumerate();
    let mut entries: Vec<_> = pods
        .map(|(at, pod)| {
            let lines = [pod.parts(Glyphs::Unicode).join(" · "), devices(pod)];
            entry(Look::Cpu, Owner::Pod(PodIndex(at)), &pod.name, &lines)
        })
        .collect();
    let shared = "CPUs in white; memory and devices without a pod are free".to_owned();
    entries.push(entry(Look::Cpu, Owner::Nobody, "shared pool", &[shared]));
    if shares.has_overlaps() {
        let text = "two pods hold the same, which no kubelet grants".to_owned();
        entries.push(entry(Look::Cpu, Owner::Several, "several", &[text]));
    }
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
    for note in &shares.notes {
        all.put_below(Figure::bar(&cut(note, WIDEST_ENTRY), Look::Nothing, 0));
    }
    all
}

fn entry(look: Look, owner: Owner, name: &str, lines: &[String]) -> Figure {
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
