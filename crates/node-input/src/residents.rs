//! What runs on a node before anything is decided there, and how much of it is known.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use device_manager::{DeviceId, Endpoint, Inventory};
use k8s_quantity::{Amount, Format, Quantity};
use kubelet_checkpoint::device::DeviceFile;
use kubelet_checkpoint::store::StateFile;
use node_state::{Quarantine, StateFolder};
use pod_spec::{Amounts, Overhead, Pod, PodUid, ResourceName};
use topology_admission::Ledger;

use crate::configuration::PINNED;
use crate::node::{LoadedNode, NO_CONFIGURATION};
use crate::packed::{Packed, Running};
use crate::pod_names;
use crate::quarantine::still_quarantined;
use crate::removed_files::Removed;
use crate::resume::{Requests, ledger, refused_by};
use crate::source::{Resident, of_node};
use crate::sources::ResidentsSource;
use crate::state_with_more::with_more;

/// What runs on a node.
pub struct Residents {
    /// What they hold.
    pub ledger: Ledger,
    /// How many pods run there, and by which files, as text to be shown; `None`: no state was read.
    pub line: Option<String>,
    /// Which pods are known.
    pub known: Known,
    /// What of them is not known, as text to be shown.
    pub notes: Vec<String>,
    /// Why the kubelet does not start again from files that do not decide, as text to be shown.
    pub not_again: Option<String>,
    /// Pods that may have lost a part of what they hold.
    pub quarantined: BTreeSet<PodUid>,
}

/// Which of the pods that run are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// Every one.
    All,
    /// Those that hold something.
    Holders,
    /// None: decisions are made as if nothing ran.
    Nothing,
}

/// The note where the manifests of running pods are not known.
const NO_REQUESTS: &str = "not looked at: the node-wide fit (requests, number of pods, host ports), since the manifests \
    of running pods are not known; --pods takes them from `kubectl get pods -A --field-selector spec.nodeName=NODE -o yaml`";

/// How a note begins that the state of a node is not known.
const NOT_KNOWN: &str = "what runs on this node is not known";

/// The error where the kubelet runs, and the machine or the configuration has changed so that it would not start.
const RUNS: &str = "the kubelet that runs goes on with what machine and configuration had when it started, which its files do not \
    tell here: what it admits is not decided";

impl ResidentsSource {
    /// The state that is given, else the node's own, with the pods that there are; `None` if neither has any, or if an
    /// empty node is asked for.
    ///
    /// # Errors
    /// It cannot be read, or pods are named without a state.
    pub fn of_node(&self, packed: Option<&Packed>) -> anyhow::Result<Option<Resident>> {
        if self.empty {
            return Ok(None);
        }
        of_node(self.state.as_deref(), self.pods.as_deref(), packed)
    }
}

impl LoadedNode {
    /// What runs on it: as the state says that is given, else as the node's own does, else nothing.
    ///
    /// # Errors
    /// The state cannot be read, or a kubelet would not start from it.
    pub fn residents(&self, given: &ResidentsSource) -> anyhow::Result<Residents> {
        let mut resident = self.resident(given)?;
        if let (Some(resident), Some(imagined)) = (&mut resident, &self.imagined) {
            let folder = std::mem::take(&mut resident.folder);
            resident.folder = with_more(folder, imagined)?;
        }
        let mut residents = match resident {
            Some(resident) => Residents::new(self, given, &resident),
            None if given.empty => {
                let own = self.packed.as_deref().and_then(|packed| packed.state.as_ref());
                let with_unlisted = own.and_then(|folder| self.with_unlisted_devices(folder));
                Ok(Residents::none(with_unlisted.as_ref().unwrap_or(self)))
            }
            None => match self.why_unknown() {
                none if none.is_empty() => Ok(Residents::none(self)),
                notes => Ok(Residents::unknown(self, notes)),
            },
        }?;
        residents.notes.extend(self.only_added(residents.ledger.inventory()));
        Ok(residents)
    }

