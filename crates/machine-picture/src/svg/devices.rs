//! PCI devices beside the CPUs that they are near to. Devices behind one switch stand in one dashed box; bridges that
//! lead to a single device are not drawn.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use topology_model::{Machine, NodeId, PciDevice};

use super::figure::{Anchor, Figure};
use super::look::Look;
use super::pods;
use super::text::{FONT, GAP, Pixels, SMALL_FONT, text_width};
use crate::labels;
use crate::nest::{Root, device_groups, leads_to_work, works_near};
use crate::shares::{Owner, Shares};

/// A root complex.
pub(super) fn root(machine: &Machine, shares: &Shares, root: &Root<'_>) -> Figure {
    let mut text = format!("PCI {:04x}:{:02x}", root.domain, root.bus);
    match root.node {
        None => text.push_str(", node not known"),
        // It stands beside the CPUs of another node.
        Some(id) if machine.node(id).is_none_or(|node| node.cpus.is_empty()) => {
            text.push_str(&format!(", near NUMA {id}"));
        }
        Some(_) => {}
    }
    let mut figure = caption(&text);
    for device in devices(machine, shares, root.devices.iter().copied(), root.node) {
        figure.put_below(device);
    }
    figure.in_box(Look::Root, (0, 0))
}

/// Root complexes one below the other; a further column starts where one would be taller than its surroundings.
pub(super) fn column(roots: Vec<Figure>, height: Pixels) -> Figure {
    let tallest = roots.iter().map(|root| root.height).max().unwrap_or(0).max(height);
    let mut all = Figure::default();
    let mut column = Figure::default();
    for root in roots {
        if column.height > 0 && column.height + GAP + root.height > tallest {
            let x = if all.width == 0 { 0 } else { all.width + GAP };
            all.put(x, 0, mem::take(&mut column));
        }
        column.put_below(root);
    }
    let x = if all.width == 0 { 0 } else { all.width + GAP };
    all.put(x, 0, column);
    all
}

fn devices<'a>(
    machine: &Machine,
    shares: &Shares,
    devices: impl Iterator<Item = &'a PciDevice>,
    node: Option<NodeId>,
) -> Vec<Figure> {
    let mut figures = Vec::new();
    let shown: Vec<_> = devices.filter(|device| leads_to_work(machine, device, node)).collect();
    for group in device_groups(machine, shares, &shown) {
        let Some((first, last)) = group.first().zip(group.last()) else { continue };
        let behind = self::devices(machine, shares, machine.devices_behind(Some(first.address)), node);
        if works_near(first, node) {
            figures.push(device(shares, first, last, group.len()));
        }
        match behind.len() {
            0 => {}
            1 => figures.extend(behind),
            _ => {
                let mut inner = caption(&format!("bridge {}", first.address));
                for figure in behind {
                    inner.put_below(figure);
                }
                figures.push(inner.in_box(Look::Bridge, (0, 0)));
            }
        }
    }
    figures
}

/// A device, or several that are alike.
fn device(shares: &Shares, first: &PciDevice, last: &PciDevice, count: usize) -> Figure {
    let (times, mut which) = match count {
        1 => {
            let names = first.kernel_names.iter().map(|name| format!(", {name}")).collect::<String>();
            (String::new(), format!("{}{names}", first.address))
        }
        _ => (format!("{count}× "), format!("{} to {}", first.address, last.address)),
    };
    let what = format!("{times}{}", labels::device(first));
    let owner = shares.of_device(first);
    if let Owner::Pod(index) = owner
        && let Some(pod) = shares.pod(index)
    {
        which.push_str(&format!(", {} {}", pods::letters(index), pods::short(pod)));
    }
    let width = text_width(&what, FONT).max(text_width(&which, SMALL_FONT)) + 2 * GAP;
    let place = first.node.id().map_or("node not known".to_owned(), |id| format!("near NUMA {id}"));
    let mut figure = Figure::boxed(width, FONT + SMALL_FONT + 2 * GAP, Look::Device)
        .titled(format!("{which}: {times}{}, {place}", labels::device_in_full(first)));
    figure.text(GAP, FONT + 4, &what, FONT, Anchor::Start);
    figure.text(GAP, FONT + SMALL_FONT + 8, &which, SMALL_FONT, Anchor::Start);
    figure.owned(owner)
}

fn caption(text: &str) -> Figure {
    let mut figure =
        Figure { width: text_width(text, SMALL_FONT), height: SMALL_FONT + 2, shapes: Vec::new() };
    figure.text(0, SMALL_FONT, text, SMALL_FONT, Anchor::Start);
    figure
}
