//! A proposal as a file: the given one with the changes in it, or the changes alone.

use anyhow::{Context as _, ensure};
use node_config::KubeletConfiguration;
use serde_json::{Map, Value};
use topology_manifest::{FieldChange, Source, patch_kubelet_config, read_kubelet_config};

use super::fields::Change;
use crate::render::manifest_error;

/// The configuration that a proposal is for, as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) name: &'a str,
    /// Empty for one that is built in.
    pub(crate) text: &'a str,
    /// Whether it is OpenShift's, whose machine config operator writes all files of the kubelet.
    pub(crate) is_openshift: bool,
}

impl Given<'_> {
    /// What else can be done.
    const fn otherwise(&self) -> &'static str {
        if self.is_openshift {
            "without --propose the changes are listed"
        } else {
            "--drop-in prints the changes alone, which need not be written into it"
        }
    }
}

/// The given text with `changes` made in place; of one that is built in, all that decides.
pub(crate) fn whole_file(
    given: Given<'_>,
    proposal: &KubeletConfiguration,
    changes: &[Change],
) -> anyhow::Result<String> {
    if given.text.is_empty() {
        return Ok(serde_saphyr::to_string(proposal)?);
    }
    let change = |change: &Change| FieldChange { field: change.field.clone(), value: change.to.clone() };
    let changes: Vec<FieldChange> = changes.iter().map(change).collect();
    let patched = patch_kubelet_config(&Source { name: given.name, text: given.text }, &changes)
        .with_context(|| {
            format!("failed to write the proposal into {}; {}", given.name, given.otherwise())
        })?;
    let again = read_kubelet_config(&Source { name: given.name, text: &patched }).map_err(manifest_error)?;
    ensure!(
        serde_json::to_value(&again.config)? == serde_json::to_value(proposal)?,
        "failed to write the proposal into {}: it would be read otherwise; {}",
        given.name,
        given.otherwise()
    );
    Ok(patched)
}

/// The changed fields alone, as a file of the kubelet's drop-in folder. The kubelet merges it as a JSON merge patch:
/// mappings key by key, lists as a whole, and `null` removes.
pub(crate) fn drop_in(changes: &[Change]) -> anyhow::Result<String> {
    let mut fields = Map::new();
    for Change { field, from, to } in changes {
        let value = match (from, to) {
            (Some(Value::Object(from)), Some(Value::Object(to))) => Value::Object(merge_patch(from, to)),
            (_, Some(to)) => to.clone(),
            (_, None) => Value::Null,
        };
        fields.insert(field.clone(), value);
    }
    let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
    let rest = if fields.is_empty() { String::new() } else { serde_saphyr::to_string(&fields)? };
    Ok(format!("{head}{rest}"))
}

/// What makes `to` of `from`.
fn merge_patch(from: &Map<String, Value>, to: &Map<String, Value>) -> Map<String, Value> {
    let changed = to.iter().filter(|(key, value)| from.get(*key) != Some(value));
    let gone = from.keys().filter(|key| !to.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    changed.map(|(key, value)| (key.clone(), value.clone())).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_drop_in_has_what_changes_and_nothing_else() {
        let change = |field: &str, from: Value, to: Value| Change {
            field: field.to_owned(),
            from: Some(from).filter(|value| *value != Value::Null),
            to: Some(to).filter(|value| *value != Value::Null),
        };
        let text = drop_in(&[
            change("cpuManagerPolicy", json!("none"), json!("static")),
            change("kubeReserved", json!({"cpu": "1", "pid": "5"}), json!({"cpu": "1", "memory": "1Gi"})),
            change("reservedMemory", json!([{"numaNode": 0}]), Value::Null),
        ])
        .unwrap();
        let expected = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n\
            cpuManagerPolicy: static\nkubeReserved:\n  memory: 1Gi\n  pid: null\nreservedMemory: null\n";
        assert_eq!(text, expected);
    }
}
