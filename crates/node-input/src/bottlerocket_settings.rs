//! Settings of Bottlerocket with changes of the kubelet's fields made in place, in the form in which they were given: TOML
//! with its comments, or JSON, whose keys are then in the order of the alphabet.

use anyhow::Context as _;
use config_advice::{Change, setting, settings};
use serde_json::Value as Json;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The tables around the kubelet's settings.
const PATH: [&str; 2] = ["settings", "kubernetes"];

/// The settings with these changes.
///
/// # Errors
/// `text` is neither TOML nor JSON, or has something else in the place of a table.
pub(crate) fn with_changes(text: &str, changes: &[Change]) -> anyhow::Result<String> {
    let wanted = settings(changes);
    let left_out = changes.iter().filter(|change| change.to.is_none());
    let removed: Vec<&str> = left_out.filter_map(|change| setting(&change.field)).collect();
    if let Ok(json) = serde_json::from_str::<Json>(text) {
        return as_json(json, &wanted, &removed);
    }
    let mut document: DocumentMut = text.parse()?;
    let wanted: DocumentMut = wanted.parse()?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut from: &dyn TableLike = wanted.as_table();
    for name in PATH {
        let empty = || Item::Table(Table::new());
        let item = table.entry(name).or_insert_with(empty);
        table = item.as_table_like_mut().with_context(|| format!("{name} is no table"))?;
        from = from.get(name).and_then(Item::as_table_like).context("the proposal has no settings")?;
    }
    for name in removed {
        table.remove(name);
    }
    for (name, item) in from.iter() {
        replace(table, name, item);
    }
    Ok(document.to_string())
}

/// Puts an item in the place of the one of that name. A table stays the one that is there, with the keys of the new one
/// alone; a value keeps the comment behind it.
fn replace(table: &mut dyn TableLike, name: &str, new: &Item) {
    let Some(old) = table.get_mut(name) else {
        let mut new = new.clone();
        set_apart(&mut new);
        table.insert(name, new);
        return;
    };
    // Within braces the blank before the last one belongs to the last value.
    let end = old.as_inline_table().and_then(|table| table.iter().last()?.1.decor().suffix().cloned());
    match (old.as_table_like_mut(), new.as_table_like()) {
        (Some(old), Some(new)) => {
            let gone: Vec<String> =
                old.iter().map(|(key, _)| key.to_owned()).filter(|key| !new.contains_key(key)).collect();
            for key in gone {
                old.remove(&key);
            }
            for (key, item) in new.iter() {
                replace(old, key, item);
            }
            let last = old.iter().last().map(|(key, _)| key.to_owned());
            let last = last.and_then(|key| old.get_mut(&key)).and_then(Item::as_value_mut);
            if let (Some(value), Some(end)) = (last, end) {
                value.decor_mut().set_suffix(end);
            }
        }
        _ => match (old.as_value_mut(), new.as_value()) {
            (Some(old), Some(new)) => {
                let decor = old.decor().clone();
                *old = new.clone();
                *old.decor_mut() = decor;
            }
            _ => *old = new.clone(),
        },
    }
}

/// An empty line before each table.
fn set_apart(item: &mut Item) {
    let Some(table) = item.as_table_mut() else { return };
    table.decor_mut().set_prefix("\n");
    for (_, below) in table.iter_mut() {
        set_apart(below);
    }
}

fn as_json(mut json: Json, wanted: &str, removed: &[&str]) -> anyhow::Result<String> {
    let wanted: Json = toml::from_str(wanted)?;
    let (mut table, mut from) = (&mut json, &wanted);
    for name in PATH {
        let map = table.as_object_mut().with_context(|| format!("the value around {name} is no object"))?;
        table = map.entry(name).or_insert_with(|| serde_json::json!({}));
        from = from.get(name).context("the proposal has no settings")?;
    }
    let table = table.as_object_mut().context("kubernetes is no object")?;
    for name in removed {
        table.remove(*name);
    }
    for (name, value) in from.as_object().into_iter().flatten() {
        table.insert(name.clone(), value.clone());
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&json)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(field: &str, to: Json) -> Change {
        Change { field: field.into(), from: None, to: Some(to).filter(|value| !value.is_null()) }
    }

    fn changes() -> [Change; 5] {
        [
            change("cpuManagerPolicyOptions", json!({"full-pcpus-only": "true"})),
            change("kubeReserved", json!({"cpu": "1"})),
            change("reservedMemory", json!([{"limits": {"memory": "1Gi"}, "numaNode": 1}])),
            change("topologyManagerPolicy", json!("restricted")),
            change("topologyManagerScope", Json::Null),
        ]
    }

    #[test]
    fn toml_is_changed_in_place_with_its_comments() {
        let text = "# Ours\n[settings.host-containers.admin]\nenabled = true\n\n[settings.kubernetes]\n\
                    topology-manager-policy = \"none\" # why\ntopology-manager-scope = \"pod\"\nmax-pods = 110\n\
                    kube-reserved = { cpu = \"2\", memory = \"1Gi\" }\n\n\
                    [settings.kubernetes.memory-manager-reserved-memory.0]\nenabled = true\nmemory = \"2Gi\"\n";
        let expected = "# Ours\n[settings.host-containers.admin]\nenabled = true\n\n[settings.kubernetes]\n\
                        topology-manager-policy = \"restricted\" # why\nmax-pods = 110\n\
                        kube-reserved = { cpu = \"1\" }\ncpu-manager-policy-options = [\"full-pcpus-only\"]\n\n\
                        [settings.kubernetes.memory-manager-reserved-memory.1]\nenabled = true\nmemory = \"1Gi\"\n";
        assert_eq!(with_changes(text, &changes()).unwrap(), expected);
        let dotted = "settings.kubernetes.max-pods = 20\n";
        let changed = with_changes(dotted, &changes()[3..]).unwrap();
        assert!(
            changed.contains("settings.kubernetes.topology-manager-policy = \"restricted\""),
            "{changed}"
        );
        let more = [change("kubeReserved", json!({"cpu": "1", "memory": "1Gi"}))];
        let one = "[settings.kubernetes]\nkube-reserved = {cpu = \"2\"}\n";
        assert!(with_changes(one, &more).unwrap().contains("{cpu = \"1\", memory = \"1Gi\"}"));
        assert!(with_changes("settings = 1\n", &changes()).is_err());
    }

    #[test]
    fn json_stays_json() {
        let text = r#"{"settings": {"kubernetes": {"max-pods": 20, "topology-manager-scope": "pod"}}}"#;
        let changed: Json = serde_json::from_str(&with_changes(text, &changes()[3..]).unwrap()).unwrap();
        let expected =
            json!({"settings": {"kubernetes": {"max-pods": 20, "topology-manager-policy": "restricted"}}});
        assert_eq!(changed, expected);
    }
}
