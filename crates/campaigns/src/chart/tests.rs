//! The committed rendering beside the kustomizations' files: helm is not needed.

use fs_err as fs;
use serde_json::Value;
use workspace_tools::workspace::root;

use super::objects::{Objects, differences};
use super::seen::CHART;
use super::{RENDERED, digest};

fn of(files: &[&str]) -> Objects {
    let mut all = Objects::default();
    for file in files {
        all.extend(Objects::of(&fs::read_to_string(root().join("deploy").join(file)).unwrap()).unwrap());
    }
    all
}

/// The agent's `DaemonSet` with what the kustomization `guard` adds to it.
fn observer_of_the_guard() -> Objects {
    let read = |file: &str| -> Value {
        serde_saphyr::from_str(&fs::read_to_string(root().join("deploy").join(file)).unwrap()).unwrap()
    };
    let (mut set, patch) = (read("observe/daemon-set.yaml"), read("guard/observer.yaml"));
    for list in ["/spec/template/spec/containers/0/volumeMounts", "/spec/template/spec/volumes"] {
        let more = patch.pointer(list).unwrap().as_array().unwrap();
        // kustomize puts what a patch adds to a list in front.
        let there = set.pointer_mut(list).unwrap().as_array_mut().unwrap();
        there.splice(0..0, more.iter().cloned());
    }
    Objects::of(&set.to_string()).unwrap()
}

#[test]
fn what_was_rendered_is_of_todays_templates() {
    let rendered = fs::read_to_string(root().join(RENDERED)).unwrap();
    let digest = digest(&root().join(CHART)).unwrap();
    assert!(
        rendered.starts_with(&format!("# {digest}: ")),
        "render it again: `cargo xtask chart --render --write`"
    );
}

#[test]
fn the_chart_has_the_objects_of_the_kustomizations() {
    let rendered = Objects::of(&fs::read_to_string(root().join(RENDERED)).unwrap()).unwrap();
    let mut kustomizations = of(&[
        "observe/rights.yaml",
        "observe/service.yaml",
        "guard/daemon-set.yaml",
        "node/rights.yaml",
        "node/publisher.yaml",
        "scheduler/rights.yaml",
        "scheduler/deployment.yaml",
        "claims/rights.yaml",
    ]);
    kustomizations.extend(observer_of_the_guard());
    assert!(rendered.len() > 15, "{}", rendered.len());
    assert_eq!(differences(&rendered, &kustomizations), Vec::<String>::new());
}

#[test]
fn a_difference_is_named() {
    let object = |text: &str| Objects::of(text).unwrap();
    let (one, other) = (
        object(
            "kind: Service\nmetadata: {name: a, namespace: one, labels: {helm.sh/chart: c}}\nspec: {port: 1}\n",
        ),
        object("kind: Service\nmetadata: {name: a, namespace: other}\nspec: {port: 1}\n"),
    );
    assert_eq!(differences(&one, &other), Vec::<String>::new());
    let other = object("kind: Service\nmetadata: {name: a}\nspec: {port: 2}\n");
    assert_eq!(differences(&one, &other).len(), 1);
    let other = object("kind: Service\nmetadata: {name: b}\nspec: {port: 1}\n");
    assert_eq!(
        differences(&one, &other),
        ["Service a is in the chart alone", "Service b is not in the chart"]
    );
    assert!(Objects::of("kind: Service\n").is_err());
}
