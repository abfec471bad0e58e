//! Flags of the kubelet that a form sets beside its configuration.

use crate::ManifestError;
use crate::kubelet_arguments::{KubeletArgument, k3s_flag};
use crate::node::Field;

/// Where a form has flags.
const LISTS: [&[&str]; 1] = [&["spec", "kubelet", "flags"]];
const MAPS: [&[&str]; 2] = [&["machine", "kubelet", "extraArgs"], &["nodeRegistration", "kubeletExtraArgs"]];
/// Where objects of Cluster API have what kubeadm joins a node with, or else makes the first one with.
const CLUSTER_API: [&[&str]; 4] = [
    &["spec"],
    &["spec", "template", "spec"],
    &["spec", "kubeadmConfigSpec"],
    &["spec", "template", "spec", "kubeadmConfigSpec"],
];
/// Of k3s and RKE2: flags without their dashes.
const ARGUMENTS: [&str; 2] = ["kubelet-arg", "kubelet-arg+"];

/// The flags that a document sets, as arguments of a command line: `--max-pods=20`.
pub(crate) fn flags(document: &Field<'_>) -> Result<Vec<KubeletArgument>, ManifestError> {
    const FLAG: &str = "a flag of the kubelet";
    let mut flags = Vec::new();
    for path in LISTS {
        if let Some(list) = document.descend(path)? {
            for item in list.items()? {
                flags.push(argument(&item, item.text(FLAG)?.to_owned()));
            }
        }
    }
    for key in ARGUMENTS {
        let Some(field) = document.get(key)? else { continue };
        let items = field.items().unwrap_or_else(|_| vec![field.clone()]);
        for item in items {
            flags.push(argument(&item, k3s_flag(item.text(FLAG)?)));
        }
    }
    for path in MAPS {
        if let Some(field) = document.descend(path)? {
            flags.extend(of_map(&field)?);
        }
    }
    for path in CLUSTER_API {
        for step in ["joinConfiguration", "initConfiguration"] {
            let path = [path, &[step, "nodeRegistration", "kubeletExtraArgs"]].concat();
            if let Some(field) = document.descend(&path).ok().flatten().filter(|_| flags.is_empty()) {
                flags.extend(of_map(&field)?);
            }
        }
    }
    Ok(flags)
}

fn argument(field: &Field<'_>, text: String) -> KubeletArgument {
    KubeletArgument::new(field.source, text, &field.node.span)
}

/// Flags by name, with one value or several, or as a list of `name` and `value`.
fn of_map(field: &Field<'_>) -> Result<Vec<KubeletArgument>, ManifestError> {
    const VALUE: &str = "the value of a flag";
    let mut flags = Vec::new();
    if !field.is_mapping() {
        for item in field.items()? {
            let name = item.require("name", "the name of a flag")?.text("the name of a flag")?;
            let value = item.get("value")?;
            let value = value.map_or(Ok(""), |value| value.scalar(VALUE))?;
            flags.push(argument(&item, format!("--{name}={value}")));
        }
        return Ok(flags);
    }
    for entry in field.entries()? {
        let values = entry.value.items().unwrap_or_else(|_| vec![entry.value.clone()]);
        for value in values {
            flags.push(argument(&value, format!("--{}={}", entry.key, value.scalar(VALUE)?)));
        }
    }
    Ok(flags)
}
