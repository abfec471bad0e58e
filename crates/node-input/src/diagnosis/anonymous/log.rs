//! The lines of a kubelet's log that tell of its decisions, written anew: none is copied.

use serde_json::{Map, Value, json};
use support_bundle::{KubeletStart, LinePlace, LogRead, LogRefusal, MachineLine, StartFailure};
use topology_model::MachineInfo;

use super::names::{NameKind, Names};
use super::objects::{said, time, version};

/// The log of a node; `None`: it tells of nothing.
pub(super) fn written(log: &LogRead, node: &str, names: &mut Names) -> Option<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for KubeletStart { place, version: own } in &log.starts {
        let rest = format!("server.go:1] \"Kubelet version\" kubeletVersion=\"{}\"", version(own));
        lines.push((place.line, line(place, node, 'I', &rest)));
    }
    for MachineLine { place, text } in &log.machine {
        let written = counted_by_cadvisor(text).or_else(|| counted_by_cpu_manager(text));
        lines.extend(written.map(|rest| (place.line, line(place, node, 'I', &rest))));
    }
    for StartFailure { place, error } in &log.failures {
        let error = quoted(&names.sentence(error));
        let rest = format!("run.go:1] \"command failed\" err=\"failed to run Kubelet: {error}\"");
        lines.push((place.line, line(place, node, 'E', &rest)));
    }
    for LogRefusal { place, namespace, name, uid, said: own } in &log.refusals {
        let (reason, message) = said(&own.reason, &own.message, names);
        let rest = format!(
            "kubelet.go:1] \"Pod admission denied\" podUID=\"{}\" pod=\"{}/{}\" reason=\"{}\" message=\"{}\"",
            names.name(NameKind::Uid, uid),
            names.namespace(namespace),
            names.name(NameKind::Pod, name),
            quoted(&reason),
            quoted(&message),
        );
        lines.push((place.line, line(place, node, 'I', &rest)));
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line).collect();
    (!text.is_empty()).then_some(text)
}

fn counted_by_cadvisor(line: &str) -> Option<String> {
    let info = topology_discovery::machine_info_from_log(line)?.ok()?;
    Some(format!("manager.go:1] {}", topology_discovery::machine_info_to_log(&info)))
}

/// The CPUs with their places, and of caches the numbers of the last level.
fn counted_by_cpu_manager(line: &str) -> Option<String> {
    let info = MachineInfo::from(&machine_text::read(line).ok()?.machine);
    let mut details = Map::new();
    for node in info.topology.iter().flatten() {
        for core in node.cores.iter().flatten() {
            let uncore = core.uncore_caches.iter().flatten().chain(core.caches.iter().flatten());
            let uncore = uncore.chain(node.caches.iter().flatten()).find(|cache| cache.level == 3);
            for cpu in core.thread_ids.iter().flatten() {
                let place = json!({
                    "NUMANodeID": node.id,
                    "SocketID": core.socket_id,
                    "CoreID": core.core_id,
                    "UncoreCacheID": uncore.map_or(0, |cache| cache.id),
                });
                details.insert(cpu.to_string(), place);
            }
        }
    }
    let count = details.len();
    let topology = Value::Object(Map::from_iter([
        ("NumCPUs".to_owned(), Value::from(count)),
        ("CPUDetails".to_owned(), Value::Object(details)),
    ]));
    Some(format!("cpu_manager.go:1] \"Detected CPU topology\" topology={topology}"))
}

/// A line as a journal prints it, or as a kubelet writes it where the time is of that form.
fn line(place: &LinePlace, node: &str, severity: char, rest: &str) -> String {
    let time = time(&place.time);
    match time.split_once(' ') {
        // `11-26 10:21:03.1`
        Some((day, clock)) if day.len() == 5 && !clock.contains(' ') => {
            format!("{severity}{} {clock} 1 {rest}\n", day.replace('-', ""))
        }
        // The original has none.
        _ if time.is_empty() => format!("{rest}\n"),
        _ => format!("{time} {node} kubelet[1]: {severity}0101 00:00:00.0 1 {rest}\n"),
    }
}

/// As Go writes a text in quotes.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
