//! `lscpu` without options: counts, and the CPUs of each NUMA node.

use std::fmt::Display;

use cpuset::CpuSet;

use super::cpus;
use super::line::Line;
use super::table::cache_name;
use crate::error::MachineTextError;
use crate::facts::{CacheCount, Facts};
use crate::form::Form;

/// Reads a line `NAME: VALUE`, if it is one of that output.
pub(super) fn line(line: Line<'_>, facts: &mut Facts) -> Result<(), MachineTextError> {
    match line.text.split_once(':') {
        Some((name, value)) => field(line, name.trim(), value.trim(), facts),
        None => Ok(()),
    }
}

/// Reads a field.
pub(super) fn field(
    line: Line<'_>,
    name: &str,
    value: &str,
    facts: &mut Facts,
) -> Result<(), MachineTextError> {
    let counts = &mut facts.counts;
    match name {
        "On-line CPU(s) list" | "On-line CPU(s) mask" => set(name, &mut counts.online, cpus(line, value)?)?,
        "Off-line CPU(s) list" | "Off-line CPU(s) mask" => {
            set(name, &mut counts.offline, cpus(line, value)?)?;
        }
        "Thread(s) per core" => set_number(name, &mut counts.threads, value)?,
        "Core(s) per socket" => set_number(name, &mut counts.cores, value)?,
        "Socket(s)" => set_number(name, &mut counts.sockets, value)?,
        "CPU(s)" => set_number(name, &mut counts.cpus, value)?,
        "NUMA node(s)" => set_number(name, &mut counts.nodes, value)?,
        "Architecture" => {
            counts.has_nameless_caches |= value.starts_with("ppc64");
            counts.has_adjacent_threads |= value.starts_with("ppc64") || value.starts_with("s390");
        }
        "Model name" if value.starts_with("POWER") => {
            (counts.has_nameless_caches, counts.has_adjacent_threads) = (true, true);
        }
        name => {
            if let Some(node) = node(name) {
                let cpus = cpus(line, value)?;
                facts.set_cpus(node, Form::Lscpu, cpus)?;
            } else if let Some(cache) = cache_name(name.strip_suffix(" cache").unwrap_or(name)) {
                let Some(count) = cache_count(value) else { return Ok(()) };
                counts.caches.insert(cache, count);
            } else {
                return Ok(());
            }
        }
    }
    facts.forms.insert(Form::Lscpu);
    Ok(())
}

/// `NUMA node0 CPU(s)`
fn node(name: &str) -> Option<i64> {
    name.strip_prefix("NUMA node")?.strip_suffix(" CPU(s)")?.parse::<u32>().ok().map(i64::from)
}

fn cpus(line: Line<'_>, value: &str) -> Result<CpuSet, MachineTextError> {
    if value == "-" {
        return Ok(CpuSet::new());
    }
    cpus::cpus(value).ok_or_else(|| line.error(Form::Lscpu, format!("{value:?} is no list of CPUs")))
}

/// Sets a count; `-` where the machine has none.
fn set_number(name: &str, count: &mut Option<u64>, value: &str) -> Result<(), MachineTextError> {
    match value.parse().ok().filter(|number| *number > 0) {
        Some(number) => set(name, count, number),
        None => Ok(()),
    }
}

/// Sets what is printed once of a machine.
fn set<T: PartialEq + Display>(name: &str, known: &mut Option<T>, value: T) -> Result<(), MachineTextError> {
    match known {
        Some(before) if *before != value => Err(MachineTextError::Contradiction {
            one: Form::Lscpu,
            what: format!("{name}: {before}"),
            other: Form::Lscpu,
            other_what: format!("{name}: {value}"),
        }),
        _ => {
            *known = Some(value);
            Ok(())
        }
    }
}

/// `512 MiB (16 instances)` or in versions before 2.37 `512 MiB` of all; in versions before 2.34 `15360K` of each.
fn cache_count(value: &str) -> Option<CacheCount> {
    let (size, instances) = match value.split_once('(') {
        Some((size, rest)) => (size, Some(rest.split(' ').next()?.parse().ok().filter(|count| *count > 0)?)),
        None => (value, None),
    };
    let size = size.trim();
    // Bytes without a unit are printed by newer versions alone.
    let is_sum = instances.is_some() || size.contains("iB") || size.bytes().all(|byte| byte.is_ascii_digit());
    Some(CacheCount { size_kib: kib(size)?, is_sum, instances })
}

/// A size in KiB: `512 MiB`, `15360K`, `1.5 MiB`, `32768`.
fn kib(size: &str) -> Option<u64> {
    let end = size.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(size.len());
    let (number, unit) = size.split_at_checked(end)?;
    let bytes: u32 = match unit.trim() {
        "" | "B" | "bytes" => 0,
        "K" | "KiB" | "kB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let whole = whole.parse::<u64>().ok()?.checked_mul(1 << bytes)?;
    let digits = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part = part.parse::<u64>().ok()?.checked_mul(1 << bytes)? / digits;
    Some(whole.checked_add(part)? >> 10)
}
