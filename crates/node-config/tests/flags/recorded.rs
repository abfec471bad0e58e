//! What the kubelet's own code made of command lines, v1.36.3.

/// A command line, and the fields that it changes or the error.
pub(crate) type Row = (&'static [&'static str], Result<&'static str, &'static str>);

/// Over a file without fields.
pub(crate) const ALONE: &[Row] = &[
    (&["--cpu-manager-policy=static"], Ok("cpuManagerPolicy: static")),
    (&["--cpu-manager-policy", "static"], Ok("cpuManagerPolicy: static")),
    (&["--cpu_manager_policy=static"], Ok("cpuManagerPolicy: static")),
    (&["--cpu-manager-policy=none", "--cpu-manager-policy=static"], Ok("cpuManagerPolicy: static")),
    (&["--cpu-manager-policy=none=x"], Ok("cpuManagerPolicy: none=x")),
    (&["--cpu-manager-policy", "--max-pods=3"], Ok("cpuManagerPolicy: --max-pods=3")),
    (
        &["--cpu-manager-policy-options=full-pcpus-only=true,align-by-socket=true"],
        Ok("cpuManagerPolicyOptions: full-pcpus-only=true,align-by-socket=true"),
    ),
    (
        &[
            "--cpu-manager-policy-options=full-pcpus-only=true",
            "--cpu-manager-policy-options= align-by-socket = true ",
        ],
        Ok("cpuManagerPolicyOptions: align-by-socket=true,full-pcpus-only=true"),
    ),
    (
        &["--cpu-manager-policy-options="],
        Err(
            "invalid argument \"\" for \"--cpu-manager-policy-options\" flag: malformed pair, expect string=string",
        ),
    ),
    (
        &[
            "--topology-manager-policy-options=a=1,,b=2,c=3=4, d = 5 ",
            "--topology-manager-policy-options=a=6",
        ],
        Ok("topologyManagerPolicyOptions: a=6,b=2,c=3=4,d=5"),
    ),
    (
        &["--topology-manager-policy-options=a"],
        Err(
            "invalid argument \"a\" for \"--topology-manager-policy-options\" flag: malformed pair, expect string=string",
        ),
    ),
    (&["--cpu-manager-reconcile-period=90s"], Ok("cpuManagerReconcilePeriod: 1m30s")),
    (
        &["--cpu-manager-reconcile-period=10"],
        Err(
            "invalid argument \"10\" for \"--cpu-manager-reconcile-period\" flag: time: missing unit in duration \"10\"",
        ),
    ),
    (
        &["--cpu-manager-reconcile-period=1d"],
        Err(
            "invalid argument \"1d\" for \"--cpu-manager-reconcile-period\" flag: time: unknown unit \"d\" in duration \"1d\"",
        ),
    ),
    (
        &["--cpu-manager-reconcile-period="],
        Err("invalid argument \"\" for \"--cpu-manager-reconcile-period\" flag: time: invalid duration \"\""),
    ),
    (
        &[
            "--topology-manager-policy=restricted",
            "--topology-manager-scope=pod",
            "--memory-manager-policy=Static",
            "--reserved-cpus=0-1",
        ],
        Ok(
            "memoryManagerPolicy: Static; reservedSystemCPUs: 0-1; topologyManagerPolicy: restricted; topologyManagerScope: pod",
        ),
    ),
    (
        &["--reserved-memory=0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi"],
        Ok("reservedMemory: 0:[hugepages-1Gi=2Gi memory=1Gi],1:[memory=1Gi]"),
    ),
    (
        &["--reserved-memory=0:memory=1Gi", "--reserved-memory=1:memory=2Gi"],
        Ok("reservedMemory: 0:[memory=1Gi],1:[memory=2Gi]"),
    ),
    (&["--reserved-memory=0:memory=1Gi", "--reserved-memory="], Ok("reservedMemory: 0:[memory=1Gi]")),
    (
        &["--reserved-memory=", "--reserved-memory=0:memory=1Gi"],
        Err(
            "invalid argument \"0:memory=1Gi\" for \"--reserved-memory\" flag: no target (nil pointer to *[]MemoryReservation)",
        ),
    ),
    (
        &["--reserved-memory=0:cpu=1"],
        Err(
            "invalid argument \"0:cpu=1\" for \"--reserved-memory\" flag: memory type conversion error, unknown type: \"cpu\"",
        ),
    ),
    (
        &["--kube-reserved=cpu=500m", "--system-reserved=cpu=1,memory=2Gi", "--kube-reserved=pid=1000"],
        Ok("kubeReserved: cpu=500m,pid=1000; systemReserved: cpu=1,memory=2Gi"),
    ),
    (&["--kube-reserved="], Ok("")),
    (
        &["--kube-reserved=cpu"],
        Err("invalid argument \"cpu\" for \"--kube-reserved\" flag: malformed pair, expect string=string"),
    ),
    (
        &["--eviction-hard=memory.available<100Mi,nodefs.available<10%"],
        Ok("evictionHard: memory.available=100Mi,nodefs.available=10%"),
    ),
    (
        &["--eviction-hard=memory.available<100Mi", "--eviction-hard= pid.available < 5% "],
        Ok("evictionHard: memory.available=100Mi,pid.available=5%"),
    ),
    (&["--eviction-hard="], Ok("evictionHard:")),
    (
        &["--eviction-hard=memory.available=100Mi"],
        Err(
            "invalid argument \"memory.available=100Mi\" for \"--eviction-hard\" flag: malformed pair, expect string<string",
        ),
    ),
    (
        &["--enforce-node-allocatable=pods,system-reserved", "--enforce-node-allocatable=kube-reserved"],
        Ok("enforceNodeAllocatable: pods,system-reserved,kube-reserved"),
    ),
    (&["--enforce-node-allocatable="], Ok("enforceNodeAllocatable:")),
    (&["--enforce-node-allocatable=\"pods\",none"], Ok("enforceNodeAllocatable: pods,none")),
    (
        &["--enforce-node-allocatable=pods,\"none"],
        Err(
            "invalid argument \"pods,\\\"none\" for \"--enforce-node-allocatable\" flag: parse error on line 1, column 11: extraneous or missing \" in quoted-field",
        ),
    ),
    (
        &["--enforce-node-allocatable=po\"ds"],
        Err(
            "invalid argument \"po\\\"ds\" for \"--enforce-node-allocatable\" flag: parse error on line 1, column 3: bare \" in non-quoted-field",
        ),
    ),
    (
        &["--enforce-node-allocatable=\n"],
        Err("invalid argument \"\\n\" for \"--enforce-node-allocatable\" flag: EOF"),
    ),
    (
        &[
            "--kube-reserved-cgroup=/k",
            "--system-reserved-cgroup",
            "/s",
            "--system-cgroups=/c",
            "--cgroup-root=/",
        ],
        Ok("cgroupRoot: /; kubeReservedCgroup: /k; systemCgroups: /c; systemReservedCgroup: /s"),
    ),
    (&["--cgroups-per-qos", "false"], Err("unknown command false")),
    (&["--cgroups-per-qos=false"], Ok("cgroupsPerQOS: false")),
    (&["--cgroups-per-qos=F", "--cgroups-per-qos"], Ok("")),
    (
        &["--cgroups-per-qos=no"],
        Err(
            "invalid argument \"no\" for \"--cgroups-per-qos\" flag: strconv.ParseBool: parsing \"no\": invalid syntax",
        ),
    ),
    (&["--max-pods=0x10", "--pods-per-core=010"], Ok("maxPods: 16; podsPerCore: 8")),
    (&["--max-pods=1_000"], Ok("maxPods: 1000")),
    (
        &["--max-pods=08"],
        Err(
            "invalid argument \"08\" for \"--max-pods\" flag: strconv.ParseInt: parsing \"08\": invalid syntax",
        ),
    ),
    (
        &["--max-pods=2147483648"],
        Err(
            "invalid argument \"2147483648\" for \"--max-pods\" flag: strconv.ParseInt: parsing \"2147483648\": value out of range",
        ),
    ),
    (&["--max-pods=-1"], Ok("maxPods: -1")),
    (
        &["--max-pods=ten"],
        Err(
            "invalid argument \"ten\" for \"--max-pods\" flag: strconv.ParseInt: parsing \"ten\": invalid syntax",
        ),
    ),
    (&["--max-pods"], Err("flag needs an argument: --max-pods")),
    (&["--max_pods"], Err("flag needs an argument: --max_pods")),
    (
        &["--feature-gates=MemoryQoS=true, CPUManagerPolicyAlphaOptions = 1"],
        Ok("featureGates: CPUManagerPolicyAlphaOptions=true,MemoryQoS=true"),
    ),
    (
        &["--feature-gates=MemoryQoS=true", "--feature-gates=MemoryQoS=false"],
        Ok("featureGates: MemoryQoS=false"),
    ),
    (&["--feature-gates="], Ok("")),
    (
        &["--feature-gates=MemoryQoS"],
        Err(
            "invalid argument \"MemoryQoS\" for \"--feature-gates\" flag: malformed pair, expect string=bool",
        ),
    ),
    (
        &["--feature-gates=MemoryQoS=on"],
        Err(
            "invalid argument \"MemoryQoS=on\" for \"--feature-gates\" flag: invalid value of MemoryQoS: on, err: strconv.ParseBool: parsing \"on\": invalid syntax",
        ),
    ),
    (
        &["--feature-gates=Nonesuch=true"],
        Err(
            "failed to set feature gates from initial flags-based config: unrecognized feature gate: Nonesuch",
        ),
    ),
    (
        &["--feature-gates=ClusterTrustBundleProjection=true"],
        Err(
            "failed to set feature gates from initial flags-based config: ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
        ),
    ),
    (
        &[
            "--register-with-taints=a=b:NoSchedule,c:NoExecute,d-",
            "--register-with-taints=e:PreferNoSchedule",
        ],
        Ok("registerWithTaints: e||PreferNoSchedule"),
    ),
    (
        &["--register-with-taints=a=b:Never"],
        Err(
            "invalid argument \"a=b:Never\" for \"--register-with-taints\" flag: invalid taint effect: Never, unsupported taint effect",
        ),
    ),
    (
        &["--register-with-taints=a:NoSchedule,a=1:NoSchedule"],
        Err(
            "invalid argument \"a:NoSchedule,a=1:NoSchedule\" for \"--register-with-taints\" flag: duplicated taints with the same key and effect: {a 1 NoSchedule <nil>}",
        ),
    ),
    (&["--node-status-update-frequency=20s"], Ok("nodeStatusUpdateFrequency: 20s")),
    (
        &[
            "--v=4",
            "-v",
            "4",
            "-v4",
            "-v=4",
            "--register-node",
            "--kubeconfig",
            "--max-pods=3",
            "--max-pods=5",
        ],
        Ok("maxPods: 5"),
    ),
    (&["--", "--max-pods=3"], Err("unknown command --max-pods=3")),
    (&["--max-pods=3", "--"], Ok("maxPods: 3")),
    (&["start"], Err("unknown command start")),
    (
        &["start", "--max-pods=x"],
        Err(
            "invalid argument \"x\" for \"--max-pods\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
        ),
    ),
    (&["---max-pods=3"], Err("bad flag syntax: ---max-pods=3")),
    (&["--=3"], Err("bad flag syntax: --=3")),
    (&["-test.v", "--max-pods=3"], Ok("maxPods: 3")),
    (&["--root-dir=/r", "--hostname-override=n", "--pod-manifest-path=/p", "--config-dir=/d"], Ok("")),
    (&["--pod-manifest-path="], Ok("")),
    (&["--log-cadvisor-usage", "--max-pods=3"], Ok("")),
    (&["--log-cadvisor-usage=true", "--max-pods=3"], Ok("maxPods: 3")),
    (&["--log-cadvisor-usage"], Err("flag needs an argument: --log-cadvisor-usage")),
];

