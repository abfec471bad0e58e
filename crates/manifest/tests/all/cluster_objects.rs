//! Objects and files that describe a cluster, and what its machines get of them: Rancher, RKE, k0s and kops.

use crate::configurations::{flags, read, refused};
use topology_manifest::ConfigKind;

const RANCHER: &str = "apiVersion: provisioning.cattle.io/v1
kind: Cluster
metadata: {name: demo, namespace: fleet-default}
spec:
  kubernetesVersion: v1.33.5+rke2r1
  rkeConfig:
    machineGlobalConfig:
      cni: calico
      kubelet-arg:
      - max-pods=200
";

#[test]
fn machines_of_rancher_get_the_arguments_of_their_cluster() {
    let own = read(RANCHER);
    assert_eq!((own.kind, flags(&own), &own.choice), (ConfigKind::Rke2, vec!["--max-pods=200"], &None));
    assert_eq!(read(&RANCHER.replace("+rke2r1", "+k3s1")).kind, ConfigKind::K3s);
    let imported = "apiVersion: provisioning.cattle.io/v1\nkind: Cluster\nmetadata: {name: demo}\nspec: {}\n";
    assert!(read(imported).sets_nothing);
}

#[test]
fn machines_of_rancher_that_a_label_selects_are_others() {
    let selected = "    machineSelectorConfig:
    - config: {protect-kernel-defaults: true}
    - config: {kubelet-arg: [cpu-manager-policy=static, kube-reserved=cpu=1]}
      machineLabelSelector: {matchLabels: {pinned: \"true\"}}
";
    let own = read(&format!("{RANCHER}{selected}"));
    assert_eq!(flags(&own), ["--max-pods=200"]);
    let choice = own.choice.unwrap_or_default();
    assert_eq!(choice.chosen, "machineGlobalConfig");
    assert_eq!(choice.differing, ["machineSelectorConfig[1] (pinned=true)"]);
    // What a later entry sets takes the place of a key, also where all machines get it.
    let all = selected.replace("      machineLabelSelector: {matchLabels: {pinned: \"true\"}}\n", "");
    let own = read(&format!("{RANCHER}{all}"));
    assert_eq!(flags(&own), ["--cpu-manager-policy=static", "--kube-reserved=cpu=1"]);
    assert_eq!(own.choice, None);
    let masters = selected.replace("pinned", "rke.cattle.io/control-plane-role");
    let without = RANCHER.replace("      kubelet-arg:\n      - max-pods=200\n", "");
    let worker =
        "    - config: {kubelet-arg: [max-pods=50]}\n      machineLabelSelector: {matchLabels: {a: b}}\n";
    assert_eq!(flags(&read(&format!("{without}{masters}{worker}"))), ["--max-pods=50"]);
}

#[test]
fn files_that_rancher_writes_from_other_objects_are_not_passed_over() {
    let files = |path: &str| {
        format!(
            "{RANCHER}    machineSelectorFiles:\n    - fileSources:\n      - secret: {{name: a, items: [{{key: b, path: {path}}}]}}\n"
        )
    };
    let error = refused(&files("/etc/rancher/rke2/config.yaml.d/99-pods.yaml"));
    assert!(error.contains("machineSelectorFiles") && error.contains("configz"), "{error}");
    assert_eq!(flags(&read(&files("/etc/app/a.yaml"))), ["--max-pods=200"]);
}

const RKE: &str = "nodes:
- {address: 10.0.0.1, user: ubuntu, role: [controlplane, etcd, worker]}
kubernetes_version: v1.26.9-rancher1-1
services:
  etcd: {snapshot: true}
  kubelet:
    cluster_domain: cluster.local
    fail_swap_on: false
    extra_args:
      max-pods: 250
      cpu-manager-policy: static
      kube-reserved: cpu=1,memory=1Gi
";

#[test]
fn flags_of_rke_are_read() {
    const OF_RKE: ConfigKind = ConfigKind::Part("RKE");
    let expected = vec!["--max-pods=250", "--cpu-manager-policy=static", "--kube-reserved=cpu=1,memory=1Gi"];
    let own = read(RKE);
    assert_eq!((own.kind, flags(&own)), (OF_RKE, expected.clone()));
    let within = format!("rancher_kubernetes_engine_config:\n  {}", RKE.replace('\n', "\n  "));
    let own = read(&within);
    assert_eq!((own.kind, flags(&own)), (OF_RKE, expected));
    let several =
        RKE.replace("extra_args:", "extra_args_array:").replace("max-pods: 250", "v: [\"2\", \"4\"]");
    assert_eq!(flags(&read(&several)).first(), Some(&"--v=2"));
    let own = read("nodes: [{address: a, role: [worker]}]\nservices: {etcd: {}, kube-api: {}}\n");
    assert_eq!((own.kind, own.sets_nothing), (OF_RKE, true));
    // Services of another program.
    assert!(
        refused("services:\n  kubelet:\n    image: kubelet:v1\n    restart: always\n")
            .contains("kind is missing")
    );
}

const K0S: &str = "apiVersion: k0s.k0sproject.io/v1beta1
kind: ClusterConfig
metadata: {name: k0s}
spec:
  api: {port: 6443}
";
const PROFILES: &str = "  workerProfiles:
  - name: pinned
    values:
      cpuManagerPolicy: static
      kubeReserved: {cpu: \"1\"}
  - name: small
    values: {maxPods: 50}
";

#[test]
fn a_worker_profile_of_k0s_has_fields_of_the_kubelet() {
    const OF_K0S: ConfigKind = ConfigKind::Part("k0s");
    let own = read(&format!("{K0S}{PROFILES}"));
    assert_eq!((own.kind, own.config.cpu_policy(), own.config.max_pods), (OF_K0S, "static", None));
    let choice = own.choice.unwrap_or_default();
    assert_eq!(choice.chosen, "worker profile \"pinned\"");
    assert_eq!(choice.differing, ["worker profile \"small\""]);
    assert!(read(K0S).sets_nothing);
    assert!(read(&format!("{K0S}  workerProfiles: []\n")).sets_nothing);
    let wrong = refused(&format!("{K0S}{PROFILES}").replace("kubeReserved: {cpu: \"1\"}", "maxPods: many"));
    assert!(wrong.contains("workerProfiles.values.maxPods") && wrong.contains("config:10:"), "{wrong}");
    let locked =
        refused(&format!("{K0S}{PROFILES}").replace("cpuManagerPolicy: static", "clusterDNS: [10.0.0.10]"));
    assert!(locked.contains("k0s refuses") && locked.contains("the profile without the field"), "{locked}");

    let k0sctl = format!(
        "apiVersion: k0sctl.k0sproject.io/v1beta1\nkind: Cluster\nspec:\n  hosts: [{{role: worker}}]\n  k0s:\n    config:\n      {}",
        format!("{K0S}{PROFILES}").replace('\n', "\n      ")
    );
    let own = read(&k0sctl);
    assert_eq!((own.kind, own.config.cpu_policy()), (OF_K0S, "static"));
    let installed =
        k0sctl.replace("role: worker", "role: worker, installFlags: ['--kubelet-extra-args=--max-pods=9']");
    assert!(refused(&installed).contains("spec.hosts[0].installFlags[0]"));
}

#[test]
fn the_former_group_of_kops_is_the_same() {
    let text = "apiVersion: kops/v1alpha2\nkind: Cluster\nmetadata: {name: a.example.com}\nspec: {kubelet: {maxPods: 50}}\n---\n\
                apiVersion: kops/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes, labels: {kops.k8s.io/cluster: a.example.com}}\n\
                spec: {role: Node, kubelet: {cpuManagerPolicy: static, evictionHard: 'memory.available<200Mi'}}\n";
    let own = read(text);
    assert_eq!(
        (own.kind, own.config.max_pods, own.config.cpu_policy()),
        (ConfigKind::Part("kops"), Some(50), "static")
    );
    let thresholds = own.config.eviction_hard.unwrap_or_default();
    assert_eq!(thresholds.get("memory.available").map(String::as_str), Some("200Mi"));
}

#[test]
fn config_maps_have_texts_of_other_forms_or_none() {
    let profile = "apiVersion: performance.openshift.io/v2\n    kind: PerformanceProfile\n    metadata: {name: p}\n    \
                   spec: {cpu: {isolated: 2-3, reserved: 0-1}}\n";
    let map =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  config: |\n    {profile}");
    let pool = "apiVersion: hypershift.openshift.io/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {config: [{name: a}]}\n";
    for text in [map.clone(), format!("{pool}---\n{map}")] {
        let own = read(&text);
        assert_eq!((own.kind, own.config.reserved_cpus()), (ConfigKind::PerformanceProfile, "0-1"), "{text}");
    }
    let of_kubeadm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubeadm-config}\ndata:\n  ClusterConfiguration: |\n    \
                      apiVersion: kubeadm.k8s.io/v1beta4\n    kind: ClusterConfiguration\n";
    let error = refused(of_kubeadm);
    assert!(error.contains("get configmap kubelet-config -o yaml") && !error.contains("no kind"), "{error}");
}

#[test]
fn a_profile_of_which_openshift_refuses_the_kubelet_config_is_refused() {
    let profile = |annotation: &str| {
        format!(
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {{name: p, annotations: {{kubeletconfig.experimental: \
             '{annotation}'}}}}\nspec: {{cpu: {{isolated: 2-3, reserved: 0-1}}}}\n"
        )
    };
    assert_eq!(read(&profile("{\"maxPods\": 100, \"featureGates\": {}}")).config.max_pods, Some(100));
    for fields in
        ["{\"featureGates\": {\"DisableCPUQuotaWithExclusiveCPUs\": false}}", "{\"failSwapOn\": false}"]
    {
        let error = refused(&profile(fields));
        assert!(error.contains("machine config operator refuses a KubeletConfig"), "{error}");
    }
}

#[test]
fn gke_has_the_number_of_pods_beside_the_fields_of_the_kubelet() {
    const OF_GKE: ConfigKind = ConfigKind::Part("GKE");
    let of_connector = |kind: &str, pods: &str| {
        format!(
            "apiVersion: container.cnrm.cloud.google.com/v1beta1\nkind: {kind}\nmetadata: {{name: p}}\n\
             spec: {{{pods}nodeConfig: {{kubeletConfig: {{cpuManagerPolicy: static}}}}}}\n"
        )
    };
    let of_gcloud = "{\"name\": \"p\", \"initialNodeCount\": 1, \"maxPodsConstraint\": {\"maxPodsPerNode\": \"32\"}, \"config\": {\"machineType\": \
                     \"n2-standard-8\", \"kubeletConfig\": {\"cpuManagerPolicy\": \"static\", \"topologyManager\": {\"policy\": \"restricted\"}}}}";
    for (text, pods) in [
        (of_connector("ContainerNodePool", "maxPodsPerNode: 32, "), Some(32)),
        (of_connector("ContainerCluster", "defaultMaxPodsPerNode: 32, "), Some(32)),
        (of_connector("ContainerNodePool", ""), None),
        (of_gcloud.to_owned(), Some(32)),
    ] {
        let own = read(&text);
        assert_eq!(
            (own.kind, own.config.cpu_policy(), own.config.max_pods),
            (OF_GKE, "static", pods),
            "{text}"
        );
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
    }
    assert_eq!(read(of_gcloud).config.topology_policy(), "restricted");
    let within = read(&of_connector("ContainerNodePool", "").replace("static", "static, maxPods: 9"));
    assert_eq!((within.config.max_pods, within.warnings.len()), (None, 1));
}
