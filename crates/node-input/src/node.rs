//! What is decided on: a machine, the rules, the devices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use admission_report::Notice;
use anyhow::{Context, bail};
use config_advice::hazards_of_kubelet;
use cpu_manager::QuotaWithExclusiveCpus;
use device_manager::{Inventory, Links, Moment};
use distribution_config::Distribution;
use node_config::{
    Amounts, CapacityFacts, DecidedBy, Gate, KubeletConfiguration, OwnOptions, Placement, capacity,
};
use node_output::{NodeLine, manifest_style};
use topology_admission::{Compat, Ledger, Node, StartOptions};
use topology_manifest::Warning;
use topology_model::{CpuTable, KubeletView, Machine};

use crate::base_choice::Reading;
use crate::configuration::{self, PINNED};
use crate::devices::DeviceText;
use crate::found_config::FoundConfig;
use crate::imagined::{Added, Imagined};
use crate::kubelet_version::NamedBy;
use crate::links::links_of;
use crate::listed_holders::ListedHolders;
use crate::machine::{LoadedMachine, THIS};
use crate::memory;
use crate::next_start::{self, NextStart};
use crate::packed::{Packed, Source};
use crate::read_configuration::ReadConfiguration;
use crate::sources::{MachineSource, RulesSource};
use crate::start_failure::{refuse_invalid, start_error};
use crate::ways_out::WaysOut;

/// Where no configuration is known, and more than this machine may be meant.
pub(crate) const NO_CONFIGURATION: &str = "no configuration of a kubelet was given or found";

/// A node that can decide.
#[derive(Clone)]
pub struct LoadedNode {
    /// Its rules.
    pub node: Arc<Node>,
    /// The CPUs as the kubelet counts them.
    pub cpus: CpuTable,
    /// Its devices.
    pub inventory: Inventory,
    /// Whether something lists its devices: an inventory file, or the kubelet.
    pub(crate) has_device_list: bool,
    /// What pods hold by a file of devices; `None`: it does not tell.
    pub(crate) listed_holders: Option<Arc<ListedHolders>>,
    /// What it is called, and by which policies it decides.
    pub line: NodeLine,
    /// What in the files that were read is without effect or not known.
    pub warnings: Vec<InputWarning>,
    /// What a kubelet with the configuration suffers here, where one decides, as text to be shown.
    pub hazards: Vec<String>,
    /// That no configuration of a kubelet was given or found, and what is assumed, as text to be shown; `None`: one was, or
    /// the machine is a built-in one, which has no kubelet.
    pub assumed: Option<String>,
    /// That the Node object is evidently another machine's, as text to be shown.
    pub(crate) other_machine: Option<String>,
    /// What the next start of its kubelet meets, where the machine has changed since the last one.
    pub(crate) next_start: Option<Arc<NextStart>>,
    /// Whether the configuration was given or found.
    pub(crate) is_configured: bool,
    /// Whose node it is; `None`: it is not known, or of no distribution that is known here.
    pub(crate) distribution: Option<Distribution>,
    /// Why a kubelet does not start where this goes on, as text to be shown.
    pub kubelet_stops: Option<String>,
    /// How running containers are kept on their CPUs.
    pub keeping: Keeping,
    /// Where its kubelet reads static pods, if its configuration says so.
    pub static_pods: Option<PathBuf>,
    /// What a node file says beside the machine.
    pub(crate) packed: Option<Arc<Packed>>,
    /// Its machine with its PCI devices; `None` where only the kubelet's view of it is known.
    pub(crate) machine: Option<Arc<Machine>>,
    /// What the machine has more than the real one; `None`: it is the real one.
    pub(crate) imagined: Option<Arc<Imagined>>,
    /// The devices that are added to it.
    pub(crate) added: Added,
    pub(crate) rules: Arc<DecidesBy>,
    pub(crate) ways_out: WaysOut<Self>,
}

