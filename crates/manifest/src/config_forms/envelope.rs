//! Texts in which a configuration is a text within: user data in MIME, the `ConfigMap` of kubeadm, and a `MachineConfig` of
//! OpenShift.
//!
//! What is around it becomes blank lines, so that every place in it stays what it is in the file.

use core::ops::Range;

use super::is_configuration;
use super::kind::{ConfigKind, names};
use super::machine_config::{is_whole_file, kernel_arguments, kubelet_files};
use super::node_files::refused;
use super::roles::is_of_control_plane;
use crate::kubelet_arguments::read_bootstrap_script;
use crate::node::{Entry, Field, Node, Value};
use crate::warning::Warning;
use crate::yaml::{RepeatedKey, documents};
use crate::{ManifestError, Problem, Source};

/// A text with nothing but the configuration, at its lines.
pub(crate) struct Envelope {
    pub(crate) text: String,
    /// The bytes that it is in the whole; the text ends where they do. `None`: it is written in quotes, or encoded.
    pub(crate) range: Option<Range<usize>>,
    /// Who lays flags over the kubelet's own file that is within; `None`: that file is all.
    pub(crate) flags_of: Option<ConfigKind>,
    /// Whether it is for machines of the control plane.
    pub(crate) is_of_masters: bool,
    /// Whether it takes the place of the file that the distribution writes.
    pub(crate) is_whole_file: bool,
    /// What decides beside it, and is not read.
    pub(crate) unread: Vec<Warning>,
}

/// What is within, if something is around it.
pub(crate) fn envelope(source: &Source<'_>) -> Result<Option<Envelope>, ManifestError> {
    if is_mime(source.text) {
        return of_mime(source).map(Some);
    }
    match of_config_map(source) {
        Some(within) => Ok(Some(within)),
        None => of_machine_config(source),
    }
}

/// The kubelet's file that Ignition writes, where it is one and plain text.
///
/// # Errors
/// Another object of the file changes the kubelet too.
fn of_machine_config(source: &Source<'_>) -> Result<Option<Envelope>, ManifestError> {
    if !source.text.contains("kubelet.conf") {
        return Ok(None);
    }
    let Ok(nodes) = documents(source, RepeatedKey::LastCounts) else { return Ok(None) };
    let files: Vec<_> = nodes.iter().flat_map(kubelet_files).collect();
    let [(path, Some(text))] = files.as_slice() else { return Ok(None) };
    let is_of_masters = nodes.iter().any(|node| !kubelet_files(node).is_empty() && is_of_control_plane(node));
    let mut unread = Vec::new();
    for node in &nodes {
        let field = Field::document(source, node);
        if is_of_control_plane(node) != is_of_masters {
            continue;
        }
        unread.extend(kernel_arguments(&field));
        if let Some(error) = refused(&field) {
            return Err(error);
        }
        if is_configuration(&field) && names(&field).0 != "MachineConfig" {
            let what = "a configuration beside a file of the kubelet".to_owned();
            let instead = "one configuration: split the file";
            return Err(field.fail(Problem::OtherForm { what, instead }));
        }
    }
    let flags_of = Some(ConfigKind::OpenShift);
    let is_whole_file = is_whole_file(path);
    Ok(Some(Envelope { text: text.clone(), range: None, flags_of, is_of_masters, is_whole_file, unread }))
}

const NODEADM: &str = "application/node.eks.aws";
const INSTEAD: &str = "a part of type application/node.eks.aws, or the configuration that a node runs with: `kubectl get --raw /api/v1/nodes/NODE/proxy/configz`";

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
    let mut beside = bytes.clone();
    let (mut place, mut is_node_config, mut header) = (Place::Around, false, 0);
    let (mut first, mut end) = (None, 0);
    for (at, line) in lines(text) {
        if line.trim_end() == between || line.trim_end() == format!("{between}--") {
            (place, is_node_config, header) = (Place::Header, false, at);
        } else if place == Place::Header {
            let lower = line.to_ascii_lowercase();
            is_node_config |= lower.starts_with("content-type:") && lower.contains(NODEADM);
            if lower.starts_with("content-transfer-encoding:") && lower.contains("base64") {
                return Err(fail("user data in MIME with a part in base64"));
            }
            if line.is_empty() {
                place = Place::Body;
            }
        } else if place == Place::Body && !is_node_config {
            let end = at + line.len();
            if let (Some(to), Some(from)) = (beside.get_mut(at..end), text.as_bytes().get(at..end)) {
                to.copy_from_slice(from);
            }
        } else if place == Place::Body {
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
    // What other parts do with the kubelet is not read.
    let beside = String::from_utf8(beside).map_err(|_| fail("user data in MIME that is no text"))?;
    let flags = read_bootstrap_script(&Source { name: source.name, text: &beside })?;
    if !flags.arguments.is_empty() {
        return Err(fail("user data in MIME with flags of the kubelet beside a NodeConfig"));
    }
    bytes.truncate(end);
    let text = String::from_utf8(bytes).map_err(|_| fail("user data in MIME that is no text"))?;
    Ok(Envelope {
        text,
        range: Some(start..end),
        flags_of: None,
        is_of_masters: false,
        is_whole_file: false,
        unread: Vec::new(),
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Around,
    Header,
    Body,
}

/// Whether a text has a configuration of a kubelet in some form.
fn has_configuration(text: &str) -> bool {
    let source = Source { name: "", text };
    let is_one = |node: &Node| is_configuration(&Field::document(&source, node));
    text.contains("kind:")
        && documents(&source, RepeatedKey::LastCounts).is_ok_and(|nodes| nodes.iter().any(is_one))
}

/// As many bytes, with line ends where they are.
fn blank(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { byte } else { b' ' }).collect()
}

/// The text of a `ConfigMap` that is a configuration: in `data.kubelet` of `kubelet-config`, which kubeadm keeps a cluster's in, or
/// the one of all in a file, as the node pools of `HyperShift` name them.
fn of_config_map(source: &Source<'_>) -> Option<Envelope> {
    let text = source.text;
    if !text.contains("ConfigMap") {
        return None;
    }
    let nodes = documents(source, RepeatedKey::LastCounts).ok()?;
    let is_config_map = |document: &&Node| names(&Field::document(source, document)).0 == "ConfigMap";
    let is_other = |document: &Node| is_configuration(&Field::document(source, document));
    if nodes.iter().any(is_other) {
        return None;
    }
    let data =
        nodes.iter().filter(is_config_map).filter_map(|document| match &document.value.get("data")?.value {
            Value::Map(data) => Some(data),
            _ => None,
        });
    let is_one = |own: &&Entry| {
        own.key == "kubelet" || matches!(&own.value.value, Value::Text(within) if has_configuration(within))
    };
    let found: Vec<&Entry> = data.flatten().filter(is_one).collect();
    let [own] = found.as_slice() else { return None };
    // A block is what follows the line with the key, as long as it is deeper than the key.
    let (key, line) = (own.key_span.start, text.get(own.key_span.end..)?.lines().next()?);
    if !line.trim_start_matches(['"', '\'', ' ', ':']).starts_with('|') {
        let Value::Text(within) = &own.value.value else { return None };
        return Some(Envelope {
            text: within.clone(),
            range: None,
            flags_of: None,
            is_of_masters: false,
            is_whole_file: false,
            unread: Vec::new(),
        });
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
    Some(Envelope {
        text: String::from_utf8(bytes).ok()?,
        range: Some(start..end),
        flags_of: None,
        is_of_masters: false,
        is_whole_file: false,
        unread: Vec::new(),
    })
}
