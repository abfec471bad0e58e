//! Objects that make pods, lists of them, and those that make none.

use pod_spec::{Phase, PodLevelResources};
use topology_manifest::{Manifests, PodLimit, Source, Style, UnknownFields, read_manifests};

fn read(text: &str) -> Manifests {
    let source = Source { name: "all.yaml", text };
    read_manifests(&source, PodLevelResources::Count, UnknownFields::Refuse)
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

/// What became of a text, line by line.
fn summary(text: &str) -> String {
    let Manifests { pods, refused, skipped, .. } = read(text);
    let pods = pods.iter().map(|pod| {
        let containers: Vec<_> = pod.containers.iter().map(|container| container.name.as_str()).collect();
        let claims = pod.constraints.claims.iter().map(|claim| {
            let users = claim.containers.iter().map(|user| {
                let only = claim.requests.iter().filter(|(other, _)| other == user);
                let only: String = only.map(|(_, request)| format!("/{request}")).collect();
                format!("{user}{only}")
            });
            let users: Vec<String> = users.collect();
            format!(", claim {} of {:?} for {}", claim.name, claim.classes, users.join(" "))
        });
        let claims: String = claims.collect();
        format!("{}/{} ({}): {}{claims}", pod.namespace, pod.name, pod.uid, containers.join(" "))
    });
    let skipped = skipped.iter().map(ToString::to_string);
    let refused = refused.iter().map(ToString::to_string);
    pods.chain(skipped).chain(refused).collect::<Vec<_>>().join("\n")
}

/// An object that makes pods; `spec` are lines of its specification.
fn workload(version: &str, kind: &str, name: &str, spec: &str) -> String {
    let restart = if version == "batch/v1" { "restartPolicy: Never, " } else { "" };
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n{spec}  template:\n    \
         spec: {{{restart}containers: [{{name: app, resources: {{limits: {{cpu: 2}}}}}}]}}\n"
    )
}

#[test]
fn every_kind_and_its_replicas() {
    let cron = |spec: &str| {
        format!(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: nightly}}\nspec:\n{spec}  jobTemplate:\n    spec:\n      \
             parallelism: 2\n      template: {{spec: {{restartPolicy: OnFailure, containers: [{{name: app}}]}}}}\n"
        )
    };
    let rows = [
        (workload("apps/v1", "Deployment", "web", "  replicas: 2\n"), &["web-0", "web-1"][..]),
        (workload("apps/v1", "Deployment", "web", ""), &["web-0"]),
        (workload("apps/v1", "Deployment", "web", "  replicas: 0\n"), &[]),
        (workload("apps/v1", "ReplicaSet", "rs", "  replicas: 2\n"), &["rs-0", "rs-1"]),
        (workload("v1", "ReplicationController", "rc", "  replicas: 1\n"), &["rc-0"]),
        (workload("apps/v1", "DaemonSet", "agent", ""), &["agent-0"]),
        (
            workload("apps/v1", "StatefulSet", "db", "  replicas: 3\n  ordinals: {start: 5}\n"),
            &["db-5", "db-6", "db-7"],
        ),
        (workload("batch/v1", "Job", "once", ""), &["once-0"]),
        (workload("batch/v1", "Job", "wide", "  parallelism: 3\n"), &["wide-0", "wide-1", "wide-2"]),
        (workload("batch/v1", "Job", "few", "  parallelism: 3\n  completions: 2\n"), &["few-0", "few-1"]),
        (workload("batch/v1", "Job", "later", "  suspend: true\n"), &[]),
        (cron(""), &["nightly-0", "nightly-1"]),
        (cron("  suspend: true\n"), &[]),
    ];
    for (text, expected) in rows {
        let read = read(&text);
        let names: Vec<_> = read.pods.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, expected, "{text}");
        assert!(read.is_whole(), "{text}\n{:?}", read.refused);
    }
}

#[test]
fn pods_of_a_template_are_alike() {
    let mut text = workload("apps/v1", "Deployment", "web", "  replicas: 2\n");
    text = text.replace(
        "    spec: {",
        "    metadata: {labels: {kubernetes.io/os: linux}}\n    spec: {nodeSelector: {zone: a}, ",
    );
    let read = read(&text);
    let [first, second] = read.pods.as_slice() else { panic!("{:?}", read.refused) };
    assert_eq!(first.containers, second.containers);
    assert_eq!(first.constraints, second.constraints);
    assert_eq!(first.constraints.os_label.as_deref(), Some("linux"));
    assert_eq!(first.containers[0].requests["cpu"].to_string(), "2", "requests are filled in");
    assert_ne!(first.uid, second.uid);
}

