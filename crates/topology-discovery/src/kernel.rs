//! The kernel's small files: read once, understood, and complained about.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use cpuset::CpuSet;
use topology_model::{HugePages, NodeId};

use crate::problem::{Problem, ProblemKind, Substitute};
use crate::tree::SysfsTree;

pub(crate) use crate::path::CPUS;
/// Folder of the NUMA nodes.
pub(crate) const NODES: &str = "sys/devices/system/node";
/// Folder of the huge page sizes of the whole machine.
pub(crate) const HUGEPAGES: &str = "sys/kernel/mm/hugepages";
/// Folder of the links to all PCI devices.
pub(crate) const PCI: &str = "sys/bus/pci/devices";
/// Memory of the whole machine.
pub(crate) const MEMINFO: &str = "proc/meminfo";

/// Maximum number of problems: these describe a tree of thousands of broken files well enough.
const MAX_PROBLEMS: usize = 1000;

/// More bytes than all files of the largest machine have together.
const MAX_READ: usize = 128 << 20;

/// `FOLDER/NAME`. Tens of thousands of paths are made, and to format one takes several times as long.
pub(crate) fn below(folder: &str, name: &str) -> String {
    let mut path = String::with_capacity(folder.len() + 1 + name.len());
    path.push_str(folder);
    path.push('/');
    path.push_str(name);
    path
}

/// A file's content, that it is not there, or why it cannot be read.
type Content<'t> = Result<Option<Bytes<'t>>, String>;

/// The bytes of a file: those that the tree holds, or a copy that all who ask share.
#[derive(Clone)]
pub(crate) enum Bytes<'t> {
    Held(&'t [u8]),
    Shared(Rc<[u8]>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Held(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

impl<'t> From<Cow<'t, [u8]>> for Bytes<'t> {
    fn from(bytes: Cow<'t, [u8]>) -> Self {
        match bytes {
            Cow::Borrowed(bytes) => Self::Held(bytes),
            Cow::Owned(bytes) => Self::Shared(bytes.into()),
        }
    }
}

/// A hash of a path, eight bytes at a time: tens of thousands of files are asked for. Which paths there are is
/// fixed but for numbers within the kernel's limits, so an attacker cannot choose them to collide.
#[derive(Default)]
struct PathHasher(u64);

impl Hasher for PathHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        let rest = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        for word in words.iter().map(|word| u64::from_le_bytes(*word)).chain([rest]) {
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }

    fn finish(&self) -> u64 {
        // A product is best mixed in its upper half.
        self.0.rotate_left(26)
    }
}

/// A tree with what was found wrong in it so far.
pub(crate) struct Kernel<'t> {
    pub(crate) tree: &'t SysfsTree,
    /// Files that have been read: two readings are made of them.
    files: RefCell<HashMap<Box<str>, Content<'t>, BuildHasherDefault<PathHasher>>>,
    /// Bytes that may still be read.
    left: Cell<usize>,
    problems: RefCell<BTreeSet<Problem>>,
}

impl<'t> Kernel<'t> {
    pub(crate) fn new(tree: &'t SysfsTree) -> Self {
        Self { tree, files: RefCell::default(), left: Cell::new(MAX_READ), problems: RefCell::default() }
    }

