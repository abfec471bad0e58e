//! What of a proposal can be written where a form has only some of the kubelet's fields.

use node_config::KubeletConfiguration;
use topology_model::KubeletView;

use crate::DecidedBy;
use crate::changes::{changes, copy};
use crate::check::faults;
use crate::profile::OtherCpus;
use crate::start::starts;

/// Fields that a proposal changes only so that memory can be managed.
const OF_MEMORY: [&str; 5] =
    ["memoryManagerPolicy", "reservedMemory", "systemReserved", "kubeReserved", "evictionHard"];

/// `config` with the changes of `proposal` in these `fields`, as far as they mend or pin something by themselves; as it is where a
/// kubelet would not start with them and does without.
#[must_use]
pub fn propose_within(
    fields: &[&str],
    config: &KubeletConfiguration,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
    target: DecidedBy,
) -> KubeletConfiguration {
    let mut made = config.clone();
    let changed = changes(config, proposal);
    let is_there = |field: &str| fields.contains(&field);
    for change in changed.iter().filter(|change| is_there(&change.field)) {
        copy(&mut made, proposal, &change.field);
    }
    // Without one of them the others reserve memory for nothing.
    if changed.iter().any(|change| OF_MEMORY.contains(&change.field.as_str()) && !is_there(&change.field)) {
        let count =
            |config: &KubeletConfiguration| faults(config, config, view, target, &OtherCpus::default()).len();
        for field in OF_MEMORY {
            let mut without = made.clone();
            copy(&mut without, config, field);
            if without != made && count(&without) <= count(&made) {
                made = without;
            }
        }
    }
    if starts(&made, view) || !starts(config, view) { made } else { config.clone() }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::string::String;
    use alloc::vec::Vec;

    use topology_model::MachineInfo;

    use super::*;
    use crate::propose;

    #[track_caller]
    fn check(fields: &[&str], config: &KubeletConfiguration, expected: &[&str]) {
        let machine: MachineInfo = "pack:2 [numa(memory=32GiB)] core:8 pu:2".parse().unwrap();
        let view = KubeletView::new(&machine).unwrap();
        let proposal = propose(config, &view, DecidedBy::Kubelet);
        let made = propose_within(fields, config, &proposal, &view, DecidedBy::Kubelet);
        let changed: Vec<String> = changes(config, &made).into_iter().map(|change| change.field).collect();
        assert_eq!(changed, expected, "{fields:?}");
        assert!(starts(&made, &view) || !starts(config, &view), "{made:?}");
    }

    #[test]
    fn only_fields_that_a_form_has_are_changed() {
        let text = |text: &str| Some(text.to_owned());
        let counted = KubeletConfiguration {
            cpu_manager_policy: text("static"),
            kube_reserved: [("cpu".to_owned(), "500m".to_owned())].into(),
            ..KubeletConfiguration::default()
        };
        check(&["cpuManagerPolicy", "topologyManagerPolicy"], &counted, &["topologyManagerPolicy"]);
        check(&["kubeReserved", "systemReserved", "maxPods"], &counted, &[]);
        // A kubelet does not start with policy static and nothing reserved.
        let plain = KubeletConfiguration::default();
        check(&["cpuManagerPolicy"], &plain, &[]);
        let small = KubeletConfiguration {
            kube_reserved: [("memory".to_owned(), "1".to_owned())].into(),
            ..KubeletConfiguration::default()
        };
        check(&["kubeReserved"], &small, &["kubeReserved"]);
    }
}
