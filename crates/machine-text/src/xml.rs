//! Machines as XML: hwloc's, and what libvirt says of a host or of a virtual machine.

mod domain;
mod elements;
mod hwloc;
mod libvirt;

use roxmltree::{Document, ParsingOptions};

use crate::error::MachineTextError;
use crate::form::OtherForm;
use crate::machine_text::MachineText;

/// The most elements within each other; hwloc has a tenth.
const MAX_DEPTH: usize = 128;

/// The most elements of a document; the largest machine known has a twentieth.
const MAX_NODES: u32 = 4_000_000;

/// Root elements with how they begin and end.
const ROOTS: [(&str, &str); 3] =
    [("<topology", "</topology>"), ("<capabilities", "</capabilities>"), ("<domain", "</domain>")];

/// Where XML ends that begins in the first line of a text; `None`: it is none.
pub(crate) fn end(first: &str, text: &str) -> Option<usize> {
    let begins = |begin: &&str| first.starts_with(begin);
    if !["<?xml", "<!DOCTYPE"].iter().any(begins) && !ROOTS.iter().any(|(begin, _)| begins(begin)) {
        return None;
    }
    let root = ROOTS.iter().filter_map(|(begin, end)| Some((text.find(begin)?, end))).min();
    let end = root.and_then(|(_, end)| Some(text.find(end)? + end.len()));
    Some(end.unwrap_or(text.len()))
}

/// Reads a machine from XML.
pub(crate) fn read(text: &str) -> Result<MachineText, MachineTextError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text.trim_start(), options)
        .map_err(|error| MachineTextError::Xml(error.to_string()))?;
    let root = document.root_element();
    nesting(root)?;
    let is_of_libvirt = root.children().any(|child| child.has_tag_name("cells"));
    match root.tag_name().name() {
        "topology" if is_of_libvirt => libvirt::read(root),
        "topology" => hwloc::read(root),
        "capabilities" => libvirt::read(root),
        // Application servers have files with the same root.
        "domain"
            if root.children().any(|child| child.has_tag_name("vcpu") || child.has_tag_name("memory")) =>
        {
            domain::read(root)
        }
        _ => {
            Err(OtherForm::of(text)
                .map_or(MachineTextError::Unknown, |form| MachineTextError::Other { form }))
        }
    }
}

/// Refuses documents that nest without an end: where something lies is asked of all that is around it.
fn nesting(root: roxmltree::Node<'_, '_>) -> Result<(), MachineTextError> {
    let (mut at, mut depth) = (root, 0_usize);
    loop {
        if let Some(child) = at.first_child() {
            (at, depth) = (child, depth + 1);
            if depth > MAX_DEPTH {
                return Err(MachineTextError::Xml(format!(
                    "more than {MAX_DEPTH} elements within each other"
                )));
            }
            continue;
        }
        loop {
            if at == root {
                return Ok(());
            }
            if let Some(next) = at.next_sibling() {
                at = next;
                break;
            }
            let Some(parent) = at.parent() else { return Ok(()) };
            (at, depth) = (parent, depth.saturating_sub(1));
        }
    }
}
