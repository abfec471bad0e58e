//! Flags of the kubelet that a form sets beside its configuration.

use super::kind::{INIT, JOIN, PLACES};
use super::machines::OF_ALL;
use crate::ManifestError;
use crate::kubelet_arguments::{FREE_FLAGS, KubeletArgument, k3s_flag};
use crate::node::{Field, Value};
use crate::template::{OPEN, rendered_by};

/// Where a form has flags.
const LISTS: [&[&str]; 2] =
    [&["spec", "kubelet", "flags"], &["spec", "template", "spec", "kubelet", "flags"]];
const MAPS: [&[&str]; 3] = [TALOS, &["nodeRegistration", "kubeletExtraArgs"], &["spec", "kubeletExtraArgs"]];
const TALOS: &[&str] = &["machine", "kubelet", "extraArgs"];
const EKS_TEMPLATE: &[&str] = &["spec", "template", "spec", "kubeletExtraArgs"];
/// The same of RKE2 in objects of Cluster API: flags without their dashes.
const RKE2: [&[&str]; 2] = [
    &["spec", "agentConfig", "kubelet", "extraArgs"],
    &["spec", "template", "spec", "agentConfig", "kubelet", "extraArgs"],
];
/// Of RKE: flags by name, with one value or several, as its own file has them and as Rancher does (`BaseService` in
/// `types/rke_types.go` of rancher/rke).
const RKE: [&[&str]; 4] = [
    &["services", "kubelet", "extra_args"],
    &["services", "kubelet", "extra_args_array"],
    &["rancher_kubernetes_engine_config", "services", "kubelet", "extra_args"],
    &["rancher_kubernetes_engine_config", "services", "kubelet", "extra_args_array"],
];

/// The flags that a document sets, as arguments of a command line: `--max-pods=20`.
pub(crate) fn flags(document: &Field<'_>) -> Result<Vec<KubeletArgument>, ManifestError> {
    let mut flags = Vec::new();
    for path in LISTS {
        if let Some(list) = document.descend(path).ok().flatten() {
            for item in list.items()? {
                flags.push(argument(&item, item.text(FLAG)?.to_owned()));
            }
        }
    }
    let options = document.descend(OF_ALL).ok().flatten();
    for place in [Some(document), options.as_ref()].into_iter().flatten().filter(|place| place.is_mapping()) {
        lay_options(place, &mut flags)?;
    }
    for path in RKE2 {
        for item in document.descend(path).ok().flatten().map_or(Ok(Vec::new()), |list| list.items())? {
            flags.push(argument(&item, k3s_flag(item.text(FLAG)?)));
        }
    }
    for path in MAPS.into_iter().chain([EKS_TEMPLATE]).chain(RKE) {
        if let Some(field) = document.descend(path).ok().flatten() {
            let are_texts = path == TALOS || RKE.contains(&path);
            flags.extend(of_map(&field, if are_texts { Switches::Texts } else { Switches::Refused })?);
        }
    }
    for path in PLACES {
        for step in [JOIN, INIT] {
            let path = [path, &[step, "nodeRegistration", "kubeletExtraArgs"]].concat();
            if let Some(field) = document.descend(&path).ok().flatten().filter(|_| flags.is_empty()) {
                flags.extend(of_map(&field, Switches::Refused)?);
            }
        }
    }
    filled_in(&flags, document.source.text)?;
    Ok(flags)
}

/// Lays the flags in options of k3s and RKE2, which have no dashes there, over those of other files: a key takes the place of an
/// earlier one, with `+` behind it it adds (`readConfigFile` in `pkg/configfilearg/parser.go` of k3s-io/k3s).
pub(crate) fn lay_options(
    options: &Field<'_>,
    flags: &mut Vec<KubeletArgument>,
) -> Result<(), ManifestError> {
    for entry in options.entries()? {
        match entry.key {
            "kubelet-arg" => flags.clear(),
            "kubelet-arg+" => {}
            _ => continue,
        }
        let items = entry.value.items().unwrap_or_else(|_| vec![entry.value.clone()]);
        for item in items {
            flags.push(argument(&item, k3s_flag(item.text(FLAG)?)));
        }
    }
    Ok(())
}

/// That none of the flags that decide on resources is to be filled in.
pub(crate) fn filled_in(flags: &[KubeletArgument], text: &str) -> Result<(), ManifestError> {
    let open = flags.iter().find(|flag| is_open(flag.text()));
    open.map_or(Ok(()), |flag| Err(flag.template(rendered_by(text))))
}

const FLAG: &str = "a flag of the kubelet";

/// Whether a template or a shell fills in the value of a flag that decides on resources.
fn is_open(flag: &str) -> bool {
    let name = flag.split('=').next().unwrap_or_default();
    !FREE_FLAGS.contains(&name) && ["{{", "${", "$(", OPEN].iter().any(|mark| flag.contains(mark))
}

fn argument(field: &Field<'_>, text: String) -> KubeletArgument {
    KubeletArgument::new(field.source, text, &field.node.span)
}

/// What a form makes of a value `true` without quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Switches {
    /// The text: Talos and RKE decode it without its type.
    Texts,
    /// Nothing: it has to be a text.
    Refused,
}

/// Flags by name, with one value or several, or as a list of `name` and `value`.
fn of_map(field: &Field<'_>, switches: Switches) -> Result<Vec<KubeletArgument>, ManifestError> {
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
            let text = match value.node.value {
                Value::Bool(switch) if switches == Switches::Texts => switch.to_string(),
                _ => value.scalar(VALUE)?.to_owned(),
            };
            flags.push(argument(&value, format!("--{}={text}", entry.key)));
        }
    }
    Ok(flags)
}
