//! Flags of the kubelet that a form sets beside its configuration.

use crate::ManifestError;
use crate::node::Field;

/// Where a form has flags.
const LISTS: [&[&str]; 1] = [&["spec", "kubelet", "flags"]];
const MAPS: [&[&str]; 2] = [&["machine", "kubelet", "extraArgs"], &["nodeRegistration", "kubeletExtraArgs"]];
/// Of k3s and RKE2: flags without their dashes.
const ARGUMENTS: [&str; 2] = ["kubelet-arg", "kubelet-arg+"];

/// The flags that a document sets, as arguments of a command line: `--max-pods=20`.
pub(crate) fn flags(document: &Field<'_>) -> Result<Vec<String>, ManifestError> {
    const FLAG: &str = "a flag of the kubelet";
    let mut flags = Vec::new();
    for path in LISTS {
        if let Some(list) = document.descend(path)? {
            for item in list.items()? {
                flags.push(item.text(FLAG)?.to_owned());
            }
        }
    }
    for key in ARGUMENTS {
        let Some(field) = document.get(key)? else { continue };
        let items = field.items().unwrap_or_else(|_| vec![field.clone()]);
        for item in items {
            flags.push(format!("--{}", item.text(FLAG)?.trim_start_matches("--")));
        }
    }
    for path in MAPS {
        if let Some(field) = document.descend(path)? {
            flags.extend(of_map(&field)?);
        }
    }
    Ok(flags)
}

/// Flags by name, with one value or several, or as a list of `name` and `value`.
fn of_map(field: &Field<'_>) -> Result<Vec<String>, ManifestError> {
    const VALUE: &str = "the value of a flag";
    let mut flags = Vec::new();
    if !field.is_mapping() {
        for item in field.items()? {
            let name = item.require("name", "the name of a flag")?.text("the name of a flag")?;
            let value = item.get("value")?;
            let value = value.map_or(Ok(""), |value| value.scalar(VALUE))?;
            flags.push(format!("--{name}={value}"));
        }
        return Ok(flags);
    }
    for entry in field.entries()? {
        let values = entry.value.items().unwrap_or_else(|_| vec![entry.value.clone()]);
        for value in values {
            flags.push(format!("--{}={}", entry.key, value.scalar(VALUE)?));
        }
    }
    Ok(flags)
}
