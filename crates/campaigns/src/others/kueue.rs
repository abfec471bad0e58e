//! Kueue admits a job that waits in a queue, and starts it.
//!
//! Its webhooks serve on loopback, and the API server has no configuration for them. The job is created suspended, as the
//! webhook would make it. Kueue reads the certificate of its metrics below `/etc`, so it gets another `/etc` than the machine's.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::{Cluster, Process, User, free_port};

use super::apart::{Folders, apart};
use super::trial::{Outcome, Trial, object, until};

const USER: User<'static> = User { name: "kueue", groups: &[] };
const NAMESPACE: &str = "kueue-system";
/// Where it looks for the certificate of its metrics.
const CERTIFICATES: &str = "/etc/kueue/metrics/certs";

/// Gives its roles, which its module has, to the user above.
const BINDINGS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kueue}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: manager-role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kueue}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: kueue, namespace: kueue-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: manager-secrets-role}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: kueue}]
";

const QUEUES: &str = "
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: any
      resources: [{name: cpu, nominalQuota: 8}, {name: memory, nominalQuota: 8Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: jobs, namespace: default}
spec: {clusterQueue: all}
";

const JOB: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: waits, namespace: default, labels: {kueue.x-k8s.io/queue-name: jobs}}
spec:
  suspend: true
  template:
    metadata: {annotations: {fleet.topolet.dev/run-seconds: '1'}}
    spec:
      restartPolicy: Never
      containers: [{name: app, image: none, resources: {requests: {cpu: 2, memory: 1Gi}}}]
";

pub(super) fn attempt(trial: &Trial, file: &Path, source: &Path) -> anyhow::Result<Outcome> {
    let (cluster, _fleet) = trial.cluster_with_nodes()?;
    prepare(&cluster, source)?;
    let folder = tempfile::Builder::new().prefix("kueue").tempdir()?;
    let certificates = folder.path().join("certificates");
    fs::create_dir(&certificates)?;
    cluster.write_certificate(&certificates)?;
    let config = folder.path().join("kueue.yaml");
    fs::write(&config, configuration(&certificates)?)?;
    let shown = Some((certificates.as_path(), CERTIFICATES));
    let mut command = apart(file, Folders { empty: &["/etc"], shown, ..Folders::default() });
    command.arg("--config").arg(&config);
    command.arg("--kubeconfig").arg(cluster.kubeconfig_of(USER, Duration::from_hours(1))?);
    let mut kueue = Process::start("kueue", &command, folder.path())?;

    cluster.apply(QUEUES)?;
    until(
        "a queue that is active",
        || kueue.why_ended(),
        || {
            let queue = object(&cluster, &["clusterqueue", "all"])?;
            let conditions = queue["status"]["conditions"].as_array();
            let is_active = |of: &serde_json::Value| of["type"] == "Active" && of["status"] == "True";
            ensure!(conditions.is_some_and(|all| all.iter().any(is_active)), "it is {}", queue["status"]);
            Ok(())
        },
    )?;
    cluster.apply(JOB)?;
    until(
        "a job that has run",
        || kueue.why_ended(),
        || {
            let job = object(&cluster, &["job", "waits"])?;
            ensure!(job["spec"]["suspend"] == false, "the job is suspended: {}", job["status"]);
            ensure!(job["status"]["succeeded"] == 1, "the job is {}", job["status"]);
            Ok(())
        },
    )?;
    let workload = until(
        "a finished workload",
        || kueue.why_ended(),
        || {
            let workload = object(&cluster, &["workloads"])?["items"][0].clone();
            let conditions = workload["status"]["conditions"].as_array().context("it has no conditions")?;
            for wanted in ["QuotaReserved", "Admitted", "Finished"] {
                let has = conditions.iter().any(|of| of["type"] == wanted);
                ensure!(has, "it is not {wanted}: {}", workload["status"]);
            }
            Ok(workload)
        },
    )?;
    let queue = workload["status"]["admission"]["clusterQueue"].as_str().unwrap_or("no queue");
    Ok(Outcome::works(format!(
        "admits a suspended job to cluster queue `{queue}` and starts it; the job succeeds"
    )))
}

/// Its kinds of objects and its rights, as its module has them.
fn prepare(cluster: &Cluster, source: &Path) -> anyhow::Result<()> {
    let components = source.join("config/components");
    let kinds = components.join("crd/bases").display().to_string();
    // The definition of workloads is too large for the annotation of `kubectl apply` at the client's side.
    cluster.kubectl(&["apply", "--server-side", "-f", &kinds])?;
    cluster.kubectl(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"])?;
    cluster.kubectl(&["create", "namespace", NAMESPACE])?;
    for role in ["role.yaml", "manager_secrets_role.yaml"] {
        let path = components.join("rbac").join(role);
        let text = fs::read_to_string(&path)?;
        cluster.apply(&text.replace("namespace: system", &format!("namespace: {NAMESPACE}")))?;
    }
    cluster.apply(BINDINGS)?;
    Ok(())
}

/// Its configuration: it listens on loopback only, and `VisibilityOnDemand`, which needs an API service, is off.
fn configuration(certificates: &Path) -> anyhow::Result<String> {
    let (health, webhooks) = (free_port()?, free_port()?);
    let folder = serde_json::Value::from(certificates.display().to_string());
    Ok(format!(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nnamespace: {NAMESPACE}\n\
         health: {{healthProbeBindAddress: '127.0.0.1:{health}'}}\nmetrics: {{bindAddress: '0'}}\n\
         webhook: {{host: 127.0.0.1, port: {webhooks}, certDir: {folder}}}\n\
         internalCertManagement: {{enable: false}}\nleaderElection: {{leaderElect: false}}\n\
         featureGates: {{VisibilityOnDemand: false}}\nintegrations: {{frameworks: [batch/job]}}\n"
    ))
}
