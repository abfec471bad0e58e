//! The line in which a kubelet with policy static logs the CPUs that it found: `"Detected CPU topology" topology={...}`.

use std::collections::BTreeMap;

use cpuset::CpuId;
use serde_json::Value;
use topology_model::CacheKind;

use super::line::Line;
use crate::error::MachineTextError;
use crate::facts::{Facts, Row};
use crate::form::Form;

/// What its last-level cache is called, whatever level it has.
const UNCORE: (u8, CacheKind) = (3, CacheKind::Unified);

/// Reads a line, if it is that one. Of several, one for each start of the kubelet, the last counts.
pub(super) fn line(line: Line<'_>, facts: &mut Facts) -> Result<bool, MachineTextError> {
    let found = line.text.find("etected CPU topology").and_then(|at| line.text.get(at..));
    let Some(found) = found.filter(|found| found.contains("CPUDetails") || found.contains("map[")) else {
        return Ok(false);
    };
    let fail = || line.error(Form::KubeletLog, "its topology is cut off or of another form");
    let rows = match found.find('{').and_then(|at| found.get(at..)).ok_or_else(fail)? {
        json if json.starts_with("{\"") => of_json(json),
        printed => of_go(printed),
    };
    facts.logged = rows.filter(|rows| !rows.is_empty()).ok_or_else(fail)?;
    facts.forms.insert(Form::KubeletLog);
    Ok(true)
}

/// `{"NumCPUs":2,...,"CPUDetails":{"0":{"NUMANodeID":0,"SocketID":0,"CoreID":0,"UncoreCacheID":0},...}}`
fn of_json(text: &str) -> Option<BTreeMap<CpuId, Row>> {
    // The log goes on behind it.
    let topology = serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok()?;
    let details = topology.get("CPUDetails")?.as_object()?;
    let row = |(cpu, place): (&String, &Value)| {
        let id = |key: &str| place.get(key).and_then(Value::as_i64);
        Some((cpu_id(cpu)?, row(id("NUMANodeID"), id("SocketID"), id("CoreID"), id("UncoreCacheID"))))
    };
    details.iter().map(row).collect()
}

/// `{NumCPUs:2 NumCores:1 ... CPUDetails:map[0:{NUMANodeID:0 SocketID:0 CoreID:0} ...]}`, or without the names of fields.
fn of_go(text: &str) -> Option<BTreeMap<CpuId, Row>> {
    let (_, details) = text.split_once("map[")?;
    let (details, _) = details.split_once(']')?;
    let row = |detail: &str| {
        let (cpu, place) = detail.trim().split_once(":{")?;
        let mut values = BTreeMap::new();
        let parts: Vec<&str> = place.split_whitespace().collect();
        // Two values are of a kubelet that knows no NUMA nodes.
        let names: &[&str] = if parts.len() == 2 {
            &["SocketID", "CoreID"]
        } else {
            &["NUMANodeID", "SocketID", "CoreID", "UncoreCacheID"]
        };
        for (at, part) in parts.iter().enumerate() {
            let (name, value) = part.split_once(':').or_else(|| Some((*names.get(at)?, *part)))?;
            values.insert(name, value.parse::<i64>().ok()?);
        }
        let id = |name: &str| values.get(name).copied();
        Some((cpu_id(cpu)?, row(id("NUMANodeID"), id("SocketID"), id("CoreID"), id("UncoreCacheID"))))
    };
    details.split('}').filter(|detail| !detail.trim().is_empty()).map(row).collect()
}

fn cpu_id(text: &str) -> Option<CpuId> {
    CpuId::new(text.parse().ok()?).ok()
}

fn row(node: Option<i64>, socket: Option<i64>, core: Option<i64>, uncore: Option<i64>) -> Row {
    let caches = uncore.map(|id| (UNCORE, id)).into_iter().collect();
    Row { node, socket, core, caches, ..Row::default() }
}
