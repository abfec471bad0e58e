//! What a node has in all, as the kubelet derives it from cAdvisor's description.

use node_config::{CapacityFacts, KubeletConfiguration};
use serde_json::{Map, Value, json};
use topology_model::MachineInfo;

use super::cadvisor;
use super::machine::described_machine;
use crate::case::{Case, Outcome};
use crate::corpus::Corpus;

pub(crate) fn capacity(corpus: &Corpus, case: &Case) -> Outcome {
    let info = match described_machine(corpus, case) {
        Ok(info) => cadvisor::machine_info(&info),
        Err(fault) => return fault,
    };
    if info.num_cpus.is_negative() {
        return Outcome::unanswered("a negative number of CPUs is no number of CPUs");
    }
    let mut capacity = node_config::capacity(&facts(&info, None), &KubeletConfiguration::default());
    // How many pods there may be is no matter of the machine.
    capacity.remove("pods");
    let each = capacity.iter().map(|(name, amount)| (name.clone(), json!(amount.canonical().to_string())));
    case.compare(Value::Object(each.collect::<Map<_, _>>()))
}

/// What of a machine becomes capacity.
pub(crate) fn facts(info: &MachineInfo, root_file_system: Option<u64>) -> CapacityFacts {
    CapacityFacts {
        cpus: usize::try_from(info.num_cpus).unwrap_or(0),
        memory: info.memory_capacity,
        hugepages: info.hugepages.iter().flatten().map(|p| (p.page_size_kib, p.num_pages)).collect(),
        root_file_system,
    }
}
