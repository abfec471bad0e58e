//! Notes on Kubernetes' own workloads: patches, workloads without pods, and selectors.

use crate::objects::{check, object, read, refused};

const SELECTOR: &str = "selector: {matchLabels: {a: b}}, ";
const LABELLED: &str = "template: {metadata: {labels: {a: b}}, spec: {C!}}";

#[test]
fn a_workload_that_lacks_what_an_api_server_wants_may_be_a_patch() {
    let bare =
        "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: app}, {name: side, image: i}]}}";
    let inits = "template: {spec: {initContainers: [{name: one}, {name: two, image: ''}], C!}}";
    for (kind, spec, remark) in [
        ("Deployment", format!("spec: {{{SELECTOR}{LABELLED}}}"), ""),
        (
            "Deployment",
            format!("spec: {{{LABELLED}}}"),
            "it has no selector: an API server refuses it; if it",
        ),
        ("DaemonSet", format!("spec: {{{SELECTOR}{bare}}}"), "container app has no image: an API server"),
        ("StatefulSet", format!("spec: {{{bare}}}"), "it has no selector, and container app has no image"),
        ("ReplicaSet", format!("spec: {{{inits}}}"), "containers one, two have no image"),
    ] {
        check(&object("apps/v1", kind, &spec), &["x-0"], remark);
        let read = read(&object("apps/v1", kind, &spec));
        let is_patch = |text: &str| text.contains("kubectl kustomize FOLDER");
        assert!(read.remarks.iter().all(|remark| is_patch(&remark.text)), "{:?}", read.remarks);
    }
    // What the image of a Pod is decides nothing.
    assert_eq!(read(&object("v1", "Pod", "spec: {containers: [{name: app}]}")).remarks, []);
}

#[test]
fn a_workload_without_pods_says_so() {
    let of =
        |kind: &str, more: &str| object("apps/v1", kind, &format!("spec: {{{more}{SELECTOR}{LABELLED}}}"));
    for kind in ["Deployment", "ReplicaSet", "StatefulSet"] {
        check(&of(kind, "replicas: 0, "), &[], "it has 0 replicas");
    }
    check(&of("Deployment", "replicas: 1, "), &["x-0"], "");
    let job = "spec: {parallelism: 0, template: {spec: {restartPolicy: Never, C!}}}";
    check(&object("batch/v1", "Job", job), &[], "it runs 0 pods at a time");
    let operators = object("argoproj.io/v1alpha1", "Rollout", &format!("spec: {{replicas: 0, {LABELLED}}}"));
    check(&operators, &[], "it has 0 replicas");
}

#[test]
fn a_former_version_of_a_workload_counts_its_replicas() {
    for (version, kind, pods) in [
        ("extensions/v1beta1", "Deployment", 2),
        ("extensions/v1beta1", "DaemonSet", 1),
        ("apps/v1beta1", "StatefulSet", 2),
        ("apps/v1beta2", "ReplicaSet", 2),
    ] {
        let names = &["x-0", "x-1"][..pods];
        let remark = "its apiVersion is a former one of apps/v1";
        check(&object(version, kind, "spec: {replicas: 2, rollbackTo: {revision: 1}, T!}"), names, remark);
    }
    let none = read(&object("extensions/v1beta1", "Deployment", "spec: {}"));
    assert_eq!(none.skipped[0].meant(), Some(("apps/v1", "Deployment")));
}

