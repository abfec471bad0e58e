//! What the outputs in a text say, before a machine is made of it.

use std::collections::{BTreeMap, BTreeSet};

use cpuset::{CpuId, CpuSet};
use topology_model::{CacheKind, HugePages, PciAddress};

use crate::error::MachineTextError;
use crate::form::Form;

/// A level and kind of caches.
pub(crate) type CacheName = (u8, CacheKind);

/// All that was read.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// The outputs that were found.
    pub(crate) forms: BTreeSet<Form>,
    /// Rows of a table of CPUs: of the last one, until all are one.
    pub(crate) rows: BTreeMap<CpuId, Row>,
    /// Those of the tables before it.
    pub(crate) tables: Vec<BTreeMap<CpuId, Row>>,
    /// The same of a drawing, which count where there is no table.
    pub(crate) drawn: BTreeMap<CpuId, Row>,
    /// The same of a kubelet's log, which count where neither lists CPUs.
    pub(crate) logged: BTreeMap<CpuId, Row>,
    /// What `lscpu` counts.
    pub(crate) counts: Counts,
    /// NUMA nodes, by id.
    pub(crate) nodes: BTreeMap<i64, NodeFacts>,
    /// Rows of distances by node, whose columns are those of the nodes that are online.
    pub(crate) distance_rows: BTreeMap<i64, Vec<u32>>,
    /// How many NUMA nodes `numactl` has, by its first line.
    pub(crate) available_nodes: Option<usize>,
    /// Memory of the whole machine in bytes.
    pub(crate) memory: Option<u64>,
    /// Size in KiB of huge pages for which no size is named.
    pub(crate) default_hugepage_kib: Option<u64>,
    /// How many of them the whole machine has.
    pub(crate) default_hugepages: Option<u64>,
    /// PCI functions in the order in which they are listed.
    pub(crate) devices: Vec<PciFacts>,
}

/// What is listed of a PCI function.
#[derive(Debug)]
pub(crate) struct PciFacts {
    pub(crate) address: PciAddress,
    /// 24 bits.
    pub(crate) class: Option<u32>,
    pub(crate) vendor: Option<u16>,
    pub(crate) device: Option<u16>,
    pub(crate) node: Option<i64>,
    pub(crate) driver: Option<String>,
    pub(crate) functions: VirtualFunctions,
    /// Lines about it stand beneath it.
    pub(crate) is_verbose: bool,
}

impl PciFacts {
    pub(crate) fn new(address: PciAddress) -> Self {
        Self {
            address,
            class: None,
            vendor: None,
            device: None,
            node: None,
            driver: None,
            functions: VirtualFunctions::default(),
            is_verbose: false,
        }
    }
}

/// The virtual functions of a card: how many are enabled, and by how much their numbers are above its own and each other's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct VirtualFunctions {
    pub(crate) count: u32,
    pub(crate) offset: u32,
    pub(crate) stride: u32,
}

/// A row of a table of CPUs. What is not printed is `None`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row {
    pub(crate) node: Option<i64>,
    /// Machines of IBM number books within a drawer and sockets within a book.
    pub(crate) drawer: Option<i64>,
    pub(crate) book: Option<i64>,
    pub(crate) socket: Option<i64>,
    pub(crate) core: Option<i64>,
    pub(crate) caches: BTreeMap<CacheName, i64>,
    pub(crate) is_offline: bool,
}

impl Row {
    /// Whether it has no place of the CPU: no NUMA node, socket, core or cache.
    pub(crate) fn is_nowhere(&self) -> bool {
        self.node.is_none() && self.socket.is_none() && self.core.is_none() && self.caches.is_empty()
    }

    /// The same with what another row of the CPU has beside it; an error names what differs.
    pub(crate) fn with(&self, other: &Self) -> Result<Self, [String; 2]> {
        let either = |name: &str, one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) if one != other => {
                Err([format!("{name} {one}"), format!("{name} {other}")])
            }
            _ => Ok(one.or(other)),
        };
        let mut caches = self.caches.clone();
        for (name, id) in &other.caches {
            let one = caches.insert(*name, *id);
            either(&format!("L{} cache", name.0), one, Some(*id))?;
        }
        Ok(Self {
            node: either("NUMA node", self.node, other.node)?,
            drawer: either("drawer", self.drawer, other.drawer)?,
            book: either("book", self.book, other.book)?,
            socket: either("socket", self.socket, other.socket)?,
            core: either("core", self.core, other.core)?,
            caches,
            is_offline: self.is_offline || other.is_offline,
        })
    }
}

/// What `lscpu` counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) online: Option<CpuSet>,
    pub(crate) offline: Option<CpuSet>,
    pub(crate) threads: Option<u64>,
    pub(crate) cores: Option<u64>,
    pub(crate) sockets: Option<u64>,
    pub(crate) caches: BTreeMap<CacheName, CacheCount>,
    /// How many CPUs and NUMA nodes there are.
    pub(crate) cpus: Option<u64>,
    pub(crate) nodes: Option<u64>,
    /// Threads of a core follow each other, as on POWER and on machines of IBM.
    pub(crate) has_adjacent_threads: bool,
    /// The kernel gives caches no numbers, as on POWER.
    pub(crate) has_nameless_caches: bool,
}

