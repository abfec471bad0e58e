//! A pod's own file gives the pod back as it came.

use std::sync::Arc;

use node_state::{Record, Source};
use pod_spec::{PlacedDevice, PodLevelResources};
use topology_manifest::{Source as Text, read_pods};

#[test]
fn the_rules_that_a_pod_chooses_are_in_its_file() {
    for others in
        ["", ", kubernetes.io/config.source: file", ", kubernetes.io/config.mirror: mirror, note: x"]
    {
        let text = format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  annotations: {{topolet.dev/policy: restricted, \
             topolet.dev/cpu: 'exclusive:c'{others}}}\nspec: {{containers: [{{name: c, resources: {{limits: {{cpu: 2}}}}}}]}}\n"
        );
        let pod = read_pods(&Text { name: "pod.yaml", text: &text }).unwrap().remove(0);
        assert_eq!(pod.constraints.wishes.get("cpu"), Some("exclusive:c"));
        let written = Record::new(Arc::new(pod.clone()), Source::Request, 1).text();
        let read = Record::read("pod.json", written.as_bytes(), PodLevelResources::Count).unwrap();
        assert_eq!(*read.pod, pod, "{others}");
    }
}

#[test]
fn the_places_of_claimed_devices_are_in_its_file() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {resourceClaims: [{name: gpu, resourceClaimName: g}], \
                containers: [{name: c, resources: {claims: [{name: gpu}]}}]}\n";
    let mut pod = read_pods(&Text { name: "pod.yaml", text }).unwrap().remove(0);
    let device = PlacedDevice { claim: "gpu".to_owned(), containers: vec!["c".into()], node: 1 };
    pod.constraints.claim_places.known = vec![device.clone()];
    let written = Record::new(Arc::new(pod.clone()), Source::Cluster, 1);
    let read = Record::read("pod.json", written.text().as_bytes(), PodLevelResources::Count).unwrap();
    assert_eq!(read.pod.constraints.claim_places.known, [device]);
    // They are no part of the manifest by which a pod that comes again is known.
    pod.constraints.claim_places.known.clear();
    assert_eq!(written.manifest, Record::new(Arc::new(pod), Source::Cluster, 1).manifest);
}