#[test]
fn lists_and_what_is_in_them() {
    let list = "\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
- apiVersion: apps/v1
  kind: DeploymentList
  items:
  - metadata: {name: web}
    spec: {replicas: 2, template: {spec: {containers: [{name: app}]}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: solo}
  spec:
    resourceClaims: [{name: gpu, resourceClaimName: a}, {name: nic, resourceClaimTemplateName: b}]
    containers: [{name: app, resources: {claims: [{name: nic}, {name: gpu, request: one}]}}]
- apiVersion: resource.k8s.io/v1
  kind: ResourceClaimTemplate
  metadata: {name: b}
  spec: {spec: {devices: {requests: [{name: r, exactly: {deviceClassName: nic.example.com}}]}}}
- apiVersion: extensions/v1beta1
  kind: Deployment
  metadata: {name: old}
- apiVersion: v1
  kind: Pod
  metadata: {name: solo}
  spec: {containers: [{name: app}]}
- kind: Pod
- just words
";
    insta::assert_snapshot!(summary(list), @r#"
    default/web-0 (default_web-0): app
    default/web-1 (default_web-1): app
    default/solo (default_solo): app, claim gpu of [] for app/one, claim nic of ["nic.example.com"] for app
    all.yaml:4:3: Service "web" has no pods
    all.yaml:22:3: Deployment "old" of extensions/v1beta1 has no pods; did you mean Deployment of apps/v1?
    all.yaml:27:20: metadata.name: the text already has a pod "default/solo", expected each pod once
    all.yaml:29:3: field apiVersion is missing, expected the kind's version, such as v1 or apps/v1
    all.yaml:30:3: found text "just words", expected a mapping
    "#);
}

#[test]
fn a_taken_number_is_passed_over() {
    let text = [
        workload("apps/v1", "StatefulSet", "web", "  replicas: 2\n"),
        workload("apps/v1", "Deployment", "web", "  replicas: 2\n"),
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: run-}\nspec: {containers: [{name: a}]}\n"
            .to_owned(),
        "apiVersion: v1\nkind: Pod\nmetadata: {generateName: run-}\nspec: {containers: [{name: a}]}\n"
            .to_owned(),
    ];
    insta::assert_snapshot!(summary(&text.join("---\n")), @r#"
    shop/web-0 (shop_web-0): app
    shop/web-1 (shop_web-1): app
    shop/web-2 (shop_web-2): app
    shop/web-3 (shop_web-3): app
    default/run-0 (default_run-0): a
    default/run-1 (default_run-1): a
    "#);
}

#[test]
fn what_a_cluster_lists() {
    let pod = |name: &str, node: &str, phase: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "uid": "uid-{name}",
            "creationTimestamp": "2026-01-02T03:04:05Z", "ownerReferences": [{{"kind": "ReplicaSet"}}]}},
            "spec": {{"nodeName": "{node}", "containers": [{{"name": "c", "resources": {{}}}}]}},
            "status": {{"phase": "{phase}", "reason": "OutOfcpu", "message": "Pod was rejected: x",
            "qosClass": "BestEffort"}}}}"#
        )
    };
    let items = [
        pod("a", "one", "Running"),
        pod("b", "two", "Succeeded"),
        pod("c", "one", "Failed"),
        pod("d", "one", "Pending"),
    ];
    let read = read(&format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{}]}}"#, items.join(",")));
    let seen: Vec<_> = read
        .pods
        .iter()
        .map(|pod| (pod.uid.as_str(), pod.constraints.node_name.as_deref(), pod.phase))
        .collect();
    let expected = [
        ("uid-a", Some("one"), Phase::Active),
        ("uid-b", Some("two"), Phase::Ended),
        ("uid-c", Some("one"), Phase::Ended),
        ("uid-d", Some("one"), Phase::Active),
    ];
    assert_eq!(seen, expected);
    let failed: Vec<_> = read.failures.iter().map(|(uid, why)| (uid.as_str(), why.reason.as_str())).collect();
    assert_eq!(failed, [("uid-c", "OutOfcpu")], "only Failed is a failure");
    assert!(read.is_whole());
}

#[test]
fn a_small_text_is_not_more_pods_than_memory_holds() {
    let many = workload("apps/v1", "Deployment", "web", "  replicas: 2000000000\n");
    insta::assert_snapshot!(read(&many).refused[0].render(Style::Ascii), @r#"
    error: 2000000000 pods are too many
     --> all.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^ expected fewer pods, or smaller ones
    "#);
    let wide = "      - {name: c}\n".repeat(40_000);
    let text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: 9000\n  template:\n    spec:\n      \
         containers:\n{wide}"
    );
    assert!(read(&text).pods.is_empty());
}

