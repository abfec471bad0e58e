//! Command lines of a kubelet. The answers of the first two tables are those of the kubelet's own code, v1.36.3: its flags
//! (`cmd/kubelet/app/options`) and its order of files and flags, asked with `--config` in front of each command line.

mod recorded;

use std::collections::BTreeMap;

use node_config::{
    Duration, FlagError, KubeletConfiguration, KubeletFlags, NodeReporting, RegisteredTaint, Release,
    ReservedMemory, Rules,
};
use recorded::{ALONE, OVER_FIELDS, Row};

/// Fields as the kubelet has them after its defaults.
fn fields(config: &KubeletConfiguration) -> BTreeMap<&'static str, String> {
    let texts = |map: &BTreeMap<String, String>| {
        map.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
    };
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    let gates: BTreeMap<_, _> =
        config.feature_gates.iter().map(|(gate, on)| (gate.clone(), on.to_string())).collect();
    let memory = config.reserved_memory.iter().map(|reserved| {
        let limits = reserved.limits.iter().map(|(name, amount)| format!("{name}={amount}"));
        format!("{}:[{}]", reserved.numa_node, limits.collect::<Vec<_>>().join(" "))
    });
    let taints = config.reporting.register_with_taints.iter();
    let taints = taints.map(|taint| format!("{}|{}|{}", taint.key, taint.value, taint.effect));
    BTreeMap::from([
        ("cgroupRoot", text(&config.cgroup_root)),
        ("cgroupsPerQOS", config.has_cgroups_per_qos().to_string()),
        ("cpuManagerPolicy", config.cpu_policy().to_owned()),
        ("cpuManagerPolicyOptions", texts(&config.cpu_manager_policy_options)),
        ("cpuManagerReconcilePeriod", config.reconcile_period().to_string()),
        ("enforceNodeAllocatable", config.enforced().join(",")),
        ("evictionHard", texts(&config.eviction())),
        ("featureGates", texts(&gates)),
        ("kubeReserved", texts(&config.kube_reserved)),
        ("kubeReservedCgroup", text(&config.kube_reserved_cgroup)),
        ("maxPods", config.pod_limit().to_string()),
        ("memoryManagerPolicy", config.memory_policy().to_owned()),
        ("nodeStatusReportFrequency", format!("{:?}", config.reporting.status_report_period())),
        ("nodeStatusUpdateFrequency", format!("{:?}", config.reporting.status_update_period())),
        ("podsPerCore", config.pods_per_core.unwrap_or(0).to_string()),
        ("registerWithTaints", taints.collect::<Vec<_>>().join(",")),
        ("reservedMemory", memory.collect::<Vec<_>>().join(",")),
        ("reservedSystemCPUs", config.reserved_cpus().to_owned()),
        ("systemCgroups", text(&config.system_cgroups)),
        ("systemReserved", texts(&config.system_reserved)),
        ("systemReservedCgroup", text(&config.system_reserved_cgroup)),
        ("topologyManagerPolicy", config.topology_policy().to_owned()),
        ("topologyManagerPolicyOptions", texts(&config.topology_manager_policy_options)),
        ("topologyManagerScope", config.topology_scope().to_owned()),
    ])
}

/// The fields that the flags change, or why the kubelet does not start.
fn changed(arguments: &[&str], file: &KubeletConfiguration) -> Result<String, FlagError> {
    let before = fields(file);
    let after = fields(&KubeletFlags::parse(arguments.iter().copied())?.over(file.clone())?);
    let changed = after.iter().filter(|(name, value)| before[*name] != **value);
    let shown = changed.map(|(name, value)| format!("{name}: {value}").trim_end().to_owned());
    Ok(shown.collect::<Vec<_>>().join("; "))
}

