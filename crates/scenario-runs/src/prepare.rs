//! A scenario made ready to run: machines are read, nodes are started under every configuration, and pods that could never run
//! are errors or warnings.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use device_manager::Inventory;
use node_config::{DecidedBy, KubeletConfiguration};
use node_input::{
    BadKubeletVersion, DeviceText, KubeletVersion, LoadedMachine, LoadedNode, MachineSource, OptionsSource,
    RulesSource, memory_must_be_known,
};
use node_output::{manifest_error, manifest_style};
use node_simulation::{
    Arrival, Claims, CpuDriver, Distribution, DistributionError, Fleet, Host, Lifetime, NoPlugins, Repack,
    Retry, Scheduler, Template, Weight,
};
use pod_spec::{PodRules, ResourceName};
use topology_admission::Node;
use topology_manifest::{
    Scenario, ScenarioArrivals, ScenarioConfiguration, ScenarioMachine, ScenarioOptions, ScenarioPlace,
    ScenarioPod, ScenarioRepack, ScenarioRetry, SchedulerName, Source, Spans, read_scenario,
};
use topology_model::{CpuTable, KubeletView};

use crate::claims::{cpu_driver, of_scenario, without_exclusive_cpus};
use crate::files::Files;
use crate::missing::{Missing, missing, why_never};

/// A scenario that can be run.
pub struct Prepared {
    /// The scenario's file.
    pub(crate) name: String,
    /// The seed of its first run.
    pub seed: u64,
    runs: u32,
    /// The scheduler of configurations that name none.
    pub(crate) scheduler: Scheduler,
    pub(crate) retry: Retry,
    /// Names of the machines, and how many there are of each.
    pub(crate) machines: Vec<(String, usize)>,
    pub(crate) configurations: Vec<PreparedConfiguration>,
    arrivals: Arrivals,
    /// Warnings about machines, configurations and pods, each as text to be shown.
    pub warnings: Vec<String>,
}

/// A configuration with the nodes that it makes of the machines.
pub(crate) struct PreparedConfiguration {
    pub(crate) name: String,
    pub(crate) scheduler: Scheduler,
    pub(crate) repack: Option<Repack>,
    /// The kinds of pods, with the fields that an API server of the release fills in.
    pub(crate) templates: Vec<Template>,
    /// How pods claim devices; `None`: device plugins offer everything.
    pub(crate) claims: Option<Claims>,
    /// One for each kind of machine, in the order of [`Prepared::machines`].
    nodes: Vec<PreparedNode>,
}

struct PreparedNode {
    node: Arc<Node>,
    /// With the CPU manager that the pods' exclusive CPUs are counted by; beside the CPU driver not that of `node`.
    counts: Arc<Node>,
    cpus: CpuTable,
    view: KubeletView,
    inventory: Inventory,
    driver: Option<CpuDriver>,
}

/// When which pods arrive.
enum Arrivals {
    /// Drawn anew from the seed of each run.
    Drawn { every: Distribution, count: usize },
    /// As recorded: the same in every run.
    Trace(Vec<Arrival>),
}

