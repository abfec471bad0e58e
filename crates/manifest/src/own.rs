//! This project's own options, in a file beside the kubelet's configuration so that a kubelet can still read that.
//!
//! ```yaml
//! apiVersion: topolet.dev/v1alpha1
//! kind: TopoletConfiguration
//! cpu:
//!   cacheAlignment: required            # or bestEffort
//!   resize: allow                       # or refuse
//! memory:
//!   nodes: withCPUs                     # or all
//!   regroup: true                       # or false
//!   drift: absorb                       # or refuse
//!   resize: allow                       # or refuse
//! placement:
//!   strategy: most-allocated            # or lowest-number, least-allocated, spare-devices, keep-room (whole caches too)
//!   weights: {cpu: 1, memory: 1}        # for most-allocated and least-allocated
//!   mix:                                # for keep-room
//!   - {count: 4, requests: {cpu: 8, memory: 4Gi, intel.com/vf: 2}}
//! podPolicy: {allow: [policy, scope=pod]} # what annotations topolet.dev/policy, scope and cpu may say
//! devices:                              # see `own/devices.rs`
//!   links: require                      # or ignore, prefer
//!   claims: hint                        # or ignore
//!   deferSeconds: 120                   # or 0
//! cgroup:
//!   partition: isolated                 # or none, root
//!   interrupts: move                    # or leave
//! ```

mod devices;
mod word;

use node_config::{
    CacheAlignment, CpuInterrupts, CpuPartition, Drift, MemoryNodes, MixUnit, OwnOptions, Placement,
    PodPolicy, Regroup, Resize, Strategy,
};

use self::word::choose;
use crate::node::{Field, MapEntry, Value, known_fields};
use crate::quantity::any_resources;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// Reads options of this project's own; what is not written keeps the kubelet's way.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_own_options(source: &Source<'_>) -> Result<OwnOptions, ManifestError> {
    const VERSION: &str = "apiVersion topolet.dev/v1alpha1";
    const KIND: &str = "kind TopoletConfiguration";
    let mut options = OwnOptions::default();
    for node in &documents(source, RepeatedKey::Refused)? {
        let document = Field::document(source, node);
        let kind = document.require("kind", KIND)?;
        if kind.text(KIND)? != "TopoletConfiguration" {
            let found = kind.text(KIND)?.to_owned();
            return Err(kind.fail(Problem::Kind { found, expected: KIND }));
        }
        let version = document.require("apiVersion", VERSION)?;
        if version.text(VERSION)? != "topolet.dev/v1alpha1" {
            let found = version.text(VERSION)?.to_owned();
            return Err(version.fail(Problem::ApiVersion { found, expected: VERSION }));
        }
        // After that: of another kind all fields are other ones.
        read_sections(&document, &["apiVersion", "kind"], &mut options)?;
    }
    Ok(options)
}

