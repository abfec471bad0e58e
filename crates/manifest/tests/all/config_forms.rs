//! The forms in which people have a kubelet's configuration.

use crate::configurations::{flags, read, refused};
use topology_manifest::{
    ConfigKind, FieldChange, ImageFamily, Source, Style, patch_kubelet_config, read_kubelet_config,
};

const HEADER: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const INIT: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n  - \
                    {name: max-pods, value: \"20\"}\n";
const CLUSTER: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";

#[test]
fn of_several_documents_the_configuration_is_read() {
    let own = read(&format!("{INIT}---\n{CLUSTER}---\n{HEADER}cpuManagerPolicy: static\n"));
    assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Kubelet, "static"));
    assert_eq!(own.others, ["ClusterConfiguration"]);
    assert_eq!(flags(&own), ["--max-pods=20"]);
    let arguments = "kubeletExtraArgs: {max-pods: \"20\", v: \"2\"}";
    let older = format!(
        "{HEADER}---\napiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {{{arguments}}}\n"
    );
    assert_eq!(flags(&read(&older)), ["--max-pods=20", "--v=2"]);

    let list =
        format!("apiVersion: v1\nkind: List\nitems:\n- {}", HEADER.replace('\n', "\n  ") + "maxPods: 7\n");
    assert_eq!(read(&list).config.max_pods, Some(7));
    assert!(refused("apiVersion: v1\nkind: List\nitems: []\n").contains("configz"));
    let twice = format!("{INIT}---\n{HEADER}---\n{HEADER}");
    assert!(refused(&twice).contains("expected one configuration: split the file"));
}

