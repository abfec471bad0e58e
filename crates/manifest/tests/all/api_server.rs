//! What is refused, beside what an API server refused, and how it is shown.

use std::collections::BTreeSet;

use pod_spec::PodLevelResources;
use serde_json::Value;
use topology_manifest::{Manifests, Problem, Source, Style, UnknownFields, read_manifests};

fn read(text: &str) -> Manifests {
    let source = Source { name: "pods.yaml", text };
    read_manifests(&source, PodLevelResources::Count, UnknownFields::Refuse)
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

/// The complaints that kubectl would print.
fn causes(read: &Manifests) -> BTreeSet<String> {
    let errors = read.refused.iter().flat_map(|refusal| &refusal.causes);
    errors.map(|error| format!("{}: {}", error.field(), error.problem())).collect()
}

#[test]
fn complaints_are_the_api_servers() {
    let path = format!("{}/../../fixtures/api-server/objects.jsonl", env!("CARGO_MANIFEST_DIR"));
    let cases = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut wrong = Vec::new();
    let mut refused = 0;
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).expect("a case");
        let text = |key: &str| case[key].as_str().expect("a text");
        let expected: BTreeSet<String> = case["causes"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|cause| cause.as_str().expect("a text").to_owned())
            .collect();
        let read = read(text("manifest"));
        let found = causes(&read);
        refused += usize::from(!expected.is_empty());
        if found != expected {
            wrong.push(format!("{}\nexpected {expected:#?}\nfound {found:#?}", text("name")));
        }
        if let [refusal] = read.refused.as_slice() {
            assert_eq!((refusal.kind.as_str(), refusal.name.as_str()), (text("kind"), text("object")));
            assert!(read.pods.is_empty() && !read.is_whole(), "{}", text("name"));
            for cause in &refusal.causes {
                assert!(matches!(cause.problem(), Problem::Refused(_)), "{cause}");
            }
        } else {
            assert!(read.is_whole(), "{}", text("name"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), cases.lines().count(), wrong.join("\n"));
    assert!(refused > 140, "only {refused} were refused");
}

const BAD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: Trainer
spec:
  initContainers:
  - name: fetch
    restartPolicy: Sometimes
  containers:
  - name: app
    resources:
      requests: {cpu: 4}
      limits:
        cpu: 2
        nvidia.com/gpu: 0.5
  - name: app
    resources:
      requests:
        hugepages-1Gi: 2Gi
";

#[test]
fn all_of_a_pod_at_once() {
    let read = read(BAD);
    // kubectl's first line ends in a blank.
    let shown = read.refused[0].to_string().replace(": \n", ":\n");
    insta::assert_snapshot!(shown, @r#"
    The Pod "Trainer" is invalid:
    * metadata.name: Invalid value: "Trainer": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    * spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer
    * spec.containers[0].resources.requests: Invalid value: "4": must be less than or equal to cpu limit of 2
    * spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": must be an integer
    * spec.containers[1].resources.limits: Required value: Limit must be set for non overcommitable resources
    * spec.containers[1].resources: Forbidden: HugePages require cpu or memory
    * spec.containers[1].name: Duplicate value: "app"
    * spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"
    "#);
    insta::assert_snapshot!(read.refused[0].render(Style::Ascii), @r#"
    error: metadata.name: Invalid value: "Trainer": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
     --> pods.yaml:4:9
      |
    2 | kind: Pod
    3 | metadata:
    4 |   name: Trainer
      |         ^^^^^^^
    error: spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer
      --> pods.yaml:15:25
       |
    13 |       limits:
    14 |         cpu: 2
    15 |         nvidia.com/gpu: 0.5
       |                         ^^^
    error: spec.containers[0].resources.requests: Invalid value: "4": must be less than or equal to cpu limit of 2
      --> pods.yaml:12:23
       |
    10 |   - name: app
    11 |     resources:
    12 |       requests: {cpu: 4}
       |                       ^
    error: spec.containers[1].resources.limits: Required value: Limit must be set for non overcommitable resources
      --> pods.yaml:19:24
       |
    17 |     resources:
    18 |       requests:
    19 |         hugepages-1Gi: 2Gi
       |                        ^^^
    error: spec.containers[1].resources: Forbidden: HugePages require cpu or memory
      --> pods.yaml:18:7
       |
    16 |   - name: app
    17 |     resources:
    18 |       requests:
       |       ^
    error: spec.containers[1].name: Duplicate value: "app"
      --> pods.yaml:16:11
       |
    14 |         cpu: 2
    15 |         nvidia.com/gpu: 0.5
    16 |   - name: app
       |           ^^^
    error: spec.initContainers[0].restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"
     --> pods.yaml:8:20
      |
    6 |   initContainers:
    7 |   - name: fetch
    8 |     restartPolicy: Sometimes
      |                    ^^^^^^^^^
    "#);
}

#[test]
fn one_complaint_is_one_line() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n";
    insta::assert_snapshot!(read(text).refused[0], @r#"The Pod "a" is invalid: spec.containers: Required value"#);
}

#[test]
fn what_an_api_server_cannot_read_is_told_alone() {
    let text = BAD.replace("cpu: 2", "cpu: two");
    insta::assert_snapshot!(read(&text).refused[0].render(Style::Ascii), @r#"
    error: spec.containers[0].resources.limits.cpu: "two" is no quantity
      --> pods.yaml:14:14
       |
    12 |       requests: {cpu: 4}
    13 |       limits:
    14 |         cpu: two
       |              ^^^ expected an amount such as 2, 500m or 1.5Gi
    "#);
}

#[test]
fn complaints_are_bounded() {
    let containers = "  - {name: A}\n".repeat(20_000);
    let text =
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n{containers}");
    assert_eq!(read(&text).refused[0].causes.len(), 100);
}