/// What the decisions of a node depend on besides what runs on it, as far as a kubelet reads it anew when it starts.
#[derive(PartialEq)]
pub(crate) struct DecidesBy {
    pub(crate) view: KubeletView,
    pub(crate) config: KubeletConfiguration,
    pub(crate) options: OwnOptions,
    pub(crate) decided_by: DecidedBy,
    pub(crate) links: Option<Links>,
}

/// A warning about a file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InputWarning {
    /// In one sentence.
    Notice(Notice),
    /// With the lines of the configuration that it is about.
    Configuration(Warning),
}

impl fmt::Display for InputWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Notice(notice) => notice.fmt(f),
            Self::Configuration(warning) => f.write_str(&warning.render(manifest_style())),
        }
    }
}

impl InputWarning {
    /// In one line without colours, as logs have it.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        match self {
            Self::Notice(notice) => notice.to_string(),
            Self::Configuration(warning) => warning.in_one_line(),
        }
    }
}

/// How running containers are kept on their CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Keeping {
    /// How often they are looked at.
    pub period: Duration,
    /// Whether those with exclusive CPUs have a quota.
    pub quota: QuotaWithExclusiveCpus,
}

impl Keeping {
    pub(crate) fn new(config: &KubeletConfiguration) -> Self {
        let gates = config.gates().unwrap_or_default();
        let quota = if gates.is_on(Gate::DisableCpuQuotaWithExclusiveCpus) {
            QuotaWithExclusiveCpus::Disabled
        } else {
            QuotaWithExclusiveCpus::Enforced
        };
        // Less would keep a CPU busy.
        let period = config.reconcile_period().span().max(Duration::from_millis(100));
        Self { period, quota }
    }
}

