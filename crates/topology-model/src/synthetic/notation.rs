//! The notation: words, their attributes, and the order that they may have.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::CpuId;

use super::SyntheticError;
use crate::HugePages;

/// A regular machine: each level divides the CPUs into equal runs.
pub(super) struct Shape {
    /// Threads.
    pub(super) cpus: usize,
    pub(super) packages: usize,
    pub(super) nodes: usize,
    pub(super) cores: usize,
    pub(super) caches: Vec<Caches>,
    /// Bytes of a node.
    pub(super) memory: u64,
    /// Huge pages of a node, by size.
    pub(super) hugepages: Vec<HugePages>,
}

/// Caches of one level.
pub(super) struct Caches {
    pub(super) level: u8,
    pub(super) count: usize,
    pub(super) size_kib: u64,
}

/// Levels from the outside in, as far as their order is fixed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Package,
    Node,
    Cache(u8),
    Core,
    Thread,
}

impl Level {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "pack" | "package" | "socket" => Self::Package,
            "numa" | "numanode" | "node" => Self::Node,
            "l3" | "l3cache" => Self::Cache(3),
            "l2" | "l2cache" => Self::Cache(2),
            "l1" | "l1d" | "l1cache" | "l1dcache" => Self::Cache(1),
            "core" => Self::Core,
            "pu" => Self::Thread,
            _ => return None,
        })
    }

    /// Whether it can be inside of a core.
    const fn fits_a_core(self) -> bool {
        matches!(self, Self::Cache(1 | 2) | Self::Thread)
    }
}

/// As many NUMA nodes as a kernel can have. Each has a distance to each.
const MOST_NODES: usize = 1024;

impl Shape {
    pub(super) fn parse(text: &str) -> Result<Self, SyntheticError> {
        let mut shape = Self {
            cpus: 1,
            packages: 1,
            nodes: 1,
            cores: 0,
            caches: Vec::new(),
            memory: 1 << 30,
            hugepages: Vec::new(),
        };
        let mut seen = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (word, after) = Word::first(rest)?;
            rest = after.trim_start();
            shape.add(&word, &mut seen)?;
        }
        if seen.last() != Some(&Level::Thread) {
            return Err(SyntheticError::NoThreads);
        }
        if shape.nodes > MOST_NODES {
            return Err(SyntheticError::TooManyNodes);
        }
        if shape.cores == 0 {
            shape.cores = shape.cpus;
        }
        Ok(shape)
    }

    fn add(&mut self, word: &Word<'_>, seen: &mut Vec<Level>) -> Result<(), SyntheticError> {
        let level = word.level;
        if seen.contains(&level) {
            return Err(SyntheticError::Repeated(word.name.to_owned()));
        }
        let in_thread = seen.last() == Some(&Level::Thread);
        if in_thread || seen.contains(&Level::Core) && !level.fits_a_core() {
            return Err(SyntheticError::Order(word.name.to_owned()));
        }
        seen.push(level);
        let count = self.cpus.checked_mul(word.count).filter(|count| *count <= CpuId::LIMIT);
        self.cpus = count.ok_or(SyntheticError::TooManyCpus)?;
        // Sizes that hwloc takes too: 32 KiB, 4 MiB, 16 MiB.
        let mut size_kib = 32;
        match level {
            Level::Package => self.packages = self.cpus,
            Level::Node => self.nodes = self.cpus,
            Level::Core => self.cores = self.cpus,
            Level::Thread => {}
            Level::Cache(outer) => {
                if outer > 1 {
                    size_kib = 256 << (2 * outer);
                }
            }
        }
        for attribute in word.attributes.split_ascii_whitespace() {
            let wrong = || SyntheticError::Attribute(attribute.to_owned());
            let (name, value) = attribute.split_once('=').ok_or_else(wrong)?;
            match (level, name) {
                (Level::Node, "memory") => self.memory = bytes(value).ok_or_else(wrong)?,
                (Level::Cache(_), "size") => size_kib = bytes(value).ok_or_else(wrong)? >> 10,
                (Level::Node, _) => {
                    let size = name.strip_prefix("hugepages-").and_then(bytes).ok_or_else(wrong)?;
                    let num_pages = value.parse().map_err(|_| wrong())?;
                    self.hugepages.push(HugePages { page_size_kib: size >> 10, num_pages });
                }
                _ => return Err(wrong()),
            }
        }
        if let Level::Cache(level) = level {
            self.caches.push(Caches { level, count: self.cpus, size_kib });
        }
        Ok(())
    }
}

/// `name:count(attributes)` or `[name(attributes)]`.
struct Word<'a> {
    name: &'a str,
    level: Level,
    count: usize,
    attributes: &'a str,
}

impl<'a> Word<'a> {
    /// The first word of a text that is not empty, and what follows it.
    fn first(text: &'a str) -> Result<(Self, &'a str), SyntheticError> {
        if let Some(attached) = text.strip_prefix('[') {
            let (inside, after) =
                attached.split_once(']').ok_or_else(|| SyntheticError::Unclosed(attached.to_owned()))?;
            let (name, attributes, rest) = parts(inside)?;
            let level = Level::named(name).filter(|level| *level == Level::Node && rest.trim().is_empty());
            let level = level.ok_or_else(|| SyntheticError::Level(String::from(inside)))?;
            return Ok((Self { name, level, count: 1, attributes }, after));
        }
        let (word, attributes, after) = parts(text)?;
        let (name, count) = word.split_once(':').unwrap_or((word, ""));
        let count = count.parse().ok().filter(|count| *count > 0);
        match (Level::named(name), count) {
            (Some(level), Some(count)) => Ok((Self { name, level, count, attributes }, after)),
            _ => Err(SyntheticError::Level(word.to_owned())),
        }
    }
}

/// The word at the start of a text, what is in the parentheses right behind it, and the rest.
fn parts(text: &str) -> Result<(&str, &str, &str), SyntheticError> {
    let end = text.find(|c: char| c == '(' || c == '[' || c.is_whitespace()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    match rest.strip_prefix('(') {
        Some(inside) => {
            let closed = inside.split_once(')');
            let (attributes, rest) = closed.ok_or_else(|| SyntheticError::Unclosed(inside.to_owned()))?;
            Ok((word, attributes, rest))
        }
        None => Ok((word, "", rest)),
    }
}

/// An amount with a decimal (`GB`) or binary (`GiB`, `Gi`) unit.
fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" | "Ki" => 1 << 10,
        "MiB" | "Mi" => 1 << 20,
        "GiB" | "Gi" => 1 << 30,
        "TiB" | "Ti" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
