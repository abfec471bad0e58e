//! The node of a case: its machine, and its configuration as the kubelet reads it.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use k8s_quantity::Quantity;
use node_config::{Amounts, FeatureGates, KubeletConfiguration, Reservation, Rules, TopologyPolicyName};
use serde_json::{Value, json};
use topology_admission::{Compat, Node, RootFileSystem, StartOptions};
use topology_manifest::{Source, read_kubelet_config_of};
use topology_model::{HugePages, KubeletView, MachineInfo, ViewError};

use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;
use crate::cpu::setup::{Made, Wanted};
use crate::discovery::cadvisor::machine_info;
use crate::discovery::capacity;
use crate::discovery::machine::described_machine;

/// The configuration; else what the kubelet says to it.
pub(super) fn configuration(case: &Case) -> Result<KubeletConfiguration, String> {
    let written = case.input["yaml"].as_str().map_or_else(
        || {
            let mut config = case.input["config"].clone();
            config["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
            config["kind"] = json!("KubeletConfiguration");
            config.to_string()
        },
        str::to_owned,
    );
    let source = Source { name: "config", text: &written };
    match read_kubelet_config_of(&source, Rules::of(case.release)) {
        Ok(read) => Ok(read.config),
        Err(error) => Err(error.kubelet_text(&source).unwrap_or_else(|| error.to_string())),
    }
}

/// A machine with what the managers take from it.
pub(super) struct Machine {
    pub(super) info: MachineInfo,
    pub(super) view: KubeletView,
}

impl Machine {
    pub(super) fn new(corpus: &Corpus, case: &Case) -> Result<Self, Outcome> {
        let mut info = machine_info(&described_machine(corpus, case)?);
        if let Some(pages) = case.input["hugepages"].as_array() {
            replace_hugepages(&mut info, pages);
        }
        Self::of(info).map_err(|error| Outcome::Failed { got: json!({ "no view": error.to_string() }) })
    }

    pub(super) fn of(info: MachineInfo) -> Result<Self, ViewError> {
        Ok(Self { view: KubeletView::new(&info)?, info })
    }

    pub(super) fn capacity(&self, config: &KubeletConfiguration, root_file_system: Option<u64>) -> Amounts {
        let facts = capacity::facts(&self.info, root_file_system);
        node_config::capacity(&facts, config)
    }

    /// What is kept for the system; else the kubelet's errors, of which it reports any.
    pub(super) fn reservation(&self, config: &KubeletConfiguration) -> Result<Reservation, Vec<String>> {
        Reservation::check(config, self.view.cpus().all())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    /// The node with all its managers; else the kubelet's errors, of which it reports any.
    pub(super) fn start(&self, case: &Case, config: &KubeletConfiguration) -> Result<Node, Vec<String>> {
        let root_file_system = RootFileSystem::Bytes(root_file_system(case));
        let options = StartOptions { root_file_system, ..StartOptions::decided_as(Compat::KUBELET) };
        let started = Node::start_with(&self.view, config, options);
        started.map_err(|error| error.faults().iter().map(ToString::to_string).collect())
    }

    /// The CPU manager; else the kubelet's errors.
    pub(super) fn cpu_manager(
        &self,
        config: &KubeletConfiguration,
        gates: &FeatureGates,
        topology_policy: TopologyPolicyName,
        reserved: (CpuSet, Option<&Quantity>),
    ) -> Result<Made, Vec<String>> {
        let (reserved_set, reserved_amount) = reserved;
        let wanted = Wanted {
            policy: config.cpu_policy(),
            options: &config.cpu_manager_policy_options,
            gates,
            topology_policy,
            rules: config.rules,
            reserved_set,
            reserved_amount,
        };
        wanted.make(self.view.cpus())
    }
}

/// The machine with other huge pages.
pub(crate) fn with_pages(mut info: MachineInfo, pages: &Value) -> MachineInfo {
    replace_hugepages(&mut info, pages.as_array().map_or(&[], Vec::as_slice));
    info
}

/// Replaces all huge pages: those of the machine are the sums of its nodes'.
fn replace_hugepages(info: &mut MachineInfo, pages: &[Value]) {
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
    for node in info.topology.iter_mut().flatten() {
        let here = pages.iter().filter(|page| page["node"].as_i64() == Some(node.id));
        let here: Vec<HugePages> = here
            .map(|page| HugePages {
                page_size_kib: number(&page["sizeKi"]),
                num_pages: number(&page["pages"]),
            })
            .collect();
        for pages in &here {
            *sums.entry(pages.page_size_kib).or_default() += pages.num_pages;
        }
        node.hugepages = (!here.is_empty()).then_some(here);
    }
    let sum = |(page_size_kib, num_pages)| HugePages { page_size_kib, num_pages };
    info.hugepages = (!sums.is_empty()).then(|| sums.into_iter().map(sum).collect());
}

/// Size of the root file system in bytes, by default 100Gi.
pub(super) fn root_file_system(case: &Case) -> u64 {
    let size = case.input["rootfs"].as_str().unwrap_or("100Gi").parse::<Quantity>();
    size.ok().and_then(|size| u64::try_from(size.value()).ok()).unwrap_or_default()
}

/// The text of an error as far as it can be compared: amounts are printed as internals after that.
fn comparable(error: &str) -> &str {
    error.split(" has a reservation of ").next().unwrap_or(error)
}

/// Whether what the kubelet reported is among what it could have.
pub(super) fn is_among(reported: &Value, own: &[String]) -> bool {
    own.iter().any(|own| comparable(own) == comparable(text(reported)))
}
