//! The structures of the three formats, as Go declares them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid};

use crate::go::{Dump, Go, JsonError, JsonFault, Map, Reader, TypeName, items, structure};

/// Members of formats V2 and V3.
#[derive(Default)]
pub(super) struct Body {
    pub(super) policy: String,
    pub(super) shared: String,
    pub(super) entries: Map<PodUid, Map<ContainerName, String>>,
    pub(super) pods: Map<PodUid, PodCpus>,
    pub(super) checksum: u64,
}

impl Body {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self { entries: Some(BTreeMap::new()), pods: Some(BTreeMap::new()), ..Self::default() }
    }
}

#[derive(Default)]
pub(super) struct V1 {
    pub(super) policy: String,
    pub(super) shared: String,
    pub(super) entries: Map<String, String>,
    pub(super) checksum: u64,
}

pub(super) struct V2(pub(super) Body);
pub(super) struct V3(pub(super) Body);

structure! {
    V1: "state" "CPUManagerCheckpointV1" {
        policy => "PolicyName" "policyName";
        shared => "DefaultCPUSet" "defaultCpuSet";
        entries => "Entries" "entries" left_out;
        checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

structure! {
    V2: "state" "CPUManagerCheckpointV2" {
        0.policy => "PolicyName" "policyName";
        0.shared => "DefaultCPUSet" "defaultCpuSet";
        0.entries => "Entries" "entries" left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

structure! {
    V3: "state" "CPUManagerCheckpoint" {
        0.policy => "PolicyName" "policyName";
        0.shared => "DefaultCPUSet" "defaultCpuSet";
        0.entries => "Entries" "entries" left_out;
        0.pods => "PodEntries" "podEntries" ["state.PodCPUAssignments"] left_out;
        0.checksum => "Checksum" "checksum" ["checksum.Checksum"];
    }
}

/// The CPUs of a pod as a whole: a type that reads itself, from a structure of its own.
#[derive(Default)]
pub(crate) struct PodCpus(pub(crate) CpuSet);

#[derive(Default)]
struct PodEntryJson {
    cpus: String,
}

structure! {
    PodEntryJson: "state" "podEntryJSON" {
        cpus => "CPUSet" "cpuSet" left_out;
    }
}

impl Go for PodCpus {
    const TYPE: TypeName = TypeName::Plain("state.PodEntry");

    fn read(&mut self, reader: &mut Reader<'_>, _: TypeName) -> Result<(), JsonError> {
        let mut entry = PodEntryJson::default();
        reader.kind();
        let offset = reader.at();
        reader.document(&mut entry)?;
        self.0 = entry.cpus.parse().map_err(|error| JsonError { fault: JsonFault::Cpus(error), offset })?;
        Ok(())
    }

    fn write(&self, json: &mut String) {
        PodEntryJson { cpus: self.0.to_string() }.write(json);
    }

    fn dump(&self, dump: &mut Dump, of: TypeName) {
        dump.begin(of);
        dump.put("{CPUSet:");
        dump.begin(TypeName::Plain("cpuset.CPUSet"));
        dump.put("{elems:");
        dump.begin(TypeName::Plain("map[int]struct {}"));
        dump.put("map[");
        let mut before = "";
        for cpu in &self.0 {
            dump.show(format_args!("{before}{cpu}:{{}}"));
            before = " ";
        }
        dump.put("]}}");
    }
}

items!(PodCpus);
