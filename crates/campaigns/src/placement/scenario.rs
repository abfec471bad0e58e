//! A workload on a machine, as a scenario: sizes in CPUs and bytes, and pods as often as the machine can nearly bear.

use std::fmt::Write as _;

use workspace_tools::workspace::root;

use super::machines::NumaNode;
use super::workloads::{Container, DevicePlace, Devices, Runs, Workload};

/// The strategies that are compared.
pub(super) const STRATEGIES: [(&str, Options); 6] = [
    ("lowest-number", Options::Kubelet),
    ("most-allocated", Options::File("own-most-allocated.yaml")),
    ("least-allocated", Options::File("own-least-allocated.yaml")),
    ("spare-devices", Options::File("own-spare-devices.yaml")),
    ("keep-room", Options::File("own-keep-room.yaml")),
    ("keep-room, mix given", Options::WithMix),
];

/// What makes a strategy.
#[derive(Clone, Copy)]
pub(super) enum Options {
    /// Nothing.
    Kubelet,
    /// A file of `fixtures/configs`.
    File(&'static str),
    /// The workload's own mix.
    WithMix,
}

/// The share of what most is asked of that would be held on the average if no pod were refused. The fewer nodes there are, the
/// more must be free for chance: 51 % on two, 75 % on eight, 88 % on 32.
#[expect(clippy::cast_precision_loss, reason = "numbers of nodes are small")]
fn load(nodes: usize) -> f64 {
    1.0 - 0.7 / (nodes.max(1) as f64).sqrt()
}

/// How many, and from which seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) runs: u32,
    pub(super) pods: u32,
    pub(super) seed: u64,
}

/// What a container asks for on a machine.
pub(super) struct Sized<'a> {
    cpus: u64,
    mebibytes: u64,
    devices: Vec<(&'a str, u32)>,
}

impl Sized<'_> {
    /// `RESOURCE=AMOUNT` for each, with spaces between them.
    pub(super) fn words(&self) -> String {
        let cpus = (self.cpus > 0).then(|| format!("cpu={}", self.cpus));
        let devices = self.devices.iter().map(|(resource, count)| format!("{resource}={count}"));
        let memory = format!("memory={}Mi", self.mebibytes);
        cpus.into_iter().chain([memory]).chain(devices).collect::<Vec<_>>().join(" ")
    }

    fn resources(&self) -> String {
        let mut text = format!("memory: {}Mi", self.mebibytes);
        if self.cpus > 0 {
            let _ = write!(text, ", cpu: {}", self.cpus);
        }
        for (resource, count) in &self.devices {
            let _ = write!(text, ", {resource}: {count}");
        }
        format!("{{{text}}}")
    }
}

/// Shares are of the smallest node, which also has the CPUs and the memory that are reserved.
pub(super) fn sized<'a>(workload: &'a Workload, container: &Container, nodes: &[NumaNode]) -> Sized<'a> {
    const RESERVED_CPUS: u64 = 2;
    const RESERVED_BYTES: u64 = 2 << 30;
    let cpus = nodes.iter().map(|node| node.cpus).min().unwrap_or(0).saturating_sub(RESERVED_CPUS);
    let bytes = nodes.iter().map(|node| node.bytes).min().unwrap_or(0).saturating_sub(RESERVED_BYTES);
    // Rounded, and at least one.
    let share = |of: u64, share: u32| ((of * u64::from(share) + 50) / 100).max(1);
    Sized {
        cpus: if container.cpus == 0 { 0 } else { share(cpus, container.cpus) },
        mebibytes: share(bytes >> 20, container.memory),
        devices: workload
            .devices
            .iter()
            .zip(container.devices)
            .filter(|(_, count)| **count > 0)
            .map(|(devices, count)| (devices.resource, *count))
            .collect(),
    }
}

/// The nodes that have devices, by position.
pub(super) fn places(devices: &Devices, nodes: usize) -> Vec<usize> {
    let has = |at: &usize| match devices.place {
        DevicePlace::Each => true,
        DevicePlace::EverySecond => at.is_multiple_of(2),
        DevicePlace::First => *at == 0,
        DevicePlace::Two => *at == 0 || *at == nodes / 2,
    };
    (0..nodes).filter(has).collect()
}

/// The devices of a workload on a machine.
pub(super) fn devices(workload: &Workload, nodes: &[NumaNode]) -> String {
    let mut text = "devices:\n".to_owned();
    for own in workload.devices {
        let on = |at: usize| nodes.get(at).map(|node| format!("{}: {}", node.id, own.on_node));
        let places: Vec<String> = places(own, nodes.len()).into_iter().filter_map(on).collect();
        let _ = writeln!(text, "- resource: {}\n  perNode: {{{}}}", own.resource, places.join(", "));
    }
    if workload.devices.is_empty() { "devices: []\n".to_owned() } else { text }
}

