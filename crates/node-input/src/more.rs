//! A machine with more of something: [`Imagined`].

mod cores;
mod amounts;

use std::borrow::Cow;

use anyhow::{Context as _, ensure};
use cpuset::CpuSet;
use device_manager::Inventory;
use topology_model::{KubeletView, MachineInfo, NodeId};

use crate::addition::{Addition, More};
use crate::imagined::{Added, Imagined};
use crate::machine::LoadedMachine;

impl LoadedMachine {
    /// The machine with more of something.
    ///
    /// # Errors
    /// It lacks the NUMA node, or no machine can have so much.
    pub fn with_more(self, additions: &[Addition]) -> anyhow::Result<Self> {
        if additions.is_empty() {
            return Ok(self);
        }
        let (additions, mut machine) = (merged(additions), self);
        let mut all = CpuSet::new();
        let imagined = Imagined { additions, real: machine.info.clone(), cpus: CpuSet::new() };
        for addition in imagined.in_order() {
            let place = || format!("--add {addition}");
            machine.must_have(addition.node).with_context(place)?;
            match &addition.what {
                More::Cpus(count) => {
                    let cpus = machine.add_cpus(addition.node, *count).with_context(place)?;
                    all |= &cpus;
                }
                More::Memory(bytes) => machine.add_memory(addition.node, *bytes).with_context(place)?,
                More::HugePages { page, bytes } => {
                    machine.add_pages(addition.node, *page, *bytes).with_context(place)?;
                }
                More::Devices(..) => {}
            }
            machine.given.push(place());
        }
        machine.imagined = Some(Imagined { cpus: all, ..imagined }.into());
        Ok(machine)
    }

    /// The view of the real machine, by which the configuration is read; `view` is that of this one.
    pub(crate) fn real_view<'v>(&self, view: &'v KubeletView) -> anyhow::Result<Cow<'v, KubeletView>> {
        Ok(match &self.imagined {
            Some(imagined) => Cow::Owned(KubeletView::new(&imagined.real)?),
            None => Cow::Borrowed(view),
        })
    }

    /// The devices of its node with the added ones, and the ids of these.
    pub(crate) fn with_added_devices(&self, inventory: Inventory) -> (Inventory, Added) {
        match &self.imagined {
            Some(imagined) => imagined.devices(inventory),
            None => (inventory, Added::default()),
        }
    }

    /// What it has more than the real one, as text to be shown.
    pub(crate) fn more_in_words(&self) -> Vec<String> {
        self.imagined.as_deref().map(Imagined::words).unwrap_or_default()
    }

    fn must_have(&self, node: NodeId) -> anyhow::Result<()> {
        let ids = self.node_ids();
        let shown = || ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        ensure!(ids.contains(&node.0), "there is no NUMA node {node}: the machine has {}", shown());
        Ok(())
    }

    /// The machine's facts, and those that its kubelet counted when it started where these are others.
    fn infos(&mut self) -> impl Iterator<Item = &mut MachineInfo> {
        std::iter::once(&mut self.info).chain(self.counted.as_mut().map(|counted| &mut counted.info))
    }
}

/// Each resource on each node once.
fn merged(additions: &[Addition]) -> Vec<Addition> {
    let mut all: Vec<Addition> = Vec::new();
    for addition in additions {
        let same = all.iter_mut().filter(|other| other.node == addition.node);
        let sum = same.into_iter().find_map(|other| Some((other.what.plus(&addition.what)?, other)));
        match sum {
            Some((sum, other)) => other.what = sum,
            None => all.push(addition.clone()),
        }
    }
    all
}
