//! The forms in which people have a kubelet's configuration.

use topology_manifest::{
    ConfigKind, FieldChange, KubeletArgument, KubeletConfigRead, Source, Style, patch_kubelet_config,
    read_kubelet_config,
};

fn read(text: &str) -> KubeletConfigRead {
    let read = read_kubelet_config(&Source { name: "config", text });
    read.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn flags(read: &KubeletConfigRead) -> Vec<&str> {
    read.flags.iter().map(KubeletArgument::text).collect()
}

fn refused(text: &str) -> String {
    match read_kubelet_config(&Source { name: "config", text }) {
        Ok(read) => panic!("{text}: {read:?}"),
        Err(error) => error.render(Style::Ascii),
    }
}

const HEADER: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const INIT: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n  - \
                    {name: max-pods, value: \"20\"}\n";
const CLUSTER: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";

#[test]
fn of_several_documents_the_configuration_is_read() {
    let own = read(&format!("{INIT}---\n{CLUSTER}---\n{HEADER}cpuManagerPolicy: static\n"));
    assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Kubelet, "static"));
    assert_eq!(own.others, ["InitConfiguration", "ClusterConfiguration"]);
    assert_eq!(flags(&own), ["--max-pods=20"]);
    let arguments = "kubeletExtraArgs: {max-pods: \"20\", v: \"2\"}";
    let older = format!(
        "{HEADER}---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {{{arguments}}}\n"
    );
    assert_eq!(flags(&read(&older)), ["--max-pods=20", "--v=2"]);

    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n- {}", HEADER.replace('\n', "\n  ") + "maxPods: 7\n");
    assert_eq!(read(&list).config.max_pods, Some(7));
    assert!(refused(&format!("{INIT}---\n{CLUSTER}")).contains("InitConfiguration, ClusterConfiguration"));
    assert!(refused("apiVersion: v1\nkind: List\nitems: []\n").contains("configz"));
    let twice = format!("{INIT}---\n{HEADER}---\n{HEADER}");
    assert!(refused(&twice).contains("expected one configuration: split the file"));
}

#[test]
fn node_configs_are_laid_over_each_other() {
    let one =
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 7}}}\n";
    let both = read(&format!("{one}---\n{}", one.replace("maxPods: 7", "podsPerCore: 2")));
    assert_eq!((both.config.max_pods, both.config.pods_per_core), (Some(7), Some(2)));
}

const USER_DATA: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\
                         Content-Type: text/x-shellscript\n\n#!/bin/bash\necho kind: NodeConfig\n--//\n\
                         Content-Type: application/node.eks.aws\n\n---\napiVersion: node.eks.aws/v1alpha1\n\
                         kind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 58\n--//--\n";

#[test]
fn user_data_in_mime_has_a_node_config_at_its_lines() {
    let own = read(USER_DATA);
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::Eks, Some(58)));
    let error = refused(&USER_DATA.replace("maxPods: 58", "maxPods: many"));
    assert!(error.contains("config:18:"), "{error}");
    let two = USER_DATA.replace("--//--", "--//\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {flags: [--v=2]}}\n--//--");
    assert_eq!((read(&two).config.max_pods, flags(&read(&two))), (Some(58), vec!["--v=2"]));
    let scripts = USER_DATA.replace("application/node.eks.aws", "text/cloud-config");
    assert!(refused(&scripts).contains("without a NodeConfig"));
}

#[test]
fn a_config_map_of_kubeadm_has_it_as_a_text() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubelet-config}\ndata:\n  kubelet: |\n    \
                apiVersion: kubelet.config.k8s.io/v1beta1\n    kind: KubeletConfiguration\n    maxPods: 7\n";
    assert_eq!(read(text).config.max_pods, Some(7));
    assert!(refused(&text.replace("maxPods: 7", "maxPods: x")).contains("config:8:"));
    let metadata_last =
        text.replace("metadata: {name: kubelet-config}\n", "") + "metadata:\n  name: kubelet-config\n";
    assert_eq!(read(&metadata_last).config.max_pods, Some(7));
    let quoted = format!("{{kind: ConfigMap, data: {{kubelet: {:?}}}}}", format!("{HEADER}maxPods: 7"));
    assert_eq!(read(&quoted).config.max_pods, Some(7));
}

#[test]
fn what_is_around_a_configuration_stays_when_it_is_changed() {
    let change = FieldChange { field: "maxPods".to_owned(), value: Some(9.into()) };
    for text in [USER_DATA.to_owned(), format!("{INIT}---\n{HEADER}maxPods: 58 # of ours\n---\n{CLUSTER}")] {
        let patched =
            patch_kubelet_config(&Source { name: "config", text: &text }, std::slice::from_ref(&change));
        assert_eq!(patched, Ok(text.replace("maxPods: 58", "maxPods: 9")));
    }
}

