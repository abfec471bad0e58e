//! Files that no kubelet takes, as far as they can be read: torn, changed, or overwritten in part.
//!
//! Every entry of a pod is read by itself, so that a value of another type costs one entry. Behind a fault of
//! the syntax the reading goes on at the next pod of the same table, where one can be recognised, else at the
//! next member that has the name of a table: an entry that the fault is in, and of a table of pods as a whole
//! or of devices those behind it, are lost. What is read so need not be true: a [`Seal`] may prove it, else the
//! caller compares it with what else is known.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::CpuSet;
use pod_spec::{ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

use crate::cpu::{CpuState, PodCpus};
use crate::device::{DeviceEntry, DeviceState};
use crate::go::{Item, Key, Step, items_of, members_of, parse, whole};
use crate::memory::{Block, MemoryState, NodeState, PodEntry};
use crate::{List, Map};

/// What can be read of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Salvaged<T> {
    /// The entries that can be read, and what can be read of others.
    pub state: T,
    /// The pods of which not all can be read.
    pub cut: BTreeSet<PodUid>,
    /// Whether everything else is there: the shared pool, or the books of all nodes that have any.
    pub rest: Rest,
    /// Whether every entry can be read, or has its pod in [`Self::cut`]. If not, the file may have had pods that nothing
    /// here names.
    pub pods: Rest,
}

/// What can be read of a part of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// All of it.
    Read,
    /// Not all of it.
    Cut,
}

/// The checksum at the end of a file, as far as it is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seal {
    digits: String,
    /// Whether the file goes on behind it.
    is_whole: bool,
}

/// Fewer digits prove nothing: one text of ten thousand fits four, which is enough for the one that was read.
const DIGITS: usize = 4;
/// Fewer digits prove no guess: one text of a hundred million fits eight, and thousands of guesses are tried.
const GUESS_DIGITS: usize = 8;

impl Seal {
    /// The last checksum in a file; `None`: there is none.
    #[must_use]
    pub fn of(file: &[u8]) -> Option<Self> {
        const NAME: &[u8] = b"hecksum\":";
        let at = file.windows(NAME.len()).rposition(|bytes| bytes == NAME)?;
        let behind = file.get(at + NAME.len()..)?;
        let count = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, behind) = behind.split_at_checked(count)?;
        let digits = String::from_utf8_lossy(digits).into_owned();
        Some(Self { digits, is_whole: !behind.is_empty() })
    }

    /// Whether `text`, a file as a kubelet writes it, has this checksum: then the file was written with the contents of
    /// that one. Of a checksum that breaks off, four digits are enough, and one digit of it may be wrong.
    #[must_use]
    pub fn proves(&self, text: &str) -> bool {
        self.fits(text, DIGITS)
    }

    /// The same of one of many texts that were made up: eight digits are needed.
    #[must_use]
    pub fn proves_guess(&self, text: &str) -> bool {
        self.fits(text, GUESS_DIGITS)
    }

    fn fits(&self, text: &str, at_least: usize) -> bool {
        let Some(own) = Self::of(text.as_bytes()) else { return false };
        if !self.is_whole {
            return self.digits.len() >= at_least && own.digits.starts_with(&self.digits);
        }
        if self.digits == own.digits {
            return true;
        }
        let wrong = self.digits.bytes().zip(own.digits.bytes()).filter(|(one, other)| one != other).count();
        self.digits.len() == own.digits.len() && self.digits.len() > GUESS_DIGITS && wrong == 1
    }
}

/// The members of a damaged object, also of such as are in `within`; those that have been read twice are there twice.
struct Parts {
    members: Vec<(String, Vec<u8>)>,
    /// The ways to what is not whole.
    cuts: Vec<Vec<Step>>,
}

impl Parts {
    /// Reads on behind a fault at the next of these members.
    fn of(file: &[u8], marks: &[&str]) -> Self {
        let mut parts = Self { members: Vec::new(), cuts: Vec::new() };
        let mut from = Some((0, Vec::new()));
        while let Some((at, before)) = from {
            let text = [&before[..], file.get(at..).unwrap_or_default()].concat();
            let read = whole(&text);
            let members = members_of(&read.text);
            parts.members.extend(members.into_iter().map(|(name, value)| (name, value.to_owned())));
            let fault = read.fault.map(|fault| (at + fault).saturating_sub(before.len()));
            let is_in_entries = matches!(read.cut.first(), Some(Step::Key(table)) if table == ENTRIES);
            if fault.is_some() {
                parts.cuts.push(read.cut);
            }
            from = fault.map(|fault| fault.max(at + 1)).and_then(|fault| {
                let table = next_of(file, fault, marks);
                let end = table.unwrap_or(file.len());
                // In this table nothing but a pod is an object with a name.
                let pod = is_in_entries.then(|| next_object(file, fault, end)).flatten();
                let resumed = pod.map(|pod| (pod, format!("{{\"{ENTRIES}\":{{").into_bytes()));
                resumed.or_else(|| table.map(|table| (table, Vec::from(*b"{"))))
            });
        }
        parts
    }