impl Prepared {
    /// Reads the scenario from a file, or from standard input for `-`. Paths in it are relative to the folder of the file.
    /// `decided_by` is the program that decides; `None`: a kubelet, or topolet where a configuration names options that no
    /// kubelet has.
    ///
    /// # Errors
    /// Something cannot be read, a kubelet does not start, or a pod fits no machine.
    pub fn read(path: &Path, decided_by: Option<DecidedBy>) -> anyhow::Result<Self> {
        let name = if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() };
        let bytes = node_input::read(path)?;
        let source = Source::from_bytes(&name, &bytes).map_err(manifest_error)?;
        let scenario = read_scenario(&source).map_err(manifest_error)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Reading { source, files: Files::In(folder), decided_by }.prepare(&scenario)
    }

    /// Reads the scenario from a text, which can name built-in machines and devices only. `name` is what messages call it.
    ///
    /// # Errors
    /// It names other files or too many machines, a kubelet does not start, or a pod fits no machine.
    pub fn read_text(name: &str, text: &[u8]) -> anyhow::Result<Self> {
        let source = Source::from_bytes(name, text).map_err(manifest_error)?;
        let scenario = read_scenario(&source).map_err(manifest_error)?;
        let machines: usize = scenario.machines.iter().map(|machine| machine.count).sum();
        anyhow::ensure!(
            machines <= MAX_MACHINES,
            "{machines} machines are more than the {MAX_MACHINES} that are simulated here"
        );
        Reading { source, files: Files::BuiltIn, decided_by: None }.prepare(&scenario)
    }

    /// How many runs there are of each configuration, at least one.
    #[must_use]
    pub const fn runs(&self) -> u32 {
        self.runs
    }

    /// The same scenario with so many runs, each of the next seed.
    ///
    /// # Errors
    /// Pods come as recorded, which no seed changes.
    pub fn with_runs(mut self, runs: NonZeroU32) -> anyhow::Result<Self> {
        anyhow::ensure!(
            matches!(self.arrivals, Arrivals::Drawn { .. }),
            "{} has a trace, which is the same with every seed: more seeds are for `arrivals`",
            self.name
        );
        self.runs = runs.get();
        Ok(self)
    }

    /// The number of decisions in all runs under all configurations.
    #[must_use]
    pub fn decisions(&self) -> u64 {
        self.configurations.len() as u64 * u64::from(self.runs) * self.pods() as u64
    }

    /// The machines under a configuration.
    pub(crate) fn fleet<'a>(&self, configuration: &'a PreparedConfiguration) -> Fleet<'a> {
        let host = |(own, (_, count)): (&'a PreparedNode, &(String, usize))| {
            let host = Host::new(&own.counts, &own.cpus, own.inventory.clone(), &NoPlugins);
            let host = match &configuration.claims {
                Some(claims) => host.claiming(claims, &own.node, &own.view, own.driver.clone()),
                None => host,
            };
            (host, *count)
        };
        let hosts = configuration.nodes.iter().zip(&self.machines).map(host).collect();
        Fleet { hosts, scheduler: configuration.scheduler, retry: self.retry, repack: configuration.repack }
    }

    /// The pods of a run: the same for every configuration.
    pub(crate) fn arrivals(&self, run: u32) -> Vec<Arrival> {
        match &self.arrivals {
            Arrivals::Drawn { every, count } => {
                node_simulation::arrivals(self.templates(), *every, *count, self.run_seed(run))
            }
            Arrivals::Trace(trace) => trace.clone(),
        }
    }

    /// The kinds of pods as the first configuration has them: how often they arrive and how long they stay is the same under
    /// every configuration.
    pub(crate) fn templates(&self) -> &[Template] {
        self.configurations.first().map_or(&[], |configuration| &configuration.templates)
    }

    pub(crate) const fn run_seed(&self, run: u32) -> u64 {
        self.seed.wrapping_add(run as u64)
    }

    /// How many pods arrive in a run.
    fn pods(&self) -> usize {
        match &self.arrivals {
            Arrivals::Drawn { count, .. } => *count,
            Arrivals::Trace(trace) => trace.len(),
        }
    }
}

/// The most machines in a scenario from a text, which can come from a browser. A file may name more.
const MAX_MACHINES: usize = 1000;

/// A scenario while it is read: its text for errors, and where its files are.
struct Reading<'a> {
    source: Source<'a>,
    files: Files,
    decided_by: Option<DecidedBy>,
}

