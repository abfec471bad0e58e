//! The lines of a kubelet's log that tell of its decisions, written anew: none is copied.

use support_bundle::{KubeletStart, LinePlace, LogRead, LogRefusal, StartFailure};

use super::names::{NameKind, Names};
use super::objects::{said, time, version};

/// The log of a node; `None`: it tells of nothing.
pub(super) fn written(log: &LogRead, node: &str, names: &mut Names) -> Option<String> {
    let mut lines: Vec<(u64, String)> = Vec::new();
    for KubeletStart { place, version: own } in &log.starts {
        let rest = format!("server.go:1] \"Kubelet version\" kubeletVersion=\"{}\"", version(own));
        lines.push((place.line, line(place, node, 'I', &rest)));
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
