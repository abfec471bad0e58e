//! The distances between NUMA nodes as a small matrix, in three classes: nearest, farthest, between.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use topology_model::{Machine, Node};

use super::figure::{Anchor, Figure, key_rows, small_text};
use super::look::Look;
use super::text::{FONT, GAP, Pixels, SMALL_FONT, text_width};

/// The most nodes whose distances are drawn as a matrix.
const LARGEST_MATRIX: usize = 16;
/// Height of a cell.
const HEIGHT: Pixels = 16;

/// The matrix of the nodes that have CPUs or memory; `None` if there are fewer than two, or no distance is known.
pub(super) fn matrix(machine: &Machine) -> Option<Figure> {
    let nodes: Vec<(usize, &Node)> =
        machine.nodes().iter().enumerate().filter(|(_, node)| !is_bare(node)).collect();
    let between = |from: &Node, to: usize| from.distances.as_ref().and_then(|row| row.get(to).copied());
    let known: BTreeSet<u32> = nodes
        .iter()
        .flat_map(|(own, from)| {
            nodes.iter().filter(move |(to, _)| to != own).filter_map(move |(to, _)| between(from, *to))
        })
        .collect();
    let (nearest, farthest) = (*known.first()?, *known.last()?);
    if nodes.len() > LARGEST_MATRIX {
        return Some(small_text(&format!("NUMA distances: {nearest} to {farthest} between nodes")));
    }
    let texts = nodes.iter().map(|(_, node)| node.id.to_string()).chain([farthest.to_string()]);
    let width = texts.map(|text| text_width(&text, SMALL_FONT)).max().unwrap_or(0) + 2 * GAP;
    let mut all = small_text("NUMA distances, as the firmware reports them");
    let top = all.height + GAP;
    let at = |position: usize, size: Pixels| Pixels::try_from(position).unwrap_or(0) * (size + 2);
    for (row, (own, from)) in nodes.iter().enumerate() {
        let y = top + at(row + 1, HEIGHT);
        all.put(0, y, head(&from.id.to_string(), width));
        all.put(at(row + 1, width), top, head(&from.id.to_string(), width));
        for (column, (to, _)) in nodes.iter().enumerate() {
            let value = between(from, *to);
            let look = match value {
                _ if own == to => Look::Same,
                Some(value) if value == nearest => Look::Near,
                Some(value) if value == farthest => Look::Far,
                Some(_) => Look::Middle,
                None => Look::Nothing,
            };
            let text = value.map_or_else(|| String::from("?"), |value| value.to_string());
            let mut cell = Figure::boxed(width, HEIGHT, look);
            cell.text(width / 2, HEIGHT - 4, &text, SMALL_FONT, Anchor::Middle);
            all.put(at(column + 1, width), y, cell);
        }
    }
    let between = (known.len() > 2).then_some((Look::Middle, "between"));
    let far = (known.len() > 1).then_some((Look::Far, "farthest"));
    let classes: Vec<(Look, &str)> =
        [Some((Look::Near, "nearest")), between, far].into_iter().flatten().collect();
    if classes.len() > 1 {
        all.put_below(key_rows(&classes, Pixels::MAX));
    }
    Some(all)
}

/// The id of a node beside its row or above its column.
fn head(id: &str, width: Pixels) -> Figure {
    let mut figure = Figure { width, height: HEIGHT, shapes: Vec::new() };
    figure.text(width / 2, FONT, id, SMALL_FONT, Anchor::Middle);
    figure
}

fn is_bare(node: &Node) -> bool {
    node.cpus.is_empty() && node.memory == Some(0)
}