    /// The state that is given or the node's own, else what a kubelet's answer lists.
    fn resident(&self, given: &ResidentsSource) -> anyhow::Result<Option<Resident>> {
        let packed = self.packed.as_deref();
        let has_state = given.state.is_some() || packed.is_some_and(|packed| packed.state.is_some());
        match self.listed_holders.as_deref().filter(|_| !has_state && !given.empty) {
            None => given.of_node(packed),
            Some(listed) => {
                let names = given.pods.as_deref().map(|path| pod_names::from_path(path, None)).transpose()?;
                listed.resident(self, &names.unwrap_or_default()).map(Some)
            }
        }
    }

    /// That devices of a resource are known as far as they are added to the machine, as text to be shown.
    fn only_added(&self, inventory: &Inventory) -> Option<String> {
        let only =
            self.added.resources().filter(|resource| !self.added.is_listed_beside(inventory, resource));
        let names: Vec<&str> = only.map(ResourceName::as_str).collect();
        let names = (!names.is_empty()).then(|| names.join(", "))?;
        Some(format!(
            "{names}: nothing lists devices of it that the real machine has, so the added ones are all that there are; {LISTED}"
        ))
    }

    /// Why the pods of a list are evidently those of another node, as text to be shown: one is bound to it, or they request
    /// more than the machine has. `None`: nothing speaks against it.
    pub fn why_not_its_pods<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Option<String> {
        let pods: Vec<&Pod> = pods.into_iter().collect();
        let own = self.node.identity().map(|identity| identity.name.as_str());
        let bound = pods.iter().find_map(|pod| {
            let name = pod.constraints.node_name.as_deref()?;
            own.is_some_and(|own| own != name).then(|| (format!("{}/{}", pod.namespace, pod.name), name))
        });
        if let (Some((pod, theirs)), Some(own)) = (bound, own) {
            return Some(format!(
                "the list of running pods is of another node: pod {pod} is bound to {theirs}, and this node is called {own}"
            ));
        }
        let rules = self.node.pod_rules().pod_level;
        let requests: Vec<_> =
            pods.iter().map(|pod| pod.effective(Amounts::Requests, rules, Overhead::Added)).collect();
        let sum = |resource: &str, of: fn(&Quantity) -> i64| {
            let amounts = requests.iter().filter_map(|requests| requests.get(resource));
            amounts.map(of).fold(0_i64, i64::saturating_add)
        };
        let (cpus, memory) = (sum("cpu", Quantity::milli_value), sum("memory", Quantity::value));
        let bytes = |value: i64| Amount::Bytes(u64::try_from(value).unwrap_or(0));
        let (all_cpus, all_memory) = (self.view().cpus().num_cpus(), self.view().memory_capacity());
        let (asked, there) = if i64::try_from(all_cpus).is_ok_and(|all| cpus > all.saturating_mul(1000)) {
            (format!("{} CPUs", Quantity::from_milli(cpus, Format::DecimalSi)), all_cpus.to_string())
        } else if i64::try_from(all_memory).is_ok_and(|all| memory > all) {
            (format!("{} of memory", bytes(memory)), Amount::Bytes(all_memory).to_string())
        } else {
            return None;
        };
        let machine = &self.line.machine;
        Some(format!(
            "the list of running pods is of another node: they request {asked}, and machine {machine} has {there}"
        ))
    }

    /// Why nothing is known of what runs here; empty: nothing does, as on a machine without a kubelet.
    fn why_unknown(&self) -> Vec<String> {
        let root = self.packed.as_deref().and_then(Packed::state_root);
        let mut notes = self.resident_gaps();
        // A socket without an answer says nothing of the state.
        let is_unread = notes.iter().any(|note| note.starts_with(NOT_KNOWN));
        if let Some(root) = root.filter(|_| !is_unread) {
            notes.push(format!(
                "{NOT_KNOWN}: {} has no state files, so nothing is taken to run",
                root.display()
            ));
        }
        notes
    }
}

impl Residents {
    /// Nothing runs.
    pub fn none(node: &LoadedNode) -> Self {
        let ledger = node.empty_ledger();
        Self {
            ledger,
            line: None,
            known: Known::All,
            notes: Vec::new(),
            not_again: None,
            quarantined: BTreeSet::new(),
        }
    }

