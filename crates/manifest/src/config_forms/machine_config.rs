//! OpenShift's `MachineConfig`, and what it is made of: the file of the kubelet among those that Ignition writes.

use crate::Problem;
use crate::node::{Field, Node, Value};
use crate::warning::Warning;

/// Where the kubelet of a node reads its configuration.
const PATH: &str = "/etc/kubernetes/kubelet.conf";
/// Where it reads drop-ins.
const DROP_INS: &str = "/etc/openshift/kubelet.conf.d/";

/// Whether a path is that of the kubelet's file, and of no drop-in.
pub(super) fn is_whole_file(path: &str) -> bool {
    path == PATH
}

/// Whether a path is one of the kubelet's own configuration on a node.
pub(super) fn is_kubelets_file(path: &str) -> bool {
    path == PATH || path.starts_with(DROP_INS)
}

/// The files of the kubelet that Ignition writes by an object, each with its path; of those in which it is not plain text no
/// text. What has none sets nothing of the kubelet.
pub(crate) fn kubelet_files(document: &Node) -> Vec<(&str, Option<String>)> {
    let of = |file: &Node| {
        let contents = file.value.get("contents")?;
        let compression = contents.value.get("compression").and_then(text).unwrap_or_default();
        if !compression.is_empty() {
            return None;
        }
        let inline = contents.value.get("inline").and_then(text).map(str::to_owned);
        inline.or_else(|| data_of(text(contents.value.get("source")?)?))
    };
    let mut found = Vec::new();
    for file in files(document) {
        if let Some(path) = file.value.get("path").and_then(text).filter(|path| is_kubelets_file(path)) {
            found.push((path, of(file)));
        }
    }
    found
}

/// The files of a `MachineConfig`, of Butane, or of a template of the machine config operator, which is one file.
fn files(document: &Node) -> Vec<&Node> {
    let is_file = document.value.get("path").is_some() && document.value.get("contents").is_some();
    if is_file && document.value.get("kind").is_none() {
        return vec![document];
    }
    let config = document.value.get("spec").and_then(|spec| spec.value.get("config")).unwrap_or(document);
    let list = config.value.get("storage").and_then(|storage| storage.value.get("files"));
    match list.map(|list| &list.value) {
        Some(Value::List(files)) => files.iter().collect(),
        _ => Vec::new(),
    }
}

/// The file of the kubelet in a `MachineConfig` that cannot be read; `None`: it writes none.
pub(crate) fn unread(document: &Node) -> Option<String> {
    if text(document.value.get("kind")?) != Some("MachineConfig") {
        return None;
    }
    let files = kubelet_files(document);
    let (path, _) = files.first()?;
    Some(format!("a MachineConfig whose {path} is no plain text, or one of several files of the kubelet"))
}

/// Arguments of the kernel by which it has other CPUs, other memory or huge pages, or keeps CPUs from its scheduler
/// (docs.kernel.org, "The kernel's command-line parameters").
const OF_RESOURCES: [&str; 14] = [
    "default_hugepagesz",
    "hugepages",
    "hugepagesz",
    "irqaffinity",
    "isolcpus",
    "maxcpus",
    "mem",
    "nohz_full",
    "nosmt",
    "nr_cpus",
    "numa",
    "rcu_nocbs",
    "systemd.cpu_affinity",
    "tuned.non_isolcpus",
];

/// That a `MachineConfig` starts the kernel with arguments on which CPUs or huge pages depend; `None`: with none.
pub(crate) fn kernel_arguments(document: &Field<'_>) -> Option<Warning> {
    const EXPECTED: &str = "a machine that was captured on a node that started with them";
    let list = document.descend(&["spec", "kernelArguments"]).ok().flatten()?;
    let own: Vec<&str> = list
        .items()
        .ok()?
        .iter()
        .filter_map(|argument| text(argument.node))
        .flat_map(str::split_ascii_whitespace)
        .filter(|argument| OF_RESOURCES.contains(&argument.split('=').next().unwrap_or_default()))
        .collect();
    let what = format!("the kernel starts with {}, on which CPUs and huge pages depend", own.join(" "));
    (!own.is_empty()).then(|| Warning(list.fail(Problem::Useless { what, expected: EXPECTED })))
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// What a `data:` URL holds (RFC 2397): in base64, or with percent signs.
pub(super) fn data_of(url: &str) -> Option<String> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = if kind.ends_with(";base64") { base64(data)? } else { percent(data)? };
    String::from_utf8(bytes).ok()
}

fn percent(data: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = data.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let byte = match byte {
            b'%' => u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?,
            byte => byte,
        };
        bytes.push(byte);
    }
    Some(bytes)
}

/// Base64 with or without its padding.
fn base64(data: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in data.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = ((bits << 6) | u32::from(six), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_decoded() {
        for (url, expected) in [
            ("data:,kind%3A%20Kubelet%0A", Some("kind: Kubelet\n")),
            ("data:text/plain;charset=utf-8;base64,a2luZDogS3ViZWxldAo=", Some("kind: Kubelet\n")),
            ("data:;base64,a2luZA==", Some("kind")),
            ("data:,", Some("")),
            ("data:,%4", None),
            ("data:;base64,a*", None),
            ("https://example.com", None),
        ] {
            assert_eq!(data_of(url).as_deref(), expected, "{url}");
        }
    }
}
