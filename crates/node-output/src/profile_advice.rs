//! A proposal as OpenShift's `PerformanceProfile` has it: its own fields, and the annotation for all others.

use std::collections::BTreeMap;

use config_advice::{Change, ProfileCpus, ProfileFault, Severity};
use cpuset::CpuSet;
use k8s_quantity::Amount;
use node_config::KubeletConfiguration;
use serde_json::{Map, Value, json};
use topology_manifest::{PROFILE_ANNOTATION, Profile};
use topology_model::{KubeletView, NodeId};

use crate::config_check::{ConfigFinding, Expected};

/// An option that the operator adds under `single-numa-node`.
const WHOLE_CORES: &str = "full-pcpus-only";

/// The lists of CPUs of a profile.
fn cpus(profile: &Profile) -> ProfileCpus {
    let of = |name: &str| profile.cpus.get(name).map(|(cpus, _)| cpus.clone()).unwrap_or_default();
    ProfileCpus {
        reserved: of("reserved"),
        isolated: of("isolated"),
        shared: of("shared"),
        ovs_dpdk: of("ovsDpdk"),
        offlined: of("offlined"),
        mixes: profile.mixes_cpus,
    }
}

/// The CPUs to be written as `spec.cpu.reserved`: what the kubelet reserves, without those of other lists.
fn reserved(profile: &Profile, proposal: &KubeletConfiguration) -> CpuSet {
    let own = cpus(profile);
    let mut reserved: CpuSet = proposal.reserved_cpus().parse().unwrap_or_default();
    for beside in [&own.shared, &own.ovs_dpdk] {
        reserved -= beside;
    }
    reserved
}

/// What is wrong with the lists of CPUs and the huge pages on a machine.
#[must_use]
pub fn profile_findings(
    profile: &Profile,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
) -> Vec<ConfigFinding> {
    let (own, online) = (cpus(profile), view.cpus().all());
    let isolated = own.isolated_beside(&reserved(profile, proposal), online);
    let finding = |fault: ProfileFault| {
        let field = fault.field();
        let name = field.rsplit('.').next().unwrap_or_default();
        let expected = BTreeMap::from([(field.to_owned(), Value::from(isolated.to_string()))]);
        ConfigFinding {
            field: field.to_owned(),
            file: None,
            line: profile.cpus.get(name).map(|(_, line)| *line),
            severity: fault.severity(),
            text: fault.to_string(),
            expected: (name == "isolated" && !isolated.is_empty()).then_some(Expected::Fields(expected)),
        }
    };
    let of_cpus = own.faults(online).into_iter().map(finding);
    refused(profile).chain(of_cpus).chain(pages(profile, view)).collect()
}

/// What the operator refuses wherever the profile is for.
fn refused(profile: &Profile) -> impl Iterator<Item = ConfigFinding> {
    profile.refusals.iter().map(|refusal| ConfigFinding {
        field: refusal.field.clone(),
        file: None,
        line: Some(refusal.line),
        severity: Severity::Harmful,
        text: format!(
            "OpenShift's node tuning operator refuses the profile: {} {}",
            refusal.field, refusal.text
        ),
        expected: None,
    })
}

/// Huge pages on NUMA nodes that there are not, or of more memory than there is.
fn pages(profile: &Profile, view: &KubeletView) -> Vec<ConfigFinding> {
    let finding = |line: usize, text: String| ConfigFinding {
        field: "spec.hugepages.pages".to_owned(),
        file: None,
        line: Some(line),
        severity: Severity::Harmful,
        text,
        expected: None,
    };
    let mut found = Vec::new();
    let (mut by_node, mut all) = (BTreeMap::<i64, u64>::new(), 0_u64);
    let memory =
        |id: i64| view.node_memory().iter().find(|node| node.id == NodeId(id)).map(|node| node.memory);
    for pages in &profile.pages {
        let bytes = pages.size.saturating_mul(pages.count);
        all = all.saturating_add(bytes);
        let Some(id) = pages.node else { continue };
        let sum = by_node.entry(id).or_default();
        *sum = sum.saturating_add(bytes);
        match memory(id) {
            None => found.push(finding(pages.line, format!("NUMA node {id}, which this machine has not"))),
            Some(memory) if *sum > memory => found.push(finding(
                pages.line,
                format!(
                    "{} on NUMA node {id}, which has {}: the kernel reserves as many as fit, and the kubelet starts with those",
                    Amount::Bytes(*sum),
                    Amount::Bytes(memory)
                ),
            )),
            Some(_) => {}
        }
    }
    if let Some(last) = profile.pages.last().filter(|_| found.is_empty() && all > view.memory_capacity()) {
        let (all, there) = (Amount::Bytes(all), Amount::Bytes(view.memory_capacity()));
        found.push(finding(last.line, format!("{all} in all, and this machine has {there} of memory")));
    }
    found
}