    /// The values of a member, which a kubelet takes in any letter case.
    fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a [u8]> {
        self.members.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| &value[..])
    }

    /// The last value of a member that can be read.
    fn last<T: Item>(&self, name: &str) -> Option<T> {
        self.all(name).rev().find_map(read)
    }

    /// The pods that a cut is in, of the table `name`.
    fn pods_cut(&self, name: &str) -> impl Iterator<Item = PodUid> {
        self.cuts.iter().filter_map(move |cut| match &cut[..] {
            [Step::Key(table), Step::Key(pod), ..] if table.eq_ignore_ascii_case(name) => {
                Some(PodUid::new(pod))
            }
            _ => None,
        })
    }

    /// Whether the text has no fault, behind which a pod may be lost.
    fn read(&self) -> Rest {
        if self.cuts.is_empty() { Rest::Read } else { Rest::Cut }
    }

    fn is_cut_in(&self, name: &str) -> bool {
        self.cuts.iter().any(|cut| match cut.first() {
            Some(Step::Key(table)) => table.eq_ignore_ascii_case(name),
            _ => false,
        })
    }
}

/// Where the next member that is an object begins: `"NAME":{`.
fn next_object(file: &[u8], from: usize, end: usize) -> Option<usize> {
    let is_object = |at: &usize| {
        let name = file.get(*at..end).and_then(|here| here.strip_prefix(b"\""));
        let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        name.is_some_and(|name| {
            let length = name.iter().take_while(plain).count();
            length > 0 && name.get(length..).is_some_and(|rest| rest.starts_with(b"\":{"))
        })
    };
    (from..end).find(is_object)
}

/// Where the next of these members begins.
fn next_of(file: &[u8], from: usize, marks: &[&str]) -> Option<usize> {
    let is_mark = |at: &usize| {
        let here = file.get(*at..).unwrap_or_default();
        marks.iter().any(|mark| {
            let name = here.strip_prefix(b"\"").and_then(|rest| rest.strip_prefix(mark.as_bytes()));
            name.is_some_and(|rest| rest.starts_with(b"\":"))
        })
    };
    (from..file.len()).find(is_mark)
}

/// A value that is of its type.
fn read<T: Item>(text: &[u8]) -> Option<T> {
    let mut value = T::zero();
    let (result, _) = parse(text, &mut value);
    result.is_ok().then_some(value)
}

/// The entries of a map; the last of a name counts.
fn entries<K: Key>(text: &[u8]) -> impl Iterator<Item = (K, &[u8])> {
    members_of(text).into_iter().filter_map(|(name, value)| Some((K::parse(&name)?, value)))
}

const ENTRIES: &str = "entries";
const POD_ENTRIES: &str = "podEntries";

impl Salvaged<CpuState> {
    /// Reads a file of format V2 or V3.
    #[must_use]
    pub fn cpus(file: &[u8]) -> Self {
        let parts = Parts::of(file, &[ENTRIES, POD_ENTRIES]);
        let pods = parts.read();
        let mut state =
            CpuState { policy: parts.last("policyName").unwrap_or_default(), ..CpuState::default() };
        let shared = parts.last::<String>("defaultCpuSet").and_then(|text| text.parse().ok());
        let rest = if shared.is_some() { Rest::Read } else { Rest::Cut };
        state.shared = shared.unwrap_or_default();
        let mut cut: BTreeSet<PodUid> = parts.pods_cut(ENTRIES).chain(parts.pods_cut(POD_ENTRIES)).collect();
        for (pod, of_pod) in parts.all(ENTRIES).flat_map(entries::<PodUid>) {
            let mut containers = BTreeMap::new();
            let all = members_of(of_pod);
            if all.is_empty() && read::<Map<ContainerName, String>>(of_pod).is_none() {
                cut.insert(pod.clone());
            }
            for (name, text) in all {
                match read::<String>(text).and_then(|text| text.parse::<CpuSet>().ok()) {
                    Some(cpus) => drop(containers.insert(ContainerName::new(&name), cpus)),
                    None => drop(cut.insert(pod.clone())),
                }
            }
            state.containers.insert(pod, containers);
        }
        for (pod, text) in parts.all(POD_ENTRIES).flat_map(entries::<PodUid>) {
            match read::<PodCpus>(text) {
                Some(PodCpus(cpus)) => drop(state.pods.insert(pod, cpus)),
                None => drop(cut.insert(pod)),
            }
        }
        Self { state, cut, rest, pods }
    }
}