#[test]
fn a_rollout_has_the_template_of_the_workload_that_it_names() {
    let rollout = object(
        "argoproj.io/v1alpha1",
        "Rollout",
        "spec: {replicas: 2, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: d}}",
    );
    let deployment = |name: &str, replicas: u32| {
        object("apps/v1", "Deployment", &format!("spec: {{replicas: {replicas}, {SELECTOR}{LABELLED}}}"))
            .replace("{name: x}", &format!("{{name: {name}}}"))
    };
    let names = |text: &str| read(text).pods.iter().map(|pod| pod.name.clone()).collect::<Vec<_>>();
    let both = format!("{rollout}---\n{}", deployment("d", 0));
    assert_eq!(names(&both), ["x-0", "x-1"]);
    let remarks: Vec<_> = read(&both).remarks.iter().map(ToString::to_string).collect();
    let wanted = "Rollout \"x\": its template is that of Deployment d, whose own pods count too";
    assert_eq!(remarks, [wanted, "Deployment \"d\": it has 0 replicas"]);
    assert_eq!(names(&format!("{}---\n{rollout}", deployment("d", 1))), ["d-0", "x-0", "x-1"]);
    let listed = format!("{rollout}---\n{}", deployment("d", 0)).replace("---\n", "\n").lines().fold(
        String::new(),
        |text, line| match line {
            "" => text,
            line if line.starts_with("apiVersion") => format!("{text}- {line}\n"),
            line => format!("{text}  {line}\n"),
        },
    );
    assert_eq!(names(&format!("apiVersion: v1\nkind: List\nitems:\n{listed}")), ["x-0", "x-1"]);
    let other = read(&format!("{rollout}---\n{}", deployment("e", 1)));
    assert_eq!((other.pods.len(), other.refused.len()), (1, 1));
    assert!(refused(&rollout).contains("workloadRef"));
}

#[test]
fn a_selector_selects_the_pods_of_its_template() {
    let of = |version: &str, kind: &str, selector: &str, labels: &str| {
        let template = format!("template: {{metadata: {{labels: {labels}}}, spec: {{C!}}}}");
        read(&object(version, kind, &format!("spec: {{selector: {selector}, {template}}}")))
    };
    let is_refused = |selector: &str| {
        let read = of("apps/v1", "Deployment", selector, "{a: b, c: d}");
        assert_eq!(read.pods.len() + read.refused.len(), 1, "{selector}: {:?}", read.refused);
        read.pods.is_empty()
    };
    for selector in [
        "{matchLabels: {a: b}}",
        "{matchLabels: {a: b, c: d}}",
        "{matchExpressions: [{key: a, operator: In, values: [x, b]}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: [x]}, {key: z, operator: NotIn, values: [x]}]}",
        "{matchExpressions: [{key: a, operator: Exists}, {key: z, operator: DoesNotExist}]}",
    ] {
        assert!(!is_refused(selector), "{selector}");
    }
    for selector in [
        "{matchLabels: {a: c}}",
        "{matchLabels: {a: b, z: d}}",
        "{matchExpressions: [{key: z, operator: In, values: [x, b]}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}",
        "{matchExpressions: [{key: z, operator: Exists}]}",
        "{matchExpressions: [{key: a, operator: DoesNotExist}]}",
    ] {
        assert!(is_refused(selector), "{selector}");
    }
    assert_eq!(
        of("apps/v1", "Deployment", "{matchLabels: {a: c}}", "{c: d, a: b}").refused[0].to_string(),
        "The Deployment \"x\" is invalid: spec.template.metadata.labels: Invalid value: {\"a\":\"b\",\"c\":\"d\"}: \
         `selector` does not match template `labels`"
    );
    assert_eq!(of("v1", "ReplicationController", "{a: b}", "{a: b}").pods.len(), 1);
    assert_eq!(of("v1", "ReplicationController", "{a: c}", "{a: b}").pods.len(), 0);
    let unlabelled = "spec: {selector: {matchLabels: {a: b}}, T!}";
    let message = read(&object("apps/v1", "DaemonSet", unlabelled)).refused[0].to_string();
    assert!(message.contains("spec.template.metadata.labels: Invalid value: null: `selector`"), "{message}");
    let of_kustomize = read(&object("apps/v1", "DaemonSet", unlabelled)).refused[0].way_out();
    assert!(of_kustomize.is_some_and(|step| step.contains("`kubectl kustomize FOLDER")), "{of_kustomize:?}");
}