impl LoadedNode {
    /// The notes that come first in an answer, as text: the configuration that is assumed, that the Node object is another
    /// machine's, and that the machine has changed since its kubelet started.
    pub fn first_notes(&self) -> impl Iterator<Item = String> + '_ {
        let changed = self.next_start.iter().map(|next| &next.note);
        self.assumed.iter().chain(&self.other_machine).chain(changed).cloned()
    }

    /// Why what runs here is not known, as text to be shown.
    pub fn resident_gaps(&self) -> Vec<String> {
        self.packed.iter().flat_map(|packed| packed.resident_gaps()).map(str::to_owned).collect()
    }

    /// Whether `other` decides as this node does where the same runs: it has the same machine, configuration, options and
    /// devices.
    #[must_use]
    pub fn decides_as(&self, other: &Self) -> bool {
        self.rules == other.rules && self.inventory == other.inventory
    }

    /// The machine as its kubelet counts it.
    #[must_use]
    pub fn view(&self) -> &KubeletView {
        &self.rules.view
    }

    /// The configuration that it decides by.
    #[must_use]
    pub fn config(&self) -> &KubeletConfiguration {
        &self.rules.config
    }

    /// The options of this project's own that it decides by.
    #[must_use]
    pub fn options(&self) -> OwnOptions {
        self.rules.options.clone()
    }

    /// The program that decides.
    #[must_use]
    pub fn decided_by(&self) -> DecidedBy {
        self.rules.decided_by
    }

    /// What the node has in all, devices left out. Its disk is not known.
    pub fn capacity(&self) -> Amounts {
        let DecidesBy { view, config, .. } = &*self.rules;
        let facts = CapacityFacts {
            cpus: view.cpus().num_cpus(),
            memory: view.memory_capacity(),
            hugepages: view.hugepages().iter().map(|pages| (pages.page_size_kib, pages.num_pages)).collect(),
            root_file_system: None,
        };
        capacity(&facts, config)
    }

    /// What the node has and what of it pods may have, by resource, as its object says it: devices too, as `ledger` has
    /// them now.
    pub fn reported_amounts(
        &self,
        ledger: &Ledger,
        now: Moment,
    ) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
        let text = |amounts: &Amounts| -> BTreeMap<String, String> {
            amounts
                .iter()
                .map(|(resource, amount)| (resource.clone(), amount.canonical().to_string()))
                .collect()
        };
        let (mut capacity, mut allocatable) = (text(&self.capacity()), text(self.node.allocatable()));
        let mut inventory = ledger.inventory().clone();
        let devices = inventory.capacity(now);
        for (resource, count) in &devices.capacity {
            let healthy = devices.allocatable.get(resource).copied().unwrap_or_default();
            capacity.insert(resource.to_string(), count.to_string());
            allocatable.insert(resource.to_string(), healthy.to_string());
        }
        (capacity, allocatable)
    }

    /// The node with its devices, on which nothing runs.
    pub fn empty_ledger(&self) -> Ledger {
        self.node.empty_ledger().with_inventory(self.inventory.clone())
    }

    /// Reads everything that the sources name and puts it together.
    pub fn load(machine: &MachineSource, rules: &RulesSource) -> anyhow::Result<Self> {
        let loaded = LoadedMachine::load_node(machine)?;
        let devices = DeviceText::of(rules)?;
        Self::on(&loaded, rules, devices)
    }

    /// The node on a machine that has been read, of which no devices are known.
    pub fn without_devices(machine: &LoadedMachine, rules: &RulesSource) -> anyhow::Result<Self> {
        Self::on(machine, rules, None)
    }

    /// The node on a machine that has been read, with these devices; `None`: none are known.
    pub fn on(
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
    ) -> anyhow::Result<Self> {
        Self::changed(machine, rules, devices, |_| ())
    }

    /// The same with a configuration in which something has been changed.
    pub fn changed(
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        change: impl FnOnce(&mut KubeletConfiguration),
    ) -> anyhow::Result<Self> {
        let decided_by = decided_by(machine, rules)?;
        let compat = Compat::from(decided_by);
        match machine.as_counted() {
            Some((as_counted, counted)) if decided_by == DecidedBy::Kubelet => {
                let mut node = Self::with(&as_counted, rules, devices, compat, change)?;
                let (note, started) = (counted.note(), next_start::started(&machine.info, node.config()));
                node.next_start = Some(Arc::new(NextStart { note, node: started }));
                Ok(node)
            }
            _ => Self::with(machine, rules, devices, compat, change),
        }
    }

    /// The same, as much the kubelet as `compat` says.
    pub(crate) fn with(
        machine: &LoadedMachine,
        rules: &RulesSource,
        devices: Option<DeviceText>,
        compat: Compat,
        change: impl FnOnce(&mut KubeletConfiguration),
    ) -> anyhow::Result<Self> {
        let decided_by = decided_by(machine, rules)?;
        let view = KubeletView::new(&machine.info)
            .with_context(|| format!("the kubelet could not use machine {}", machine.name))?;
        let read = configuration_of(machine, rules.config.as_deref(), &view, rules.reading())?;
        let of_file = read.warnings.iter().chain(&read.unread).cloned();
        let mut warnings: Vec<InputWarning> = of_file.map(InputWarning::Configuration).collect();
        let doubt = rules.kubelet.and_then(|version| {
            version.doubt(match version.named_by() {
                // The notices of what is read have it.
                NamedBy::Configuration => return None,
                NamedBy::NodeObject => "the Node object",
                NamedBy::StateFiles => "the state files",
                NamedBy::Executable => "the kubelet that runs",
                NamedBy::Log => "the kubelet's log",
                NamedBy::Argument | NamedBy::Nobody => "--kubelet",
            })
        });
        warnings.extend(doubt.map(InputWarning::Notice));
        warnings.extend(machine.text_notices().into_iter().map(InputWarning::Notice));
        // Where nothing is known of the configuration, what is assumed has them.
        if rules.config.is_none() && machine.has_configuration(rules) {
            warnings.extend(machine.config_gaps().into_iter().map(InputWarning::Notice));
        }
        warnings.extend(read.notices().map(InputWarning::Notice));
        let may_reserve_more = read.may_reserve_more();
        let distribution = read.base.distribution().or(rules.distribution);
        let (mut name, mut config) = (read.shown_name(), read.config);
        let static_pods = read.static_pods;
        if let Some(policy) = &rules.policy {
            name.push_str(&format!(" with --policy {policy}"));
            config.topology_manager_policy = Some(policy.clone());
        }
        if let Some(scope) = &rules.scope {
            name.push_str(&format!(" with --scope {scope}"));
            config.topology_manager_scope = Some(scope.clone());
        }
        change(&mut config);
        refuse_invalid(&config, &name)?;
        warnings.extend(memory::must_be_known_by(machine, &config)?.map(InputWarning::Notice));
        let text = device_text(machine, devices.clone());
        let has_device_list = text.is_some();
        let listed_holders = devices.as_ref().and_then(DeviceText::holders).map(Arc::new);
        let listed = text.map_or_else(|| Ok(BTreeMap::new()), |text| text.addresses())?;
        let (inventory, not_judged) = inventory_of(machine, devices, &view)?;
        warnings.extend(not_judged.into_iter().map(InputWarning::Notice));
        let (inventory, added) = machine.with_added_devices(inventory);
        let options = match decided_by {
            DecidedBy::Kubelet => OwnOptions::default(),
            DecidedBy::Topolet => options_of(machine, rules)?,
        };
        let mut node =
            Node::start_with(&view, &config, StartOptions::decided_as(compat).with_own(options.clone()))
                .map_err(|error| start_error(&error, may_reserve_more, &name, machine, &view, &config))?;
        let gaps = placement_gaps(&node, &options.placement, &inventory);
        warnings.extend(gaps.into_iter().map(InputWarning::Notice));
        let links = links_of(&options, machine.machine.as_ref(), &view, listed)?;
        if let Some(links) = links.clone() {
            if options.device_links.rule != node_config::LinkRule::Ignore && links.iter().next().is_none() {
                warnings.push(InputWarning::Notice(no_links(&machine.name)));
            }
            node = node.with_links(links);
        }
        let line = NodeLine::new(&machine.name, &name, decided_by, &node).imagined(machine.more_in_words());
        // Where this goes on and a kubelet would not.
        let kubelet_stops =
            Node::start_as(&view, &config, Compat::KUBELET).err().map(|error| error.to_string());
        if let Some(error) = &kubelet_stops {
            let machine = &machine.name;
            let text = format!("a kubelet would not start on {machine} with configuration {name}: {error}");
            warnings.push(InputWarning::Notice(Notice::warning(text)));
        }
        let hazards = hazards(decided_by, &config, &view);
        let is_configured = machine.has_configuration(rules);
        let is_assumed = !is_configured && !machine.is_built_in();
        let assumed = is_assumed.then(|| assumed(machine, rules, &line));
        let keeping = Keeping::new(&config);
        let (node, cpus) = (Arc::new(node), view.cpus().clone());
        let rules = Arc::new(DecidesBy { view, config, options, decided_by, links });
        Ok(Self {
            node,
            cpus,
            inventory,
            has_device_list,
            listed_holders,
            line,
            warnings,
            hazards,
            assumed,
            other_machine: None,
            next_start: None,
            is_configured,
            distribution,
            kubelet_stops,
            keeping,
            static_pods,
            packed: machine.packed.clone(),
            machine: machine.machine.clone().map(Arc::new),
            imagined: machine.imagined.clone(),
            added,
            rules,
            ways_out: WaysOut::default(),
        })
    }
}

