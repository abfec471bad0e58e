//! Whatever comes in, there is an answer: values or an error that can be shown, and no panic.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use topology_manifest::{ManifestError, Source, Style, read_devices, read_kubelet_config, read_pods};

/// Reads bytes in every way there is and shows what is wrong with them.
fn read(bytes: &[u8]) {
    let source = match Source::from_bytes("input.yaml", bytes) {
        Ok(source) => source,
        Err(error) => return show(&error),
    };
    let errors = [read_pods(&source).err(), read_kubelet_config(&source).err(), read_devices(&source).err()];
    errors.iter().flatten().for_each(show);
}

fn show(error: &ManifestError) {
    let styles = [Style::Ascii, Style::Unicode, Style::Coloured];
    let [ascii, unicode, coloured] = styles.map(|style| error.render(style));
    assert!(ascii.is_ascii(), "{ascii}");
    assert!(ascii.contains("input.yaml"), "{ascii}");
    assert!(!unicode.contains('\u{1b}'), "{unicode}");
    assert!(coloured.contains('\u{1b}'), "{coloured}");
    let line = error.to_string();
    assert!(line.starts_with(&format!("input.yaml:{}:{}: ", error.line(), error.column())), "{line}");
    assert!(!line.contains('\n'), "{line}");
}

const VALID: [&str; 4] = [
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: ns\nspec:\n  overhead: {cpu: 250m}\n  \
     initContainers:\n  - name: i\n    restartPolicy: Always\n  containers:\n  - name: c\n    resources:\n      \
     requests: &r {cpu: 2, memory: 1.5Gi}\n      limits: *r\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\n\
     spec: {containers: [{name: c}]}\n",
    r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"é"},
       "spec":{"resources":{},"containers":[{"name":"c","resources":{"limits":{"cpu":0644,"memory":"1e3"}}}]}}]}"#,
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n\
     cpuManagerPolicyOptions: {full-pcpus-only: \"true\"}\nkubeReserved: {cpu: \"1\"}\nmaxPods: 110\n\
     reservedMemory:\n- {numaNode: 0, limits: {memory: 1Gi}}\nfeatureGates: {PodLevelResources: true}\n",
    "devices:\n- resource: a/b\n  list:\n  - {id: x, nodes: [0]}\n- resource: c/d\n  perNode: {0: 2}\n\
     - resource: e/f\n  pci: {vendor: \"8086\", class: \"02\"}\n",
];

/// Pieces that YAML, JSON or quantities give a meaning.
const PIECES: [&str; 32] = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "- ",
    "\n",
    "\r\n",
    "  ",
    "\t",
    "\"",
    "'",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "|\n",
    ">-\n",
    "---\n",
    "...\n",
    "# ",
    "? ",
    "%",
    "~",
    "null",
    "-1",
    "1e999",
    "\u{feff}",
    "\u{2028}é",
    "\0",
];

/// One change: at a place, so much is taken out and a piece put in.
fn change() -> impl Strategy<Value = (Index, usize, &'static str)> {
    (any::<Index>(), 0..6usize, select(&PIECES[..]))
}

proptest! {
    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200)) {
        read(&bytes);
    }

    #[test]
    fn random_pieces(pieces in vec(select(&PIECES[..]), 0..60)) {
        read(pieces.concat().as_bytes());
    }

    #[test]
    fn changed_manifests(text in select(&VALID[..]), changes in vec(change(), 1..5)) {
        let mut bytes = text.as_bytes().to_vec();
        for (place, removed, piece) in changes {
            let start = place.index(bytes.len() + 1);
            let end = (start + removed).min(bytes.len());
            bytes.splice(start..end, piece.bytes());
        }
        read(&bytes);
    }
}

#[test]
fn nesting_ends_before_the_stack_does() {
    let chain: String = (1..60).fold("a0: &a0 1\n".to_owned(), |text, at| {
        format!("{text}a{at}: &a{at} {}*a{}{}\n", "[".repeat(20), at - 1, " ]".repeat(20))
    });
    let deep = ["- ", "[", "{a: ", "{\"a\": ", "? ", "? - ", "a:\n - "].map(|opening| opening.repeat(50_000));
    deep.iter().chain([&chain]).for_each(|text| {
        read(text.as_bytes());
        let source = Source { name: "input.yaml", text };
        assert!(read_pods(&source).is_err());
    });
}
