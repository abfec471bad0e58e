//! Amounts of a configuration that are counted by this machine's CPUs, where the configuration may be another machine's.

use admission_report::Notice;
use distribution_config::{Distribution, milli_cpus_of_kubelet};
use topology_manifest::ConfigKind;
use topology_model::KubeletView;

use crate::machine::{LoadedMachine, THIS};
use crate::read_configuration::ReadConfiguration;

impl ReadConfiguration {
    /// That `kubeReserved.cpu` is by the CPUs of this machine, and the configuration may be another's; `None`: the machine is
    /// named, or has this configuration, or the amount is written. `given` is the configuration that an argument names.
    #[must_use]
    pub fn counted_here(
        &self,
        given: Option<&str>,
        machine: &LoadedMachine,
        view: &KubeletView,
    ) -> Option<Notice> {
        let cpus = view.cpus().num_cpus();
        let is_by_cpus =
            self.base.distribution() == Some(Distribution::Eks) || self.kind == ConfigKind::Bottlerocket;
        let by_cpus = format!("{}m", milli_cpus_of_kubelet(cpus));
        let is_counted = is_by_cpus && self.config.kube_reserved.get("cpu") == Some(&by_cpus);
        let has_own = machine.packed.as_deref().is_some_and(|packed| packed.config.is_some());
        let is_of_another = machine.name == THIS && (given.is_some() || !has_own);
        let cpus = if cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") };
        (is_counted && is_of_another).then(|| {
            Notice::warning(format!("kubeReserved.cpu is that of this machine's {cpus}: -m names the node's"))
        })
    }
}