fn check(file: &KubeletConfiguration, rows: &[Row]) {
    for (arguments, expected) in rows {
        let with_file: Vec<_> = std::iter::once("--config=c").chain(arguments.iter().copied()).collect();
        let changed = changed(&with_file, file).map_err(|error| error.to_string());
        assert_eq!(changed.as_deref().map_err(String::as_str), *expected, "{arguments:?}");
    }
}

#[test]
fn flags_are_read_as_the_kubelet_does() {
    check(&KubeletConfiguration::default(), ALONE);
}

#[test]
fn flags_win_over_the_file() {
    let texts = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
    };
    let taint = RegisteredTaint { key: "k".into(), value: "v".into(), effect: "NoSchedule".into() };
    let memory = ReservedMemory {
        numa_node: 0,
        limits: BTreeMap::from([("memory".to_owned(), "3Gi".parse().unwrap())]),
    };
    let file = KubeletConfiguration {
        cpu_manager_policy_options: texts(&[("full-pcpus-only", "true")]),
        topology_manager_policy_options: texts(&[("x", "1")]),
        kube_reserved: texts(&[("cpu", "1"), ("memory", "1Gi")]),
        system_reserved: texts(&[("cpu", "2")]),
        eviction_hard: Some(texts(&[("memory.available", "200Mi")])),
        merge_default_eviction_settings: Some(true),
        enforce_node_allocatable: Some(vec!["none".into()]),
        reserved_memory: vec![memory],
        feature_gates: BTreeMap::from([("ClusterTrustBundle".into(), true), ("MemoryQoS".into(), true)]),
        max_pods: Some(20),
        reporting: NodeReporting {
            node_status_update_frequency: Some(Duration::from_seconds(30)),
            register_with_taints: vec![taint],
            ..NodeReporting::default()
        },
        cgroup_root: Some("/kubelet".into()),
        reserved_system_cpus: Some("4".into()),
        ..KubeletConfiguration::default()
    };
    check(&file, OVER_FIELDS);
}

#[test]
fn without_a_file_there_are_no_hard_eviction_thresholds() {
    let none = KubeletConfiguration::without_file(Rules::default());
    assert!(none.eviction().is_empty());
    // Without `--config` the command line is read once, so that the switch has no value.
    assert_eq!(changed(&["--log-cadvisor-usage", "--max-pods=3"], &none).as_deref(), Ok("maxPods: 3"));
}

