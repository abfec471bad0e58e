//! A proposal as OpenShift's `PerformanceProfile` has it: its own fields, and the annotation for all others.

use std::collections::BTreeMap;

use config_advice::{Change, OtherCpus, ProfileCpus, ProfileFault, Severity, memory_of_pod};
use cpuset::CpuSet;
use k8s_quantity::Amount;
use node_config::KubeletConfiguration;
use serde_json::{Map, Value, json};
use topology_manifest::{PROFILE_ANNOTATION, Profile, ProfilePages};
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

/// The CPUs of a profile that stay where they are whatever is reserved for the system.
#[must_use]
pub fn profile_others(profile: &Profile) -> OtherCpus {
    cpus(profile).others()
}

/// The CPUs to be written as `spec.cpu.reserved`: what the kubelet reserves, without those of other lists.
fn reserved(profile: &Profile, proposal: &KubeletConfiguration) -> CpuSet {
    let reserved: CpuSet = proposal.reserved_cpus().parse().unwrap_or_default();
    &reserved - &profile_others(profile).all
}

/// The lists of CPUs that are to be written: the reserved and the isolated ones together, and others without the CPUs that a
/// machine has not; empty where all are right.
fn lists(profile: &Profile, proposal: &KubeletConfiguration, online: &CpuSet) -> Map<String, Value> {
    let own = cpus(profile);
    let reserved = reserved(profile, proposal);
    let isolated = own.isolated_beside(&reserved, online);
    let mut lists = Map::new();
    if (&own.reserved, &own.isolated) != (&reserved, &isolated) {
        lists.insert("isolated".to_owned(), isolated.to_string().into());
        lists.insert("reserved".to_owned(), reserved.to_string().into());
    }
    for (name, cpus) in [("shared", &own.shared), ("ovsDpdk", &own.ovs_dpdk)] {
        let there = cpus & online;
        if there != *cpus && !there.is_empty() {
            lists.insert(name.to_owned(), there.to_string().into());
        }
    }
    lists
}

