//! Pods from outside: what an API server would refuse, and what is no pod, refuses the whole text.

use pod_spec::PodLevelResources;
use topology_manifest::{Source, read_accepted_pods};

const GOOD: &str =
    "apiVersion: v1\nkind: Pod\nmetadata: {name: good}\nspec: {containers: [{name: c, image: i}]}\n";

/// Compares the names of the pods, or the error, with `expected`.
fn check(text: &str, expected: &str) {
    let source = Source { name: "pods.yaml", text };
    let found = match read_accepted_pods(&source, PodLevelResources::Count) {
        Ok(read) => read.pods.iter().map(|pod| pod.name.as_str()).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_text_is_taken_whole_or_not_at_all() {
    let other = |name: &str, container: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{containers: [{{{container}}}]}}\n"
        )
    };
    check(GOOD, "good");
    check(&format!("{GOOD}{}", other("next", "name: c, image: i")), "good next");
    check(
        &format!(
            "{GOOD}{}",
            other("bad", "name: c, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 1}}")
        ),
        "The Pod \"bad\" is invalid: spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or \
         equal to cpu limit of 1",
    );
    check(
        &format!(
            "{}{}",
            other("one", "name: C, image: i"),
            other("two", "name: c, image: i").replace("two", "Two")
        ),
        "The Pod \"one\" is invalid: spec.containers[0].name: Invalid value: \"C\": a lowercase RFC 1123 label must consist \
         of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. \
         'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')\nThe Pod \"Two\" is invalid: \
         metadata.name: Invalid value: \"Two\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
         characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
         for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    );
    check(
        &format!("{GOOD}---\n{GOOD}"),
        "pods.yaml:8:18: metadata.name: the text already has a pod \"default/good\", expected each pod once",
    );
}

#[test]
fn what_makes_pods_is_named_and_is_none() {
    check(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: b}}\n  \
         template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: c, image: i}]}\n",
        "pods.yaml:2:7: kind: \"Deployment\" is not read here, expected kind Pod, or List with pods as its items",
    );
    check(
        &format!("{GOOD}---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\n"),
        "pods.yaml:7:7: kind: \"Service\" is not read here, expected kind Pod, or List with pods as its items",
    );
}