/// Reads the options of a document, or of a part of one, which may have fields `others` beside them.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub(crate) fn read_sections(
    document: &Field<'_>,
    others: &[&str],
    options: &mut OwnOptions,
) -> Result<(), ManifestError> {
    const RESIZE: &str = "refuse or allow";
    let resize = [Resize::Refuse, Resize::Allow].map(|option| (option.name(), option));
    let sections = ["cpu", "memory", "placement", "podPolicy", "devices", "cgroup"];
    let known: Vec<&str> = others.iter().chain(&sections).copied().collect();
    known_fields(document, &known, "cpu, memory, placement, podPolicy, devices or cgroup")?;
    if let Some(cpu) = document.get("cpu")? {
        known_fields(&cpu, &["cacheAlignment", "resize"], "cacheAlignment or resize")?;
        let words = [("bestEffort", CacheAlignment::BestEffort), ("required", CacheAlignment::Required)];
        choose(&cpu, "cacheAlignment", "bestEffort or required", &words, &mut options.cache_alignment)?;
        choose(&cpu, "resize", RESIZE, &resize, &mut options.cpu_resize)?;
    }
    if let Some(placement) = document.get("placement")? {
        read_placement(&placement, &mut options.placement)?;
    }
    if let Some(memory) = document.get("memory")? {
        known_fields(&memory, &["nodes", "regroup", "drift", "resize"], "nodes, regroup, drift or resize")?;
        choose(&memory, "resize", RESIZE, &resize, &mut options.memory_resize)?;
        let nodes = [("all", MemoryNodes::All), ("withCPUs", MemoryNodes::WithCpus)];
        choose(&memory, "nodes", "all or withCPUs", &nodes, &mut options.memory_nodes)?;
        let drift = [("refuse", Drift::Refuse), ("absorb", Drift::Absorb)];
        choose(&memory, "drift", "refuse or absorb", &drift, &mut options.drift)?;
        if let Some(regroup) = memory.get("regroup")? {
            options.regroup = match regroup.node.value {
                Value::Bool(true) => Regroup::WhenUnneeded,
                Value::Bool(false) => Regroup::Never,
                _ => return Err(regroup.unexpected("true or false")),
            };
        }
    }
    if let Some(own) = document.get("podPolicy")? {
        options.pod_policy = pod_policy(&own)?;
    }
    if let Some(own) = document.get("devices")? {
        options.device_links = devices::links(&own)?;
        options.claim_hints = devices::claims(&own)?;
        options.defer = devices::defer(&own)?;
    }
    if let Some(cgroup) = document.get("cgroup")? {
        read_cgroup(&cgroup, options)?;
    }
    Ok(())
}

/// How exclusive CPUs are isolated: cgroup partitions and interrupts.
fn read_cgroup(cgroup: &Field<'_>, options: &mut OwnOptions) -> Result<(), ManifestError> {
    known_fields(cgroup, &["partition", "interrupts"], "partition or interrupts")?;
    let words = CpuPartition::ALL.map(|partition| (partition.name(), partition));
    choose(cgroup, "partition", "none, root or isolated", &words, &mut options.partition)?;
    let words = CpuInterrupts::ALL.map(|interrupts| (interrupts.name(), interrupts));
    choose(cgroup, "interrupts", "leave or move", &words, &mut options.interrupts)?;
    if options.interrupts == CpuInterrupts::Move
        && options.partition == CpuPartition::None
        && let Some(interrupts) = cgroup.get("interrupts")?
    {
        return Err(interrupts.unexpected("leave, unless cgroup.partition is root or isolated"));
    }
    Ok(())
}

const STRATEGIES: &str = "lowest-number, most-allocated, least-allocated, spare-devices or keep-room";

/// The strategy that `key` of a parent names; `None`: the parent lacks it.
///
/// # Errors
/// It is none.
pub(crate) fn read_strategy(parent: &Field<'_>, key: &str) -> Result<Option<Strategy>, ManifestError> {
    let words = Strategy::ALL.map(|strategy| (strategy.name(), Some(strategy)));
    let mut named = None;
    choose(parent, key, STRATEGIES, &words, &mut named)?;
    Ok(named)
}

/// Which of equally good node sets a unit gets.
fn read_placement(placement: &Field<'_>, option: &mut Placement) -> Result<(), ManifestError> {
    const WEIGHT: &str = "a whole number from 0 to 1000";
    known_fields(placement, &["strategy", "weights", "mix"], "strategy, weights or mix")?;
    if let Some(strategy) = read_strategy(placement, "strategy")? {
        option.strategy = strategy;
    }
    if let Some(weights) = placement.get("weights")? {
        let is_weighed = matches!(option.strategy, Strategy::MostAllocated | Strategy::LeastAllocated);
        if !is_weighed {
            return Err(
                weights.unexpected("no weights, unless strategy is most-allocated or least-allocated")
            );
        }
        for entry in weights.entries()? {
            let name = entry.key;
            check_resource(&weights, &entry)?;
            let weight = entry.value;
            let number = weight.scalar(WEIGHT)?.parse().ok().filter(|number| *number <= 1000_u32);
            option.weights.insert(name.to_owned(), number.ok_or_else(|| weight.unexpected(WEIGHT))?);
        }
        if option.weights.values().all(|weight| *weight == 0) {
            return Err(weights.unexpected("a weight above 0"));
        }
    }
    if let Some(mix) = placement.get("mix")? {
        if option.strategy != Strategy::KeepRoom {
            return Err(mix.unexpected("no mix, unless strategy is keep-room"));
        }
        option.mix = mix.items()?.iter().map(read_mix_unit).collect::<Result<_, _>>()?;
    }
    Ok(())
}

