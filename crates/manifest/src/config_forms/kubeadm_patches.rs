//! Patches of the kubelet's configuration that an object of Cluster API has its nodes write, and kubeadm lay over that of the
//! cluster (kubernetes.io, "Customizing components with the kubeadm API").
//!
//! kubeadm takes the files of a folder by the order of their names, `kubeletconfiguration[SUFFIX][+TYPE].yaml`. No list of a
//! `KubeletConfiguration` is merged, so that the types `strategic` and `merge` do the same. What is of type `json`, has directives in
//! it or is in another object is left where it is, and such an object refused.

use super::kind::{INIT, JOIN, PATCHED, PLACES};
use super::node_files::WrittenFile;
use super::node_groups::{at, put, text};
use crate::Source;
use crate::merge::{at_mut, merge};
use crate::node::{Entry, Field, Node, Value};
use crate::yaml::configuration;

/// Puts the patches of the kubelet's configuration together, where an object has all of them.
pub(super) fn with_patches(source: &Source<'_>, document: &mut Node) {
    for place in PLACES {
        let Some(made) = at(document, place).and_then(|spec| patched(source, spec)) else { continue };
        if let Some(Node { value: Value::List(files), .. }) = at_mut(document, &[place, &["files"]].concat())
        {
            files.retain(|file| text(file, &["path"]).and_then(name_of_patch).is_none());
        }
        put(document, &[PATCHED], made);
        return;
    }
}

/// What the patches set of an object whose nodes join, or are made, with a folder of them.
fn patched(source: &Source<'_>, spec: &Node) -> Option<Node> {
    let folder =
        |step| text(spec, &[step, "patches", "directory"]).map(|folder| folder.trim_end_matches('/'));
    let has = |step| at(spec, &[step]).is_some_and(|step| step.value != Value::Null);
    let folder = match (has(JOIN), has(INIT)) {
        (true, true) => folder(JOIN).filter(|own| folder(INIT) == Some(*own)),
        (true, false) => folder(JOIN),
        (false, _) => folder(INIT),
    }?;
    let Value::List(files) = &at(spec, &["files"])?.value else { return None };
    let mut patches = Vec::new();
    for file in files {
        let Some(name) = text(file, &["path"]).and_then(name_of_patch) else { continue };
        let WrittenFile { path, text } = WrittenFile::of(&Field::document(source, file))?;
        let is_applied = path.strip_prefix(folder)?.strip_prefix('/')? == name;
        patches.push((name, patch(source, file, &text.filter(|_| is_applied)?)?));
    }
    patches.sort_by_key(|(name, _)| *name);
    let mut made = Node { value: Value::Map(Vec::new()), span: spec.span.clone() };
    let is_any = !patches.is_empty();
    for (_, patch) in patches {
        merge(&mut made, patch);
    }
    is_any.then_some(made)
}

/// The name of a file that kubeadm takes as a patch of the kubelet's configuration.
fn name_of_patch(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.starts_with("kubeletconfiguration").then_some(name)
}

/// The fields of a patch, each at the place of its file's text.
fn patch(source: &Source<'_>, file: &Node, text: &str) -> Option<Node> {
    let name = self::text(file, &["path"])?;
    let kind = name.rsplit_once('.')?.0.split_once('+').map_or("strategic", |(_, kind)| kind);
    let nodes = configuration(&Source { name: source.name, text }).ok()?.nodes;
    let [mut patch] = <[Node; 1]>::try_from(nodes).ok()?;
    let is_plain = matches!(kind, "strategic" | "merge") && matches!(patch.value, Value::Map(_));
    let span = at(file, &["content"])?.span.clone();
    place_at(&mut patch, &span);
    (is_plain && !has_directive(&patch)).then_some(patch)
}

/// Whether a key tells how to patch.
fn has_directive(node: &Node) -> bool {
    match &node.value {
        Value::Map(entries) => {
            entries.iter().any(|entry| entry.key.starts_with('$') || has_directive(&entry.value))
        }
        Value::List(items) => items.iter().any(has_directive),
        _ => false,
    }
}

/// Gives all of a value one place.
fn place_at(node: &mut Node, span: &core::ops::Range<usize>) {
    node.span = span.clone();
    match &mut node.value {
        Value::Map(entries) => {
            for Entry { key_span, value, .. } in entries {
                *key_span = span.clone();
                place_at(value, span);
            }
        }
        Value::List(items) => items.iter_mut().for_each(|item| place_at(item, span)),
        _ => {}
    }
}
