//! A machine in XML: the elements and attributes that tell its topology, without those that tell whose it is.

use roxmltree::{Document, Node, ParsingOptions};

/// The most elements of a document that are looked at.
const MAX_NODES: u32 = 4_000_000;
/// The most elements within each other.
const MAX_DEPTH: usize = 128;

/// Elements of hwloc and of libvirt.
const ELEMENTS: &[&str] = &[
    "topology",
    "object",
    "page_type",
    "distances2",
    "indexes",
    "u64values",
    "support",
    "memattr",
    "memattr_value",
    "cpukind",
    "capabilities",
    "host",
    "cells",
    "cell",
    "memory",
    "pages",
    "sibling",
    "cpus",
    "cpu",
    "cache",
    "bank",
    "control",
    "distances",
];

/// Attributes of these elements, whose values are numbers, sets of CPUs, or words of topology.
const ATTRIBUTES: &[&str] = &[
    "version",
    "type",
    "os_index",
    "cpuset",
    "complete_cpuset",
    "online_cpuset",
    "allowed_cpuset",
    "nodeset",
    "complete_nodeset",
    "allowed_nodeset",
    "gp_index",
    "depth",
    "subkind",
    "kind",
    "local_memory",
    "size",
    "count",
    "cache_size",
    "cache_linesize",
    "cache_associativity",
    "cache_type",
    "bridge_type",
    "bridge_pci",
    "pci_busid",
    "pci_type",
    "pci_link_speed",
    "osdev_type",
    "nbobjs",
    "indexing",
    "length",
    "id",
    "num",
    "unit",
    "pages",
    "value",
    "socket_id",
    "die_id",
    "core_id",
    "cluster_id",
    "siblings",
    "level",
    "dont_merge",
    "nblevels",
    "relative_depth",
    "nbobjs",
    "latency_base",
];

/// The document with these alone; `None`: it is none.
pub(super) fn kept(text: &str) -> Option<String> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).ok()?;
    let mut kept = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if text.contains("<!DOCTYPE topology") {
        kept.push_str("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n");
    }
    element(document.root_element(), 0, &mut kept)?;
    Some(kept)
}

/// Writes an element; `None`: too many lie within each other.
fn element(of: Node<'_, '_>, depth: usize, kept: &mut String) -> Option<()> {
    let name = of.tag_name().name();
    if !ELEMENTS.contains(&name) {
        return Some(());
    }
    if depth > MAX_DEPTH {
        return None;
    }
    kept.push('<');
    kept.push_str(name);
    for attribute in of.attributes() {
        let (key, value) = (attribute.name(), attribute.value());
        if ATTRIBUTES.contains(&key) && is_value(value) {
            kept.push_str(&format!(" {key}=\"{value}\""));
        }
    }
    kept.push_str(">\n");
    for child in of.children() {
        if child.is_element() {
            element(child, depth + 1, kept)?;
        } else if let Some(text) = child.text().filter(|text| is_value(text.trim())) {
            kept.push_str(text.trim());
        }
    }
    kept.push_str(&format!("</{name}>\n"));
    Some(())
}

/// Whether a value is made of numbers and of words of topology.
fn is_value(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "Machine",
        "Package",
        "Die",
        "Core",
        "PU",
        "Group",
        "NUMANode",
        "L1Cache",
        "L2Cache",
        "L3Cache",
        "L4Cache",
        "L1iCache",
        "L2iCache",
        "L3iCache",
        "Bridge",
        "PCIDev",
        "OSDev",
        "MemCache",
        "Misc",
        "NUMALatency",
        "os",
        "gp",
        "KiB",
        "MiB",
        "GiB",
        "B",
        "bytes",
        "unified",
        "data",
        "instruction",
        "both",
        "Cluster",
        "Cache",
        "Socket",
    ];
    let is_number = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (word.starts_with("0x") || digits.len() <= 20)
    };
    let is_word = |word: &str| {
        word.is_empty()
            || WORDS.contains(&word)
            || is_number(word)
            || word.starts_with('f') && word.len() == 5 && word.get(1..).is_some_and(is_number)
    };
    value.len() <= 1 << 20 && value.split([' ', ',', ':', '-', '.', '[', ']', '\n']).all(is_word)
}
