//! The instance types of `KubeVirt` that `kubevirt/common-instancetypes` installs, as far as they set no more of a machine than its
//! CPUs and its memory: the series `u1`.

use super::tree::{Tree, entries, set_default};
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Problem};

/// Names, CPUs and memory.
const SERIES: [(&str, u32, &str); 10] = [
    ("u1.nano", 1, "512Mi"),
    ("u1.micro", 1, "1Gi"),
    ("u1.small", 1, "2Gi"),
    ("u1.medium", 1, "4Gi"),
    ("u1.2xmedium", 2, "4Gi"),
    ("u1.large", 2, "8Gi"),
    ("u1.xlarge", 4, "16Gi"),
    ("u1.2xlarge", 8, "32Gi"),
    ("u1.4xlarge", 16, "64Gi"),
    ("u1.8xlarge", 32, "128Gi"),
];

/// The machine's template with what its instance type sets; `None`: it has none that is known here.
///
/// # Errors
/// Something on the way is no mapping, or the machine sets what each instance type sets.
pub(super) fn with_instance_type(
    object: &Field<'_>,
    template: &Field<'_>,
) -> Result<Option<Node>, ManifestError> {
    let Some(named) = object.descend(&["spec", "instancetype"])? else { return Ok(None) };
    conflict(&named, template)?;
    let kind = named.get("kind")?.and_then(|kind| kind.text("").ok()).unwrap_or_default();
    // Without a kind it is the one of the cluster; one of a namespace is its owner's.
    if !matches!(kind.to_ascii_lowercase().as_str(), "" | "virtualmachineclusterinstancetype") {
        return Ok(None);
    }
    let name = named.get("name")?.and_then(|name| name.text("").ok()).unwrap_or_default();
    let Some((_, cpus, memory)) = SERIES.iter().find(|(known, ..)| *known == name) else { return Ok(None) };
    let Some(domain) = template.descend(&["spec", "domain"])?.filter(Field::is_mapping) else {
        return Ok(None);
    };
    let tree = Tree::at(&named);
    let with = |node: Option<&Node>, key: &str, value: Node| {
        let mut fields = node.map(entries).unwrap_or_default();
        set_default(&mut fields, key, value);
        tree.map(fields)
    };
    let cpu = with(domain.node.value.get("cpu"), "sockets", tree.number(*cpus));
    let memory = with(domain.node.value.get("memory"), "guest", tree.text(*memory));
    let replaced = |node: &Node, key: &str, value: Node| {
        let mut fields = entries(node);
        fields.retain(|(own, _)| own != key);
        fields.push((key.to_owned(), value));
        tree.map(fields)
    };
    let Some(spec) = template.node.value.get("spec") else { return Ok(None) };
    let domain = replaced(&replaced(domain.node, "cpu", cpu), "memory", memory);
    Ok(Some(replaced(template.node, "spec", replaced(spec, "domain", domain))))
}

/// Fields of a machine's domain that each instance type sets, from `validateCPU` and `validateMemory` of `KubeVirt`.
const SET_BY_TYPE: [&[&str]; 8] = [
    &["cpu", "sockets"],
    &["cpu", "cores"],
    &["cpu", "threads"],
    &["memory", "guest"],
    &["resources", "requests", "cpu"],
    &["resources", "limits", "cpu"],
    &["resources", "requests", "memory"],
    &["resources", "limits", "memory"],
];

/// Refuses a machine that sets one of [`SET_BY_TYPE`] beside its instance type `named`; a number that is zero is not set.
fn conflict(named: &Field<'_>, template: &Field<'_>) -> Result<(), ManifestError> {
    for path in &SET_BY_TYPE {
        let Some(field) = template.descend(&[&["spec", "domain"][..], path].concat())? else { continue };
        if field.node.value == Value::Number("0".to_owned()) && path.first() == Some(&"cpu") {
            continue;
        }
        let name = named.get("name")?.map_or(Ok("of its volume"), |name| name.text("a name"))?;
        let what = format!(
            "{} conflicts with instance type {name}: KubeVirt refuses the machine; take one of them away",
            field.path
        );
        let instead = "either the instance type or the field";
        return Err(field.at_path(String::new()).fail(Problem::OtherForm { what, instead }));
    }
    Ok(())
}
