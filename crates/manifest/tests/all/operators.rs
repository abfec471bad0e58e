//! Objects of which operators make pods.

use crate::objects::{check, object, read, refused};

/// Version, kind and specification; the names of the pods; the remark.
type Row = (&'static str, &'static str, &'static str, &'static [&'static str], &'static str);

const ROWS: &[Row] = &[
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        "spec: {tasks: [{name: m, T!}, {name: w, replicas: 2, T!}]}",
        &["x-m-0", "x-w-0", "x-w-1"],
        "",
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "spec: {replicas: 2, leaderWorkerTemplate: {size: 3, leaderTemplate: {spec: {C!}}, workerTemplate: {spec: {C!}}}}",
        &["x-leader-0", "x-leader-1", "x-worker-0", "x-worker-1", "x-worker-2", "x-worker-3"],
        "",
    ),
    (
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        "spec: {leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {C!}}}}",
        &["x-worker-0", "x-worker-1"],
        "",
    ),
    (
        "kubeflow.org/v2beta1",
        "MPIJob",
        "spec: {mpiReplicaSpecs: {Launcher: {T!}, Worker: {replicas: 2, T!}}}",
        &["x-launcher-0", "x-worker-0", "x-worker-1"],
        "",
    ),
    (
        "kubeflow.org/v1",
        "PyTorchJob",
        "spec: {pytorchReplicaSpecs: {Master: {T!}, Worker: {replicas: 2, T!}}, runPolicy: {suspend: true}}",
        &["x-master-0", "x-worker-0", "x-worker-1"],
        "it is suspended",
    ),
    (
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        "spec: {runtimeRef: {name: torch}, trainer: {numNodes: 2, resourcesPerNode: {limits: {cpu: 4}}}}",
        &["x-node-0", "x-node-1"],
        "its runtime may have more",
    ),
    (
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        "spec: {replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 4, completions: 2, T!}}}]}",
        &["x-w-0", "x-w-1", "x-w-2", "x-w-3"],
        "",
    ),
    (
        "ray.io/v1",
        "RayCluster",
        "spec: {headGroupSpec: {T!}, workerGroupSpecs: [{groupName: g, replicas: 1, numOfHosts: 2, T!}, {groupName: z, T!}]}",
        &["x-head-0", "x-g-0", "x-g-1"],
        "",
    ),
    (
        "ray.io/v1",
        "RayJob",
        "spec: {rayClusterSpec: {headGroupSpec: {T!}, workerGroupSpecs: [{groupName: g, minReplicas: 1, T!}]}}",
        &["x-head-0", "x-g-0"],
        "a pod more submits the job",
    ),
    (
        "ray.io/v1",
        "RayService",
        "spec: {rayClusterConfig: {headGroupSpec: {T!}}}",
        &["x-head-0"],
        "two clusters",
    ),
    (
        "argoproj.io/v1alpha1",
        "Rollout",
        "spec: {replicas: 2, strategy: {blueGreen: {}}, T!}",
        &["x-0", "x-1"],
        "twice as many",
    ),
    ("apps.openshift.io/v1", "DeploymentConfig", "spec: {replicas: 2, T!}", &["x-0", "x-1"], ""),
    ("apps.kruise.io/v1alpha1", "CloneSet", "spec: {replicas: 2, T!}", &["x-0", "x-1"], ""),
    ("apps.kruise.io/v1alpha1", "DaemonSet", "spec: {T!}", &["x-0"], ""),
    (
        "apps.kruise.io/v1alpha1",
        "UnitedDeployment",
        "spec: {replicas: 2, template: {statefulSetTemplate: {spec: {T!}}}}",
        &["x-statefulsettemplate-0", "x-statefulsettemplate-1"],
        "",
    ),
    (
        "serving.knative.dev/v1",
        "Service",
        "spec: {template: {spec: {containers: [{image: i}]}}}",
        &["x-0"],
        "autoscaler",
    ),
    (
        "serving.kserve.io/v1beta1",
        "InferenceService",
        "spec: {predictor: {minReplicas: 2, model: {modelFormat: {name: sklearn}}}}",
        &["x-predictor-0", "x-predictor-1"],
        "minReplicas",
    ),
    (
        "sparkoperator.k8s.io/v1beta2",
        "SparkApplication",
        "spec: {driver: {}, executor: {instances: 2}}",
        &["x-driver-0", "x-exec-0", "x-exec-1"],
        "",
    ),
    (
        "kubevirt.io/v1",
        "VirtualMachine",
        "spec: {template: {spec: {domain: {memory: {guest: 1Gi}}}}}",
        &["x-launcher-0"],
        "KubeVirt v1.6",
    ),
    (
        "workloads.x-k8s.io/v1alpha1",
        "RoleBasedGroup",
        "spec: {roles: [{name: leader, T!}, {name: worker, replicas: 2, T!}]}",
        &["x-leader-0", "x-worker-0", "x-worker-1"],
        "",
    ),
    // Kinds that are not known.
    (
        "example.com/v1",
        "Thing",
        "spec: {a: [{replicas: 3, T!}], b: {c: {spec: {C!}}}}",
        &["x-0", "x-1"],
        "replicas not known",
    ),
    ("example.com/v1", "Thing", "spec: {C!}", &["x-0"], "replicas not known: one pod counts"),
    ("v1", "PodTemplate", "T!", &["x-0"], "replicas not known"),
];

