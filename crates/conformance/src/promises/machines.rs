//! Machines of a folder: trees of sysfs in archives, or what cAdvisor prints of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use topology_discovery::{SysfsTree, machine_info_from_json, read};
use topology_model::{KubeletView, MachineInfo};

use super::draw::Described;
use crate::corpus;

/// Every machine in a folder and those directly below it, by name. A machine of which no kubelet makes anything is left
/// out: those without NUMA nodes.
///
/// # Errors
/// What cannot be read.
pub(super) fn machines(folder: &Path) -> anyhow::Result<Vec<Described>> {
    let mut found = BTreeMap::new();
    collect(folder, &mut found)?;
    for entry in list(folder)? {
        if entry.is_dir() {
            collect(&entry, &mut found)?;
        }
    }
    let machines = found.into_iter().filter(|(_, info)| KubeletView::new(info).is_ok());
    Ok(machines.map(|(name, info)| Described::new(&name, info)).collect())
}

fn collect(folder: &Path, found: &mut BTreeMap<String, MachineInfo>) -> anyhow::Result<()> {
    for path in list(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let context = || format!("failed to read {}", path.display());
        let (name, info) = if let Some(name) = name.strip_suffix(".tar.zst") {
            let tree = SysfsTree::archive(&fs::read(&path).with_context(context)?).with_context(context)?;
            (name, read(&tree).with_context(context)?.info)
        } else if let Some(name) = name.strip_suffix(".json.zst") {
            let text = corpus::read(&path)?;
            (name, machine_info_from_json(text.as_bytes()).with_context(context)?)
        } else {
            continue;
        };
        found.insert(name.to_owned(), info);
    }
    Ok(())
}

fn list(folder: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let listed = fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut paths = listed.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