    pub(crate) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner().into_iter().collect()
    }

    fn report(&self, path: &str, lack: ProblemKind) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.insert(Problem { path: path.to_owned(), lack });
        }
    }

    pub(crate) fn missing(&self, path: &str, assumed: Substitute) {
        self.report(path, ProblemKind::Missing { assumed });
    }

    /// Reports a file that could not be used as missing, unless it is there and has been reported as unusable.
    pub(crate) fn missing_unless_there(&self, path: &str, assumed: Substitute) {
        if self.tree.target(path).is_none() {
            self.missing(path, assumed);
        }
    }

    pub(crate) fn unusable(&self, path: &str, reason: &(impl ToString + ?Sized), assumed: Substitute) {
        self.report(path, ProblemKind::Unusable { reason: reason.to_string(), assumed });
    }

    /// Reports a part of a file that is missing, where the rest of the file is used.
    pub(crate) fn lacks(&self, path: &str, what: &str, assumed: Substitute) {
        self.report(path, ProblemKind::Lacks { what: what.to_owned(), assumed });
    }

    /// Reports two files that say different things of the same fact, each with what it says.
    pub(crate) fn differs(&self, one: (&str, String), other: (&str, String), assumed: Substitute) {
        let ((path, value), (other, other_value)) = (one, other);
        let lack = ProblemKind::Differs { value, other: other.to_owned(), other_value, assumed };
        self.report(path, lack);
    }

    pub(crate) fn contradicts(&self, path: &str, other: &str, assumed: Substitute) {
        self.report(path, ProblemKind::Contradicts { other: other.to_owned(), assumed });
    }

    /// The content of a file, read once; `None` if it is not there.
    pub(crate) fn content(&self, path: &str) -> Content<'t> {
        if let Some(content) = self.files.borrow().get(path) {
            return content.clone();
        }
        let content = match self.tree.read(path) {
            Ok(None) => Ok(None),
            Ok(Some(content)) => match self.left.get().checked_sub(content.len()) {
                Some(left) => {
                    self.left.set(left);
                    Ok(Some(content.into()))
                }
                None => Err(format!("the files read before have {} MiB", MAX_READ >> 20)),
            },
            Err(error) => Err(error.to_string()),
        };
        self.files.borrow_mut().insert(path.into(), content.clone());
        content
    }

    /// The text of a file without the white space around it; `None` if it is not there, or unusable, which is
    /// reported.
    pub(crate) fn text(&self, path: &str, assumed: Substitute) -> Option<String> {
        self.with_text(path, assumed, str::to_owned)
    }

    /// Calls `with` on the text of a file, which is not copied; `None` as of [`Self::text`].
    fn with_text<T>(&self, path: &str, assumed: Substitute, with: impl FnOnce(&str) -> T) -> Option<T> {
        let content = match self.content(path) {
            Ok(content) => content?,
            Err(error) => {
                self.unusable(path, &error, assumed);
                return None;
            }
        };
        match std::str::from_utf8(&content) {
            // Old kernels end some of their lists with a NUL.
            Ok(text) => Some(with(text.trim_matches(|c: char| c.is_whitespace() || c == '\0'))),
            Err(error) => {
                self.unusable(path, &error, assumed);
                None
            }
        }
    }

    /// Reads a file with `parse`; what it refuses is reported.
    pub(crate) fn parsed<T, E: ToString>(
        &self,
        path: &str,
        assumed: Substitute,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let parsed = self.with_text(path, assumed, parse)?;
        parsed.map_err(|error| self.unusable(path, &error, assumed)).ok()
    }

    pub(crate) fn number(&self, path: &str, assumed: Substitute) -> Option<i64> {
        self.parsed(path, assumed, str::parse)
    }

    pub(crate) fn cpu_list(&self, path: &str, assumed: Substitute) -> Option<CpuSet> {
        self.parsed(path, assumed, CpuSet::from_kernel_list)
    }

    pub(crate) fn cpu_mask(&self, path: &str, assumed: Substitute) -> Option<CpuSet> {
        self.parsed(path, assumed, CpuSet::from_kernel_mask)
    }

    /// The CPUs of the first of some files that is there: lists by name, masks otherwise. The kernel writes the same
    /// CPUs into all of them; one that has others is reported.
    pub(crate) fn cpus(&self, folder: &str, names: &[&'static str]) -> Option<CpuSet> {
        self.cpus_with_name(folder, names).map(|(_, cpus)| cpus)
    }

    /// As [`Self::cpus`], with the name of the file that they were read from.
    pub(crate) fn cpus_with_name(
        &self,
        folder: &str,
        names: &[&'static str],
    ) -> Option<(&'static str, CpuSet)> {
        let mut all = self.cpus_of_each(folder, names);
        let (first, cpus) = all.next()?;
        for (name, others) in all.filter(|(_, others)| *others != cpus) {
            let (one, other) = (below(folder, name), below(folder, first));
            self.differs((&one, shown(&others)), (&other, shown(&cpus)), Substitute::Other);
        }
        Some((first, cpus))
    }

    /// The CPUs of each of some files that is there.
    pub(crate) fn cpus_of_each(
        &self,
        folder: &str,
        names: &[&'static str],
    ) -> impl Iterator<Item = (&'static str, CpuSet)> {
        names.iter().filter_map(move |name| {
            let path = below(folder, name);
            let cpus = if name.ends_with("list") {
                self.cpu_list(&path, Substitute::Unknown)
            } else {
                self.cpu_mask(&path, Substitute::Unknown)
            };
            Some((*name, cpus?))
        })
    }

    /// A list of node ids.
    pub(crate) fn node_list(&self, path: &str) -> Option<Vec<NodeId>> {
        // Nodes and CPUs are listed in one grammar, and node ids stay below the limit of CPU ids.
        let ids = self.cpu_list(path, Substitute::Unknown)?;
        Some(ids.iter().filter_map(|id| i64::try_from(id.get()).ok()).map(NodeId).collect())
    }

    /// The numbers in the names `PREFIXnumber` of a folder, ascending; `None` if the folder is not there.
    pub(crate) fn numbered(&self, folder: &str, prefix: &str) -> Option<Vec<u32>> {
        let names = self.tree.list(folder)?;
        let digits = names.iter().filter_map(|name| name.strip_prefix(prefix));
        let mut numbers: Vec<u32> = digits
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .filter_map(|digits| digits.parse().ok())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers)
    }

    /// Sizes and numbers of huge pages in a folder, by size; empty if the folder is not there.
    pub(crate) fn hugepages(&self, folder: &str) -> Vec<HugePages> {
        let mut all = Vec::new();
        for name in self.tree.list(folder).unwrap_or_default() {
            let size = name.strip_prefix("hugepages-").and_then(|size| size.strip_suffix("kB"));
            let Some(page_size_kib) = size.and_then(|size| size.parse().ok()) else {
                self.unusable(&format!("{folder}/{name}"), "not hugepages-SIZEkB", Substitute::LeftOut);
                continue;
            };
            let path = format!("{folder}/{name}/nr_hugepages");
            match self.parsed(&path, Substitute::LeftOut, str::parse) {
                Some(num_pages) => all.push(HugePages { page_size_kib, num_pages }),
                None => self.missing_unless_there(&path, Substitute::LeftOut),
            }
        }
        all.sort_by_key(|pages| pages.page_size_kib);
        all
    }

    /// The first `NAME: number kB` of a meminfo file, in bytes.
    pub(crate) fn meminfo(&self, path: &str, name: &str, assumed: Substitute) -> Option<u64> {
        let text = self.text(path, assumed)?;
        let found = field_kib(&text, name).map(|kib| kib.saturating_mul(1024));
        if found.is_none() {
            self.lacks(path, &no_line(name), assumed);
        }
        found
    }
}

/// What a meminfo file lacks that does not have a number.
pub(crate) fn no_line(name: &str) -> String {
    format!("line {name}: NUMBER kB")
}

/// CPUs as a problem shows them; a long list by its beginning and how many they are.
pub(crate) fn shown(cpus: &CpuSet) -> String {
    const MOST: usize = 60;
    let list = cpus.to_string();
    if list.is_empty() {
        return "no CPUs".to_owned();
    }
    let beginning = list.get(..MOST).and_then(|beginning| beginning.rsplit_once(','));
    match beginning {
        Some((beginning, _)) => format!("CPUs {beginning},... ({} in all)", cpus.len()),
        None => format!("CPUs {list}"),
    }
}

/// The number after `NAME:` in a meminfo text, in KiB.
pub(crate) fn field_kib(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (before, value) = line.split_once(':')?;
        // A node's lines begin with `Node 0`.
        (before.split_ascii_whitespace().next_back() == Some(name)).then_some(())?;
        value.trim().strip_suffix("kB")?.trim().parse().ok()
    })
}