/// That no configuration is known, or why the one of the kubelet is not, and what is assumed.
fn assumed(machine: &LoadedMachine, rules: &RulesSource, line: &NodeLine) -> String {
    let policy = match rules.policy {
        None => format!(" (policy {})", line.topology_policy),
        Some(_) => String::new(),
    };
    let what = format!("the built-in configuration `{PINNED}`{policy} is assumed");
    let gaps: Vec<String> = machine.config_gaps().into_iter().map(|gap| gap.text).collect();
    if !gaps.is_empty() {
        return format!("{}: {what}", gaps.join("; "));
    }
    let found = if machine.name == THIS { "no kubelet found here" } else { NO_CONFIGURATION };
    format!("{found}: {what}; --config FILE names the kubelet's own")
}

/// The configuration of a node as a kubelet with these rules reads it: the given one, else the machine's own, else
/// [`PINNED`](crate::PINNED).
///
/// # Errors
/// It cannot be read.
pub fn configuration_of(
    machine: &LoadedMachine,
    given: Option<&str>,
    view: &KubeletView,
    reading: Reading<'_>,
) -> anyhow::Result<ReadConfiguration> {
    configuration_with_flags(machine, given, view, reading)?.accepted()
}

/// The same also where a kubelet does not start with its flags.
pub(crate) fn configuration_with_flags(
    machine: &LoadedMachine,
    given: Option<&str>,
    view: &KubeletView,
    reading: Reading<'_>,
) -> anyhow::Result<ReadConfiguration> {
    let view = &*machine.real_view(view)?;
    let cpus = view.cpus().num_cpus();
    Ok(match (given, packed_config(machine)) {
        (None, Some(found)) => found.read(cpus, reading)?.with_given(reading)?,
        (None, None) if !reading.flags.is_empty() => configuration::of_flags(cpus, reading)?,
        (given, _) => configuration::read(given, view, reading)?.with_given(reading)?,
    })
}