/// A resource that has a place on a NUMA node.
fn check_resource(parent: &Field<'_>, entry: &MapEntry<'_>) -> Result<(), ManifestError> {
    let name = entry.key;
    if name == "cpu" || name == "memory" || name.starts_with("hugepages-") || name.contains('/') {
        return Ok(());
    }
    let expected = "cpu, memory, hugepages-SIZE or a device's resource such as intel.com/vf";
    let problem = Problem::UnknownField { found: name.to_owned(), expected };
    Err(parent.fail_at(entry.key_span, problem))
}

fn read_mix_unit(unit: &Field<'_>) -> Result<MixUnit, ManifestError> {
    const COUNT: &str = "a whole number from 1 to 1000000";
    const AMOUNT: &str = "a whole amount above 0";
    known_fields(unit, &["count", "requests"], "count or requests")?;
    let mut count = 1;
    if let Some(field) = unit.get("count")? {
        let number = field.scalar(COUNT)?.parse().ok().filter(|number| (1..=1_000_000_u32).contains(number));
        count = number.ok_or_else(|| field.unexpected(COUNT))?;
    }
    let requests = unit.require("requests", "what the unit asks for, such as {cpu: 8, memory: 4Gi}")?;
    for entry in requests.entries()? {
        check_resource(&requests, &entry)?;
    }
    let amounts = any_resources(&requests)?;
    for (name, amount) in &amounts {
        // Whole CPUs, bytes and devices; a resource that the unit does not need is left out.
        if amount.as_int64().is_none_or(|amount| amount < 1) {
            return Err(requests.child_or_self(name.as_str())?.unexpected(AMOUNT));
        }
    }
    if amounts.is_empty() {
        return Err(requests.unexpected("at least one resource"));
    }
    let requests = amounts.into_iter().map(|(name, amount)| (name.to_string(), amount)).collect();
    Ok(MixUnit { count, requests })
}