    /// What decisions on pods leave out since it is not known, and that the next start of the kubelet fails, as text to be shown.
    pub fn not_looked_at(&self) -> Vec<String> {
        let requests = (self.known == Known::Holders).then(|| NO_REQUESTS.to_owned());
        requests.into_iter().chain(self.not_again.clone()).chain(self.notes.iter().cloned()).collect()
    }

    /// What runs could not be found out, for these reasons.
    pub fn unknown(node: &LoadedNode, notes: Vec<String>) -> Self {
        Self { known: Known::Nothing, notes, ..Self::none(node) }
    }

    /// What the state files say, and the manifests of pods as far as they are known.
    ///
    /// # Errors
    /// The files cannot be read, or a kubelet with this configuration would not start from them.
    pub fn new(node: &LoadedNode, given: &ResidentsSource, resident: &Resident) -> anyhow::Result<Self> {
        let Resident { folder, names, from, names_from, root } = resident;
        let removed = node.removed_of(folder);
        let deleted = removed.as_ref().filter(|removed| removed.is_with_configuration());
        let folder = deleted.map_or(folder, |removed| &removed.folder);
        let with_unlisted = if given.state.is_none() { node.with_unlisted_devices(folder) } else { None };
        let node = with_unlisted.as_ref().unwrap_or(node);
        // What a kubelet with another configuration does is not known.
        let restored = ledger(folder, node, names).map_err(|error| {
            let error = match &removed {
                Some(removed) => error.context(removed.sentence()),
                None => error,
            };
            if node.is_configured || is_damaged(folder, node) {
                let runs = node.packed.as_ref().is_some_and(|packed| packed.running == Running::Yes);
                return if runs && given.state.is_none() { error.context(RUNS) } else { error };
            }
            let configuration = &node.line.configuration;
            error.context(format!(
                "{NO_CONFIGURATION}, and with {configuration}, which is assumed, what runs cannot be taken over; --config names \
                 the kubelet's own"
            ))
        });
        let (restored, way_out) = match given.state {
            Some(_) => (restored, ""),
            None => (
                restored.context("failed to read what runs here; --empty decides without it"),
                "; --empty leaves them out",
            ),
        };
        let (ledger, requests) = restored?;
        let count = ledger.pods().count();
        let pods = if count == 1 { "pod" } else { "pods" };
        let named = names_from.as_ref().map(|place| format!(", named by {place}")).unwrap_or_default();
        let line = Some(format!("beside {count} {pods} of {from}{named}{way_out}"));
        let mut notes = if given.state.is_none() { node.resident_gaps() } else { Vec::new() };
        // A built-in machine has no kubelet, and one that wrote these files had a configuration.
        if given.state.is_some() && !node.is_configured && node.assumed.is_none() {
            notes.push(format!(
                "{NO_CONFIGURATION}: the built-in configuration `{PINNED}` is assumed; --config FILE names the kubelet's own"
            ));
        }
        notes.extend(deleted.map(Removed::sentence));
        notes.extend(node.inventory.registered().filter_map(|resource| unlisted(node, folder, resource)));
        notes.extend(plugins_away(node, folder).into_iter().map(|(resource, count)| {
            let devices = if count == 1 { "1 device".to_owned() } else { format!("{count} devices") };
            format!(
                "{resource}: the kubelet's checkpoint names {devices}, and nothing says that the plugin has registered since; \
                 until it does, none is healthy; {LISTED}"
            )
        }));
        notes.extend(devices_lost(folder));
        let listed = node.listed_holders.as_ref().filter(|listed| !from.starts_with(&listed.name));
        notes.extend(listed.map(|listed| listed.not_counted(from)));
        notes.extend(node.why_not_its_pods(ledger.pods()));
        notes.extend(gone(given, resident));
        let known = if requests == Requests::OfEveryPod { Known::All } else { Known::Holders };
        let quarantine = match root {
            Some(root) => still_quarantined(root, folder, names)?,
            None => Quarantine::default(),
        };
        let quarantined = quarantine.pods.keys().map(|uid| PodUid::new(uid)).collect();
        let next_start = node.next_start.as_ref().and_then(|next| match &next.node {
            // A machine that has changed has booted.
            Ok(next) => {
                let left = Removed::at_boot(node.distribution, folder);
                refused_by(left.as_ref().map_or(folder, |left| &left.folder), next, names)
            }
            Err(error) => Some(error.clone()),
        });
        let not_again = node.pods_files_refused(folder).or(next_start).map(|why| {
            format!(
                "the kubelet does not start again from these files: {why}; `topolet state check` says more"
            )
        });
        Ok(Self { ledger, line, known, notes, not_again, quarantined })
    }
}

