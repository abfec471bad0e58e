//! Kinds of objects that operators make pods of: where the templates are, how many pods each makes, and which run at once.
//!
//! Kinds are known by their API group, whatever its version: the paths are those of the versions in use. Each block names
//! the project whose API types were read.

use super::form::Form;

/// A kind of object.
pub(super) struct Workload {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) parts: &'static [Part],
    /// A field without which no pods are in the object, and what to give in place of such an object.
    pub(super) elsewhere: &'static [(&'static str, &'static str)],
    /// Remarks where a field is set, or has the value behind `=`; an empty path: always.
    pub(super) remarks: &'static [(&'static str, &'static str)],
}

/// A place of templates in an object.
#[derive(Clone, Copy)]
pub(super) struct Part {
    /// What its pods are called beside the object's name; empty: as the member of a list is called.
    pub(super) role: &'static str,
    pub(super) form: Form,
    /// A path of this folder's `path.rs`.
    pub(super) at: &'static str,
    pub(super) count: Count,
    pub(super) when: When,
}

/// How many pods a template makes.
#[derive(Clone, Copy)]
pub(super) enum Count {
    /// The product of numbers, each at the first of its paths (with `|` between them) that is set, or this default.
    Of(&'static [(&'static str, u32)]),
    /// The same, of which one is a pod of another template if that is there.
    LessOne(&'static [(&'static str, u32)], &'static str),
    /// The same, or none where this annotation of the object is `enabled`.
    Unless(&'static [(&'static str, u32)], &'static str),
    /// The executors that an application of Spark starts with.
    Executors,
    /// The object does not have it.
    NotKnown,
}

/// When the pods of a template run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    /// Beside those of the other templates.
    AtOnce,
    /// In a step or as an alternative: not beside those of other templates, as far as the object says.
    Apart,
}

const fn part(role: &'static str, at: &'static str, count: &'static [(&'static str, u32)]) -> Part {
    Part { role, form: Form::Template, at, count: Count::Of(count), when: When::AtOnce }
}

impl Part {
    const fn as_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    const fn counted(self, count: Count) -> Self {
        Self { count, ..self }
    }

    const fn apart(self) -> Self {
        Self { when: When::Apart, ..self }
    }
}

const fn kind(group: &'static str, kind: &'static str, parts: &'static [Part]) -> Workload {
    Workload { group, kind, parts, elsewhere: &[], remarks: &[] }
}

impl Workload {
    const fn or(self, elsewhere: &'static [(&'static str, &'static str)]) -> Self {
        Self { elsewhere, ..self }
    }

    const fn remarks(self, remarks: &'static [(&'static str, &'static str)]) -> Self {
        Self { remarks, ..self }
    }
}

const REPLICAS: &[(&str, u32)] = &[("spec.replicas", 1)];
const ONE: &[(&str, u32)] = &[];
/// A template and its replicas at the usual places.
const USUAL: &[Part] = &[part("", "spec.template", REPLICAS)];
const ONE_EACH: &[Part] = &[part("", "spec.template", ONE)];

const SUSPENDED: (&str, &str) =
    ("spec.suspend", "it is suspended: these are the pods that it makes once it is resumed");
const RUN_SUSPENDED: (&str, &str) = ("spec.runPolicy.suspend", SUSPENDED.1);
const BLUE_GREEN: (&str, &str) = (
    "spec.strategy.blueGreen",
    "during an update it has twice as many pods, those of both revisions at once",
);
const SURGE: (&str, &str) =
    ("spec.strategy.canary", "during an update it has more pods, as many as maxSurge allows");
const SCALED: (&str, &str) = ("", "its autoscaler decides how many pods run: each template counts once");
const PATCHED: &str = "podSpecPatch changes its pods, and is not read";
const MACHINE: (&str, &str) = (
    "",
    "its pod is as KubeVirt v1.6 makes it by default; devices of KubeVirt itself and of networks are left out",
);
const HALTED: &str = "it is halted: this is the pod that it makes once it is started";
const DYNAMIC: &str = "dynamic allocation decides how many executors run: those that it starts with count";
const RUNNING_PODS: &str = "its pods: `kubectl get pods -n NAMESPACE -o yaml`, while it runs";