/// What is wrong with the lists of CPUs and the huge pages on a machine.
#[must_use]
pub fn profile_findings(
    profile: &Profile,
    proposal: &KubeletConfiguration,
    view: &KubeletView,
) -> Vec<ConfigFinding> {
    let (own, online) = (cpus(profile), view.cpus().all());
    let lists = lists(profile, proposal, online);
    let finding = |fault: ProfileFault| {
        let field = fault.field();
        let name = field.rsplit('.').next().unwrap_or_default();
        let expected = lists.get(name).map(|cpus| BTreeMap::from([(field.to_owned(), cpus.clone())]));
        ConfigFinding {
            field: field.to_owned(),
            file: None,
            line: profile.cpus.get(name).map(|(_, line)| *line),
            severity: fault.severity(),
            text: fault.to_string(),
            expected: expected.map(Expected::Fields),
        }
    };
    let of_cpus = own.faults(online).into_iter().map(finding);
    refused(profile).chain(of_cpus).chain(pages(profile, proposal, view)).collect()
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
fn pages(profile: &Profile, proposal: &KubeletConfiguration, view: &KubeletView) -> Vec<ConfigFinding> {
    let fitting = fitting(&profile.pages, proposal, view);
    let finding = |line: usize, text: String| {
        let count = fitting.iter().find(|own| own.line == line).map_or(0, |own| own.count);
        let expected = match count {
            0 => "this entry left out".to_owned(),
            count => format!("count: {count} at most, beside the memory that is reserved and that of a pod"),
        };
        ConfigFinding {
            field: "spec.hugepages.pages".to_owned(),
            file: None,
            line: Some(line),
            severity: Severity::Harmful,
            text,
            expected: profile.has_all_pages.then_some(Expected::Text(expected)),
        }
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

/// The pages for which the machine has room beside the memory that is reserved on a NUMA node and that of an ordinary pod: entries
/// with a lower count, and without those for which there is none.
fn fitting(pages: &[ProfilePages], proposal: &KubeletConfiguration, view: &KubeletView) -> Vec<ProfilePages> {
    let pod = u64::try_from(memory_of_pod(view).value()).unwrap_or_default();
    let reserved = |id: i64| -> u64 {
        let on_node = proposal.reserved_memory.iter().filter(|own| i64::from(own.numa_node) == id);
        let amounts = on_node.filter_map(|own| own.limits.get("memory"));
        amounts.map(|amount| u64::try_from(amount.value()).unwrap_or_default()).sum()
    };
    let room = |id: i64, memory: u64| memory.saturating_sub(reserved(id)).saturating_sub(pod);
    let mut left: BTreeMap<i64, u64> =
        view.node_memory().iter().map(|node| (node.id.0, room(node.id.0, node.memory))).collect();
    let take = |page: &ProfilePages, left: &mut u64, shares: u64| {
        let most = left.checked_div(page.size).unwrap_or_default();
        let count = page.count.div_ceil(shares.max(1)).min(most);
        *left = left.saturating_sub(count.saturating_mul(page.size));
        count
    };
    let mut counts: Vec<u64> = vec![0; pages.len()];
    // Those of a NUMA node first: the others lie where there is room.
    for (page, count) in pages.iter().zip(&mut counts) {
        if let Some(left) = page.node.and_then(|id| left.get_mut(&id)) {
            *count = take(page, left, 1);
        }
    }
    let nodes = u64::try_from(left.len()).unwrap_or(u64::MAX);
    for (page, count) in pages.iter().zip(&mut counts).filter(|(page, _)| page.node.is_none()) {
        let taken = left.values_mut().map(|left| take(page, left, nodes)).sum::<u64>();
        *count = taken.min(page.count);
    }
    let fitting = pages.iter().zip(counts).map(|(page, count)| ProfilePages { count, ..page.clone() });
    fitting.filter(|page| page.count > 0).collect()
}

/// Pages as the profile has them.
fn written_pages(pages: &[ProfilePages]) -> Value {
    let entry = |page: &ProfilePages| match page.node {
        Some(node) => json!({"count": page.count, "node": node, "size": page.size_text()}),
        None => json!({"count": page.count, "size": page.size_text()}),
    };
    pages.iter().map(entry).collect()
}

/// The fields of the profile that make the kubelet's configuration the proposed one. The operator works some out of
/// others; what it cannot is in its annotation.
#[must_use]
pub fn profile_fields(
    profile: &Profile,
    proposal: &KubeletConfiguration,
    changes: &[Change],
    view: &KubeletView,
) -> Value {
    let mut annotation: Map<String, Value> =
        profile.annotation.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let (mut spec, mut in_annotation) = (Map::new(), false);
    let lists = lists(profile, proposal, view.cpus().all());
    if !lists.is_empty() {
        spec.insert("cpu".to_owned(), lists.into());
    }
    if profile.has_all_pages && !pages(profile, proposal, view).is_empty() {
        let fitting = fitting(&profile.pages, proposal, view);
        spec.insert("hugepages".to_owned(), json!({"pages": written_pages(&fitting)}));
    }
    for change in changes {
        match (change.field.as_str(), &change.to) {
            ("reservedSystemCPUs", _) => {}
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
    use config_advice::{Cause, DecidedBy, Doubt, changes, check_beside, propose_beside};
    use topology_manifest::{KubeletConfigRead, Source, patch_object, read_kubelet_config};
    use topology_model::MachineInfo;

    use super::*;

    fn read(text: &str) -> (KubeletConfigRead, Profile) {
        let read = read_kubelet_config(&Source { name: "pp.yaml", text });
        let read = read.unwrap_or_else(|error| panic!("{text}: {error}"));
        let Some(profile) = read.profile.clone() else { panic!("{read:?}") };
        (read, profile)
    }

    /// The profile with the fields that are proposed is read as the proposal, and has no finding.
    #[track_caller]
    fn check(cpu: &str, policy: &str) {
        let machine: MachineInfo = "pack:2 [numa(memory=32GiB)] core:8 pu:2".parse().unwrap_or_default();
        let Ok(view) = KubeletView::new(&machine) else { panic!("{machine:?}") };
        let mixes = cpu.contains("shared");
        let text = format!(
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {{name: own}}\nspec:\n  cpu: \
             {cpu}\n  workloadHints: {{realTime: true, mixedCpus: {mixes}}}\n  numa: {{topologyPolicy: {policy}}}\n  \
             nodeSelector: {{a/b: ''}}\n"
        );
        let (given, own) = read(&text);
        let others = profile_others(&own);
        let proposal = propose_beside(&given.config, &view, DecidedBy::Kubelet, &others);
        let fields = profile_fields(&own, &proposal, &changes(&given.config, &proposal), &view);
        let patched = patch_object(&Source { name: "pp.yaml", text: &text }, &fields)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let (again, own) = read(&patched);
        let left = changes(&again.config, &proposal);
        assert!(left.is_empty(), "{cpu}, {policy}: {fields}: {left:?}");
        let of_cpus = profile_findings(&own, &proposal, &view);
        assert_eq!(of_cpus, [], "{cpu}, {policy}: {fields}");
        let found = check_beside(&again.config, &proposal, &view, DecidedBy::Kubelet, &profile_others(&own));
        let is_split = |cause: &Cause| matches!(cause, Cause::Doubt(Doubt::SplitCores { .. }));
        assert!(
            !found.iter().any(|finding| is_split(&finding.cause)),
            "{cpu}, {policy}: {fields}: {found:?}"
        );
    }

    #[test]
    fn a_profile_with_the_proposed_fields_has_no_finding() {
        for policy in ["best-effort", "restricted", "single-numa-node"] {
            check("{isolated: 1-31, reserved: '0'}", policy);
            check("{isolated: 2-31, reserved: 0-1}", policy);
            check("{isolated: '1,3-31', reserved: '0', ovsDpdk: '2'}", policy);
            // The other half of a reserved core is shared, or all CPUs of a core.
            check("{isolated: '2-31', reserved: '0', shared: '1'}", policy);
            check("{isolated: '1-3,6-31', reserved: '0', shared: 4-5}", policy);
            // What would be reserved is shared.
            check("{isolated: '2-14,16-31', reserved: '15', shared: 0-1}", policy);
            check("{isolated: '2-14,18-31', reserved: '15', shared: 0-1, offlined: 16-17}", policy);
            // In two lists, in none, and not there.
            check("{isolated: 2-31, reserved: 0-3, shared: 2-3}", policy);
            check("{isolated: 4-20, reserved: 0-1}", policy);
            check("{isolated: 2-63, reserved: 0-1, shared: '10,70'}", policy);
        }
    }
}
