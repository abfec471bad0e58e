//! A machine with what replaces something of it, and with what its kubelet keeps.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use topology_discovery::SysfsTree;

use crate::counted::Counted;
use crate::machine::{LIVE, LoadedMachine};
use crate::packed::{Packed, Running};
use crate::sources::MachineSource;
use crate::{hugepages, memory};

impl LoadedMachine {
    /// Reads the machine, with the memory and huge pages that replace its own.
    ///
    /// # Errors
    /// It cannot be read, or what replaces something does not fit.
    pub fn load(source: &MachineSource) -> anyhow::Result<Self> {
        let mut machine = Self::named(&source.machine)?;
        if let Some(text) = &source.memory {
            memory::replace(&mut machine, text)?;
        }
        if let Some(pages) = &source.hugepages {
            let unknown = machine.nodes_of_unknown_memory();
            hugepages::replace(&mut machine.info, pages, &unknown)?;
            machine.set_hugepages_of_hardware()?;
            machine.given.push(format!("--hugepages {pages}"));
        }
        if source.memory.is_some() {
            memory::fits(&machine)?;
        }
        Ok(machine)
    }

    /// The machine with all that is known of it as a node: where it is this machine, or a folder in which the root of
    /// a machine is mounted, what its kubelet keeps there.
    pub fn load_node(source: &MachineSource) -> anyhow::Result<Self> {
        let machine = Self::load(source)?.with_its_kubelet(&source.machine, source.kubelet_pid)?;
        let is_replaced = source.memory.is_some() || source.hugepages.is_some();
        let machine = if is_replaced { machine } else { machine.counted_by_its_kubelet() };
        machine.with_more(&source.add)
    }

    /// The same by name alone.
    pub fn named_node(name: &str) -> anyhow::Result<Self> {
        Ok(Self::named(name)?.with_its_kubelet(name, None)?.counted_by_its_kubelet())
    }

    /// The machine with what its kubelet counts, where that differs and none of it is known not to run.
    fn counted_by_its_kubelet(self) -> Self {
        let counted = self.packed.as_deref().and_then(|packed| {
            let state = packed.state.as_ref().filter(|_| packed.running != Running::No)?;
            Counted::of(&self.info, state, packed.running)
        });
        Self { counted, ..self }
    }

    fn with_its_kubelet(self, name: &str, pid: Option<u32>) -> anyhow::Result<Self> {
        match root(name) {
            Some(root) if self.packed.is_none() => {
                Ok(Self { packed: Packed::of_root(&root, pid)?.map(Arc::new), ..self })
            }
            _ if pid.is_some() => {
                bail!("--kubelet-pid: {name} has no processes: expected live, or a folder with proc")
            }
            _ => Ok(self),
        }
    }
}

/// The root of the machine that a `--machine` argument means, if it is there as folders.
fn root(name: &str) -> Option<PathBuf> {
    if name == LIVE {
        return Some(PathBuf::from("/"));
    }
    let is_path = name.contains(['/', '.']) && Path::new(name).is_dir();
    is_path.then(|| SysfsTree::directory(name).ok()?.folder().map(Path::to_path_buf))?
}
