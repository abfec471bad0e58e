//! Other huge pages than the machine has: `0:1Gi=16,1:1Gi=16`.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use k8s_quantity::Amount;
use topology_model::{HugePages, MachineInfo};

use crate::amount_text::{page_size, quantity};
use crate::memory;

/// Sets the huge pages of nodes as `text` says. A page size exists on every node as soon as one has it, with no pages
/// where `text` names none, as in the kernel. Pages fit in the memory of their node, so that must not be among the
/// `unknown`.
pub(crate) fn replace(info: &mut MachineInfo, text: &str, unknown: &[i64]) -> anyhow::Result<()> {
    let wanted = parse(text)?;
    let nodes = info.topology.as_deref_mut().unwrap_or_default();
    for (node, _) in wanted.keys() {
        if !nodes.iter().any(|listed| listed.id == *node) {
            let ids: Vec<String> = nodes.iter().map(|listed| listed.id.to_string()).collect();
            bail!("--hugepages names NUMA node {node}; the machine has {}", ids.join(", "));
        }
    }
    let sizes: Vec<u64> = wanted.keys().map(|(_, kib)| *kib).collect();
    for node in nodes.iter_mut() {
        let pages = node.hugepages.get_or_insert_default();
        for kib in &sizes {
            let entry = pages.iter().position(|entry| entry.page_size_kib == *kib);
            let at = entry.unwrap_or_else(|| {
                pages.push(HugePages { page_size_kib: *kib, num_pages: 0 });
                pages.len() - 1
            });
            if let Some(count) = wanted.get(&(node.id, *kib)) {
                pages[at].num_pages = *count;
            }
        }
        let used = memory::used_by(pages);
        if used > node.memory && unknown.contains(&node.id) {
            let (id, used) = (node.id, Amount::Bytes(used));
            bail!(
                "--hugepages asks for {used} of huge pages on NUMA node {id}, and nothing tells how much memory that has: give it with --memory {id}=SIZE"
            );
        }
        if used > node.memory {
            let (used, memory) = (Amount::Bytes(used), Amount::Bytes(node.memory));
            bail!("--hugepages asks for {used} of huge pages on NUMA node {}, which has {memory}", node.id);
        }
    }
    let total = |kib: u64| {
        let of_nodes = nodes.iter().flat_map(|node| node.hugepages.iter().flatten());
        let pages = of_nodes.filter(|entry| entry.page_size_kib == kib).map(|entry| entry.num_pages);
        pages.fold(0_u64, u64::saturating_add)
    };
    let totals: Vec<HugePages> =
        sizes.iter().map(|kib| HugePages { page_size_kib: *kib, num_pages: total(*kib) }).collect();
    let machine = info.hugepages.get_or_insert_default();
    machine.retain(|entry| !sizes.contains(&entry.page_size_kib));
    machine.extend(totals);
    machine.sort_by_key(|entry| entry.page_size_kib);
    machine.dedup();
    Ok(())
}

/// Pages by node id and page size in KiB.
fn parse(text: &str) -> anyhow::Result<BTreeMap<(i64, u64), u64>> {
    let mut wanted = BTreeMap::new();
    for part in text.split(',') {
        let (node, size, pages) = parse_part(part)
            .with_context(|| format!("--hugepages: {part:?} is not NODE:SIZE=PAGES, as in 0:1Gi=16"))?;
        let bytes = page_size(size)
            .with_context(|| wrong_page(size))
            .with_context(|| format!("--hugepages {part}"))?;
        if wanted.insert((node, bytes / 1024), pages).is_some() {
            bail!("--hugepages: {part:?} sets the same pages a second time");
        }
    }
    Ok(wanted)
}

fn parse_part(part: &str) -> anyhow::Result<(i64, &str, u64)> {
    let (node, rest) = part.trim().split_once(':').context("there is no colon")?;
    let (size, pages) = rest.split_once('=').context("there is no equals sign")?;
    let node = node.parse().ok().filter(|node| *node >= 0).context("the node is no number")?;
    Ok((node, size, pages.parse().ok().context("the pages are no number")?))
}

/// Why no page has a size.
fn wrong_page(size: &str) -> String {
    match quantity(size) {
        Ok(_) => format!("no page has {size}, expected a power of two such as 2Mi or 1Gi"),
        Err(error) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use topology_model::MachineNode;

    use super::*;

    fn machine() -> MachineInfo {
        let node = |id| MachineNode { id, memory: 64 << 30, ..MachineNode::default() };
        MachineInfo { topology: Some(vec![node(0), node(8)]), ..MachineInfo::default() }
    }

    #[test]
    fn pages_are_set_per_node_and_the_size_exists_everywhere() {
        let mut info = machine();
        replace(&mut info, "8:1Gi=16,0:2Mi=512", &[]).unwrap();
        let of = |info: &MachineInfo, at: usize| {
            let pages = info.topology.as_ref().unwrap()[at].hugepages.clone().unwrap();
            let mut pages: Vec<_> = pages.iter().map(|p| (p.page_size_kib, p.num_pages)).collect();
            pages.sort_unstable();
            pages
        };
        assert_eq!(of(&info, 0), [(2048, 512), (1_048_576, 0)]);
        assert_eq!(of(&info, 1), [(2048, 0), (1_048_576, 16)]);
        let machine: Vec<_> =
            info.hugepages.unwrap().iter().map(|p| (p.page_size_kib, p.num_pages)).collect();
        assert_eq!(machine, [(2048, 512), (1_048_576, 16)]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, error) in [
            ("1:1Gi=1", "--hugepages names NUMA node 1; the machine has 0, 8"),
            ("0:1Gi", "--hugepages: \"0:1Gi\" is not NODE:SIZE=PAGES, as in 0:1Gi=16"),
            ("0:3Mi=1", "--hugepages 0:3Mi=1"),
            ("", "--hugepages: \"\" is not NODE:SIZE=PAGES, as in 0:1Gi=16"),
            ("0:1Gi=1,0:1Gi=2", "--hugepages: \"0:1Gi=2\" sets the same pages a second time"),
            ("0:1Gi=65", "--hugepages asks for 65Gi of huge pages on NUMA node 0, which has 64Gi"),
            ("0:1Gi=-1", "--hugepages: \"0:1Gi=-1\" is not NODE:SIZE=PAGES, as in 0:1Gi=16"),
        ] {
            assert_eq!(replace(&mut machine(), text, &[]).unwrap_err().to_string(), error);
        }
        let error = replace(&mut machine(), "0:1Gi=65", &[0, 8]).unwrap_err().to_string();
        assert!(error.ends_with("give it with --memory 0=SIZE"), "{error}");
    }
}
