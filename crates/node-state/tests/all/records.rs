//! A pod's own file gives the pod back as it came.

use std::sync::Arc;

use node_state::{Record, Source};
use pod_spec::PodLevelResources;
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