fn pod_policy(field: &Field<'_>) -> Result<PodPolicy, ManifestError> {
    known_fields(field, &["allow"], "allow")?;
    let mut allowed = PodPolicy::default();
    for word in field.require("allow", "a list of what pods may choose")?.items()? {
        let meant = allowed.with_word(word.text(PodPolicy::WORDS)?);
        allowed = meant.ok_or_else(|| word.unexpected(PodPolicy::WORDS))?;
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<OwnOptions, String> {
        let text = format!("apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\n{text}");
        let source = Source { name: "topolet.yaml", text: &text };
        read_own_options(&source).map_err(|error| error.problem().to_string())
    }

    #[test]
    fn what_is_not_written_keeps_the_kubelets_way() {
        assert_eq!(read(""), Ok(OwnOptions::default()));
        let options = OwnOptions { regroup: Regroup::WhenUnneeded, ..OwnOptions::default() };
        assert_eq!(read("memory: {regroup: true}"), Ok(options));
        for partition in CpuPartition::ALL {
            let options = OwnOptions { partition, ..OwnOptions::default() };
            assert_eq!(read(&format!("cgroup: {{partition: {}}}", partition.name())), Ok(options));
        }
        for interrupts in CpuInterrupts::ALL {
            let partition = CpuPartition::Root;
            let options = OwnOptions { partition, interrupts, ..OwnOptions::default() };
            let text = format!("cgroup: {{interrupts: {}, partition: root}}", interrupts.name());
            assert_eq!(read(&text), Ok(options));
        }
        assert_eq!(read("cgroup: {}"), Ok(OwnOptions::default()));
        assert_eq!(read("cgroup: {interrupts: leave}"), Ok(OwnOptions::default()));
        let options = OwnOptions {
            cache_alignment: CacheAlignment::Required,
            memory_nodes: MemoryNodes::WithCpus,
            regroup: Regroup::Never,
            drift: Drift::Absorb,
            cpu_resize: Resize::Allow,
            memory_resize: Resize::Allow,
            placement: Placement {
                strategy: Strategy::LeastAllocated,
                weights: [("cpu".to_owned(), 2), ("intel.com/vf".to_owned(), 0)].into(),
                mix: Vec::new(),
            },
            ..OwnOptions::default()
        };
        let text = "cpu: {cacheAlignment: required, resize: allow}\n\
                    memory: {nodes: withCPUs, drift: absorb, regroup: false, resize: allow}\n\
                    placement: {strategy: least-allocated, weights: {cpu: 2, intel.com/vf: 0}}";
        assert_eq!(read(text), Ok(options));
    }

    #[test]
    fn a_mix_is_a_list_of_units() {
        let text = "placement: {strategy: keep-room, mix: [{requests: {cpu: 8, intel.com/vf: 2}}, \
                    {count: 3, requests: {memory: 4Gi}}]}";
        let mix = read(text).unwrap().placement.mix;
        let shown: Vec<String> = mix
            .iter()
            .map(|unit| {
                let requests = unit.requests.iter().map(|(name, amount)| format!(" {name}={amount}"));
                format!("{}:{}", unit.count, requests.collect::<String>())
            })
            .collect();
        assert_eq!(shown, ["1: cpu=8 intel.com/vf=2", "3: memory=4Gi"]);
    }

    #[test]
    fn pods_may_choose_what_is_listed() {
        let words = |text: &str| read(text).map(|options| options.pod_policy.words());
        assert_eq!(
            words("podPolicy: {allow: [cpu, policy=restricted]}").unwrap(),
            ["policy=restricted", "cpu"]
        );
        assert_eq!(read("podPolicy: {allow: []}"), Ok(OwnOptions::default()));
        let error = words("podPolicy: {allow: [policy=restrictd]}").unwrap_err();
        assert_eq!(error, "found text \"policy=restrictd\"");
    }

    #[test]
    fn words_that_mean_nothing_are_refused() {
        for text in [
            "memory: {nodes: withcpus}",
            "memory: {regroup: \"true\"}",
            "memory: {node: all}",
            "cpu: {cacheAlignment: always}",
            "cpu: {resize: true}",
            "memory: {resize: grow}",
            "disk: {}",
            "placement: {strategy: fullest}",
            "placement: {weights: {cpu: 1}}",
            "placement: {strategy: most-allocated, weights: {cpu: -1}}",
            "placement: {strategy: most-allocated, weights: {cpu: 0}}",
            "placement: {strategy: most-allocated, weights: {cpus: 1}}",
            "placement: {strategy: most-allocated, weights: {memory: 1001}}",
            "placement: keep-room",
            "placement: {strategy: most-allocated, mix: [{requests: {cpu: 1}}]}",
            "placement: {strategy: keep-room, mix: [{count: 0, requests: {cpu: 1}}]}",
            "placement: {strategy: keep-room, mix: [{count: 1}]}",
            "placement: {strategy: keep-room, mix: [{requests: {}}]}",
            "placement: {strategy: keep-room, mix: [{requests: {cpu: 500m}}]}",
            "placement: {strategy: keep-room, mix: [{requests: {cpu: -1}}]}",
            "placement: {strategy: keep-room, mix: [{requests: {cpus: 1}}]}",
            "placement: {strategy: keep-room, mix: [{requests: {ephemeral-storage: 1Gi}}]}",
            "placement: {strategy: keep-room, mix: {cpu: 1}}",
            "podPolicy: {}",
            "podPolicy: {allow: policy}",
            "podPolicy: {allow: [[policy]]}",
            "podPolicy: {allows: [policy]}",
            "cgroup: {partition: member}",
            "cgroup: {partition: true}",
            "cgroup: {interrupts: move}",
            "cgroup: {partition: none, interrupts: move}",
            "cgroup: {partition: root, interrupts: moved}",
            "cgroup: {partition: root, interrupts: true}",
            "cgroup: {irqs: move}",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