#[test]
fn talos_and_k3s_have_flags_and_fields() {
    let talos = "version: v1alpha1\nmachine:\n  type: controlplane\n  kubelet:\n    extraArgs: {v: 2, feature-gates: [A=true]}\n    \
                 extraConfig: {maxPods: 7}\ncluster: {}\n";
    let own = read(talos);
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::TalosControlPlane, Some(7)));
    assert_eq!(flags(&own), ["--v=2", "--feature-gates=A=true"]);
    assert_eq!(read("machine: {type: worker}\n").kind, ConfigKind::Talos);

    for kubelet in ["[max-pods=20]", "max-pods=20"] {
        let own = read(&format!("token: x\nkubelet-arg: {kubelet}\n"));
        assert_eq!((own.kind, flags(&own)), (ConfigKind::K3s, vec!["--max-pods=20"]));
    }
}

#[test]
fn a_machine_config_has_the_kubelets_file_in_it() {
    let file =
        "kind%3A%20KubeletConfiguration%0AapiVersion%3A%20kubelet.config.k8s.io/v1beta1%0AmaxPods%3A%207";
    let text = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {{config: {{storage: {{files: [{{path: \
         /etc/kubernetes/kubelet.conf, contents: {{source: \"data:,{file}\"}}}}]}}}}}}\n"
    );
    let own = read(&text);
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::OpenShift, Some(7)));
    let packed = text.replace("contents: {", "contents: {compression: gzip, ");
    assert!(refused(&packed).contains("proxy/configz"));
}

#[test]
fn of_a_cluster_the_kubelets_part_is_read() {
    let groups = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n- name: a\n- name: b\n  \
                  kubeletExtraConfig: {cpuManagerPolicy: static}\n";
    let own = read(groups);
    assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Part("eksctl"), "static"));
    let two = format!("{groups}managedNodeGroups: [{{name: c, kubeletExtraConfig: {{maxPods: 3}}}}]\n");
    assert!(refused(&two).contains("one node group"));

    let flags_of = "nodeRegistration: {kubeletExtraArgs: {max-pods: '7'}}";
    for (kind, group, spec) in [
        ("KubeadmConfig", "bootstrap", format!("joinConfiguration: {{{flags_of}}}")),
        (
            "KubeadmConfigTemplate",
            "bootstrap",
            format!("template: {{spec: {{joinConfiguration: {{{flags_of}}}}}}}"),
        ),
        (
            "KubeadmControlPlane",
            "controlplane",
            format!("kubeadmConfigSpec: {{initConfiguration: {{{flags_of}}}}}"),
        ),
    ] {
        let text = format!("apiVersion: {group}.cluster.x-k8s.io/v1beta1\nkind: {kind}\nspec: {{{spec}}}\n");
        assert_eq!(flags(&read(&text)), ["--max-pods=7"], "{kind}");
    }
}

#[test]
fn of_other_forms_the_part_is_read_or_they_are_refused_with_the_next_step() {
    let own = read("apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec: {kubelet: {maxPods: 7}}\n");
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::Part("Karpenter"), Some(7)));
    let own = read("kubelet: {cpuManagerPolicy: static}\n");
    assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Part("MicroShift"), "static"));
    for text in ["cpuManagerPolicy: static\n", "kubeletConfig: {cpuManagerPolicy: static}\n"] {
        let own = read(text);
        assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Part("its installer"), "static"));
    }
    assert_eq!(read("cluster-init: true\ntls-san: [a]\n").kind, ConfigKind::K3s);
    assert_eq!(read("kubelet-arg: [max-pods=3]\ncni: cilium\n").kind, ConfigKind::Rke2);
    for (kind, version, expected) in [
        ("MachineConfig", "machineconfiguration.openshift.io/v1", "proxy/configz"),
        ("ClusterConfig", "eksctl.io/v1alpha5", "kubeletExtraConfig"),
        ("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta1", "proxy/configz"),
        (
            "ClusterConfiguration",
            "kubeadm.k8s.io/v1beta4",
            "kubectl -n kube-system get configmap kubelet-config",
        ),
        ("NodePool", "karpenter.sh/v1", "EC2NodeClass"),
    ] {
        let error = refused(&format!("apiVersion: {version}\nkind: {kind}\n"));
        assert!(error.contains(expected), "{error}");
    }
}