#[test]
fn every_template_makes_as_many_pods_as_the_object_says() {
    for (version, kind, spec, names, remark) in ROWS {
        check(&object(version, kind, spec), names, remark);
    }
}

/// The requests and limits of the pods' containers, a line each.
fn amounts(text: &str) -> String {
    let read = read(text);
    assert!(read.refused.is_empty(), "{:?}", read.refused);
    let list = |list: &pod_spec::ResourceList| {
        let amounts = list.iter().map(|(name, amount)| format!("{name} {amount}"));
        amounts.collect::<Vec<_>>().join(", ")
    };
    let lines = read.pods.iter().flat_map(|pod| {
        pod.containers.iter().map(move |container| {
            let (requests, limits) = (list(&container.requests), list(&container.limits));
            format!("{} {}: {requests}; at most {limits}", pod.name, container.name.as_str())
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn spark_adds_an_overhead() {
    let rows = [
        (
            "type: Scala, driver: {cores: 1, coreLimit: 1200m, memory: 512m}, \
             executor: {cores: 2, memory: 8g, gpu: {name: nvidia.com/gpu, quantity: 1}}",
            "x-driver-0 spark-kubernetes-driver: cpu 1, memory 896Mi; at most cpu 1200m, memory 896Mi\n\
             x-exec-0 spark-kubernetes-executor: cpu 2, memory 9011Mi, nvidia.com/gpu 1; at most memory 9011Mi, nvidia.com/gpu 1",
        ),
        (
            "type: Python, memoryOverheadFactor: '0.2', driver: {memoryOverhead: 1g}, executor: {coreRequest: 500m}, \
             sparkConf: {spark.executor.memory: 4g, spark.executor.cores: '4'}",
            "x-driver-0 spark-kubernetes-driver: cpu 1, memory 2Gi; at most memory 2Gi\n\
             x-exec-0 spark-kubernetes-executor: cpu 500m, memory 4915Mi; at most memory 4915Mi",
        ),
        (
            "type: Python, driver: {memory: 4g}, executor: {}",
            "x-driver-0 spark-kubernetes-driver: cpu 1, memory 5734Mi; at most memory 5734Mi\n\
             x-exec-0 spark-kubernetes-executor: cpu 1, memory 1433Mi; at most memory 1433Mi",
        ),
    ];
    for (spec, expected) in rows {
        let text = object("sparkoperator.k8s.io/v1beta2", "SparkApplication", &format!("spec: {{{spec}}}"));
        assert_eq!(amounts(&text), expected, "{text}");
    }
}

#[test]
fn spark_starts_with_the_most_executors_that_are_set() {
    let rows = [
        ("", "executor: {instances: 2}", 2),
        ("", "executor: {}", 1),
        ("enabled: true, initialExecutors: 3, minExecutors: 4", "executor: {instances: 2}", 4),
        ("enabled: true, minExecutors: 1", "executor: {instances: 2}", 2),
        ("enabled: false, initialExecutors: 3", "executor: {instances: 2}", 2),
        ("enabled: true", "executor: {}", 0),
        (
            "enabled: true",
            "executor: {}, sparkConf: {spark.executor.instances: '2', spark.dynamicAllocation.minExecutors: '3'}",
            3,
        ),
    ];
    for (dynamic, spec, expected) in rows {
        let spec = format!("driver: {{}}, {spec}, dynamicAllocation: {{{dynamic}}}");
        for (kind, spec) in [
            ("SparkApplication", format!("spec: {{{spec}}}")),
            ("ScheduledSparkApplication", format!("spec: {{schedule: '@daily', template: {{{spec}}}}}")),
        ] {
            let text = object("sparkoperator.k8s.io/v1beta2", kind, &spec);
            let read = read(&text);
            assert_eq!(read.pods.len(), 1 + expected, "{text}\n{:?}", read.refused);
            let is_noted =
                read.remarks.iter().any(|remark| remark.text.contains("those that it starts with count"));
            assert_eq!(is_noted, dynamic.contains("true"), "{text}");
        }
    }
}

#[test]
fn a_halted_machine_is_noted() {
    let machine = "template: {spec: {domain: {memory: {guest: 1Gi}}}}";
    for (how, is_noted) in [
        ("runStrategy: Halted", true),
        ("running: false", true),
        ("running: true", false),
        ("runStrategy: Always", false),
    ] {
        let read = read(&object("kubevirt.io/v1", "VirtualMachine", &format!("spec: {{{how}, {machine}}}")));
        assert_eq!(read.pods.len(), 1);
        let found = read.remarks.iter().any(|remark| remark.text.starts_with("it is halted"));
        assert_eq!(found, is_noted, "{how}");
    }
}

#[test]
fn a_virtual_machine_runs_in_a_pod() {
    let console = "x-launcher-0 guest-console-log: cpu 5m, memory 35M; at most cpu 15m, memory 60M\n";
    let pinned = "x-launcher-0 guest-console-log: cpu 15m, memory 60M; at most cpu 15m, memory 60M\n";
    let rows = [
        // 1Gi, 2Mi of page tables, and 228Mi, 8Mi for a CPU, 32Mi for graphics.
        ("memory: {guest: 1Gi}", console, "cpu 100m, ephemeral-storage 50M, memory 1356857344; at most "),
        (
            "cpu: {cores: 4}, resources: {requests: {memory: 2Gi}}, \
             devices: {autoattachGraphicsDevice: false, autoattachSerialConsole: false}",
            "",
            "cpu 400m, ephemeral-storage 50M, memory 2424307712; at most ",
        ),
        // One CPU more, the guest in pages, and 100Mi as the pod is Guaranteed.
        (
            "cpu: {cores: 4, threads: 2, dedicatedCpuPlacement: true, isolateEmulatorThread: true}, \
             memory: {guest: 4Gi, hugepages: {pageSize: 1Gi}}",
            pinned,
            "cpu 9, ephemeral-storage 50M, hugepages-1Gi 4294967296, memory 452984833; \
             at most cpu 9, hugepages-1Gi 4294967296, memory 452984833",
        ),
        // 1Gi for devices of the host.
        (
            "cpu: {cores: 2, dedicatedCpuPlacement: true}, memory: {guest: 4Gi}, \
             devices: {gpus: [{name: a, deviceName: nvidia.com/A100}, {name: b, deviceName: nvidia.com/A100}]}",
            pinned,
            "cpu 2, ephemeral-storage 50M, memory 5771362305, nvidia.com/A100 2; at most cpu 2, memory 5771362305, nvidia.com/A100 2",
        ),
    ];
    for (domain, console, compute) in rows {
        let text = format!("spec: {{template: {{spec: {{domain: {{{domain}}}}}}}}}");
        let text = object("kubevirt.io/v1", "VirtualMachine", &text);
        assert_eq!(amounts(&text), format!("{console}x-launcher-0 compute: {compute}"), "{text}");
    }
}

#[test]
fn other_components_have_containers_of_their_operators() {
    let predictor = "spec: {predictor: {model: {modelFormat: {name: a}, resources: {limits: {cpu: 4}}}}}";
    assert_eq!(
        amounts(&object("serving.kserve.io/v1beta1", "InferenceService", predictor)),
        "x-predictor-0 kserve-container: cpu 4, memory 2Gi; at most cpu 4, memory 2Gi\n\
         x-predictor-0 queue-proxy: cpu 25m; at most "
    );
    let revision =
        "spec: {template: {spec: {containers: [{image: i, resources: {limits: {cpu: 2, memory: 1Gi}}}]}}}";
    assert_eq!(
        amounts(&object("serving.knative.dev/v1", "Service", revision)),
        "x-0 user-container: cpu 2, memory 1Gi; at most cpu 2, memory 1Gi\nx-0 queue-proxy: cpu 25m; at most "
    );
}

#[test]
fn kserve_adds_containers_to_its_pods() {
    let names = |mode: &str, predictor: &str| {
        let text = object(
            "serving.kserve.io/v1beta1",
            "InferenceService",
            &format!("spec: {{predictor: {predictor}}}"),
        );
        let mode = format!("{{name: x, annotations: {{serving.kserve.io/deploymentMode: {mode}}}}}");
        let text = if mode.contains(": }") { text } else { text.replace("{name: x}", &mode) };
        amounts(&text)
    };
    let model = |uri: &str| {
        format!(
            "{{model: {{modelFormat: {{name: a}}, {uri}resources: {{limits: {{cpu: 2, memory: 1Gi}}}}}}}}"
        )
    };
    let own = "x-predictor-0 kserve-container: cpu 2, memory 1Gi; at most cpu 2, memory 1Gi";
    let proxy = "x-predictor-0 queue-proxy: cpu 25m; at most ";
    let load = "x-predictor-0 storage-initializer: cpu 100m, memory 100Mi; at most cpu 1, memory 1Gi";
    let car =
        |name: &str| format!("x-predictor-0 {name}: cpu 10m, memory 15Mi; at most cpu 10m, memory 15Mi");
    let (init, side) = (car("modelcar-init"), car("modelcar"));
    for (mode, uri, expected) in [
        ("", "storageUri: 's3://x', ", vec![load, own, proxy]),
        ("Serverless", "storageUri: 'gs://x', ", vec![load, own, proxy]),
        ("RawDeployment", "storageUri: 's3://x', ", vec![load, own]),
        ("Standard", "storage: {key: a}, ", vec![load, own]),
        ("RawDeployment", "storageUri: 'pvc://x/y', ", vec![own]),
        ("RawDeployment", "storageUri: 'oci://x/y', ", vec![&init, own, &side]),
        ("RawDeployment", "", vec![own]),
    ] {
        assert_eq!(names(mode, &model(uri)), expected.join("\n"), "{mode} {uri}");
    }
    let custom = "{containers: [{name: kserve-container, image: i, resources: {limits: {cpu: 2, memory: 1Gi}}, \
                  env: [{name: STORAGE_URI, value: 's3://x'}]}]}";
    assert_eq!(names("RawDeployment", custom), [load, own].join("\n"));
}

#[test]
fn an_object_without_a_template_is_refused_with_the_next_step() {
    let rows = [
        (
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            "spec: {runtimeRef: {name: torch}}",
            "kubectl get pods",
        ),
        (
            "argoproj.io/v1alpha1",
            "Rollout",
            "spec: {workloadRef: {kind: Deployment, name: d}}",
            "the Deployment that workloadRef names",
        ),
        (
            "argoproj.io/v1alpha1",
            "Workflow",
            "spec: {workflowTemplateRef: {name: t}}",
            "the WorkflowTemplate",
        ),
        ("apps.kruise.io/v1alpha1", "SidecarSet", "spec: {C!}", "the pods into which its containers are put"),
        ("batch.volcano.sh/v1alpha1", "Job", "spec: {}", "the whole object"),
        (
            "kubevirt.io/v1",
            "VirtualMachine",
            "spec: {instancetype: {name: u1}, template: {spec: {domain: {devices: {}}}}}",
            "virtctl expand",
        ),
        ("ray.io/v1", "RayCluster", "spec: {headGroupSpec: {template: {spec: {}}}}", "kubectl kustomize"),
        ("apps/v1", "Deployment", "spec: {template: {spec: {nodeSelector: {a: b}}}}", "kubectl kustomize"),
        ("apps/v1", "Deployment", "spec: {replicas: '${REPLICAS}', T!}", "envsubst"),
        (
            "apps/v1",
            "Deployment",
            "spec: {template: {spec: {containers: [{name: a, env: [{$patch: delete, name: B}]}]}}}",
            "kubectl kustomize",
        ),
        (
            "apps/v1",
            "Deployment",
            "spec: {template: {spec: {$setElementOrder/containers: [{name: a}], containers: [{name: a}]}}}",
            "kubectl kustomize",
        ),
    ];
    for (version, kind, spec, step) in rows {
        let text = object(version, kind, spec);
        let message = refused(&text);
        let way_out = read(&text).refused[0].way_out().unwrap_or_default();
        assert!(message.contains(step) || way_out.contains(step), "{text}\n{message}\n{way_out}");
    }
    assert!(refused("- {op: add, path: /spec, value: 1}\n").contains("kubectl kustomize"));
}

#[test]
fn a_kustomization_has_no_pods_and_says_what_makes_them() {
    for text in [
        "resources: [a.yaml]\npatches: [{path: b.yaml}]\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [a.yaml]\n",
    ] {
        let read = read(text);
        assert!(read.refused.is_empty() && read.is_whole(), "{:?}", read.refused);
        let [skipped] = read.skipped.as_slice() else { panic!("{text}") };
        assert!(skipped.instead().is_some_and(|instead| instead.contains("kubectl kustomize")), "{skipped}");
    }
}

#[test]
fn a_release_of_helm_has_no_pods_and_says_what_prints_its_objects() {
    for (version, kind) in [("helm.toolkit.fluxcd.io/v2", "HelmRelease"), ("helm.cattle.io/v1", "HelmChart")]
    {
        let read =
            read(&object(version, kind, "spec: {values: {controllers: {main: {containers: {app: {}}}}}}"));
        let [skipped] = read.skipped.as_slice() else { panic!("{kind}") };
        assert!(skipped.instead().is_some_and(|instead| instead.contains("helm get manifest")), "{skipped}");
    }
}

#[test]
fn what_is_in_the_form_of_containers_and_is_no_pod_is_skipped() {
    for (version, kind, spec) in [
        // A service of Cloud Run: its containers have no names.
        (
            "run.cnrm.cloud.google.com/v1beta1",
            "RunService",
            "spec: {template: {containers: [{image: i, resources: {limits: {cpu: 1}}}]}}",
        ),
        // A pattern for pods.
        (
            "kyverno.io/v1",
            "ClusterPolicy",
            "spec: {rules: [{validate: {pattern: {spec: {containers: [{name: '*', image: '!*:latest'}]}}}}]}",
        ),
    ] {
        let read = read(&object(version, kind, spec));
        assert!(
            read.refused.is_empty() && read.pods.is_empty() && read.skipped.len() == 1,
            "{:?}",
            read.refused
        );
    }
}

#[test]
fn only_kinds_of_kubernetes_own_groups_are_misspelt() {
    let rows = [
        ("extensions/v1beta1", "Deployment", Some("Deployment")),
        ("apps/v1beta1", "StatefulSet", Some("StatefulSet")),
        ("v1", "Deployment", Some("Deployment")),
        ("apps/v1", "Deploymnet", Some("Deployment")),
        ("batch.volcano.sh/v1alpha1", "Jobs", None),
        ("apps.kruise.io/v1alpha1", "StatefulSets", None),
    ];
    for (version, kind, meant) in rows {
        let read = read(&object(version, kind, "spec: {}"));
        let [skipped] = read.skipped.as_slice() else { panic!("{version} {kind}: {:?}", read.refused) };
        assert_eq!(skipped.meant().map(|(_, kind)| kind), meant, "{version} {kind}");
        assert_eq!(skipped.instead().is_some(), meant.is_none(), "{version} {kind}");
    }
}

/// Kubernetes' own groups have no operators: a kind that is misspelt there makes no pods, whatever it has the shape of.
#[test]
fn a_misspelt_kind_with_a_template_makes_no_pods() {
    let containers = "containers: [{name: c, image: registry.example/web:1}]";
    for (version, kind, spec, meant) in [
        ("v1", "Pdo", format!("spec: {{{containers}}}"), "Pod"),
        ("apps/v1", "Deploymnet", format!("spec: {{template: {{spec: {{{containers}}}}}}}"), "Deployment"),
    ] {
        let read = read(&object(version, kind, &spec));
        let [skipped] = read.skipped.as_slice() else { panic!("{version} {kind}: {:?}", read.refused) };
        assert_eq!(skipped.meant().map(|(_, kind)| kind), Some(meant), "{version} {kind}");
        assert!(read.pods.is_empty() && !read.is_whole(), "{version} {kind}");
    }
}

#[test]
fn complaints_have_the_path_in_the_object() {
    let text = object(
        "ray.io/v1",
        "RayCluster",
        "spec: {headGroupSpec: {template: {spec: {containers: [{name: h, resources: {limits: {cpu: 1}, requests: {cpu: 2}}}]}}}}",
    );
    let read = read(&text);
    assert_eq!(
        read.refused[0].to_string(),
        "The RayCluster \"x\" is invalid: spec.headGroupSpec.template.spec.containers[0].resources.requests: Invalid value: \
         \"2\": must be less than or equal to cpu limit of 1"
    );
}
