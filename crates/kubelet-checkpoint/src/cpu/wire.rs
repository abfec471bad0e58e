//! The structures of the four formats, as Go declares them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid};

use crate::embedded::Outer;
use crate::go::{Dump, Go, JsonError, JsonFault, Map, Reader, TypeName, items, structure};

/// Members of formats V2 to V4.
#[derive(Default)]
pub(super) struct Body {
    pub(super) policy: String,
    pub(super) shared: String,
    pub(super) entries: Map<PodUid, Map<ContainerName, String>>,
    pub(super) pods: Map<PodUid, PodCpus>,
    pub(super) baselines: Map<PodUid, Map<ContainerName, Baseline>>,
    pub(super) checksum: u64,
}

impl Body {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self {
            entries: Some(BTreeMap::new()),
            pods: Some(BTreeMap::new()),
            baselines: Some(BTreeMap::new()),
            ..Self::default()
        }
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

/// V2 as kubelets name it that know no newer format.
pub(super) struct NewestV2(pub(super) Body);

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
    NewestV2: "state" "CPUManagerCheckpoint" {
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

/// What format V4 has around its data: the members of V2 for older kubelets, then the data as text.
pub(super) struct V4 {
    pub(super) older: Body,
    pub(super) data: String,
    pub(super) data_checksum: u64,
}

structure! {
    V4: "state" "CPUManagerCheckpoint" {
        older.policy => in "CPUManagerCheckpointV2" "PolicyName" "policyName";
        older.shared => in "CPUManagerCheckpointV2" "DefaultCPUSet" "defaultCpuSet";
        older.entries => in "CPUManagerCheckpointV2" "Entries" "entries" left_out;
        older.checksum => in "CPUManagerCheckpointV2" "Checksum" "checksum" ["checksum.Checksum"];
        data => "Data" "data";
        data_checksum => "DataChecksum" "dataChecksum" ["checksum.Checksum"];
    }
}

impl V4 {
    /// What the kubelet reads into.
    pub(super) fn begun() -> Self {
        Self { older: Body::begun(), data: String::new(), data_checksum: 0 }
    }
}

impl Outer for V4 {
    fn data(&self) -> (&str, u64) {
        (&self.data, self.data_checksum)
    }
}

/// The data of format V4.
pub(super) struct Data(pub(super) Body);

structure! {
    Data: "state" "CPUManagerCheckpointData" {
        0.policy => "PolicyName" "policyName";
        0.shared => "DefaultCPUSet" "defaultCpuSet";
        0.entries => "Entries" "entries" left_out;
        0.pods => "PodEntries" "podEntries" ["state.PodCPUAssignments"] left_out;
        0.baselines => "Baselines" "baselines" left_out;
    }
}

/// Every member of any format: what it does not have, no known format has.
#[derive(Default)]
pub(super) struct Any {
    body: Body,
    data: String,
    data_checksum: u64,
}

structure! {
    Any: "state" "CPUManagerCheckpoint" {
        body.policy => "PolicyName" "policyName";
        body.shared => "DefaultCPUSet" "defaultCpuSet";
        body.entries => "Entries" "entries";
        body.pods => "PodEntries" "podEntries" ["state.PodCPUAssignments"];
        body.checksum => "Checksum" "checksum" ["checksum.Checksum"];
        data => "Data" "data";
        data_checksum => "DataChecksum" "dataChecksum" ["checksum.Checksum"];
    }
}

/// The CPUs with which a container was admitted.
#[derive(Default)]
pub(super) struct Baseline {
    pub(super) cpus: String,
}

structure! {
    Baseline: "state" "ContainerCPUs" {
        cpus => "Baseline" "baseline";
    }
}

/// The CPUs of a pod as a whole: a type that reads itself, from a separate structure.
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
        reader.document(|reader| entry.read(reader, PodEntryJson::TYPE))?;
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

items!(PodCpus, Baseline);
