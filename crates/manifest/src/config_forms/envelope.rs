//! Texts in which a configuration is a text within: user data in MIME, the `ConfigMap` of kubeadm, and a `MachineConfig` of
//! OpenShift.
//!
//! What is around it becomes blank lines, so that every place in it stays what it is in the file.

use core::ops::Range;

use super::kind::ConfigKind;
use super::machine_config::kubelet_file;
use crate::node::Value;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// A text with nothing but the configuration, at its lines.
pub(crate) struct Envelope {
    pub(crate) text: String,
    /// The bytes that it is in the whole; the text ends where they do. `None`: it is written in quotes, or encoded.
    pub(crate) range: Option<Range<usize>>,
    /// Who lays flags over the kubelet's own file that is within; `None`: that file is all.
    pub(crate) flags_of: Option<ConfigKind>,
}

/// What is within, if something is around it.
pub(crate) fn envelope(source: &Source<'_>) -> Result<Option<Envelope>, ManifestError> {
    if is_mime(source.text) {
        return of_mime(source).map(Some);
    }
    Ok(of_config_map(source).or_else(|| of_machine_config(source)))
}

/// The kubelet's file that Ignition writes.
fn of_machine_config(source: &Source<'_>) -> Option<Envelope> {
    if !source.text.contains("MachineConfig") {
        return None;
    }
    let nodes = documents(source, RepeatedKey::LastCounts).ok()?;
    let text = nodes.iter().find_map(kubelet_file)?;
    Some(Envelope { text, range: None, flags_of: Some(ConfigKind::OpenShift) })
}

const NODEADM: &str = "application/node.eks.aws";
const INSTEAD: &str = "a part of type application/node.eks.aws, or what a node's kubelet answers: kubectl get --raw /api/v1/nodes/NODE/proxy/configz";

/// Whether a text begins with the header of a MIME message.
fn is_mime(text: &str) -> bool {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_ascii_lowercase();
    first.starts_with("mime-version:") || first.starts_with("content-type: multipart/")
}

/// Where the lines of a text are, without their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    })
}

/// The parts for `nodeadm`, each a document.
fn of_mime(source: &Source<'_>) -> Result<Envelope, ManifestError> {
    let text = source.text;
    let fail = |what: &str| {
        let problem = Problem::OtherForm { what: what.to_owned(), instead: INSTEAD };
        ManifestError::at(source, "", &(0..0), problem)
    };
    let after = text.split_once("boundary=").map(|(_, after)| after.lines().next().unwrap_or_default());
    let boundary =
        after.map(|after| after.trim_start_matches('"').split(['"', ';']).next().unwrap_or_default());
    let Some(boundary) = boundary.map(str::trim).filter(|boundary| !boundary.is_empty()) else {
        return Err(fail("user data in MIME without a boundary"));
    };
    let between = format!("--{boundary}");
    let mut bytes = blank(text);
    let (mut place, mut is_node_config, mut header) = (Place::Around, false, 0);
    let (mut first, mut end) = (None, 0);
    for (at, line) in lines(text) {
        if line.trim_end() == between || line.trim_end() == format!("{between}--") {
            (place, is_node_config, header) = (Place::Header, false, at);
        } else if place == Place::Header {
            let lower = line.to_ascii_lowercase();
            is_node_config |= lower.starts_with("content-type:") && lower.contains(NODEADM);
            if lower.starts_with("content-transfer-encoding:") && lower.contains("base64") && is_node_config {
                return Err(fail("user data in MIME with a part in base64"));
            }
            if line.is_empty() {
                place = Place::Body;
            }
        } else if place == Place::Body && is_node_config {
            if first.is_none() {
                first = Some(at);
            } else if let Some(mark) = bytes.get_mut(header..header + 3).filter(|_| header > end) {
                mark.copy_from_slice(b"---");
            }
            end = at + line.len();
            if let (Some(to), Some(from)) = (bytes.get_mut(at..end), text.as_bytes().get(at..end)) {
                to.copy_from_slice(from);
            }
        }
    }
    let start = first.ok_or_else(|| fail("user data in MIME without a NodeConfig"))?;
    bytes.truncate(end);
    let text = String::from_utf8(bytes).map_err(|_| fail("user data in MIME that is no text"))?;
    Ok(Envelope { text, range: Some(start..end), flags_of: None })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Around,
    Header,
    Body,
}

/// As many bytes, with line ends where they are.
fn blank(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { byte } else { b' ' }).collect()
}

/// The text in `data.kubelet` of the `ConfigMap` `kubelet-config`, which kubeadm keeps a cluster's configuration in.
fn of_config_map(source: &Source<'_>) -> Option<Envelope> {
    let text = source.text;
    if !text.contains("ConfigMap") {
        return None;
    }
    let nodes = documents(source, RepeatedKey::LastCounts).ok()?;
    let [document] = nodes.as_slice() else { return None };
    let is_config_map =
        matches!(&document.value.get("kind")?.value, Value::Text(kind) if kind == "ConfigMap");
    let Value::Map(data) = &document.value.get("data").filter(|_| is_config_map)?.value else { return None };
    let own = data.iter().rfind(|own| own.key == "kubelet")?;
    // A block is what follows the line with the key, as long as it is deeper than the key.
    let (key, line) = (own.key_span.start, text.get(own.key_span.end..)?.lines().next()?);
    if !line.trim_start_matches(['"', '\'', ' ', ':']).starts_with('|') {
        let Value::Text(within) = &own.value.value else { return None };
        return Some(Envelope { text: within.clone(), range: None, flags_of: None });
    }
    let start = text.get(key..)?.find('\n')? + key + 1;
    let line = text.get(..key)?.rfind('\n').map_or(0, |at| at + 1);
    let depth = |line: &str| line.len() - line.trim_start().len();
    let of_key = depth(text.get(line..)?);
    let mut end = start;
    for (at, line) in lines(text.get(start..)?) {
        if !line.trim().is_empty() && depth(line) <= of_key {
            break;
        }
        end = start + at + line.len();
    }
    let mut bytes = blank(text.get(..start)?);
    bytes.extend_from_slice(text.get(start..end)?.as_bytes());
    Some(Envelope { text: String::from_utf8(bytes).ok()?, range: Some(start..end), flags_of: None })
}