#[test]
fn pods_of_templates_know_who_made_them() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: alone}\nspec: {containers: [{name: app}]}\n";
    let read = read(&(workload("apps/v1", "Deployment", "web", "  replicas: 2\n") + pod));
    let owners = read.pods.iter().map(|pod| read.owners.get(&pod.uid).map(ToString::to_string));
    assert_eq!(
        owners.collect::<Vec<_>>(),
        [Some("Deployment web".to_owned()), Some("Deployment web".to_owned()), None]
    );
}

/// A pod as `kubectl get pods -o yaml` prints one, one level to the right.
fn listed_pod(at: usize, cpus: &str) -> String {
    format!(
        "- apiVersion: v1\n  kind: Pod\n  metadata:\n    annotations:\n      note: |\n        - items:\n        ---\n    \
         name: p{at}\n    namespace: many\n  spec:\n    containers:\n    - image: x/{at}\n      name: app\n      \
         resources:\n        limits:\n          cpu: {cpus}\n          memory: 1Gi\n  status:\n    phase: Running\n"
    )
}

fn large_list(pods: usize, faulty: Option<usize>) -> String {
    let cpus = |at| if Some(at) == faulty { "'2 x'" } else { "\"2\"" };
    let items: String = (0..pods).map(|at| listed_pod(at, cpus(at))).collect();
    format!("apiVersion: v1\nitems:\n{items}kind: List\nmetadata:\n  resourceVersion: \"\"\n")
}

#[test]
fn what_a_cluster_lists_may_be_large() {
    const PODS: usize = 4000;
    let text = large_list(PODS, None);
    assert!(text.len() > topology_manifest::MAX_BYTES, "{}", text.len());
    let all = read(&text);
    assert!(all.is_whole());
    assert_eq!(all.pods.len(), PODS);
    // One by one they are the same pods.
    for at in [0, 1, PODS / 2, PODS - 1] {
        let alone = read(&format!("apiVersion: v1\nkind: List\nitems:\n{}", listed_pod(at, "\"2\"")));
        assert_eq!(format!("{:?}", all.pods[at]), format!("{:?}", alone.pods[0]));
    }

    // The same in JSON, where members of a list do not say what they are.
    let item = |at: usize| {
        format!(
            "{{\"metadata\": {{\"name\": \"p{at}\", \"namespace\": \"many\", \"annotations\": {{\"note\": \"{}\"}}}},\t\"spec\": \
             {{\"containers\": [{{\"name\": \"app\", \"resources\": {{\"limits\": {{\"cpu\": \"2\", \"memory\": \"1Gi\"}}}}}}]}}}}",
            "[{]}\\\",".repeat(20)
        )
    };
    let items: Vec<String> = (0..PODS).map(item).collect();
    let json =
        format!("{{\"apiVersion\": \"v1\", \"items\": [\n{}\n], \"kind\": \"PodList\"}}", items.join(",\n"));
    assert!(json.len() > topology_manifest::MAX_BYTES);
    let listed = read(&json);
    assert!(listed.is_whole(), "{:?}", listed.refused.first());
    assert_eq!(format!("{:?}", listed.pods), format!("{:?}", all.pods));
}

#[test]
fn faults_in_large_lists_have_their_lines() {
    let text = large_list(4000, Some(3210));
    let line = text.lines().position(|line| line.contains("'2 x'")).unwrap_or_default() + 1;
    let read = read(&text);
    assert_eq!((read.pods.len(), read.refused.len()), (3999, 1));
    let shown = read.refused[0].render(Style::Ascii);
    assert!(shown.contains(&format!(":{line}:")) && shown.contains("cpu: '2 x'"), "{shown}");

    let other = text.replace("kind: List", "kind: SecretList");
    let skipped = self::read(&other);
    assert_eq!((skipped.pods.len(), skipped.skipped.len()), (0, 1));

    let unknown = text.replace("kind: List\n", "kind: List\nkind: List\n");
    let read = self::read(&unknown);
    assert_eq!(read.unnoticed.len(), 1);
    let last = text.lines().position(|line| line == "kind: List").unwrap_or_default() + 2;
    assert_eq!(read.unnoticed[0].as_error().line(), last);
}