/// The machine's own configuration.
fn packed_config(machine: &LoadedMachine) -> Option<&FoundConfig> {
    machine.packed.as_deref()?.config.as_ref()
}

/// The devices that are given, else the machine's own, and what of them is not judged or not as the machine has it.
///
/// # Errors
/// They do not fit the machine.
pub fn inventory_of(
    machine: &LoadedMachine,
    devices: Option<DeviceText>,
    view: &KubeletView,
) -> anyhow::Result<(Inventory, Vec<Notice>)> {
    let mut inventory = Inventory::new(view.nodes().clone());
    let Some(text) = device_text(machine, devices) else { return Ok((inventory, Vec::new())) };
    let mut notices = text.not_judged(machine)?;
    notices.extend(text.replaces_built_in(machine)?);
    notices.extend(text.empty_pools(machine, view.nodes())?);
    let addresses = text.addresses()?;
    for (resource, devices) in text.devices(machine, view.nodes())? {
        notices.extend(machine.without_nodes(&resource, &devices, &addresses));
        inventory = inventory.with(resource, devices);
    }
    Ok((inventory, notices))
}

/// What lists the devices: what is given, else the machine's own.
pub(crate) fn device_text(machine: &LoadedMachine, given: Option<DeviceText>) -> Option<DeviceText> {
    given.or_else(|| {
        let packed = machine.packed.as_deref()?;
        let name = match packed.source {
            Source::Kubelet { .. } => "the kubelet's podresources socket".to_owned(),
            Source::File => format!("devices of {}", machine.name),
        };
        Some(DeviceText { name, text: packed.devices.clone()? })
    })
}

/// Links count, and there are none.
fn no_links(machine: &str) -> Notice {
    Notice::warning(format!(
        "{machine} has no PCI switch, port or domain with several devices: devices.links finds none that belong together"
    ))
}

/// What a kubelet with the configuration suffers, where it decides.
pub(crate) fn hazards(
    decided_by: DecidedBy,
    config: &KubeletConfiguration,
    view: &KubeletView,
) -> Vec<String> {
    match decided_by {
        DecidedBy::Kubelet => hazards_of_kubelet(config, view).iter().map(ToString::to_string).collect(),
        DecidedBy::Topolet => Vec::new(),
    }
}