impl Reading<'_> {
    fn prepare(&self, scenario: &Scenario) -> anyhow::Result<Prepared> {
        let loaded = scenario.machines.iter().map(|machine| self.machine(machine));
        let loaded = loaded.collect::<anyhow::Result<Vec<LoadedMachine>>>()?;
        let mut warnings = Vec::new();
        let default = [ScenarioConfiguration {
            name: "pinned".to_owned(),
            scheduler: None,
            repack: None,
            config: None,
            kubelet: None,
            options: None,
            policy: None,
            scope: None,
            cpu_options: std::collections::BTreeMap::new(),
            topology_options: std::collections::BTreeMap::new(),
            claims: None,
            place: scenario.machines[0].place.clone(),
        }];
        let wanted =
            if scenario.configurations.is_empty() { &default } else { scenario.configurations.as_slice() };
        let mut configurations = Vec::new();
        for configuration in wanted {
            let mut nodes = Vec::new();
            for (machine, described) in loaded.iter().zip(&scenario.machines) {
                nodes.push(self.node(machine, described, configuration, &mut warnings)?);
            }
            let claims = self.claims(configuration, &nodes)?;
            let rules = nodes.first().map_or_else(PodRules::default, |own| own.node.pod_rules());
            let templates = scenario.pods.iter().map(|pod| template(pod, rules));
            let templates = templates.collect::<Result<Vec<_>, DistributionError>>()?;
            let scheduler = scheduler(configuration.scheduler.unwrap_or(scenario.scheduler));
            configurations.push(PreparedConfiguration {
                name: configuration.name.clone(),
                scheduler,
                repack: configuration.repack.or(scenario.repack).map(repack),
                templates,
                claims,
                nodes,
            });
        }
        let arrivals = match &scenario.arrivals {
            ScenarioArrivals::Drawn { count, every } => {
                Arrivals::Drawn { every: distribution(*every)?, count: *count }
            }
            ScenarioArrivals::Trace(trace) => Arrivals::Trace(
                trace.iter().map(|pod| Arrival { at: pod.at, template: pod.pod, stays: pod.stays }).collect(),
            ),
        };
        let prepared = Prepared {
            name: self.source.name.to_owned(),
            seed: scenario.seed,
            // A trace is the same in every run.
            runs: if matches!(arrivals, Arrivals::Trace(_)) { 1 } else { scenario.runs },
            scheduler: scheduler(scenario.scheduler),
            retry: match scenario.retry {
                ScenarioRetry::Never => Retry::Never,
                ScenarioRetry::BackOff => Retry::BackOff,
            },
            machines: loaded
                .iter()
                .zip(&scenario.machines)
                .map(|(machine, described)| (machine.name.clone(), described.count))
                .collect(),
            configurations,
            arrivals,
            warnings,
        };
        let mut prepared = self.refuse_what_never_fits(prepared, &scenario.pods)?;
        prepared.warnings.extend(self.missing(&prepared, &scenario.pods));
        Ok(prepared)
    }

    fn error_at(&self, place: &ScenarioPlace, what: String, expected: &'static str) -> anyhow::Error {
        manifest_error(Scenario::refuse(&self.source, place, what, expected)).into()
    }

    fn machine(&self, described: &ScenarioMachine) -> anyhow::Result<LoadedMachine> {
        let (hugepages, memory) = (described.hugepages.clone(), described.memory.clone());
        let machine = self
            .files
            .machine(&described.machine)
            .and_then(|machine| {
                LoadedMachine::load(&MachineSource {
                    machine,
                    hugepages,
                    memory,
                    add: Vec::new(),
                    kubelet_pid: None,
                })
            })
            .map_err(|error| {
                self.error_at(&described.place, format!("{error:#}"), "a machine that can be read")
            })?;
        memory_must_be_known(&machine).map_err(|error| {
            self.error_at(&described.place, format!("{error:#}"), "a machine whose memory is known")
        })?;
        Ok(machine)
    }

    fn node(
        &self,
        machine: &LoadedMachine,
        described: &ScenarioMachine,
        configuration: &ScenarioConfiguration,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<PreparedNode> {
        let unreadable = |error: &anyhow::Error| {
            self.error_at(&configuration.place, format!("{error:#}"), "a configuration that can be read")
        };
        let config = configuration.config.as_deref().map(|name| self.files.config(name)).transpose();
        let topolet_config = configuration.options.as_ref().map(|options| self.options(options)).transpose();
        let rules = RulesSource {
            config: config.map_err(|error| unreadable(&error))?,
            kubelet: self.kubelet(configuration)?,
            decided_by: self.decided_by,
            topolet_config: topolet_config.map_err(|error| unreadable(&error))?,
            policy: configuration.policy.clone(),
            scope: configuration.scope.clone(),
            ..RulesSource::default()
        };
        let devices = match &described.devices {
            Some(path) => self.files.devices(path).map(Some),
            None => Ok(DeviceText::built_in(&described.machine)),
        };
        let devices = devices.map_err(|error| {
            self.error_at(&described.place, format!("{error:#}"), "devices that can be read")
        })?;
        let with_options = |config: &mut KubeletConfiguration| {
            if !configuration.cpu_options.is_empty() {
                config.cpu_manager_policy_options.clone_from(&configuration.cpu_options);
            }
            config.topology_manager_policy_options.extend(
                configuration.topology_options.iter().map(|(name, value)| (name.clone(), value.clone())),
            );
        };
        let does_not_start = |error: anyhow::Error| {
            self.error_at(
                &configuration.place,
                format!("{error:#}"),
                "a configuration with which a kubelet starts",
            )
        };
        let node = LoadedNode::changed(machine, &rules, devices.clone(), with_options);
        let mut node = node.map_err(does_not_start)?;
        let counts = Arc::clone(&node.node);
        let cpus = configuration.claims.as_ref().and_then(|claims| claims.cpus);
        let driver = cpus.map(|cpus| cpu_driver(machine, &node, cpus)).transpose();
        let driver = driver.map_err(|error| {
            self.error_at(
                &configuration.place,
                format!("{error:#}"),
                "cpuManagerPolicy static, or no claims.cpus",
            )
        })?;
        if driver.is_some() {
            let beside_driver = LoadedNode::changed(machine, &rules, devices, |config| {
                with_options(config);
                without_exclusive_cpus(config);
            });
            node = beside_driver.map_err(does_not_start)?;
        }
        warnings.extend(
            node.warnings
                .iter()
                .map(ToString::to_string)
                .filter(|warning| !warnings.contains(warning))
                .collect::<Vec<_>>(),
        );
        let view = node.view().clone();
        Ok(PreparedNode { node: node.node, counts, cpus: node.cpus, view, inventory: node.inventory, driver })
    }

    /// Options of topolet's own.
    fn options(&self, options: &ScenarioOptions) -> anyhow::Result<OptionsSource> {
        Ok(match options {
            ScenarioOptions::File(path) => OptionsSource::File(self.files.path(path)?),
            ScenarioOptions::Inline(options) => OptionsSource::Given(options.clone()),
        })
    }

    /// How the pods of a configuration claim devices of these machines.
    fn claims(
        &self,
        configuration: &ScenarioConfiguration,
        nodes: &[PreparedNode],
    ) -> anyhow::Result<Option<Claims>> {
        let on_machines: BTreeSet<ResourceName> =
            nodes.iter().flat_map(|own| own.inventory.resources().cloned()).collect();
        let claims =
            configuration.claims.as_ref().map(|claims| of_scenario(claims, &on_machines)).transpose();
        claims.map_err(|error| {
            self.error_at(&configuration.place, format!("{error:#}"), "resources of the machines' devices")
        })
    }

    /// The kubelet whose rules apply under a configuration.
    fn kubelet(&self, configuration: &ScenarioConfiguration) -> anyhow::Result<Option<KubeletVersion>> {
        let version = configuration.kubelet.as_deref().map(str::parse).transpose();
        version.map_err(|error: BadKubeletVersion| {
            self.error_at(&configuration.place, format!("kubelet: {error}"), "a version like 1.37 or v1.37.1")
        })
    }

    /// Warnings about resources that pods request and some machines lack, one for each set of machines.
    fn missing(&self, prepared: &Prepared, pods: &[ScenarioPod]) -> Vec<String> {
        let Some(configuration) = prepared.configurations.first() else { return Vec::new() };
        let fleet = prepared.fleet(configuration);
        let names: Vec<&str> = prepared.machines.iter().map(|(name, _)| name.as_str()).collect();
        let missing = missing(&fleet, &names, &configuration.templates);
        let warning = |missing: &Missing| {
            let place = &pods.get(missing.first_pod)?.place;
            let expected = "devices or hugepages of the machine, if it has them";
            let warning =
                Scenario::warn(&self.source, place, missing.text(configuration.scheduler), expected);
            Some(warning.render(manifest_style()))
        };
        missing.iter().filter_map(warning).collect()
    }

    /// A pod that fits no machine under any configuration is an error; under some of them, a warning.
    fn refuse_what_never_fits(
        &self,
        mut prepared: Prepared,
        pods: &[ScenarioPod],
    ) -> anyhow::Result<Prepared> {
        let fleets: Vec<Fleet<'_>> =
            prepared.configurations.iter().map(|configuration| prepared.fleet(configuration)).collect();
        let mut found = Vec::new();
        for (at, pod) in pods.iter().enumerate() {
            let refusal = |(configuration, fleet): (&PreparedConfiguration, &Fleet<'_>)| {
                let template = configuration.templates.get(at)?;
                Some(format!("{}: {}", configuration.name, why_never(fleet, template)?))
            };
            let never: Vec<String> =
                prepared.configurations.iter().zip(&fleets).filter_map(refusal).collect();
            if never.len() == fleets.len() {
                let what = never.first().map(String::as_str).unwrap_or_default();
                let what = format!("the pod fits no machine, even an empty one: under {what}");
                return Err(self.error_at(&pod.place, what, "a pod that fits a machine of the scenario"));
            }
            found.extend(never.iter().map(|never| {
                let what = format!("the pod fits no machine, even an empty one, under {never}");
                let expected = "to see it admitted, another configuration or a smaller pod";
                Scenario::warn(&self.source, &pod.place, what, expected).render(manifest_style())
            }));
        }
        drop(fleets);
        prepared.warnings.extend(found);
        Ok(prepared)
    }
}