impl Salvaged<MemoryState> {
    /// Reads a file of format V1 or V2.
    #[must_use]
    pub fn memory(file: &[u8]) -> Self {
        const NODES: &str = "machineState";
        let parts = Parts::of(file, &[ENTRIES, POD_ENTRIES]);
        let pods = parts.read();
        let mut state =
            MemoryState { policy: parts.last("policyName").unwrap_or_default(), ..MemoryState::default() };
        let mut nodes = BTreeMap::new();
        let mut rest = if parts.is_cut_in(NODES) { Rest::Cut } else { Rest::Read };
        for (id, text) in parts.all(NODES).flat_map(entries::<NodeId>) {
            match read::<Option<NodeState>>(text) {
                Some(node) => drop(nodes.insert(id, node)),
                None => rest = Rest::Cut,
            }
        }
        if nodes.is_empty() {
            rest = Rest::Cut;
        }
        state.nodes = Some(nodes);
        let mut cut: BTreeSet<PodUid> = parts.pods_cut(ENTRIES).chain(parts.pods_cut(POD_ENTRIES)).collect();
        for (pod, of_pod) in parts.all(ENTRIES).flat_map(entries::<PodUid>) {
            let mut containers = BTreeMap::new();
            let all = members_of(of_pod);
            if all.is_empty() && read::<Map<ContainerName, List<Block>>>(of_pod).is_none() {
                cut.insert(pod.clone());
            }
            for (name, text) in all {
                match read::<List<Block>>(text) {
                    Some(blocks) => drop(containers.insert(ContainerName::new(&name), blocks)),
                    None => drop(cut.insert(pod.clone())),
                }
            }
            state.entries.insert(pod, Some(containers));
        }
        for (pod, text) in parts.all(POD_ENTRIES).flat_map(entries::<PodUid>) {
            match read::<PodEntry>(text) {
                Some(entry) => drop(state.pod_entries.insert(pod, entry)),
                None => drop(cut.insert(pod)),
            }
        }
        Self { state, cut, rest, pods }
    }
}

impl Salvaged<DeviceState> {
    /// Reads a file.
    #[must_use]
    pub fn devices(file: &[u8]) -> Self {
        const DATA: &str = "Data";
        const HELD: &str = "PodDeviceEntries";
        const REGISTERED: &str = "RegisteredDevices";
        let outer = Parts::of(file, &[HELD, REGISTERED]);
        let pods = outer.read();
        // The entry in which the text breaks off stands last in its list.
        let cut_item = outer.cuts.iter().find_map(|cut| match &cut[..] {
            [Step::Key(data), Step::Key(held), Step::Item(at), ..]
                if data.eq_ignore_ascii_case(DATA) && held.eq_ignore_ascii_case(HELD) =>
            {
                Some(*at)
            }
            _ => None,
        });
        let mut tables: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, value) in &outer.members {
            if name.eq_ignore_ascii_case(DATA) {
                let inner = members_of(value).into_iter();
                tables.extend(inner.map(|(name, value)| (name, value.to_owned())));
            } else {
                tables.push((name.clone(), value.clone()));
            }
        }
        let inner = Parts { members: tables, cuts: Vec::new() };
        let mut cut = BTreeSet::new();
        let mut held = Vec::new();
        for item in inner.all(HELD).flat_map(items_of) {
            let mut entry = DeviceEntry::default();
            let (result, _) = parse(item, &mut entry);
            if result.is_err() || entry.devices.is_none() || cut_item == Some(held.len()) {
                cut.insert(entry.pod.clone());
            }
            held.push(entry);
        }
        held.retain(|entry| !entry.pod.as_str().is_empty());
        cut.remove(&PodUid::new(""));
        let mut registered = BTreeMap::new();
        let mut rest = if inner.all(REGISTERED).next().is_some() { Rest::Read } else { Rest::Cut };
        for (name, text) in inner.all(REGISTERED).flat_map(entries::<ResourceName>) {
            match read::<List<String>>(text) {
                Some(healthy) => drop(registered.insert(name, healthy)),
                None => rest = Rest::Cut,
            }
        }
        let state = DeviceState { entries: Some(held), registered: Some(registered) };
        Self { state, cut, rest, pods }
    }
}