#[test]
fn files_of_kubeadm_without_a_configuration_set_flags_or_nothing() {
    const OVER: ConfigKind = ConfigKind::Part("the cluster's ConfigMap kubelet-config");
    for text in [INIT.to_owned(), format!("{CLUSTER}---\n{INIT}"), INIT.replace("Init", "Join")] {
        let own = read(&text);
        assert_eq!((own.kind, flags(&own), own.sets_nothing), (OVER, vec!["--max-pods=20"], false), "{text}");
    }
    let own = read(CLUSTER);
    assert_eq!((own.kind, flags(&own), own.sets_nothing), (OVER, vec![], true));
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
fn the_kubelets_document_of_talos_is_read_beside_the_machine_configuration() {
    let kubelet = "apiVersion: v1alpha1\nkind: KubeletConfig\nimage: i\nconfig: {maxPods: 7}\nextraArgs: {feature-gates: A=true}\n";
    let other = "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\n";
    let machine = "version: v1alpha1\nmachine: {type: controlplane}\ncluster: {}\n";
    for (text, kind) in [
        (kubelet.to_owned(), ConfigKind::Talos),
        (format!("{other}---\n{kubelet}"), ConfigKind::Talos),
        (format!("{machine}---\n{other}---\n{kubelet}"), ConfigKind::TalosControlPlane),
        (format!("{kubelet}---\n{machine}"), ConfigKind::TalosControlPlane),
    ] {
        let own = read(&text);
        assert_eq!((own.kind, own.config.max_pods), (kind, Some(7)), "{text}");
        assert_eq!(flags(&own), ["--feature-gates=A=true"], "{text}");
        let change = FieldChange { field: "maxPods".to_owned(), value: Some(9.into()) };
        let patched = patch_kubelet_config(&Source { name: "config", text: &text }, &[change]);
        assert_eq!(patched, Ok(text.replace("maxPods: 7", "maxPods: 9")));
    }
    let both = format!("machine: {{type: worker, kubelet: {{extraConfig: {{}}}}}}\n---\n{kubelet}");
    let source = Source { name: "config", text: &both };
    let refused = read_kubelet_config(&source).map(|read| read.kind).map_err(|error| error.to_string());
    assert!(refused.clone().is_err_and(|error| error.contains("beside machine.kubelet")), "{refused:?}");
}

#[test]
fn talos_and_k3s_have_flags_and_fields() {
    let talos = "version: v1alpha1\nmachine:\n  type: controlplane\n  kubelet:\n    extraArgs: {v: 2, feature-gates: [A=true]}\n    \
                 extraConfig: {maxPods: 7}\ncluster: {}\n";
    let own = read(talos);
    assert_eq!((own.kind, own.config.max_pods), (ConfigKind::TalosControlPlane, Some(7)));
    assert_eq!(flags(&own), ["--v=2", "--feature-gates=A=true"]);
    assert_eq!(read("machine: {type: worker}\n").kind, ConfigKind::Talos);
    let gates = |text: &str| read(&format!("machine: {{type: worker, {text}}}\n")).config.feature_gates;
    let quotas = "LocalStorageCapacityIsolationFSQuotaMonitoring";
    assert_eq!(gates("features: {diskQuotaSupport: true}"), [(quotas.to_owned(), true)].into());
    let off = format!("kubelet: {{extraConfig: {{featureGates: {{{quotas}: false}}}}}}");
    assert_eq!(
        gates(&format!("features: {{diskQuotaSupport: true}}, {off}")),
        [(quotas.to_owned(), false)].into()
    );
    assert!(gates("features: {diskQuotaSupport: false}").is_empty());

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
    let drop_in = text.replace("/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d/50-own.conf");
    assert_eq!(read(&drop_in).config.max_pods, Some(7));
    let both = format!("{text}---\n{drop_in}");
    assert!(refused(&both).contains("one of several files of the kubelet"));

    let other =
        text.replace("/etc/kubernetes/kubelet.conf", "/etc/modules-load.d/sctp.conf").replace(file, "sctp");
    for text in [other.clone(), format!("{other}---\n{other}")] {
        let own = read(&text);
        assert_eq!((own.kind, own.sets_nothing, own.warnings.len()), (ConfigKind::OpenShift, true, 0));
    }
    let pools = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\nspec: {kubeletConfig: \
                 {maxPods: 9}}\n";
    let own = read(&format!("{other}---\n{pools}"));
    assert_eq!((own.config.max_pods, own.sets_nothing), (Some(9), false));
    assert_eq!(
        own.choice.map(|choice| (choice.chosen, choice.alike.len())),
        Some(("KubeletConfig \"a\"".to_owned(), 1))
    );

    let unit = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {config: {systemd: {units: [{name: \
                kubelet.service, dropins: [{name: a.conf, contents: \"[Service]\"}]}]}}}\n";
    assert!(refused(unit).contains("systemd.units[0]"));
}

#[test]
fn butane_has_the_kubelets_file_as_it_is_written() {
    let text = format!(
        "variant: openshift\nversion: 4.14.0\nstorage:\n  files:\n  - path: /etc/kubernetes/kubelet.conf\n    contents:\n      inline: |\n        {}",
        format!("{HEADER}maxPods: 7\n").trim_end().replace('\n', "\n        ")
    );
    assert_eq!(read(&text).config.max_pods, Some(7));
    let one = "path: /etc/kubernetes/kubelet.conf\ncontents:\n  inline: |\n    clusterDNS: [{{.DNS}}]\n    maxPods: {{.Pods}}\n";
    assert!(refused(one).contains("not rendered yet"));
}

#[test]
fn of_a_cluster_the_kubelets_part_is_read() {
    let groups = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n- name: a\n- name: b\n  \
                  kubeletExtraConfig: {cpuManagerPolicy: static}\n";
    let own = read(groups);
    assert_eq!((own.kind, own.config.cpu_policy()), (ConfigKind::Part("eksctl"), "static"));
    let two = format!("{groups}managedNodeGroups: [{{name: c, kubeletExtraConfig: {{maxPods: 3}}}}]\n");
    let own = read(&two);
    assert_eq!((own.config.cpu_policy(), own.config.max_pods), ("static", None));
    let choice = own.choice.unwrap_or_default();
    let names = (choice.chosen.as_str(), choice.alike.join(" "), choice.differing.join(" "));
    assert_eq!(names, ("node group \"b\"", "node group \"a\"".to_owned(), "node group \"c\"".to_owned()));

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
fn a_node_group_has_an_image_an_instance_type_and_a_number_of_pods() {
    let text = "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmanagedNodeGroups:\n- name: a\n  instanceType: m5.xlarge\n  \
                maxPodsPerNode: 20\n  overrideBootstrapCommand: |\n    kind: NodeConfig\n";
    let own = read(text);
    assert_eq!(own.config.max_pods, Some(20));
    let class = own.node_class.unwrap_or_else(|| panic!("no image"));
    assert_eq!((class.family, class.instance.as_deref()), (ImageFamily::AmazonLinux2023, Some("m5.xlarge")));
    assert_eq!(
        (class.place, class.user_data.as_deref()),
        ("overrideBootstrapCommand", Some("kind: NodeConfig\n"))
    );
    let bottlerocket = text
        .replace(
            "overrideBootstrapCommand: |\n    kind: NodeConfig",
            "bottlerocket: {settings: {kubernetes: {max-pods: 9}}}",
        )
        .replace(
            "instanceType: m5.xlarge",
            "amiFamily: Bottlerocket\n  instanceTypes: [m5.large, m5.xlarge]",
        );
    let class = read(&bottlerocket).node_class.unwrap_or_else(|| panic!("no image"));
    assert_eq!((class.family, class.instance), (ImageFamily::Bottlerocket, None));
    assert_eq!(class.user_data.as_deref(), Some(r#"{"settings":{"kubernetes":{"max-pods":9}}}"#));
}

#[test]
fn workers_of_gardener_have_fields_in_the_place_of_the_clusters() {
    let shoot = "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec:\n  kubernetes: {kubelet: {cpuManagerPolicy: none, maxPods: \
                 110, podPidsLimit: 9}}\n  provider:\n    workers:\n    - name: w1\n      kubernetes: {kubelet: {cpuManagerPolicy: static, \
                 evictionHard: {memoryAvailable: 5Gi, nodeFSInodesFree: 5%}, kubeReserved: {ephemeralStorage: 1Gi}}}\n    - name: w2\n";
    let own = read(shoot);
    assert_eq!((own.config.cpu_policy(), own.config.max_pods), ("static", None));
    let evictions = own.config.eviction_hard.clone().unwrap_or_default();
    let names: Vec<&str> = evictions.keys().map(String::as_str).collect();
    assert_eq!(names, ["memory.available", "nodefs.inodesFree"]);
    assert!(own.config.kube_reserved.contains_key("ephemeral-storage"));
    let choice = own.choice.unwrap_or_default();
    assert_eq!(
        (choice.chosen.as_str(), choice.differing),
        ("worker \"w1\"", vec!["worker \"w2\"".to_owned()])
    );
    let alone = read(&shoot.replace("    - name: w2\n", ""));
    assert_eq!((alone.config.cpu_policy(), alone.choice), ("static", None));
}

#[test]
fn policies_within_mappings_of_gke_are_the_kubelets() {
    let fields = "{cpuManagerPolicy: static, memoryManager: {policy: Static}, topologyManager: {policy: single-numa-node, scope: pod}}";
    let pool = "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nspec: {nodeConfig: {kubeletConfig: ";
    for text in [format!("{pool}{fields}}}}}\n"), format!("kubeletConfig: {fields}\n")] {
        let own = read(&text);
        let config = &own.config;
        let policies = (config.memory_policy(), config.topology_policy(), config.topology_scope());
        assert_eq!(policies, ("Static", "single-numa-node", "pod"), "{text}");
        assert_eq!(own.warnings, []);
    }
}

#[test]
fn an_instance_group_of_kops_lies_over_its_cluster() {
    let cluster = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubelet: {maxPods: 20, anonymousAuth: false, evictionHard: \
                   \"memory.available<100Mi,nodefs.available<10%\", featureGates: {MemoryQoS: \"true\"}}\n  masterKubelet: {maxPods: 9}\n";
    let group = |name, role, more| {
        format!(
            "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {{name: {name}}}\nspec: {{role: {role}{more}}}\n"
        )
    };
    let nodes = group("nodes", "Node", ", kubelet: {cpuManagerPolicy: static}");
    let own = read(&format!(
        "{cluster}{}{nodes}{}",
        group("master", "Master", ""),
        group("bastion", "Bastion", "")
    ));
    assert_eq!(
        (own.kind, own.config.cpu_policy(), own.config.max_pods),
        (ConfigKind::Part("kops"), "static", Some(20))
    );
    assert_eq!(own.config.eviction_hard.map(|evictions| evictions.len()), Some(2));
    assert_eq!(own.warnings, []);
    let choice = own.choice.unwrap_or_default();
    assert_eq!(
        (choice.chosen.as_str(), choice.differing),
        ("InstanceGroup \"nodes\"", vec!["InstanceGroup \"master\"".to_owned()])
    );
    let master = read(&format!("{cluster}{}", group("master", "Master", "")));
    assert_eq!((master.config.max_pods, master.choice), (Some(9), None));
    assert_eq!(read(cluster).config.max_pods, Some(20));
}

#[test]
fn fields_that_a_form_does_not_carry_are_without_effect() {
    let kops = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec:\n  kubelet:\n    cpuManagerPolicy: static\n    \
                reservedSystemCPUs: 0-3\n    memoryManagerPolicy: Static\n";
    let own = read(kops);
    let config = &own.config;
    assert_eq!((config.cpu_policy(), config.memory_policy()), ("static", "None"));
    assert!(own.config.reserved_system_cpus.is_none(), "{:?}", own.config.reserved_system_cpus);
    let shown: Vec<_> = own.warnings.iter().map(|warning| warning.render(Style::Ascii)).collect();
    assert!(shown.iter().any(|text| text.contains("kops has no field reservedSystemCPUs")), "{shown:?}");
    let class = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec: {kubelet: {maxPods: 9, cpuManagerPolicy: static}}\n";
    let own = read(class);
    assert_eq!((own.config.cpu_policy(), own.config.max_pods, own.warnings.len()), ("none", Some(9), 1));
    for (object, missing) in [
        (
            "apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nspec: {maxPods: 9, kubelet: {cpuManagerPolicy: static, MISSING}}\n",
            "AKS has no field systemReserved",
        ),
        (
            "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: ContainerNodePool\nspec: {nodeConfig: {kubeletConfig: \
             {cpuManagerPolicy: static, MISSING}}}\n",
            "GKE has no field systemReserved",
        ),
        (
            "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: {kubernetes: {kubelet: {cpuManagerPolicy: static, \
             MISSING, reservedSystemCPUs: \"0\"}}}\n",
            "Gardener has no field reservedSystemCPUs",
        ),
        (
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups: [{name: a, kubeletExtraConfig: {cpuManagerPolicy: \
             static, MISSING}}]\n",
            "",
        ),
        (
            "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmanagedNodeGroups: [{name: a, kubeletExtraConfig: {MISSING}}]\n",
            "a managed node group of eksctl has no field systemReserved",
        ),
    ] {
        let own = read(&object.replace("MISSING", "systemReserved: {cpu: \"1\"}"));
        let shown: Vec<_> = own.warnings.iter().map(|warning| warning.as_error().to_string()).collect();
        assert_eq!(shown.len(), usize::from(!missing.is_empty()), "{shown:?}");
        assert!(shown.concat().contains(missing), "{shown:?}");
        assert_eq!(own.config.system_reserved.is_empty(), missing.contains("systemReserved"), "{object}");
    }
}

#[test]
fn objects_of_cluster_api_for_other_nodes_are_named() {
    let object = |kind: &str, group: &str, spec: &str| {
        format!(
            "---\napiVersion: {group}.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n"
        )
    };
    let flags_of = |flags: &str| format!("nodeRegistration: {{kubeletExtraArgs: {{{flags}}}}}");
    let control = |flags: &str| {
        let spec = format!("{{kubeadmConfigSpec: {{initConfiguration: {{{}}}}}}}", flags_of(flags));
        object("KubeadmControlPlane", "controlplane", &spec)
    };
    let worker = |flags: &str| {
        let spec = format!("{{template: {{spec: {{joinConfiguration: {{{}}}}}}}}}", flags_of(flags));
        object("KubeadmConfigTemplate", "bootstrap", &spec)
    };
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: x}\n";
    let same = read(&format!("{cluster}{}{}", control("v: '2'"), worker("v: '2'")));
    let choice = same.choice.clone().unwrap_or_default();
    // Nodes that join the control plane get nothing.
    assert_eq!((flags(&same), choice.alike.len(), choice.differing.len()), (vec!["--v=2"], 2, 0));
    let other = read(&format!("{cluster}{}{}", control("v: '2'"), worker("max-pods: '9'")));
    let choice = other.choice.clone().unwrap_or_default();
    assert_eq!((flags(&other), choice.alike.len(), choice.differing.len()), (vec!["--max-pods=9"], 1, 1));
    let masters = read(&format!(
        "{cluster}{}{}",
        control("v: '2'"),
        object("KubeadmConfigTemplate", "bootstrap", "{}")
    ));
    assert_eq!((flags(&masters), masters.sets_nothing), (vec!["--v=2"], false));

    let rke2 =
        object("RKE2ControlPlane", "controlplane", "{agentConfig: {kubelet: {extraArgs: [max-pods=9]}}}");
    let own = read(&format!("{cluster}{rke2}"));
    assert_eq!((own.kind, flags(&own)), (ConfigKind::Rke2, vec!["--max-pods=9"]));
    let nothing = read(&object("RKE2ControlPlane", "controlplane", "{}").replace("---\n", ""));
    assert_eq!((nothing.kind, nothing.sets_nothing), (ConfigKind::Rke2, true));
}

#[test]
fn machine_pools_of_aks_have_a_number_of_pods_beside_the_kubelets_fields() {
    for (kind, group, open, close) in [
        ("AzureManagedMachinePool", "infrastructure.cluster.x-k8s.io/v1beta1", "", ""),
        (
            "AzureManagedMachinePoolTemplate",
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "template: {spec: {",
            "}}",
        ),
        ("ManagedClustersAgentPool", "containerservice.azure.com/v1api20240901", "", ""),
    ] {
        for fields in ["", ", kubeletConfig: {cpuManagerPolicy: static}"] {
            let text =
                format!("apiVersion: {group}\nkind: {kind}\nspec: {{{open}maxPods: 30{fields}{close}}}\n");
            let own = read(&text);
            assert_eq!((own.kind, own.config.max_pods), (ConfigKind::Part("AKS"), Some(30)), "{text}");
            assert_eq!(own.config.cpu_policy() == "static", !fields.is_empty());
        }
    }
}

#[test]
fn an_object_without_its_version_is_refused_with_one() {
    let error = refused("kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 3}}}\n");
    assert!(error.contains("node.eks.aws/v1alpha1"), "{error}");
}

#[test]
fn a_switch_of_talos_is_a_text_and_one_of_kubeadm_is_not() {
    let own = read("machine: {kubelet: {extraArgs: {rotate-server-certificates: true}}}\n");
    assert_eq!(flags(&own), ["--rotate-server-certificates=true"]);
    let init = INIT.replace("- {name: max-pods, value: \"20\"}", "{x: true}").replace("Args:\n  ", "Args: ");
    assert!(refused(&init).contains("value of a flag"));
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
        ("MachineDeployment", "cluster.x-k8s.io/v1beta1", "proxy/configz"),
        (
            "KubeProxyConfiguration",
            "kubeproxy.config.k8s.io/v1alpha1",
            "kubectl -n kube-system get configmap kubelet-config",
        ),
        ("NodePool", "karpenter.sh/v1", "EC2NodeClass"),
        (
            "MachineConfigPool",
            "machineconfiguration.openshift.io/v1",
            "the KubeletConfig or the PerformanceProfile",
        ),
    ] {
        let error = refused(&format!("apiVersion: {version}\nkind: {kind}\n"));
        assert!(error.contains(expected), "{error}");
    }
    let patch = refused("kind: PerformanceProfile\nspec: {cpu: {reserved: 0-1}}\n");
    assert!(
        patch.contains("a PerformanceProfile without apiVersion") && patch.contains("kubectl kustomize"),
        "{patch}"
    );
}

#[test]
fn what_the_machine_config_operator_refuses_is_no_configuration() {
    let object = |spec: &str, role: &str| {
        format!(
            "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {{name: a}}\nspec:\n  \
             machineConfigPoolSelector: {{matchLabels: {{pools.operator.machineconfiguration.openshift.io/{role}: ''}}}}\n  {spec}\n"
        )
    };
    for (spec, role, field) in [
        ("kubeletConfig: {maxPods: 7, featureGates: {A: false}}", "worker", "featureGates"),
        ("kubeletConfig: {failSwapOn: false}", "worker", "failSwapOn"),
        ("kubeletConfig: {clusterDNS: [10.0.0.1]}", "worker", "clusterDNS"),
        ("kubeletConfig: {cgroupDriver: systemd}", "worker", "cgroupDriver"),
        ("kubeletConfig: {memorySwap: {swapBehavior: LimitedSwap}}", "worker", "swapBehavior"),
        ("kubeletConfig: {staticPodPath: /etc/a}", "worker", "staticPodPath"),
        ("kubeletConfig: {staticPodPath: ''}", "master", "staticPodPath"),
        (
            "kubeletConfig: {systemReservedCgroup: /a.slice, systemCgroups: /b.slice}",
            "worker",
            "another systemReservedCgroup",
        ),
        (
            "autoSizingReserved: true\n  kubeletConfig: {systemReserved: {cpu: 1}}",
            "worker",
            "systemReserved beside autoSizingReserved",
        ),
    ] {
        let error = refused(&object(spec, role));
        assert!(error.contains(field) && error.contains("it applies nothing of it"), "{error}");
    }
    for spec in [
        "kubeletConfig: {maxPods: 7, featureGates: {}, clusterDNS: [], clusterDomain: '', memorySwap: {}, staticPodPath: ''}",
        "autoSizingReserved: true\n  kubeletConfig: {maxPods: 7, systemReserved: {}}",
    ] {
        assert_eq!(read(&object(spec, "worker")).config.max_pods, Some(7), "{spec}");
    }
}

#[test]
fn clusters_of_kops_are_not_laid_over_each_other() {
    let cluster = |name: &str, fields: &str| {
        format!(
            "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {{name: {name}}}\nspec: {{kubelet: {{{fields}}}}}\n---\n\
             apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {{name: of-{name}, labels: {{kops.k8s.io/cluster: \
             {name}}}}}\nspec: {{role: Node}}\n---\n"
        )
    };
    let (first, second) = (
        cluster("a", "maxPods: 50, cpuManagerPolicy: static"),
        cluster("b", "maxPods: 90, topologyManagerPolicy: restricted"),
    );
    let both = read(&(first + &second));
    let config = both.config;
    assert_eq!(
        (config.max_pods, config.cpu_policy(), config.topology_manager_policy.as_deref()),
        (Some(50), "static", None)
    );
    let choice = both.choice.unwrap_or_default();
    assert_eq!(
        (choice.chosen.as_str(), choice.differing),
        ("InstanceGroup \"of-a\"", vec!["InstanceGroup \"of-b\"".to_owned()])
    );
}