/// The program that decides: the one that was asked for, else the one whose options are given or whose node file it is, else a
/// kubelet.
///
/// # Errors
/// Options of topolet's own are given for a kubelet, which has none of them.
pub(crate) fn decided_by(machine: &LoadedMachine, rules: &RulesSource) -> anyhow::Result<DecidedBy> {
    match (rules.decided_by, &rules.topolet_config) {
        (Some(DecidedBy::Kubelet), Some(options)) => bail!(
            "no kubelet has the options of {}: leave {} out, or ask --for topolet",
            options.name(),
            if options.file().is_some() { "--topolet-config" } else { "them" }
        ),
        (Some(program), _) => Ok(program),
        (None, Some(_)) => Ok(DecidedBy::Topolet),
        (None, None) => Ok(machine.packed.as_deref().map(|packed| packed.decided_by).unwrap_or_default()),
    }
}

/// The options of topolet's own that are given, else the machine's, else the defaults.
///
/// # Errors
/// They cannot be read.
pub fn options_of(machine: &LoadedMachine, rules: &RulesSource) -> anyhow::Result<OwnOptions> {
    let packed = machine.packed.as_deref().and_then(|packed| packed.own_config.as_deref());
    match (&rules.topolet_config, packed) {
        (Some(source), _) => source.options(),
        (None, Some(text)) => configuration::own_options_of(&format!("options of {}", machine.name), text),
        (None, None) => Ok(OwnOptions::default()),
    }
}

/// The configuration that a check is about, as a kubelet with these rules reads it, and its text: a given one, that of
/// a node file, or the kubelet's defaults.
pub fn configuration_to_check(
    given: Option<&str>,
    machine: &LoadedMachine,
    view: &KubeletView,
    reading: Reading<'_>,
) -> anyhow::Result<(ReadConfiguration, String)> {
    if given.is_none() && packed_config(machine).is_none() && !reading.flags.is_empty() {
        return Ok((configuration::of_flags(view.cpus().num_cpus(), reading)?, String::new()));
    }
    let (read, text) = without_given_flags(given, machine, view, reading)?;
    Ok((read.with_given(reading)?, text))
}

/// The same without the flags that are given beside it.
fn without_given_flags(
    given: Option<&str>,
    machine: &LoadedMachine,
    view: &KubeletView,
    reading: Reading<'_>,
) -> anyhow::Result<(ReadConfiguration, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let (None, Some(found)) = (given, packed_config(machine)) {
        return Ok((found.read(view.cpus().num_cpus(), reading)?, text(found.text())));
    }
    let given = given.unwrap_or(configuration::DEFAULTS);
    if configuration::is_built_in(given) {
        return Ok((configuration::read(Some(given), view, reading)?, String::new()));
    }
    if Path::new(given).is_dir() {
        return Ok((configuration::from_folder(given, view.cpus().num_cpus(), reading)?, String::new()));
    }
    let bytes = configuration::bytes(given)?;
    Ok((configuration::from_text(given, &bytes, view.cpus().num_cpus(), reading)?, text(&bytes)))
}

/// Resources that a placement names and the node has none of. Where no devices are known, plugins may come with them.
fn placement_gaps(node: &Node, placement: &Placement, inventory: &Inventory) -> Vec<Notice> {
    let in_mix = placement.mix.iter().flat_map(|unit| unit.requests.keys()).map(|name| ("mix", name));
    let in_weights = placement.weights.keys().map(|name| ("weights", name));
    let named: BTreeSet<(&str, &String)> = in_mix.chain(in_weights).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let rows = node.room(&node.empty_ledger().with_inventory(inventory.clone()));
    let knows_devices = inventory.registered().next().is_some();
    let has = |name: &str| {
        rows.iter().any(|(row, _)| row.as_str() == name) || (name.contains('/') && !knows_devices)
    };
    let lacked = named.into_iter().filter(|(_, name)| !has(name));
    let gap = |(field, name): (&str, &String)| {
        let text =
            format!("placement.{field} names {name}, of which the node has none: it counts for nothing");
        Notice::warning(text)
    };
    lacked.map(gap).collect()
}