/// Whether no kubelet starts from the files, whatever its configuration.
fn is_damaged(folder: &StateFolder, node: &LoadedNode) -> bool {
    folder.known().is_err() || folder.strict(&node.node).is_err_and(|error| !error.depends_on_configuration())
}

/// Pods that hold something by the state files, and that the list of pods does not have.
fn gone(given: &ResidentsSource, resident: &Resident) -> Option<String> {
    let Resident { folder, names, from, names_from, root } = resident;
    let gone: Vec<String> =
        folder.holders()?.iter().filter(|uid| names.is_gone(uid)).map(|uid| names.name(uid)).collect();
    let slash = if root.is_some() && !from.ends_with('/') { "/" } else { "" };
    let list = match (&given.pods, names_from) {
        (Some(_), _) => "--pods",
        (None, Some(place)) => place,
        (None, None) => "the list of running pods",
    };
    let (pods, are, they_hold) = match gone.len() {
        1 => ("pod holds", "is", "it holds"),
        _ => ("pods hold", "are", "they hold"),
    };
    (!gone.is_empty()).then(|| {
        format!(
            "{} {pods} something in the state files of {from}{slash}, but {are} not in {list}: what {they_hold} counts as free: {}",
            gone.len(),
            gone.join(", ")
        )
    })
}

/// Damage of the kubelet's checkpoint of devices: it starts as if no container held any.
fn devices_lost(folder: &StateFolder) -> Option<String> {
    let is_damaged = folder.device.as_deref().map(DeviceFile::read)?.fault.is_some();
    is_damaged.then(|| {
        format!(
            "which devices containers hold is not known: {} cannot be read, and a kubelet that starts gives them out anew",
            StateFile::Device.path()
        )
    })
}

/// That only the kubelet's checkpoint names the devices of a resource; `None`: something lists them.
fn unlisted(node: &LoadedNode, folder: &StateFolder, resource: &ResourceName) -> Option<String> {
    if node.inventory.endpoint(resource) != Some(Endpoint::Checkpoint) {
        return None;
    }
    let devices = node.inventory.devices(resource).map(|device| &device.id);
    let devices: BTreeSet<&DeviceId> = devices.filter(|id| !node.added.has(resource, id)).collect();
    let state = folder.device.as_deref().map(DeviceFile::read)?.state;
    let held = node_state::files::devices(&state);
    let held = held.iter().filter(|(_, _, of, _)| *of == resource).flat_map(|(.., held)| held.devices());
    let held = held.collect::<BTreeSet<_>>().len();
    let count = devices.len();
    let devices = if count == 1 { "device" } else { "devices" };
    let are = if held == 1 { "is" } else { "are" };
    Some(format!(
        "{resource}: {count} {devices} by the kubelet's checkpoint, of which {held} {are} held; nothing else lists them; {LISTED}"
    ))
}

/// What lists a plugin's devices where the state files do not.
const LISTED: &str = "--devices FILE lists them, or on the node `topolet capture --node NODE.tar.zst` packs what its kubelet lists";

/// How many devices plugins had registered by the kubelet's checkpoint, of resources that the inventory does not have.
fn plugins_away(node: &LoadedNode, folder: &StateFolder) -> BTreeMap<ResourceName, usize> {
    let read = folder.device.as_deref().map(DeviceFile::read).filter(|read| read.fault.is_none());
    let registered = read.iter().flat_map(|read| read.state.registered.iter().flatten());
    let away = registered.filter(|(resource, _)| !node.added.is_listed_beside(&node.inventory, resource));
    away.map(|(resource, ids)| (resource.clone(), ids.iter().flatten().count())).collect()
}
