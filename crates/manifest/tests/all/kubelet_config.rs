//! Kubelet configurations, as the kubelet's decoder takes and refuses them.

use node_config::{Duration, KubeletConfiguration, NodeReporting, RegisteredTaint, Release, Rules};
use topology_manifest::{
    ConfigKind, KubeletArgument, KubeletConfigRead, Source, Style, read_kubelet_config,
    read_kubelet_config_of,
};

fn read(text: &str) -> KubeletConfigRead {
    read_kubelet_config(&Source { name: "config.yaml", text })
        .unwrap_or_else(|error| panic!("{}", error.render(Style::Ascii)))
}

const HEADER: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

/// What the kubelet would say.
fn kubelet_text(text: &str) -> String {
    let source = Source { name: "config.yaml", text };
    let Err(error) = read_kubelet_config(&source) else { panic!("read: {text}") };
    error.kubelet_text(&source).unwrap_or_else(|| panic!("{error}"))
}

const FIELDS: &str = r#"{
  "cpuManagerPolicy": "static",
  "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
  "cpuManagerReconcilePeriod": "5s",
  "memoryManagerPolicy": "Static",
  "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}, {"numaNode": 1, "limits": {"memory": 100}}],
  "topologyManagerPolicy": "restricted",
  "topologyManagerScope": "pod",
  "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
  "kubeReserved": {"cpu": "500m"},
  "systemReserved": {"memory": "1Gi"},
  "reservedSystemCPUs": "0,24",
  "evictionHard": {},
  "mergeDefaultEvictionSettings": true,
  "enforceNodeAllocatable": [],
  "systemReservedCgroup": "/system.slice",
  "kubeReservedCgroup": "/kube.slice",
  "systemCgroups": "/system",
  "cgroupRoot": "/",
  "cgroupsPerQOS": false,
  "maxPods": 250,
  "podsPerCore": 10,
  "memoryThrottlingFactor": 0.95,
  "featureGates": {"PodLevelResources": false},
  "registerWithTaints": [{"key": "gpu", "effect": "NoSchedule"}],
  "nodeStatusUpdateFrequency": "10s",
  "nodeStatusReportFrequency": "1m",
  "nodeLeaseDurationSeconds": 40
}"#;

