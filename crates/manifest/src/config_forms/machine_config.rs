//! OpenShift's `MachineConfig`: the file of the kubelet among those that Ignition writes.

use crate::node::{Node, Value};

/// Where the kubelet of a node reads its configuration.
const PATH: &str = "/etc/kubernetes/kubelet.conf";

/// The kubelet's file in an object; `None`: it has none, or one that is compressed.
pub(crate) fn kubelet_file(document: &Node) -> Option<String> {
    if text(document.value.get("kind")?) != Some("MachineConfig") {
        return None;
    }
    let storage = document.value.get("spec")?.value.get("config")?.value.get("storage")?;
    let Value::List(files) = &storage.value.get("files")?.value else { return None };
    let is_it = |file: &&Node| file.value.get("path").and_then(text) == Some(PATH);
    let contents = files.iter().find(is_it)?.value.get("contents")?;
    let compression = contents.value.get("compression").and_then(text).unwrap_or_default();
    if !compression.is_empty() {
        return None;
    }
    decoded(text(contents.value.get("source")?)?)
}

fn text(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// What a `data:` URL holds (RFC 2397): in base64, or with percent signs.
fn decoded(url: &str) -> Option<String> {
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
            assert_eq!(decoded(url).as_deref(), expected, "{url}");
        }
    }
}