/// Parts with the resources of their one container: role, path, and the factors of their number with their defaults.
macro_rules! by_resources {
    ($group:literal, $kind:literal, $(($role:literal, $at:literal, $($factor:literal, $default:literal),+)),+) => {
        kind($group, $kind, &[$(part($role, $at, &[$(($factor, $default)),+]).as_form(Form::Resources)),+]).remarks(&[(
            "",
            "its pods by the resources in it; what its operator runs beside its one container is left out",
        )])
    };
}

macro_rules! kubeflow {
    ($kind:literal, $at:literal, $replicas:literal) => {
        kind("kubeflow.org", $kind, &[part("", $at, &[($replicas, 1)])]).remarks(&[RUN_SUSPENDED])
    };
}

/// The paths of a cluster of Ray below one path.
macro_rules! ray {
    ($below:literal) => {
        [
            part("head", concat!($below, ".headGroupSpec.template"), ONE),
            part(
                "",
                concat!($below, ".workerGroupSpecs[].template"),
                &[
                    (
                        concat!(
                            $below,
                            ".workerGroupSpecs[].replicas|",
                            $below,
                            ".workerGroupSpecs[].minReplicas"
                        ),
                        0,
                    ),
                    (concat!($below, ".workerGroupSpecs[].numOfHosts"), 1),
                ],
            ),
        ]
    };
}

/// The templates of Argo below one path.
macro_rules! argo {
    ($kind:literal, $below:literal, $reference:literal) => {
        kind(
            "argoproj.io",
            $kind,
            &[part("", concat!($below, ".templates[]"), ONE).as_form(Form::Argo).apart()],
        )
        .or(&[($reference, "the WorkflowTemplate that it names")])
        .remarks(&[
            (concat!($below, ".suspend"), SUSPENDED.1),
            (concat!($below, ".podSpecPatch"), PATCHED),
            (concat!($below, ".templates[].podSpecPatch"), PATCHED),
        ])
    };
}

macro_rules! jobs {
    ($below:literal) => {
        &[part(
            "",
            concat!($below, ".replicatedJobs[].template.spec"),
            &[(concat!($below, ".replicatedJobs[].replicas"), 1)],
        )
        .as_form(Form::Job)]
    };
}

const RAY_SCALER: &str =
    "with enableInTreeAutoscaling the head's pod has a container more, which requests 500m CPU and 512Mi";
const SUBMITTER: (&str, &str) = (
    "",
    "in mode K8sJobMode a pod more submits the job: 500m CPU and 200Mi requested, unless submitterPodTemplate has others",
);
const DEPENDS: (&str, &str) = (
    "spec.replicatedJobs[].dependsOn",
    "all replicated jobs count at once, also those that dependsOn starts later",
);

const FORMER: &[(&str, &str)] = &[(
    "",
    "its apiVersion is a former one of apps/v1, which Kubernetes v1.16 and later do not have: it counts as one of apps/v1",
)];
const FORMER_EACH: Workload = kind("", "", ONE_EACH).remarks(FORMER);
const FORMER_USUAL: Workload = kind("", "", USUAL).remarks(FORMER);

/// Former versions of kinds of `apps/v1`.
pub(super) const FORMER_VERSIONS: &[(&str, &str, Workload)] = &[
    ("extensions/v1beta1", "Deployment", FORMER_USUAL),
    ("extensions/v1beta1", "ReplicaSet", FORMER_USUAL),
    ("extensions/v1beta1", "DaemonSet", FORMER_EACH),
    ("apps/v1beta1", "Deployment", FORMER_USUAL),
    ("apps/v1beta1", "StatefulSet", FORMER_USUAL),
    ("apps/v1beta2", "Deployment", FORMER_USUAL),
    ("apps/v1beta2", "ReplicaSet", FORMER_USUAL),
    ("apps/v1beta2", "StatefulSet", FORMER_USUAL),
    ("apps/v1beta2", "DaemonSet", FORMER_EACH),
];

