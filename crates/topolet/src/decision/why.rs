//! Why no node set would do, in one sentence: which node lacked what.

use cpu_manager::{AllocateError, WholeCoresError};
use device_manager::AllocateError as DevicesError;
use topology_admission::{Answered, Cause, Cell, Refused, ResourceTrace, Shortage, Standing, UnitTrace};
use topology_policy::KubeletPolicy;

use super::{Facts, amount};
use crate::render::{Amount, ranges};

/// So many different lacks are told, the smallest first.
const MOST_LACKS: usize = 3;

impl Facts<'_> {
    pub(super) fn why(&self, refused: &Refused) -> Option<String> {
        let unit = self.trace.units.last();
        let rows = unit.map_or(&[][..], |unit| &unit.resources);
        let is_of_memory = matches!(refused.cause, Cause::NotAligned(_) | Cause::Memory(_));
        let tells_bound = is_of_memory && self.trace.held_back.is_some() && missing(rows).is_none();
        let bound = unit.filter(|_| !tells_bound).and_then(|unit| self.bound_memory(unit));
        let told: Vec<String> = self.reason(refused).into_iter().chain(bound).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn reason(&self, refused: &Refused) -> Option<String> {
        let unit = self.trace.units.last();
        let rows = unit.map_or(&[][..], |unit| &unit.resources);
        match &refused.cause {
            Cause::MergeFailed(error) => Some(error.to_string()),
            Cause::Shortage(shortages) => {
                let told: Vec<String> = shortages.iter().map(shortage).collect();
                Some(told.join("; "))
            }
            Cause::NotAligned(_) => missing(rows).or_else(|| {
                let not_aligned = unit.map(|unit| self.not_aligned(unit))?;
                Some(self.held_back().map_or(not_aligned.clone(), |bound| format!("{not_aligned}; {bound}")))
            }),
            Cause::Cpus(AllocateError::WholeCores(error)) => whole_cores(error),
            Cause::Memory(_) => missing(rows).or_else(|| self.held_back()),
            Cause::Devices(DevicesError::Unregistered(resource)) => Some(format!(
                "pods hold {resource}, and which devices of it the node has is not known: no device plugin of it has registered, and no --devices FILE says"
            )),
            // For the rest their messages say it.
            _ => missing(rows),
        }
    }

    fn not_aligned(&self, unit: &UnitTrace) -> String {
        let policy = self.node.node.policy();
        if policy == KubeletPolicy::SingleNumaNode {
            let lacks = self.lacks(unit);
            return format!("single-numa-node wants all of it on one NUMA node, and none has that: {lacks}");
        }
        let name = policy.name();
        if let Some(wider) = wider(&unit.resources) {
            return format!("{name} wants nothing wider than it has to be: {wider}");
        }
        if let Some(sizes) = different(&unit.resources) {
            return format!(
                "{name} wants each resource on as few NUMA nodes as can be, and all on the same, but these numbers differ: {sizes}"
            );
        }
        format!("no NUMA node has all of it: {}", self.lacks(unit))
    }

    /// What the nodes lack, those that lack the same together.
    fn lacks(&self, unit: &UnitTrace) -> String {
        let rows = &unit.resources;
        let mut lacks: Vec<(usize, String, Vec<i64>)> = Vec::new();
        let mut nothing: Vec<i64> = Vec::new();
        for (index, id) in self.nodes().iter() {
            let standings: Vec<Standing> = rows.iter().map(|row| unit.standing(row, index)).collect();
            let has_none = |(row, standing): (&ResourceTrace, &Standing)| {
                row.amounts.as_ref().is_some_and(|amounts| *standing == Standing::Lacks(amounts.asked))
            };
            if rows.iter().zip(&standings).all(has_none) {
                nothing.push(id.0);
                continue;
            }
            let parts: Vec<String> = rows
                .iter()
                .zip(standings)
                .filter_map(|(row, standing)| match standing {
                    Standing::Fits => None,
                    Standing::Lacks(lack) => {
                        Some(format!("{} {}", amount(&row.resource, lack), row.resource))
                    }
                    Standing::Closed if row.resource.as_str().contains('/') => {
                        Some(format!("{} that are near enough", row.resource))
                    }
                    Standing::Closed => {
                        Some(format!("{} that is not bound together with other NUMA nodes", row.resource))
                    }
                })
                .collect();
            let text = parts.join(" and ");
            match lacks.iter_mut().find(|(_, same, _)| *same == text) {
                Some((_, _, ids)) => ids.push(id.0),
                None => lacks.push((parts.len(), text, vec![id.0])),
            }
        }
        lacks.sort_by_key(|(parts, _, _)| *parts);
        let more: usize = lacks.iter().skip(MOST_LACKS).map(|(_, _, ids)| ids.len()).sum();
        let told = lacks.into_iter().take(MOST_LACKS).map(|(_, text, ids)| {
            let lack = if ids.len() == 1 { "lacks" } else { "each lack" };
            format!("NUMA {} {lack} {text}", ranges(ids))
        });
        let mut told: Vec<String> = told.collect();
        if more > 0 {
            told.push(format!("{more} more lack other things"));
        }
        if !nothing.is_empty() {
            let have = if nothing.len() == 1 { "has" } else { "have" };
            told.push(format!("NUMA {} {have} nothing of it", ranges(nothing)));
        }
        told.join(", ")
    }
}