const fn repack(ScenarioRepack { moves, price }: ScenarioRepack) -> Repack {
    Repack { most: moves, price }
}

const fn scheduler(name: SchedulerName) -> Scheduler {
    match name {
        SchedulerName::Spread => Scheduler::Spread,
        SchedulerName::Pack => Scheduler::Pack,
        SchedulerName::Blind => Scheduler::Blind,
        SchedulerName::Topolet => Scheduler::Topolet,
        SchedulerName::TopologyMatch => Scheduler::TopologyMatch,
        SchedulerName::Kai => Scheduler::Kai,
    }
}

fn template(pod: &ScenarioPod, rules: PodRules) -> Result<Template, DistributionError> {
    Ok(Template {
        name: pod.pod.name.clone(),
        pod: pod.pod.clone().with_defaults(rules).delivered(),
        weight: Weight(NonZeroU32::new(pod.weight).unwrap_or(NonZeroU32::MIN)),
        lifetime: match pod.lifetime {
            None => Lifetime::Forever,
            Some(spans) => Lifetime::Drawn(distribution(spans)?),
        },
    })
}

fn distribution(spans: Spans) -> Result<Distribution, DistributionError> {
    match spans {
        Spans::Constant(value) => Distribution::constant(value),
        Spans::Uniform(from, to) => Distribution::uniform(from, to),
        Spans::Exponential(mean) => Distribution::exponential(mean),
        Spans::LogNormal { median, sigma } => Distribution::log_normal(median, sigma),
    }
}