#[test]
fn every_field_in_every_wrapping() {
    let map = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
    let from_configz = read(&format!(r#"{{"kubeletconfig": {FIELDS}}}"#));
    let KubeletConfiguration { reserved_memory, .. } = &from_configz.config;
    let reserved: Vec<_> =
        reserved_memory.iter().map(|entry| (entry.numa_node, entry.limits["memory"].to_string())).collect();
    assert_eq!(reserved, [(0, "1Gi".to_owned()), (1, "100".to_owned())]);
    let expected = KubeletConfiguration {
        rules: Rules::default(),
        cpu_manager_policy: Some("static".to_owned()),
        cpu_manager_policy_options: map("full-pcpus-only", "true"),
        cpu_manager_reconcile_period: Some(Duration::from_seconds(5)),
        memory_manager_policy: Some("Static".to_owned()),
        reserved_memory: reserved_memory.clone(),
        topology_manager_policy: Some("restricted".to_owned()),
        topology_manager_scope: Some("pod".to_owned()),
        topology_manager_policy_options: map("prefer-closest-numa-nodes", "true"),
        kube_reserved: map("cpu", "500m"),
        system_reserved: map("memory", "1Gi"),
        reserved_system_cpus: Some("0,24".to_owned()),
        eviction_hard: Some([].into()),
        merge_default_eviction_settings: Some(true),
        enforce_node_allocatable: Some(Vec::new()),
        system_reserved_cgroup: Some("/system.slice".to_owned()),
        kube_reserved_cgroup: Some("/kube.slice".to_owned()),
        system_cgroups: Some("/system".to_owned()),
        cgroup_root: Some("/".to_owned()),
        cgroups_per_qos: Some(false),
        max_pods: Some(250),
        pods_per_core: Some(10),
        memory_throttling_factor: Some(0.95),
        default_pod_sysctls: [].into(),
        feature_gates: [("PodLevelResources".to_owned(), false)].into(),
        reporting: NodeReporting {
            register_with_taints: vec![RegisteredTaint {
                key: "gpu".to_owned(),
                value: String::new(),
                effect: "NoSchedule".to_owned(),
            }],
            node_status_update_frequency: Some(Duration::from_seconds(10)),
            node_status_report_frequency: Some(Duration::from_seconds(60)),
            node_lease_duration_seconds: Some(40),
        },
    };
    assert_eq!(from_configz, KubeletConfigRead { config: expected, ..KubeletConfigRead::default() });
    let header = r#"{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration","#;
    assert_eq!(read(&FIELDS.replacen('{', header, 1)), from_configz);
    // Its operator sets feature gates alone, and wants the cgroups to be one.
    let fields =
        FIELDS.replace(r#"{"PodLevelResources": false}"#, "{}").replace(r#""/system""#, r#""/system.slice""#);
    let openshift = read(&format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {{name: pinned}}\nspec:\n  \
         machineConfigPoolSelector: {{matchLabels: {{pool: pinned}}}}\n  kubeletConfig: {fields}\n"
    ));
    let mut expected = KubeletConfigRead { kind: ConfigKind::OpenShift, ..from_configz };
    expected.config.feature_gates.clear();
    expected.config.system_cgroups = Some("/system.slice".to_owned());
    assert_eq!(openshift, expected);
}

#[test]
fn behind_json_stand_blanks_of_json_alone() {
    let json =
        r#"{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "maxPods": 7}"#;
    assert_eq!(read(&format!("{json}\r\n\t \n")).config.max_pods, Some(7));
    for behind in ["\u{a0}", "\u{2028}", "x"] {
        let text = format!("{json}{behind}\n");
        let refused = read_kubelet_config(&Source { name: "config", text: &text }).map(|read| read.kind);
        assert!(
            refused.is_err_and(|error| error.to_string().contains("after top-level value")),
            "{behind:?}"
        );
    }
}

#[test]
fn what_is_not_said() {
    let nothing =
        KubeletConfigRead { config: KubeletConfiguration::default(), ..KubeletConfigRead::default() };
    assert_eq!(read(HEADER), nothing);
    assert_eq!(read(&format!("{HEADER}cpuManagerPolicy: \"\"\nevictionHard: null\nmaxPods:\n")), nothing);
    assert_eq!(
        read(&format!("{HEADER}cgroupDriver: systemd\nauthentication: {{anonymous: {{enabled: no}}}}\n")),
        nothing
    );
}

#[test]
fn decoding_errors_in_the_kubelets_words() {
    let rows = [
        (
            "kubeReserved:\n  cpu: 1\n",
            "number into Go struct field KubeletConfiguration.kubeReserved of type string",
        ),
        (
            "cpuManagerPolicyOptions:\n  full-pcpus-only: true\n",
            "bool into Go struct field KubeletConfiguration.cpuManagerPolicyOptions of type string",
        ),
        ("maxPods: many\n", "string into Go struct field KubeletConfiguration.maxPods of type int32"),
        ("maxPods: 1.5\n", "number 1.5 into Go struct field KubeletConfiguration.maxPods of type int32"),
        (
            "cpuManagerPolicy: 1\n",
            "number into Go struct field KubeletConfiguration.cpuManagerPolicy of type string",
        ),
        (
            "featureGates: {PodLevelResources: \"true\"}\n",
            "string into Go struct field KubeletConfiguration.featureGates of type bool",
        ),
        (
            "evictionHard: [1]\n",
            "array into Go struct field KubeletConfiguration.evictionHard of type map[string]string",
        ),
    ];
    for (fields, expected) in rows {
        let text = kubelet_text(&format!("{HEADER}{fields}"));
        assert_eq!(text, format!("failed to decode: json: cannot unmarshal {expected}"));
    }
}

#[test]
fn headers_in_the_kubelets_words() {
    let text = "kind: KubeletConfiguration\ncpuManagerPolicy: none\n";
    assert_eq!(kubelet_text(text), format!("failed to decode: Object 'apiVersion' is missing in '{text}'"));
    let text = "apiVersion: kubelet.config.k8s.io/v1beta1\n";
    assert_eq!(kubelet_text(text), format!("failed to decode: Object 'Kind' is missing in '{text}'"));
    assert_eq!(
        kubelet_text("apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n"),
        "failed to decode: no kind \"KubeletConfiguration\" is registered for version \"kubelet.config.k8s.io/v1\" in \
         scheme \"pkg/runtime/scheme.go:111\""
    );
}

#[test]
fn an_error_as_it_is_shown() {
    let text = format!("{HEADER}kubeReserved:\n  cpu: 1\n");
    let error =
        read_kubelet_config(&Source { name: "config.yaml", text: &text }).expect_err("the text is bad");
    insta::assert_snapshot!(error.render(Style::Ascii), @"
    error: kubeReserved.cpu: failed to decode: json: cannot unmarshal number into Go struct field KubeletConfiguration.kubeReserved of type string
     --> config.yaml:4:8
      |
    2 | kind: KubeletConfiguration
    3 | kubeReserved:
    4 |   cpu: 1
      |        ^ expected text in quotes
    ");
}

/// The kubelet's strict decoder refuses such a key too, before it reads the file again without being strict.
#[test]
fn a_key_over_a_merged_one_warns() {
    let text = format!("{HEADER}evictionHard: &a {{a: '1'}}\nevictionSoft:\n  <<: *a\n  a: '2'\n");
    let warnings: Vec<_> =
        read(&text).warnings.iter().map(|warning| warning.as_error().to_string()).collect();
    assert!(warnings.iter().any(|warning| warning.contains("key \"a\" is given twice")), "{warnings:?}");
}

#[test]
fn unknown_and_repeated_fields_warn() {
    let text = format!(
        "{HEADER}CPUManagerPolicy: static\ntopologyPolicy: restricted\nreservedMemory: [{{numaNode: 0, limit: {{}}}}]\n\
         maxPods: 10\nmaxPods: 20\n"
    );
    let KubeletConfigRead { config, warnings, .. } = read(&text);
    assert_eq!((config.cpu_manager_policy, config.max_pods), (None, Some(20)));
    let shown: Vec<_> = warnings.iter().map(|warning| warning.render(Style::Ascii)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    warning: key "maxPods" is given twice
     --> config.yaml:7:1
      |
    5 | reservedMemory: [{numaNode: 0, limit: {}}]
    6 | maxPods: 10
    7 | maxPods: 20
      | ^^^^^^^ expected each key once
    warning: there is no field "CPUManagerPolicy"
     --> config.yaml:3:1
      |
    1 | apiVersion: kubelet.config.k8s.io/v1beta1
    2 | kind: KubeletConfiguration
    3 | CPUManagerPolicy: static
      | ^^^^^^^^^^^^^^^^ did you mean cpuManagerPolicy?
    warning: there is no field "topologyPolicy"
     --> config.yaml:4:1
      |
    2 | kind: KubeletConfiguration
    3 | CPUManagerPolicy: static
    4 | topologyPolicy: restricted
      | ^^^^^^^^^^^^^^ did you mean topologyManagerPolicy?
    warning: reservedMemory[0]: there is no field "limit"
     --> config.yaml:5:32
      |
    3 | CPUManagerPolicy: static
    4 | topologyPolicy: restricted
    5 | reservedMemory: [{numaNode: 0, limit: {}}]
      |                                ^^^^^ did you mean limits?
    "#);
}

#[test]
fn of_a_kubelets_own_file_the_first_document_counts() {
    let read = read(&format!("{HEADER}maxPods: 7\n---\n{HEADER}maxPods: 8\n"));
    assert_eq!(read.config.max_pods, Some(7));
    let [behind] = read.warnings.as_slice() else { panic!("{:?}", read.warnings) };
    assert_eq!(behind.as_error().line(), 4);
    assert!(behind.as_error().to_string().contains("the kubelet reads no other"), "{behind:?}");
}

#[test]
fn a_node_that_sizes_its_reservation_is_told_of() {
    let openshift = "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: sized}\nspec:\n  \
                     autoSizingReserved: true\n  kubeletConfig: {cpuManagerPolicy: static}\n";
    let read = read(openshift);
    assert_eq!(read.config.cpu_manager_policy.as_deref(), Some("static"));
    let shown: Vec<_> = read.unread.iter().map(|warning| warning.render(Style::Ascii)).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    warning: spec.autoSizingReserved: found true
     --> config.yaml:5:23
      |
    3 | metadata: {name: sized}
    4 | spec:
    5 |   autoSizingReserved: true
      |                       ^^^^ expected false: what a node reserves by its size is not known here, so that whether reservedMemory is right is not either
    "#);
    let off = openshift.replace("true", "false");
    assert!(self::read(&off).unread.is_empty());
}

#[test]
fn fields_of_the_release_are_known() {
    let fields = "memoryReservationPolicy: None\ntlsCurvePreferences: []\nfailCgroupV1: true\n";
    assert!(read(&format!("{HEADER}{fields}")).warnings.is_empty());
}

/// What is wrong with a configuration of these fields for a release.
fn wrong(release: Release, fields: &str) -> Vec<String> {
    let text = format!("{HEADER}{fields}\n");
    let read =
        read_kubelet_config_of(&Source { name: "config.yaml", text: &text }, Rules::of(release)).unwrap();
    read.config.validate().iter().map(ToString::to_string).collect()
}

#[test]
fn the_throttling_factor_by_release() {
    const RANGE: &str = "must be greater than 0 and less than or equal to 1.0";
    const GATE: &str = "invalid configuration: memoryThrottlingFactor must not be set when MemoryQoS feature gate is disabled";
    let range = |factor: &str| format!("invalid configuration: memoryThrottlingFactor {factor} {RANGE}");
    let (old, new) = (Release::V1_36, Release::V1_37);
    let with = |factor: &str| format!("memoryThrottlingFactor: {factor}");
    let off = |factor: &str| format!("featureGates: {{MemoryQoS: false}}\nmemoryThrottlingFactor: {factor}");
    for (release, fields, expected) in [
        (old, with("0.8"), vec![]),
        (old, with("0"), vec![range("0")]),
        (old, with("-1e-7"), vec![range("-1e-07")]),
        (old, off("0.8"), vec![]),
        (new, with("0.8"), vec![]),
        (new, with("null"), vec![]),
        (new, with("1.5"), vec![range("1.5")]),
        (new, off("0.9"), vec![]),
        (new, off("null"), vec![]),
        (new, off("0.8"), vec![GATE.to_owned()]),
        (new, off("12345678"), vec![GATE.to_owned(), range("1.2345678e+07")]),
    ] {
        assert_eq!(wrong(release, &fields), expected, "{release}: {fields}");
    }
    let factor = |release, fields: &str| {
        let text = format!("{HEADER}{fields}");
        let source = Source { name: "config.yaml", text: &text };
        read_kubelet_config_of(&source, Rules::of(release)).unwrap().config.throttling_factor()
    };
    assert_eq!((factor(old, ""), factor(new, "")), (Some(0.9), None));
    assert_eq!(factor(new, &with("1")), Some(1.0));
    assert_eq!(
        kubelet_text(&format!("{HEADER}memoryThrottlingFactor: \"0.9\"")),
        "failed to decode: json: cannot unmarshal string into Go struct field KubeletConfiguration.memoryThrottlingFactor of type float64"
    );
}

#[test]
fn default_sysctls_are_a_field_of_the_release_that_has_them() {
    const GATE: &str = "invalid configuration: DefaultPodSysctls feature gate is required for Kubelet configuration option defaultPodSysctls";
    let sysctls = |names: &str| format!("defaultPodSysctls: {{{names}}}");
    let on = |names: &str| format!("featureGates: {{DefaultPodSysctls: true}}\n{}", sysctls(names));
    let invalid = |rest: &str| format!("invalid configuration: {rest}");
    for (release, fields, expected) in [
        (Release::V1_36, sysctls("vm.swappiness: 10"), vec![]),
        (Release::V1_37, sysctls(""), vec![]),
        (Release::V1_37, sysctls("kernel.sem: '1'"), vec![GATE.to_owned()]),
        (Release::V1_37, on("kernel.sem: '1', net/core/somaxconn: '1'"), vec![]),
        (
            Release::V1_37,
            on("vm.swappiness: '1', 'Net.\"X': '1'"),
            vec![
                invalid(r#""Net.\"X" is not a valid sysctl name for defaultPodSysctls"#),
                invalid(r#""vm.swappiness" is not known to be namespaced for defaultPodSysctls"#),
            ],
        ),
        (
            Release::V1_37,
            format!("{}\nmaxPods: -1\nsystemCgroups: /a", on("net.ipv4.x: '1', net/ipv4/x: '1'")),
            vec![
                invalid(
                    "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
                ),
                invalid(r#"duplicate sysctl "net.ipv4.x" found in defaultPodSysctls"#),
                invalid("maxPods (--max-pods) -1 must not be a negative number"),
            ],
        ),
    ] {
        assert_eq!(wrong(release, &fields), expected, "{release}: {fields}");
    }
    let text = format!("{HEADER}{}", sysctls("vm.swappiness: 10"));
    let source = Source { name: "config.yaml", text: &text };
    let old = read(&text);
    assert_eq!((old.config.default_pod_sysctls.len(), old.warnings.len()), (0, 1));
    let error = read_kubelet_config_of(&source, Rules::of(Release::V1_37)).expect_err("a number is no text");
    assert_eq!(
        error.kubelet_text(&source).as_deref(),
        Some(
            "failed to decode: json: cannot unmarshal number into Go struct field KubeletConfiguration.defaultPodSysctls of type string"
        )
    );
}

/// As OpenShift's node tuning operator makes it of a profile.
#[test]
fn a_performance_profile_is_what_the_operator_makes_of_it() {
    let profile = |more: &str, policy: &str| {
        read(&format!(
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {{name: ran{more}}}\nspec:\n  \
             cpu: {{isolated: 4-47, reserved: 0-3}}\n  numa: {{{policy}}}\n"
        ))
    };
    let plain = profile("", "");
    assert_eq!(plain.kind, ConfigKind::PerformanceProfile);
    assert_eq!(plain.config.topology_manager_policy.as_deref(), Some("best-effort"));
    assert_eq!(plain.config.cpu_manager_policy.as_deref(), Some("static"));
    assert_eq!(plain.config.reserved_system_cpus.as_deref(), Some("0-3"));
    assert_eq!(plain.config.memory_manager_policy, None);
    assert_eq!(plain.config.kube_reserved["memory"], "500Mi");
    assert!(plain.config.cpu_manager_policy_options.is_empty());

    let restricted = profile("", "topologyPolicy: restricted").config;
    assert_eq!(restricted.memory_manager_policy.as_deref(), Some("Static"));
    assert_eq!(restricted.reserved_memory[0].limits["memory"].to_string(), "1100Mi");
    assert!(restricted.cpu_manager_policy_options.is_empty());
    let single = profile("", "topologyPolicy: single-numa-node").config;
    assert_eq!(single.cpu_manager_policy_options["full-pcpus-only"], "true");

    let snippet = r#", annotations: {kubeletconfig.experimental: '{"systemReserved": {"memory": "1Gi"}, "cpuManagerPolicy": "none",
      "cpuManagerPolicyOptions": {"full-pcpus-only": "false"}}'}"#;
    let annotated = profile(snippet, "topologyPolicy: single-numa-node").config;
    assert_eq!(annotated.cpu_manager_policy.as_deref(), Some("static"), "the operator's own");
    assert_eq!(annotated.cpu_manager_policy_options["full-pcpus-only"], "false");
    assert_eq!(annotated.reserved_memory[0].limits["memory"].to_string(), "1624Mi");
}

#[test]
fn cpus_that_a_profile_keeps_from_pods_are_reserved() {
    let profile = |cpu: &str, more: &str| {
        read(&format!(
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {{name: ran{more}}}\nspec:\n  \
             cpu: {{isolated: 8-15, reserved: 0-3, {cpu}}}\n  numa: {{topologyPolicy: single-numa-node}}\n"
        ))
    };
    let reserved = |read: &KubeletConfigRead| read.config.reserved_system_cpus.clone();
    assert_eq!(reserved(&profile("ovsDpdk: 4-5", "")).as_deref(), Some("0-5"));
    let shared = profile("shared: 6-7", "");
    assert_eq!(reserved(&shared).as_deref(), Some("0-3"), "without its hint");
    let hinted = "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\nmetadata: {name: a}\nspec:\n  \
                  cpu: {isolated: 8-15, reserved: 0-3, shared: 6-7}\n  workloadHints: {mixedCpus: true}\n";
    assert_eq!(reserved(&read(hinted)).as_deref(), Some("0-3,6-7"));
    let cpus = shared.profile.unwrap().cpus;
    assert_eq!(cpus["isolated"], ("8-15".parse().unwrap(), 5));

    let managed = profile("", r#", annotations: {performance.openshift.io/dra-resource-management: "true"}"#);
    let config = managed.config;
    assert_eq!(
        (config.cpu_policy(), config.memory_policy(), config.topology_policy(), config.reserved_cpus()),
        ("none", "None", "none", "0-3")
    );
    assert!(config.cpu_manager_policy_options.is_empty() && config.reserved_memory.is_empty());
}

#[test]
fn a_node_config_of_eks_has_the_fields_below_the_kubelet() {
    let text = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config: {maxPods: 20}\n    flags: \
                [--max-pods=3]\n";
    let eks = read(text);
    assert_eq!((eks.kind, eks.config.max_pods), (ConfigKind::Eks, Some(20)));
    let flags: Vec<_> = eks.flags.iter().map(KubeletArgument::text).collect();
    assert_eq!((flags, eks.unread), (vec!["--max-pods=3"], vec![]));
    // It need not set anything, and what it misspells is named.
    let without = text.replace("config: {maxPods: 20}", "confg: {maxPods: 20}");
    let misspelt = read(&without);
    assert_eq!(misspelt.config.max_pods, None);
    assert!(misspelt.warnings[0].render(Style::Ascii).contains("did you mean config?"));
    assert!(
        read("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: c}}\n")
            .warnings
            .is_empty()
    );
}