#[test]
fn faults_in_large_json_have_their_columns() {
    let pod = |at: usize, cpus: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"p{at}\"}},\"spec\":{{\"containers\":[{{\"name\":\"app\",\
             \"image\":\"{}\",\"resources\":{{\"limits\":{{\"cpu\":{cpus}}}}}}}]}}}}",
            "x".repeat(400)
        )
    };
    let items: Vec<String> = (0..3000).map(|at| pod(at, if at == 2000 { "[2]" } else { "2" })).collect();
    let text = format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}}", items.join(","));
    let read = read(&text);
    assert_eq!((read.pods.len(), read.refused.len()), (2999, 1));
    let cause = &read.refused[0].causes[0];
    assert_eq!((cause.line(), cause.column()), (1, text.find("[2]").unwrap_or_default() + 1));
}

#[test]
fn no_object_of_a_large_text_is_large_itself() {
    let large = format!("{}---\n{}# {}\n", large_list(10, None), large_list(1, None), "x".repeat(2 << 20));
    let error = read_manifests(
        &Source { name: "list.yaml", text: &large },
        PodLevelResources::Count,
        UnknownFields::Refuse,
    )
    .unwrap_err();
    assert!(error.to_string().contains("what begins here has"), "{error}");
    let bytes = vec![b' '; topology_manifest::MAX_LIST_BYTES + 1];
    let error = Source::from_list("list.yaml", &bytes).unwrap_err();
    assert!(error.render(Style::Ascii).contains("at most 67108864 bytes (64 MiB)"), "{error}");
}

#[test]
fn a_mirror_has_the_uid_by_which_its_node_knows_the_static_pod() {
    let pod = |annotations: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: etcd, uid: 9c1e-of-the-mirror, annotations: {{{annotations}}}}}\n\
             spec: {{containers: [{{name: c, image: i}}]}}\n"
        )
    };
    let uid = |annotations: &str| read(&pod(annotations)).pods.remove(0).uid.to_string();
    assert_eq!(uid("kubernetes.io/config.mirror: 4f2a5c"), "4f2a5c");
    assert_eq!(uid("kubernetes.io/config.hash: 4f2a5c"), "9c1e-of-the-mirror");
}

#[test]
fn a_text_becomes_no_more_pods_than_it_may() {
    let deployment = |replicas: u32| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec: \
             {{containers: [{{name: app, image: i}}]}}\n"
        )
    };
    let pod =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: app, image: i}]}\n";
    let pods = |count: usize| {
        (0..count).map(|at| pod.replace("NAME", &format!("p{at}"))).collect::<Vec<_>>().join("---\n")
    };
    for (text, expected) in [
        (deployment(5), Ok(5)),
        (deployment(6), Err("6 pods are too many for one request: its limit is 5")),
        (deployment(4_000_000), Err("4000000 pods are too many for one request: its limit is 5")),
        (pods(5), Ok(5)),
        (pods(6), Err("6 pods are too many for one request: its limit is 5")),
        (format!("{}---\n{}", pods(3), deployment(3)), Err("6 pods are too many")),
    ] {
        let read = topology_manifest::read_manifests_up_to(
            PodLimit::AtMost(5.try_into().unwrap()),
            &Source { name: "pods.yaml", text: &text },
            PodLevelResources::Count,
            UnknownFields::Refuse,
        );
        match (read, expected) {
            (Ok(read), Ok(pods)) => assert_eq!(read.pods.len(), pods),
            (Err(error), Err(said)) => assert!(error.to_string().contains(said), "{error}"),
            (read, expected) => panic!("{read:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_cluster_has_more_pods_of_templates_than_a_node() {
    let read = |limit, replicas: u32| {
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{a: b}}}}\n  template:\n    metadata: {{labels: {{a: b}}}}\n    spec:\n      \
             containers:\n      - name: app\n        image: i\n        env: [{{name: LARGE, value: \"{}\"}}]\n        \
             resources: {{limits: {{cpu: 2, memory: 1Gi}}}}\n",
            "x".repeat(10_000)
        );
        let source = Source { name: "web.yaml", text: &text };
        let read = topology_manifest::read_manifests_up_to(
            limit,
            &source,
            PodLevelResources::Count,
            UnknownFields::Refuse,
        );
        let read = read.unwrap();
        (read.pods.len(), read.refused.first().map(ToString::to_string))
    };
    let refused = |pods: u32| {
        (0, format!("web.yaml:1:1: {pods} pods are too many, expected fewer pods, or smaller ones"))
    };
    let told = |(pods, why): (usize, Option<String>)| (pods, why.unwrap_or_default());
    assert_eq!(told(read(PodLimit::Usual, 10_001)), refused(10_001));
    assert_eq!(
        told(read(PodLimit::Cluster, 10_001)),
        (10_001, String::new()),
        "what is not read is not kept"
    );
    assert_eq!(told(read(PodLimit::Cluster, 150_001)), refused(150_001));
}