#[test]
fn an_empty_value_of_a_flag_is_no_default() {
    for (argument, expected) in [
        ("--cpu-manager-policy=", "unknown policy: \"\""),
        ("--memory-manager-policy=", "unknown policy: \"\""),
        (
            "--topology-manager-policy=",
            "invalid configuration: topologyManagerPolicy (--topology-manager-policy) \"\" must be one of: [\"none\" \"best-effort\" \"restricted\" \"single-numa-node\"]",
        ),
        (
            "--topology-manager-scope=",
            "invalid configuration: topologyManagerScope (--topology-manager-scope) \"\" must be one of: \"container\", or \"pod\"",
        ),
        ("--root-dir=", "invalid root directory \"\""),
        ("--max-pods=0", "--max-pods=0: a kubelet refuses every pod with it"),
    ] {
        let error = changed(&[argument], &KubeletConfiguration::default()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(Some(argument.trim_matches(['-', '=', '0'])), error.flag());
    }
}

#[test]
fn thresholds_that_allocatable_ignores_are_left_out() {
    let thresholds = |arguments: &[&str]| {
        let flags = KubeletFlags::parse(arguments.iter().copied()).unwrap();
        flags.over(KubeletConfiguration::default()).unwrap().eviction().len()
    };
    for (arguments, expected) in [
        (&[][..], 5),
        (&["--experimental-allocatable-ignore-eviction"], 0),
        (&["--experimental-allocatable-ignore-eviction=false"], 5),
        (&["--experimental-allocatable-ignore-eviction", "--eviction-hard=pid.available<9%"], 0),
        (&["--experimental-allocatable-ignore-eviction", "--eviction-hard=no.signal<9%"], 1),
    ] {
        assert_eq!(thresholds(arguments), expected, "{arguments:?}");
    }
}

#[test]
fn paths_and_names_are_not_checked() {
    let flags = KubeletFlags::parse([
        "--config=a",
        "--config",
        "etc/b",
        "--config_dir=/d",
        "--root-dir=/r",
        "--hostname-override=n",
        "--pod-manifest-path=",
        "--max-pods=3",
        "--port=x",
        "--cgroup-root",
        "/",
        "--max-pods=4",
    ])
    .unwrap();
    assert_eq!(flags.config(), Some("etc/b"));
    assert_eq!(flags.config_dir(), Some("/d"));
    assert_eq!(flags.root_dir(), Some("/r"));
    assert_eq!(flags.hostname_override(), Some("n"));
    assert_eq!(flags.pod_manifest_path(), Some(""));
    assert_eq!(flags.overriding().collect::<Vec<_>>(), ["pod-manifest-path", "max-pods", "cgroup-root"]);

    let none = KubeletFlags::parse(["--config=", "--config-dir=", "--hostname-override="]).unwrap();
    assert_eq!((none.config(), none.config_dir(), none.hostname_override()), (None, None, None));
    assert_eq!((none.root_dir(), none.pod_manifest_path()), (None, None));
    assert_eq!(none.overriding().count(), 0);
}

#[test]
fn an_unknown_flag_takes_the_next_word() {
    for (arguments, unknown, pods) in [
        (&["--new", "value", "--max-pods=3"][..], &["--new"][..], Some(3)),
        (&["--new=value", "--max-pods=3"], &["--new"], Some(3)),
        (&["--new", "--max-pods=3"], &["--new"], Some(3)),
        (&["--new_flag", "--newer", "", "--new-flag"], &["--new-flag", "--newer"], None),
        (&["-config", "value", "--max-pods=3"], &["-c"], Some(3)),
        (&["-x=1", "-é", "-hx", "-h=", "-hh=true", "--max-pods=3"], &["-=", "-x", "-é"], Some(3)),
        // Known flags that do not decide.
        (&["--v", "--max-pods=3"], &[], None),
        (&["-v", "--max-pods=3"], &[], None),
        (&["--register-node", "--kubeconfig", "--max-pods=3"], &[], None),
        (&["--register-node=x", "--node-labels=secret", "--max-pods=3"], &[], Some(3)),
        (&["--kubeconfig"], &[], None),
    ] {
        let flags = KubeletFlags::parse(arguments.iter().copied()).unwrap();
        assert_eq!(flags.unknown().collect::<Vec<_>>(), unknown, "{arguments:?}");
        let config = flags.over(KubeletConfiguration::default()).unwrap();
        assert_eq!(config.max_pods, pods, "{arguments:?}");
        assert!(!format!("{flags:?}").contains("secret"));
    }
    let error = KubeletFlags::parse(["--new=value", "word"]).unwrap_err();
    assert_eq!(error.to_string(), "unknown command word");
}

#[test]
fn a_kubelet_does_not_start_with_a_flag_that_its_release_has_not() {
    for (argument, starts, error) in [
        ("--max-pods=3", &[34, 35, 36, 37][..], ""),
        ("--pod_infra_container_image=a", &[34], "unknown flag: --pod_infra_container_image"),
        ("--storage-driver-db=a", &[34, 35, 36], "unknown flag: --storage-driver-db"),
        ("--housekeeping-interval=10s", &[34, 35, 36, 37], ""),
        ("--network-plugin=cni", &[], "unknown flag: --network-plugin"),
        ("-hx=1", &[], "unknown shorthand flag: 'x' in -x=1"),
    ] {
        for (minor, release) in (34..).zip(Release::ALL) {
            let parsed = KubeletFlags::parse_of(Rules::of(release).flags, [argument]).map(|_| ());
            let expected = if starts.contains(&minor) { Ok(()) } else { Err(error.to_owned()) };
            assert_eq!(parsed.map_err(|error| error.to_string()), expected, "{argument}, {release}");
        }
    }
    for (flag, release) in [
        ("pod-infra-container-image", Some("1.35")),
        ("storage_driver_db", Some("1.37")),
        ("container-runtime", Some("1.27")),
        ("max-pods", None),
        ("max-podz", None),
    ] {
        assert_eq!(KubeletFlags::removed_by(flag).as_deref(), release, "{flag}");
    }
}

#[test]
fn labels_of_kubernetes_are_the_kubelets_or_refused() {
    for (labels, refused) in [
        ("a=b,kubernetes.io/os=linux,node.kubernetes.io/x=y,x.node.kubernetes.io/a=", ""),
        ("topology.kubernetes.io/zone=a,example.com/a=b,notkubernetes.io/a=b", ""),
        ("node-role.kubernetes.io/worker=,k8s.io/a,a=b", "k8s.io/a node-role.kubernetes.io/worker"),
        ("kubernetes.io/role=worker", "kubernetes.io/role"),
    ] {
        let flag = format!("--node-labels={labels}");
        assert!(KubeletFlags::parse([flag.as_str()]).is_ok(), "a distribution's kubelet may take others");
        let parsed = KubeletFlags::parse_of(Rules::default().flags, [flag.as_str()]);
        let error = parsed.err().map(|error| error.to_string());
        let expected =
            format!("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{refused}]\n");
        match error {
            None => assert_eq!(refused, "", "{labels}"),
            Some(error) => assert!(!refused.is_empty() && error.starts_with(&expected), "{error}"),
        }
    }
}

#[test]
fn texts_are_those_of_the_release() {
    let error = KubeletFlags::parse(["--reserved-memory=x:memory=1"]).unwrap_err();
    for (release, node) in [(Release::V1_34, "exptected"), (Release::V1_35, "expected")] {
        let expected = format!(
            "invalid argument \"x:memory=1\" for \"--reserved-memory\" flag: failed to convert the NUMA node ID, {node} integer, got x"
        );
        assert_eq!(error.text(Rules::of(release).flag_texts), expected);
    }
}

#[test]
fn any_command_line_is_read() {
    const PARTS: [&str; 24] = [
        "-",
        "--",
        "=",
        ",",
        "<",
        ":",
        ";",
        "\"",
        "\\",
        "\n",
        "\r",
        "\0",
        "é",
        "_",
        "0x",
        "9",
        "1Gi",
        "h",
        "v",
        "cpu-manager-policy-options",
        "enforce-node-allocatable",
        "max-pods",
        "reserved-memory",
        "cpu-manager-reconcile-period",
    ];
    let mut state: u32 = 1;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % limit
    };
    for _ in 0..20_000 {
        let arguments: Vec<String> =
            (0..below(4)).map(|_| (0..below(7)).map(|_| PARTS[below(PARTS.len())]).collect()).collect();
        if let Ok(flags) = KubeletFlags::parse(arguments.iter().map(String::as_str)) {
            drop(flags.over(KubeletConfiguration::default()));
        }
    }
    // A megabyte of each kind: the work grows with the length alone.
    for (name, part) in [
        ("kube-reserved", "a=1,"),
        ("eviction-hard", "<,"),
        ("enforce-node-allocatable", "\"\n\","),
        ("enforce-node-allocatable", "\n"),
        ("cpu-manager-reconcile-period", "0h"),
        ("cpu-manager-reconcile-period", "9"),
        ("max-pods", "0_"),
        ("register-with-taints", "a-,"),
        ("reserved-memory", "0:memory=1;"),
        ("no", "="),
    ] {
        let argument = format!("--{name}={}", part.repeat(1_000_000 / part.len()));
        drop(KubeletFlags::parse([argument.as_str()]));
        let many = part.repeat(100_000);
        drop(KubeletFlags::parse(many.split(['=', ','])));
    }
}
