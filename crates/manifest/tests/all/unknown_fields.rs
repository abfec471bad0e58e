//! Fields that objects do not have: refused as kubectl's strict validation does, or ignored and reported.

use pod_spec::PodLevelResources;
use topology_manifest::{
    Manifests, Source, Style, UnknownFields, Warning, read_accepted_pods, read_manifests, read_scenario,
};

fn read(text: &str, unknown: UnknownFields) -> Manifests {
    read_manifests(&Source { name: "pod.yaml", text }, PodLevelResources::Count, unknown).unwrap()
}

fn pod(body: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\nspec:\n  containers:\n  - name: c\n    image: i\n{body}"
    )
}

#[test]
fn a_misspelt_field_refuses_the_pod_in_kubectls_words() {
    let check = |text: &str, expected: &str| {
        let read = read(text, UnknownFields::Refuse);
        let refused: Vec<String> = read.refused.iter().map(ToString::to_string).collect();
        assert_eq!(refused, [expected], "{text}");
        assert!(read.pods.is_empty(), "{text}");
    };
    let strict = "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: ";
    check(
        &pod("    resource:\n      limits: {cpu: 2}\n"),
        &format!("{strict}unknown field \"spec.containers[0].resource\" (did you mean \"resources\"?)"),
    );
    check(
        &pod("    resources:\n      limit: {cpu: 2}\n"),
        &format!("{strict}unknown field \"spec.containers[0].resources.limit\" (did you mean \"limits\"?)"),
    );
    // Case counts, as for an API server; and all are named.
    check(
        &pod("    imagepullpolicy: Always\n  gpus: 4\n"),
        &format!(
            "{strict}unknown field \"spec.containers[0].imagepullpolicy\" (did you mean \"imagePullPolicy\"?), unknown \
             field \"spec.gpus\""
        ),
    );
    // What is wrong with the values is not looked for in what cannot be decoded.
    check(
        &pod("    resources: {requests: {cpu: 2}, limits: {cpu: 1}, limit: {}}\n"),
        &format!("{strict}unknown field \"spec.containers[0].resources.limit\" (did you mean \"limits\"?)"),
    );
    let template = "metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resource: {}}]}";
    check(
        &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{selector: {{matchLabels: {{a: b}}}}, \
             template: {{{template}}}}}\n"
        ),
        "Deployment in version \"apps/v1\" cannot be handled as a Deployment: strict decoding error: unknown field \
         \"spec.template.spec.containers[0].resource\" (did you mean \"resources\"?)",
    );
}

#[test]
fn the_line_and_the_likely_field_are_shown() {
    let read = read(&pod("    resource:\n      limits: {cpu: 2}\n"), UnknownFields::Refuse);
    let shown: Vec<String> = read.refused.iter().map(|refusal| refusal.render(Style::Ascii)).collect();
    let expected = "\
error: unknown field \"spec.containers[0].resource\"
 --> pod.yaml:9:5
  |
7 |   - name: c
8 |     image: i
9 |     resource:
  |     ^^^^^^^^ did you mean resources?";
    assert_eq!(shown.join("\n"), expected);
}

#[test]
fn free_keys_are_no_fields() {
    let text = pod(
        "    resources: {limits: {example.com/gpu: 1}, requests: {cpu: 1}}\n  nodeSelector: {any.thing/x: yes-please}\n  overhead: \
         {cpu: 1}\n",
    )
    .replace("  name: web\n", "  name: web\n  labels: {any: label}\n  annotations: {some.note/x: why}\n");
    let read = read(&text, UnknownFields::Refuse);
    assert_eq!((read.pods.len(), read.refused.len()), (1, 0), "{:?}", read.refused);
}

#[test]
fn lenient_reading_admits_the_pod_and_reports_the_field() {
    let text = pod("    resource: {}\n    restartPolcy: x\n");
    let read = read(&text, UnknownFields::Report);
    assert_eq!((read.pods.len(), read.refused.len()), (1, 0));
    let shown: Vec<String> = read.unknown_fields.iter().map(|field| field.as_error().to_string()).collect();
    assert_eq!(
        shown,
        [
            "pod.yaml:9:5: unknown field \"spec.containers[0].resource\", did you mean resources?",
            "pod.yaml:10:5: unknown field \"spec.containers[0].restartPolcy\", did you mean restartPolicy?",
        ]
    );
}

#[test]
fn what_an_api_server_has_written_is_accepted_and_reported() {
    let text =
        pod("    ofALaterRelease: 1\n").replace("  name: web\n", "  name: web\n  resourceVersion: \"7\"\n");
    let read = read(&text, UnknownFields::Refuse);
    assert_eq!((read.pods.len(), read.refused.len(), read.unknown_fields.len()), (1, 0, 1));
}

#[test]
fn the_place_is_that_in_a_large_list_too() {
    let item = |name: &str, more: &str| {
        format!(
            "- metadata: {{name: {name}}}\n  spec:\n    containers:\n    - {{name: c, image: {}{more}}}\n",
            "i".repeat(1000)
        )
    };
    let items: String = (0..1100).map(|at| item(&format!("p{at}"), "")).collect();
    let text = format!("apiVersion: v1\nkind: PodList\nitems:\n{items}{}", item("last", ", imag: j"));
    let read = read_manifests(
        &Source::from_list("list.yaml", text.as_bytes()).unwrap(),
        PodLevelResources::Count,
        UnknownFields::Report,
    )
    .unwrap();
    let lines: Vec<usize> = read.unknown_fields.iter().map(|field| field.as_error().line()).collect();
    assert_eq!(lines, [3 + 1100 * 4 + 4]);
}

#[test]
fn a_kubelets_folder_ignores_and_reports_them() {
    let text = pod("    resource: {}\n");
    let read =
        read_accepted_pods(&Source { name: "pod.yaml", text: &text }, PodLevelResources::Count).unwrap();
    let fields: Vec<&Warning> = read.unknown_fields.iter().collect();
    assert_eq!((read.pods.len(), fields.len()), (1, 1));
}

#[test]
fn pods_of_a_scenario_are_read_strictly() {
    let pod = "{metadata: {name: web}, spec: {containers: [{name: c, image: i, resource: {}}]}}";
    let text = format!(
        "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\nmachines: [{{machine: a}}]\nconfigurations: [{{name: \
         pinned}}]\npods:\n- pod: {pod}\narrivals: {{pods: 1, every: 1h}}\n"
    );
    let error = read_scenario(&Source { name: "s.yaml", text: &text }).unwrap_err().to_string();
    assert!(error.contains("pods[0].pod.spec.containers[0].resource\", did you mean resources?"), "{error}");
}
