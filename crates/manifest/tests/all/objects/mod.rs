//! Reads objects of operators in tests, and compares their pods, remarks and refusals.

use pod_spec::PodLevelResources;
use topology_manifest::{Manifests, Source, Style, UnknownFields, read_manifests};

/// A text, read.
pub(crate) fn read(text: &str) -> Manifests {
    let source = Source { name: "all.yaml", text };
    read_manifests(&source, PodLevelResources::Count, UnknownFields::Refuse)
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

/// An object called `x`, in flow style; `C` stands for the containers of a pod, `T` for a template of one.
pub(crate) fn object(version: &str, kind: &str, spec: &str) -> String {
    let containers = "containers: [{name: app, image: i, resources: {limits: {cpu: 2}}}]";
    let spec = spec.replace("T!", &format!("template: {{spec: {{{containers}}}}}")).replace("C!", containers);
    format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x}}\n{spec}\n")
}

/// The names of pods, and the remark on the object.
pub(crate) fn check(text: &str, names: &[&str], remark: &str) {
    let read = read(text);
    let found: Vec<_> = read.pods.iter().map(|pod| pod.name.as_str()).collect();
    assert_eq!(found, names, "{text}\n{:?}", read.refused);
    assert!(read.is_whole(), "{text}\n{:?}", read.refused);
    let remarks: Vec<_> = read.remarks.iter().map(ToString::to_string).collect();
    let remarks = remarks.join("\n");
    assert_eq!(remarks.is_empty(), remark.is_empty(), "{text}\n{remarks}");
    assert!(remarks.contains(remark), "{text}\n{remarks}");
    assert!(read.pods.iter().all(|pod| read.owners[&pod.uid].to_string().ends_with(" x")));
}

/// The message of an object that is refused, which has a next step.
pub(crate) fn refused(text: &str) -> String {
    let read = read(text);
    assert!(read.pods.is_empty(), "{text}");
    let [refusal] = read.refused.as_slice() else { panic!("{text}\n{:?} {:?}", read.refused, read.skipped) };
    assert!(refusal.has_next_step(), "{refusal}");
    refusal.to_string()
}