/// How long a pod of a kind runs on the average, in hours.
fn mean(runs: Runs) -> f64 {
    match runs {
        Runs::Exponential(mean) => mean,
        // With sigma 1.
        Runs::LogNormal(median) => median * 0.5_f64.exp(),
    }
}

/// Minutes between two pods.
#[expect(clippy::cast_precision_loss, reason = "numbers of CPUs and devices are small")]
pub(super) fn gap(workload: &Workload, nodes: &[NumaNode], machines: usize) -> f64 {
    let weights: u32 = workload.pods.iter().map(|kind| kind.weight).sum();
    // What pods hold on the average if one comes each hour.
    let asked = |of: &dyn Fn(&Sized<'_>) -> f64| -> f64 {
        let held = workload.pods.iter().map(|kind| {
            let own: f64 =
                kind.containers.iter().map(|container| of(&sized(workload, container, nodes))).sum();
            own * mean(kind.runs) * f64::from(kind.weight) / f64::from(weights)
        });
        held.sum()
    };
    let cpus: u64 = nodes.iter().map(|node| node.cpus).sum();
    let bytes: u64 = nodes.iter().map(|node| node.bytes >> 20).sum();
    let mut shares = vec![
        asked(&|own| own.cpus as f64) / cpus as f64,
        asked(&|own| if own.cpus > 0 { own.mebibytes as f64 } else { 0.0 }) / bytes as f64,
    ];
    for devices in workload.devices {
        let all = f64::from(devices.on_node) * places(devices, nodes.len()).len() as f64;
        let count = |own: &Sized<'_>| {
            own.devices
                .iter()
                .filter(|(name, _)| *name == devices.resource)
                .map(|(_, count)| f64::from(*count))
                .sum()
        };
        shares.push(asked(&count) / all);
    }
    60.0 * shares.into_iter().fold(0.0, f64::max) / machines as f64 / load(nodes.len() * machines)
}

/// Machines of one kind, and what they are configured with.
pub(super) struct Fleet<'a> {
    pub(super) machine: &'a str,
    pub(super) count: usize,
    /// Items of `configurations`, each a line.
    pub(super) configurations: &'a str,
}

/// The configurations of one machine, one for each strategy.
pub(super) fn strategies(workload: &Workload, machine: &str) -> String {
    let configs = root().join("fixtures/configs");
    let name = format!("{}-{machine}", workload.name);
    let mut text = String::new();
    for (strategy, options) in STRATEGIES {
        let options = match options {
            Options::Kubelet => String::new(),
            Options::File(file) => format!(", topoletConfig: {}", configs.join(file).display()),
            Options::WithMix => format!(", topoletConfig: {name}-mix.yaml"),
        };
        let _ = writeln!(text, "- {{name: \"{strategy}\", policy: single-numa-node{options}}}");
    }
    text
}

/// The scenario.
pub(super) fn scenario(workload: &Workload, fleet: &Fleet<'_>, nodes: &[NumaNode], drawn: &Drawn) -> String {
    let Fleet { machine, count, configurations } = fleet;
    let name = format!("{}-{machine}", workload.name);
    let Drawn { runs, pods, seed } = drawn;
    let mut text = format!(
        "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\nseed: {seed}\nruns: {runs}\nmachines:\n\
         - {{machine: {machine}, count: {count}, devices: {name}-devices.yaml}}\nconfigurations:\n{configurations}pods:\n"
    );
    for kind in workload.pods {
        let runs = match kind.runs {
            Runs::Exponential(hours) => format!("exponential: {}m", hours * 60.0),
            Runs::LogNormal(hours) => format!("logNormal: {{median: {}m, sigma: 1}}", hours * 60.0),
        };
        let _ = writeln!(
            text,
            "- weight: {}\n  lifetime: {{{runs}}}\n  pod:\n    metadata: {{name: {}}}\n    spec:\n      containers:",
            kind.weight, kind.name
        );
        for (at, container) in kind.containers.iter().enumerate() {
            let resources = sized(workload, container, nodes).resources();
            let which = if container.cpus == 0 { "requests" } else { "limits" };
            let _ = writeln!(text, "      - {{name: c{at}, resources: {{{which}: {resources}}}}}");
        }
    }
    let _ = writeln!(
        text,
        "arrivals: {{count: {pods}, every: {{exponential: {}s}}}}",
        (gap(workload, nodes, *count) * 60.0).round().max(1.0)
    );
    text
}

/// The mix of a workload, given.
pub(super) fn mix(workload: &Workload, nodes: &[NumaNode]) -> String {
    let mut text = "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\nplacement:\n  strategy: keep-room\n  mix:\n".to_owned();
    for kind in workload.pods {
        for container in kind.containers.iter().filter(|container| container.cpus > 0) {
            let requests = sized(workload, container, nodes).resources();
            let _ = writeln!(text, "  - {{count: {}, requests: {requests}}}", kind.weight);
        }
    }
    text
}
