//! Files that set something else for other nodes: one of these is read, and the others are named.

use crate::configurations::{flags, read};
use topology_manifest::{ConfigKind, KubeletConfigRead};

/// The object that is read, and those that are like it and differ.
fn choice(read: &KubeletConfigRead) -> [String; 3] {
    let choice = read.choice.clone().unwrap_or_default();
    [choice.chosen, choice.alike.join(", "), choice.differing.join(", ")]
}

const KUBELET: &str =
    "---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 10\n";
const CLUSTER: &str = "---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";

fn kubeadm(kind: &str, flags: &str, more: &str) -> String {
    format!(
        "---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: {kind}\nnodeRegistration: {{kubeletExtraArgs: {{{flags}}}}}\n{more}"
    )
}

#[test]
fn the_first_node_of_kubeadm_and_those_that_join_are_read_apart() {
    let init = kubeadm("InitConfiguration", "max-pods: '50', reserved-cpus: '0,48'", "");
    let join = kubeadm("JoinConfiguration", "cpu-manager-policy: static", "");
    for text in
        [format!("{init}{join}"), format!("{join}{init}{KUBELET}"), format!("{init}{join}{KUBELET}{CLUSTER}")]
    {
        let own = read(&text);
        assert_eq!(flags(&own), ["--cpu-manager-policy=static"], "{text}");
        assert_eq!(choice(&own), ["JoinConfiguration", "", "InitConfiguration"], "{text}");
    }
    let masters = kubeadm("JoinConfiguration", "max-pods: '70'", "controlPlane: {}\n");
    let workers = read(&format!("{masters}{init}{join}"));
    assert_eq!(flags(&workers), ["--cpu-manager-policy=static"]);
    assert_eq!(choice(&workers), ["JoinConfiguration", "", "JoinConfiguration, InitConfiguration"]);

    let same = read(&format!("{init}{}{KUBELET}", init.replace("Init", "Join")));
    assert_eq!((flags(&same).len(), same.choice), (2, None));
    let alone = read(&format!("{init}{}", kubeadm("JoinConfiguration", "", "")));
    assert_eq!(flags(&alone), ["--max-pods=50", "--reserved-cpus=0,48"]);
    assert_eq!(choice(&alone), ["InitConfiguration", "JoinConfiguration", ""]);
}

#[test]
fn documents_whose_flags_are_read_or_that_are_named_are_looked_at() {
    let init = kubeadm("InitConfiguration", "max-pods: '50'", "");
    let join = kubeadm("JoinConfiguration", "max-pods: '70'", "");
    for text in [format!("{init}{CLUSTER}{KUBELET}"), format!("{init}{CLUSTER}{KUBELET}{join}")] {
        assert_eq!(read(&text).others, ["ClusterConfiguration"], "{text}");
    }
}

#[test]
fn steps_of_cluster_api_with_other_flags_are_read_apart() {
    let step =
        |step: &str, flags: &str| format!("{step}: {{nodeRegistration: {{kubeletExtraArgs: {flags}}}}}");
    let control = |init: &str, join: &str| {
        let (init, join) = (step("initConfiguration", init), step("joinConfiguration", join));
        format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta2\nkind: KubeadmControlPlane\nmetadata: {{name: cp}}\nspec: \
             {{kubeadmConfigSpec: {{{init}, {join}}}}}\n"
        )
    };
    let own = read(&control("[{name: max-pods, value: '50'}]", "[{name: max-pods, value: '70'}]"));
    assert_eq!((own.kind, flags(&own)), (ConfigKind::Part("Cluster API"), vec!["--max-pods=70"]));
    let [join, init] =
        ["joinConfiguration", "initConfiguration"].map(|step| format!("KubeadmControlPlane \"cp\", {step}"));
    assert_eq!(choice(&own), [join.clone(), String::new(), init.clone()]);
    let same = read(&control("{v: '2', max-pods: '50'}", "{max-pods: '50', v: '2'}"));
    assert_eq!((flags(&same).len(), same.choice), (2, None));

    let workers = "---\napiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {name: w}\nspec: {template: \
                   {spec: {joinConfiguration: {nodeRegistration: {kubeletExtraArgs: {v: '2'}}}}}}\n";
    let all = read(&(control("{max-pods: '50'}", "{max-pods: '70'}") + workers));
    assert_eq!(flags(&all), ["--v=2"]);
    assert_eq!(choice(&all)[2], format!("{join}, {init}"));
}

#[test]
fn node_groups_of_other_instance_types_or_images_differ() {
    let groups = |first: &str, second: &str| {
        read(&format!(
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmanagedNodeGroups:\n- {{name: a, {first}}}\n- {{name: b, {second}}}\n"
        ))
    };
    let (a, b) = ("node group \"a\"", "node group \"b\"");
    for (first, second) in [
        ("instanceType: c5.2xlarge", "instanceType: m5.24xlarge"),
        ("instanceTypes: [c5.large, c5.xlarge]", "instanceTypes: [m5.large, m5.xlarge]"),
        ("instanceType: m5.large", "instanceType: m5.large, amiFamily: Bottlerocket"),
    ] {
        assert_eq!(choice(&groups(first, second)), [a, "", b], "{first}, {second}");
    }
    let same = "instanceType: m5.large";
    assert_eq!(choice(&groups(same, same)), [a, b, ""]);
    assert_eq!(choice(&groups("desiredCapacity: 1", "desiredCapacity: 2")), [a, b, ""]);
}

#[test]
fn flags_of_one_step_of_a_control_plane_are_named_as_such() {
    let alike = |steps: &str| {
        let text = format!(
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {{name: a}}\n\
             spec: {{kubeadmConfigSpec: {{{steps}}}}}\n"
        );
        let own = read(&text);
        assert_eq!(flags(&own), ["--max-pods=9"], "{steps}");
        own.choice.map(|choice| choice.alike)
    };
    let init = "initConfiguration: {nodeRegistration: {kubeletExtraArgs: {max-pods: '9'}}}";
    let join = init.replace("init", "join");
    let none = |step: &str| Some(vec![format!("KubeadmControlPlane \"a\", {step}")]);
    assert_eq!(alike(init), none("joinConfiguration"));
    assert_eq!(alike(&join), none("initConfiguration"));
    assert_eq!(alike(&format!("{init}, {join}")), None);
}

#[test]
fn zero_values_that_the_operator_of_openshift_does_not_carry_over_are_named() {
    let warnings = |fields: &str| -> Vec<String> {
        let text = format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec:\n  kubeletConfig: {{{fields}}}\n"
        );
        read(&text).warnings.iter().map(|warning| warning.as_error().to_string()).collect()
    };
    for (fields, named) in [
        ("maxPods: 0", &["maxPods"][..]),
        ("podPidsLimit: 0, kubeAPIQPS: 0.0", &["kubeAPIQPS", "podPidsLimit"]),
        (
            "rotateCertificates: false, containerLogMaxSize: \"\"",
            &["containerLogMaxSize", "rotateCertificates"],
        ),
        ("maxPods: 10, podsPerCore: 0, nodeStatusUpdateFrequency: 0s, cgroupsPerQOS: false", &[]),
    ] {
        let found = warnings(fields);
        assert_eq!(found.len(), named.len(), "{fields}: {found:?}");
        for (text, field) in found.iter().zip(named) {
            assert!(text.contains(&format!("{field}: a zero value")) && text.contains("stays"), "{text}");
        }
    }
}