/// A resource of which the whole machine has not enough left.
fn missing(rows: &[ResourceTrace]) -> Option<String> {
    rows.iter().find_map(|row| {
        let (name, amounts) = (&row.resource, row.amounts.as_ref()?);
        let sum = |of: fn(&Cell) -> u64| {
            let cells = amounts.nodes.iter().chain([&amounts.elsewhere]);
            cells.map(of).fold(0, u64::saturating_add)
        };
        let (free, all) = (sum(|cell| cell.free), sum(|cell| cell.allocatable));
        let asked = amount(name, amounts.asked);
        match () {
            () if all == 0 && name.is_hugepages() => {
                Some(format!("no NUMA node has {name} (--hugepages decides with others than there are)"))
            }
            () if all == 0 => Some(format!("no NUMA node has {name} for pods")),
            () if all < amounts.asked => Some(format!(
                "all NUMA nodes together have {} {name}, and it asks for {asked}",
                amount(name, all)
            )),
            () if free < amounts.asked => {
                let (free, all) = (amount(name, free), amount(name, all));
                Some(format!(
                    "all NUMA nodes together have {free} of {all} {name} left, and it asks for {asked}"
                ))
            }
            () => None,
        }
    })
}

/// A resource that needs more nodes now than it would if the machine were empty.
fn wider(rows: &[ResourceTrace]) -> Option<String> {
    let told: Vec<String> = rows
        .iter()
        .filter_map(|row| match row.answer {
            Answered::Sets { narrowest, preferred: Some(preferred), .. } if narrowest > preferred => Some(
                format!(
                    "{} needs {narrowest} NUMA nodes, where {preferred} would do if nothing were held or reserved",
                    row.resource
                ),
            ),
            _ => None,
        })
        .collect();
    (!told.is_empty()).then(|| told.join(" and "))
}

/// Resources that each have what they prefer, and prefer sets of different sizes.
fn different(rows: &[ResourceTrace]) -> Option<String> {
    let wants: Vec<(u32, &str)> = rows
        .iter()
        .filter_map(|row| match row.answer {
            Answered::Sets { preferred: Some(preferred), .. } => Some((preferred, row.resource.as_str())),
            _ => None,
        })
        .collect();
    let (least, most) = (wants.iter().min()?, wants.iter().max()?);
    (least.0 < most.0).then(|| {
        let all = wants.iter().map(|(size, name)| format!("{name} {size}"));
        all.collect::<Vec<_>>().join(", ")
    })
}

/// Why whole cores cannot be given.
fn whole_cores(error: &WholeCoresError) -> Option<String> {
    Some(match error {
        WholeCoresError::NotMultiple { requested, per_core } => format!(
            "option full-pcpus-only gives out whole cores of {per_core} CPUs, and {requested} CPUs are no whole number of them"
        ),
        WholeCoresError::NotEnough { available, requested, per_core } => format!(
            "option full-pcpus-only gives out whole cores of {per_core} CPUs; {available} CPUs are free on such cores, and it asks for {requested}"
        ),
        _ => return None,
    })
}

fn shortage(shortage: &Shortage) -> String {
    let Shortage { resource, requested, used, capacity } = shortage;
    let show = |value: i64| match (resource.as_str(), u64::try_from(value)) {
        ("cpu", Ok(milli)) if milli % 1000 == 0 => (milli / 1000).to_string(),
        ("cpu", _) => format!("{value}m"),
        ("ephemeral-storage", Ok(bytes)) => Amount::Bytes(bytes).to_string(),
        (_, Ok(value)) => amount(resource, value).to_string(),
        (_, Err(_)) => value.to_string(),
    };
    let (requested, used, capacity) = (show(*requested), show(*used), show(*capacity));
    format!(
        "pods can use {capacity} {resource} of this node in all; others ask for {used}, this one for {requested}"
    )
}