/// Over a file with fields.
pub(crate) const OVER_FIELDS: &[Row] = &[
    (
        &["--cpu-manager-policy-options=align-by-socket=true"],
        Ok("cpuManagerPolicyOptions: align-by-socket=true"),
    ),
    (&["--kube-reserved=cpu=3"], Ok("kubeReserved: cpu=3")),
    (&["--kube-reserved="], Ok("kubeReserved:")),
    (&["--eviction-hard=nodefs.available<7%"], Ok("evictionHard: nodefs.available=7%")),
    (&["--eviction-hard="], Ok("evictionHard:")),
    (&["--enforce-node-allocatable="], Ok("enforceNodeAllocatable:")),
    (&["--reserved-memory=1:memory=1Gi"], Ok("reservedMemory: 1:[memory=1Gi]")),
    (&["--reserved-memory="], Ok("")),
    (
        &["--feature-gates=MemoryQoS=false,CPUManagerPolicyAlphaOptions=true"],
        Ok("featureGates: CPUManagerPolicyAlphaOptions=true,ClusterTrustBundle=true,MemoryQoS=false"),
    ),
    (
        &["--feature-gates=ClusterTrustBundleProjection=true"],
        Err(
            "failed to set feature gates from initial flags-based config: ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
        ),
    ),
    (
        &["--feature-gates=ClusterTrustBundleProjection=true,ClusterTrustBundle=true"],
        Ok("featureGates: ClusterTrustBundle=true,ClusterTrustBundleProjection=true,MemoryQoS=true"),
    ),
    (&["--max-pods=7"], Ok("maxPods: 7")),
    (&["--node-status-update-frequency=20s"], Ok("nodeStatusUpdateFrequency: 20s")),
    (&["--pod-manifest-path="], Ok("")),
    (&["--register-with-taints="], Ok("registerWithTaints:")),
    (&["--cgroup-root="], Ok("cgroupRoot:")),
    (&["--reserved-cpus="], Ok("reservedSystemCPUs:")),
    (&["--topology-manager-policy-options="], Ok("topologyManagerPolicyOptions:")),
];