pub(super) const WORKLOADS: &[Workload] = &[
    // Kubernetes and OpenShift.
    kind("", "PodTemplate", &[part("", "template", ONE).counted(Count::NotKnown)]),
    kind("apps.openshift.io", "DeploymentConfig", USUAL),
    kind("", "DeploymentConfig", USUAL),
    // volcano-sh/apis.
    kind("batch.volcano.sh", "Job", &[part("", "spec.tasks[].template", &[("spec.tasks[].replicas", 1)])]),
    kind(
        "batch.volcano.sh",
        "CronJob",
        &[part("", "spec.jobTemplate.spec.tasks[].template", &[("spec.jobTemplate.spec.tasks[].replicas", 1)])],
    )
    .remarks(&[SUSPENDED]),
    kind(
        "flow.volcano.sh",
        "JobTemplate",
        &[part("", "spec.tasks[].template", &[("spec.tasks[].replicas", 1)])],
    ),
    // kubernetes-sigs/lws: a group has one leader and size - 1 workers.
    kind(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        &[
            part("leader", "spec.leaderWorkerTemplate.leaderTemplate", REPLICAS),
            part("worker", "spec.leaderWorkerTemplate.workerTemplate", ONE).counted(Count::LessOne(
                &[("spec.replicas", 1), ("spec.leaderWorkerTemplate.size", 1)],
                "spec.leaderWorkerTemplate.leaderTemplate",
            )),
        ],
    ),
    // kubernetes-sigs/jobset.
    kind("jobset.x-k8s.io", "JobSet", jobs!("spec")).remarks(&[SUSPENDED, DEPENDS]),
    // kubeflow/mpi-operator and kubeflow/training-operator.
    kind(
        "kubeflow.org",
        "MPIJob",
        &[
            part("launcher", "spec.mpiReplicaSpecs.Launcher.template", &[("spec.mpiReplicaSpecs.Launcher.replicas", 1)]),
            part("worker", "spec.mpiReplicaSpecs.Worker.template", &[("spec.mpiReplicaSpecs.Worker.replicas", 0)]),
            // v1alpha1.
            part("worker", "spec.template", REPLICAS),
        ],
    )
    .remarks(&[RUN_SUSPENDED]),
    kubeflow!("PyTorchJob", "spec.pytorchReplicaSpecs{}.template", "spec.pytorchReplicaSpecs{}.replicas"),
    kubeflow!("TFJob", "spec.tfReplicaSpecs{}.template", "spec.tfReplicaSpecs{}.replicas"),
    kubeflow!("XGBoostJob", "spec.xgbReplicaSpecs{}.template", "spec.xgbReplicaSpecs{}.replicas"),
    kubeflow!("PaddleJob", "spec.paddleReplicaSpecs{}.template", "spec.paddleReplicaSpecs{}.replicas"),
    kubeflow!("MXJob", "spec.mxReplicaSpecs{}.template", "spec.mxReplicaSpecs{}.replicas"),
    kubeflow!("JAXJob", "spec.jaxReplicaSpecs{}.template", "spec.jaxReplicaSpecs{}.replicas"),
    kind("kubeflow.org", "Notebook", ONE_EACH),
    kind(
        "sagemaker.amazonaws.com",
        "HyperPodPyTorchJob",
        &[part("", "spec.replicaSpecs[].template", &[("spec.replicaSpecs[].replicas", 1)])],
    ),
    // kubeflow/trainer: the template is in the runtime, the resources may be in the job.
    kind(
        "trainer.kubeflow.org",
        "TrainJob",
        &[part("node", "spec.trainer", &[("spec.trainer.numNodes", 1)]).as_form(Form::Trainer)],
    )
    .or(&[("spec.runtimeRef", RUNNING_PODS)])
    .remarks(&[
        SUSPENDED,
        ("", "its runtime may have more containers and pods, and selectors: of these nothing is in the object"),
    ]),
    kind("trainer.kubeflow.org", "TrainingRuntime", jobs!("spec.template.spec")),
    kind("trainer.kubeflow.org", "ClusterTrainingRuntime", jobs!("spec.template.spec")),
    // ray-project/kuberay.
    kind("ray.io", "RayCluster", &ray!("spec")).remarks(&[SUSPENDED, ("spec.enableInTreeAutoscaling", RAY_SCALER)]),
    kind("ray.io", "RayJob", &ray!("spec.rayClusterSpec"))
        .or(&[("spec.clusterSelector", "the RayCluster that clusterSelector names")])
        .remarks(&[SUSPENDED, SUBMITTER, ("spec.rayClusterSpec.enableInTreeAutoscaling", RAY_SCALER)]),
    kind("ray.io", "RayService", &ray!("spec.rayClusterConfig")).remarks(&[
        ("", "during an update it has two clusters of these pods"),
        ("spec.rayClusterConfig.enableInTreeAutoscaling", RAY_SCALER),
    ]),
    // argoproj/argo-rollouts and argoproj/argo-workflows.
    kind("argoproj.io", "Rollout", USUAL)
        .or(&[("spec.workloadRef", "the Deployment that workloadRef names, in the same file")])
        .remarks(&[BLUE_GREEN, SURGE]),
    kind(
        "argoproj.io",
        "Experiment",
        &[part("", "spec.templates[].template", &[("spec.templates[].replicas", 1)])],
    ),
    argo!("Workflow", "spec", "spec.workflowTemplateRef"),
    argo!("WorkflowTemplate", "spec", "spec.workflowTemplateRef"),
    argo!("ClusterWorkflowTemplate", "spec", "spec.workflowTemplateRef"),
    argo!("CronWorkflow", "spec.workflowSpec", "spec.workflowSpec.workflowTemplateRef"),
    // openkruise/kruise.
    kind("apps.kruise.io", "CloneSet", USUAL),
    kind("apps.kruise.io", "StatefulSet", USUAL),
    kind("apps.kruise.io", "DaemonSet", ONE_EACH),
    kind("apps.kruise.io", "BroadcastJob", ONE_EACH),
    kind(
        "apps.kruise.io",
        "AdvancedCronJob",
        &[
            part("", "spec.template.jobTemplate.spec", ONE).as_form(Form::Job),
            part("", "spec.template.broadcastJobTemplate.spec.template", ONE),
        ],
    ),
    kind("apps.kruise.io", "UnitedDeployment", &[part("", "spec.template{}.spec.template", REPLICAS)]),
    kind("apps.kruise.io", "SidecarSet", &[]).or(&[(
        "spec.containers",
        "the pods into which its containers are put: `kubectl get pods -o yaml`",
    )]),
    // kserve/kserve.
    kind(
        "serving.kserve.io",
        "InferenceService",
        &[
            part("predictor", "spec.predictor", &[("spec.predictor.minReplicas", 1)]).as_form(Form::Component),
            part("worker", "spec.predictor.workerSpec", &[("spec.predictor.minReplicas", 1)]).as_form(Form::Component),
            part("transformer", "spec.transformer", &[("spec.transformer.minReplicas", 1)]).as_form(Form::Component),
            part("explainer", "spec.explainer", &[("spec.explainer.minReplicas", 1)]).as_form(Form::Component),
        ],
    )
    .remarks(&[(
        "",
        "minReplicas pods of each component, with what ConfigMap inferenceservice-config adds by default: queue-proxy in \
         Knative mode, and storage-initializer where a model is downloaded; resources that only the serving runtime sets are \
         not in the object",
    )]),
    kind(
        "serving.kserve.io",
        "LLMInferenceService",
        &[
            part("decode", "spec.template", REPLICAS).as_form(Form::Spec),
            part("decode-worker", "spec.worker", REPLICAS).as_form(Form::Spec),
            part("prefill", "spec.prefill.template", &[("spec.prefill.replicas", 1)]).as_form(Form::Spec),
            part("prefill-worker", "spec.prefill.worker", &[("spec.prefill.replicas", 1)]).as_form(Form::Spec),
        ],
    ),
    kind("serving.kserve.io", "ServingRuntime", &[part("", "spec", ONE).as_form(Form::Spec).counted(Count::NotKnown)]),
    kind(
        "serving.kserve.io",
        "ClusterServingRuntime",
        &[part("", "spec", ONE).as_form(Form::Spec).counted(Count::NotKnown)],
    ),
    // knative/serving.
    kind("serving.knative.dev", "Service", &[part("", "spec.template", ONE).as_form(Form::Knative)]).remarks(&[SCALED]),
    kind("serving.knative.dev", "Configuration", &[part("", "spec.template", ONE).as_form(Form::Knative)])
        .remarks(&[SCALED]),
    // kubeflow/spark-operator, apache/spark.
    kind("sparkoperator.k8s.io", "SparkApplication", &[
        part("driver", "spec", ONE).as_form(Form::SparkDriver),
        part("exec", "spec", ONE).as_form(Form::SparkExecutor).counted(Count::Executors),
    ])
    .remarks(&[("spec.dynamicAllocation.enabled", DYNAMIC)]),
    kind("sparkoperator.k8s.io", "ScheduledSparkApplication", &[
        part("driver", "spec.template", ONE).as_form(Form::SparkDriver),
        part("exec", "spec.template", ONE).as_form(Form::SparkExecutor).counted(Count::Executors),
    ])
    .remarks(&[SUSPENDED, ("spec.template.dynamicAllocation.enabled", DYNAMIC)]),
    // kubevirt/kubevirt.
    kind("kubevirt.io", "VirtualMachine", &[part("launcher", "spec.template", ONE).as_form(Form::Launcher)])
        .remarks(&[MACHINE, ("spec.runStrategy=Halted", HALTED), ("spec.running=false", HALTED)]),
    kind("kubevirt.io", "VirtualMachineInstance", &[part("launcher", "", ONE).as_form(Form::Launcher)]).remarks(&[MACHINE]),
    kind(
        "kubevirt.io",
        "VirtualMachineInstanceReplicaSet",
        &[part("launcher", "spec.template", REPLICAS).as_form(Form::Launcher)],
    ).remarks(&[MACHINE]),
    kind(
        "pool.kubevirt.io",
        "VirtualMachinePool",
        &[part("launcher", "spec.virtualMachineTemplate.spec.template", REPLICAS).as_form(Form::Launcher)],
    )
    .remarks(&[
        MACHINE,
        ("spec.virtualMachineTemplate.spec.runStrategy=Halted", HALTED),
        ("spec.virtualMachineTemplate.spec.running=false", HALTED),
    ]),
    // prometheus-operator/prometheus-operator, spotahome/redis-operator, cloudnative-pg/cloudnative-pg, strimzi/strimzi-kafka-operator.
    by_resources!("monitoring.coreos.com", "Prometheus", ("", "spec", "spec.replicas", 1, "spec.shards", 1)),
    by_resources!("monitoring.coreos.com", "Alertmanager", ("", "spec", "spec.replicas", 1)),
    by_resources!("databases.spotahome.com", "RedisFailover", ("redis", "spec.redis", "spec.redis.replicas", 3), (
        "sentinel",
        "spec.sentinel",
        "spec.sentinel.replicas",
        3
    )),
    by_resources!("postgresql.cnpg.io", "Cluster", ("", "spec", "spec.instances", 1)),
    by_resources!("kafka.strimzi.io", "KafkaNodePool", ("", "spec", "spec.replicas", 1)),
    kind("kafka.strimzi.io", "Kafka", &[
        part("kafka", "spec.kafka", ONE)
            .as_form(Form::Resources)
            .counted(Count::Unless(&[("spec.kafka.replicas", 0)], "strimzi.io/node-pools")),
        part("zookeeper", "spec.zookeeper", ONE)
            .as_form(Form::Resources)
            .counted(Count::Unless(&[("spec.zookeeper.replicas", 0)], "strimzi.io/kraft")),
    ])
    .remarks(&[(
        "",
        "its pods by the resources in it; brokers of a KafkaNodePool are pods of that object; what its operator runs beside \
         them is left out",
    )]),
    // rancher/system-upgrade-controller.
    kind("upgrade.cattle.io", "Plan", &[part("upgrade", "spec", ONE).as_form(Form::Upgrade)])
        .remarks(&[("", "one pod on each node that it selects, while that is upgraded")]),
    // ai-dynamo/grove and sgl-project/rbg.
    kind(
        "grove.io",
        "PodCliqueSet",
        &[part("", "spec.template.cliques[].spec.podSpec", &[("spec.replicas", 1), ("spec.template.cliques[].spec.replicas", 1)])
            .as_form(Form::Spec)],
    )
    .remarks(&[("spec.template.podCliqueScalingGroups", "replicas of podCliqueScalingGroups do not count")]),
    kind("grove.io", "PodClique", &[part("", "spec.podSpec", REPLICAS).as_form(Form::Spec)]),
    kind("workloads.x-k8s.io", "RoleBasedGroup", &[part("", "spec.roles[].template", &[("spec.roles[].replicas", 1)])]),
];