/// The fields of the profile that make the kubelet's configuration the proposed one. The operator works some out of
/// others; what it cannot is in its annotation.
#[must_use]
pub fn profile_fields(
    profile: &Profile,
    proposal: &KubeletConfiguration,
    changes: &[Change],
    online: &CpuSet,
) -> Value {
    let mut annotation: Map<String, Value> =
        profile.annotation.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let (mut spec, mut in_annotation) = (Map::new(), false);
    for change in changes {
        match (change.field.as_str(), &change.to) {
            ("reservedSystemCPUs", _) => {
                let reserved = reserved(profile, proposal);
                let isolated = cpus(profile).isolated_beside(&reserved, online);
                let cpu = json!({"isolated": isolated.to_string(), "reserved": reserved.to_string()});
                spec.insert("cpu".to_owned(), cpu);
            }
            ("topologyManagerPolicy", to) => {
                let policy = to.clone().unwrap_or_else(|| "none".into());
                spec.insert("numa".to_owned(), json!({"topologyPolicy": policy}));
            }
            (field, Some(to)) => {
                annotation.insert(field.to_owned(), to.clone());
                in_annotation = true;
            }
            (field, None) => {
                annotation.remove(field);
                in_annotation = true;
            }
        }
    }
    // Unless it is written.
    if proposal.topology_policy() == "single-numa-node"
        && !proposal.cpu_manager_policy_options.contains_key(WHOLE_CORES)
    {
        let options = annotation.entry("cpuManagerPolicyOptions").or_insert_with(|| json!({}));
        if let Value::Object(options) = options {
            options.insert(WHOLE_CORES.to_owned(), "false".into());
            in_annotation = true;
        }
    }
    let mut fields = Map::new();
    if in_annotation {
        let text = Value::Object(annotation).to_string();
        fields.insert("metadata".to_owned(), json!({"annotations": {PROFILE_ANNOTATION: text}}));
    }
    if !spec.is_empty() {
        fields.insert("spec".to_owned(), spec.into());
    }
    fields.into()
}

#[cfg(test)]
mod tests {
    use config_advice::{DecidedBy, changes, propose};
    use topology_manifest::{Source, read_kubelet_config};
    use topology_model::MachineInfo;

    use super::*;

    /// The profile with the fields that are proposed is read as the proposal.
    #[track_caller]
    fn check(cpu: &str, policy: &str) {
        let profile = |annotations: &Value, cpu: &str, policy: &str| {
            let text = format!(
                "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {{annotations: \
                 {annotations}}}\nspec: {{cpu: {cpu}, numa: {{topologyPolicy: {policy}}}}}\n"
            );
            let read = read_kubelet_config(&Source { name: "pp.yaml", text: &text });
            read.unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        let given = profile(&json!({}), cpu, policy);
        let machine: MachineInfo = "pack:2 [numa(memory=32GiB)] core:8 pu:2".parse().unwrap_or_default();
        let Ok(view) = KubeletView::new(&machine) else { panic!("{machine:?}") };
        let proposal = propose(&given.config, &view, DecidedBy::Kubelet);
        let Some(own) = &given.profile else { panic!("{given:?}") };
        let fields = profile_fields(own, &proposal, &changes(&given.config, &proposal), view.cpus().all());
        let annotations = fields.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({}));
        let new_cpu = fields.pointer("/spec/cpu").map(Value::to_string);
        let again = profile(&annotations, new_cpu.as_deref().unwrap_or(cpu), policy);
        let left = changes(&again.config, &proposal);
        assert!(left.is_empty(), "{cpu}, {policy}: {fields}: {left:?}");
    }

    #[test]
    fn the_fields_of_a_profile_make_the_proposal() {
        for policy in ["best-effort", "restricted", "single-numa-node"] {
            check("{isolated: 1-31, reserved: '0'}", policy);
            check("{isolated: 2-31, reserved: 0-1}", policy);
            check("{isolated: 4-31, reserved: '0', ovsDpdk: '2'}", policy);
        }
    }
}