/// Caches of one level and kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CacheCount {
    /// Size in KiB: of one, or of all where `is_sum`.
    pub(crate) size_kib: u64,
    pub(crate) is_sum: bool,
    /// How many there are, where that is printed.
    pub(crate) instances: Option<u64>,
}

impl CacheCount {
    /// Size in KiB of one of so many.
    pub(crate) fn size_of_one(self, count: usize) -> u64 {
        match u64::try_from(count) {
            Ok(count) if self.is_sum && count > 0 => self.size_kib / count,
            _ => self.size_kib,
        }
    }
}

/// What is known of a NUMA node.
#[derive(Debug, Default)]
pub(crate) struct NodeFacts {
    /// Its CPUs, with the output that lists them.
    pub(crate) cpus: Option<(Form, CpuSet)>,
    /// Its memory in bytes, with the output that has it.
    pub(crate) memory: Option<(Form, u64)>,
    /// Its memory in bytes, rounded to as few digits as `lstopo` draws.
    pub(crate) rough_memory: Option<u64>,
    /// Distances by the id of the other node.
    pub(crate) distances: BTreeMap<i64, u32>,
    pub(crate) hugepages: Vec<HugePages>,
}

impl Facts {
    pub(crate) fn node(&mut self, id: i64) -> &mut NodeFacts {
        self.nodes.entry(id).or_default()
    }

    /// Whether nothing but counts of `lscpu` was found, without CPUs.
    pub(crate) fn has_counts_alone(&self) -> bool {
        self.forms == [Form::Lscpu].into() && self.counts.online.is_none() && self.nodes.is_empty()
    }

    /// Rows that follow are of another table.
    pub(crate) fn begin_table(&mut self) {
        if !self.rows.is_empty() {
            self.tables.push(std::mem::take(&mut self.rows));
        }
    }

    /// Adds a row, which has to agree with others of its CPU. A drawing does not replace a table, which numbers cores and
    /// caches otherwise.
    pub(crate) fn add_row(&mut self, form: Form, cpu: CpuId, row: Row) -> Result<(), MachineTextError> {
        self.forms.insert(form);
        let rows = if form == Form::Lstopo { &mut self.drawn } else { &mut self.rows };
        let whole = match rows.get(&cpu) {
            Some(before) => {
                before.with(&row).map_err(|[what, other_what]| MachineTextError::Contradiction {
                    one: form,
                    what: format!("CPU {cpu} in {what}"),
                    other: form,
                    other_what: format!("in {other_what}"),
                })?
            }
            None => row,
        };
        rows.insert(cpu, whole);
        Ok(())
    }

    /// The output of which the rows are.
    pub(crate) fn table(&self) -> Form {
        [Form::LscpuTable, Form::Lstopo]
            .into_iter()
            .find(|form| self.forms.contains(form))
            .unwrap_or(Form::KubeletLog)
    }

    /// The output of which the NUMA nodes are.
    pub(crate) fn of_nodes(&self) -> Form {
        [Form::Numactl, Form::NodeFiles, Form::LscpuTable, Form::Lscpu]
            .into_iter()
            .find(|form| self.forms.contains(form))
            .unwrap_or_else(|| self.table())
    }

    /// Sets the CPUs of a NUMA node, on which all outputs have to agree.
    pub(crate) fn set_cpus(&mut self, id: i64, form: Form, cpus: CpuSet) -> Result<(), MachineTextError> {
        let node = self.node(id);
        match &node.cpus {
            Some((other, before)) if *before != cpus => Err(MachineTextError::Contradiction {
                one: *other,
                what: on_node(before, id),
                other: form,
                other_what: on_node(&cpus, id),
            }),
            _ => {
                node.cpus = Some((form, cpus));
                Ok(())
            }
        }
    }

    /// Sets the memory of a NUMA node in bytes. Outputs agree where they differ by less than a mebibyte: `numactl` prints
    /// whole ones, and the more precise value stands.
    pub(crate) fn set_memory(&mut self, id: i64, form: Form, bytes: u64) -> Result<(), MachineTextError> {
        const MEBIBYTE: u64 = 1 << 20;
        let node = self.node(id);
        match node.memory {
            Some((other, before)) if before.abs_diff(bytes) >= MEBIBYTE => {
                Err(MachineTextError::Contradiction {
                    one: other,
                    what: format!("{} MiB on NUMA node {id}", before / MEBIBYTE),
                    other: form,
                    other_what: format!("{} MiB", bytes / MEBIBYTE),
                })
            }
            Some((_, before)) if before % MEBIBYTE != 0 => Ok(()),
            _ => {
                node.memory = Some((form, bytes));
                Ok(())
            }
        }
    }
}

/// CPUs of a node, for an error.
pub(crate) fn on_node(cpus: &CpuSet, id: i64) -> String {
    if cpus.is_empty() {
        format!("no CPUs on NUMA node {id}")
    } else {
        format!("CPUs {cpus} on NUMA node {id}")
    }
}
