//! The objects for OpenShift at an API server that knows its kind of constraints, as OpenShift defines it.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use fs_err as fs;
use local_cluster::Cluster;
use serde_json::Value;
use workspace_tools::workspace::{root, target};

use super::helm::said;
use super::seen::Row;

/// OpenShift's definitions of its kinds, a Go module.
const DEFINITIONS: &str = "github.com/openshift/api@v0.0.0-20260213204242-d34f11c515b3";
const CONSTRAINTS: &str =
    "payload-manifests/crds/0000_03_config-operator_01_securitycontextconstraints.crd.yaml";

/// Applies the overlay with strict validation: no field is unknown, and none is of another type.
pub(super) fn accepted(cluster: &Cluster) -> anyhow::Result<Row> {
    let definition = definitions()?.join(CONSTRAINTS);
    cluster.apply(&fs::read_to_string(&definition)?)?;
    let kind = "crd/securitycontextconstraints.security.openshift.io";
    cluster.kubectl(&["wait", "--for=condition=Established", kind, "--timeout=30s"])?;
    let overlay = root().join("deploy/openshift").display().to_string();
    // An API server serves a new kind a moment after it is established.
    let began = Instant::now();
    while let Err(fault) = cluster.kubectl(&["apply", "--validate=strict", "-k", &overlay]) {
        ensure!(began.elapsed() < Duration::from_secs(30), "{fault:#}");
        std::thread::sleep(Duration::from_millis(200));
    }
    let wrong = fs::read_to_string(root().join("deploy/openshift/constraints.yaml"))?
        .replace("allowHostPorts: false", "allowHostPort: false");
    let fault = cluster.apply(&wrong).err().map(|fault| fault.to_string()).unwrap_or_default();
    ensure!(fault.contains("allowHostPort"), "an unknown field is taken: {fault}");
    let pod = pod_of_the_agent(cluster)?;
    let constraints = object(cluster, &["securitycontextconstraints", "topolet"])?;
    let exceeded = exceeded(&pod, &constraints);
    ensure!(exceeded.is_empty(), "the agent's pod is not allowed: {}", exceeded.join("; "));
    cluster.kubectl(&["delete", "-k", &overlay])?;
    cluster.kubectl(&["delete", kind])?;
    Ok((
        "`kubectl apply --validate=strict -k deploy/openshift`, with OpenShift's own definition".to_owned(),
        "taken; the agent's pod has nothing that its constraints do not allow".to_owned(),
    ))
}

/// The folder of the module, which Go fetches.
fn definitions() -> anyhow::Result<PathBuf> {
    let folder = target().join("chart");
    fs::create_dir_all(&folder)?;
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", DEFINITIONS]).current_dir(&folder).env("GOFLAGS", "-mod=mod");
    let found: Value = serde_json::from_str(&said(&mut go)?).context("Go prints no JSON")?;
    Ok(found["Dir"].as_str().context("Go names no folder")?.into())
}

fn object(cluster: &Cluster, name: &[&str]) -> anyhow::Result<Value> {
    Ok(serde_json::from_str(&cluster.kubectl(&[&["get", "-o", "json"], name].concat())?)?)
}

fn pod_of_the_agent(cluster: &Cluster) -> anyhow::Result<Value> {
    let set = object(cluster, &["daemonset", "topolet", "--namespace", "topolet"])?;
    Ok(set["spec"]["template"]["spec"].clone())
}

/// What of a pod the constraints do not allow, by the fields' published meaning.
fn exceeded(pod: &Value, constraints: &Value) -> Vec<String> {
    let mut exceeded = Vec::new();
    let mut need = |is_allowed: bool, what: &str| {
        if !is_allowed {
            exceeded.push(what.to_owned());
        }
    };
    let words = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let volumes = words(&constraints["volumes"]);
    for volume in pod["volumes"].as_array().into_iter().flatten() {
        for kind in
            volume.as_object().into_iter().flat_map(|fields| fields.keys()).filter(|key| *key != "name")
        {
            need(volumes.contains(kind), &format!("a volume of kind {kind}"));
            need(
                kind != "hostPath" || constraints["allowHostDirVolumePlugin"] == true,
                "a folder of the host",
            );
        }
    }
    for (asked, allowed) in
        [("hostNetwork", "allowHostNetwork"), ("hostPID", "allowHostPID"), ("hostIPC", "allowHostIPC")]
    {
        need(pod[asked] != true || constraints[allowed] == true, asked);
    }
    let linux = &pod["securityContext"]["seLinuxOptions"]["type"];
    need(*linux == constraints["seLinuxContext"]["seLinuxOptions"]["type"], "its SELinux type");
    for container in pod["containers"].as_array().into_iter().flatten() {
        let context = &container["securityContext"];
        need(context["privileged"] != true, "a privileged container");
        need(context["runAsUser"] == constraints["runAsUser"]["uid"], "its user");
        need(context["readOnlyRootFilesystem"] == true, "a root file system that can be written");
        need(context["allowPrivilegeEscalation"] == false, "escalation");
        need(words(&context["capabilities"]["add"]).is_empty(), "capabilities");
        need(words(&context["capabilities"]["drop"]) == ["ALL"], "capabilities that are kept");
        need(context["seccompProfile"]["type"] == "RuntimeDefault", "its seccomp profile");
        for port in container["ports"].as_array().into_iter().flatten() {
            need(port["hostPort"].is_null(), "a port of the host");
        }
    }
    exceeded
}

#[cfg(test)]
mod tests {
    use super::exceeded;
    use serde_json::{Value, json};

    #[test]
    fn what_constraints_do_not_allow_is_named() {
        let constraints = json!({
            "volumes": ["emptyDir"], "allowHostDirVolumePlugin": false, "runAsUser": {"uid": 0},
            "seLinuxContext": {"seLinuxOptions": {"type": "spc_t"}},
        });
        let container = json!({"securityContext": {
            "runAsUser": 0, "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        }});
        let pod = |change: fn(&mut Value)| {
            let mut pod = json!({
                "securityContext": {"seLinuxOptions": {"type": "spc_t"}},
                "volumes": [{"name": "run", "emptyDir": {}}], "containers": [container],
            });
            change(&mut pod);
            exceeded(&pod, &constraints)
        };
        assert_eq!(pod(|_| {}), Vec::<String>::new());
        let of_host = pod(|pod| pod["volumes"][0] = json!({"name": "a", "hostPath": {"path": "/"}}));
        assert_eq!(of_host, ["a volume of kind hostPath", "a folder of the host"]);
        assert_eq!(pod(|pod| pod["hostPID"] = true.into()), ["hostPID"]);
        assert_eq!(pod(|pod| pod["securityContext"] = json!({})), ["its SELinux type"]);
        let change: fn(&mut Value) = |pod| pod["containers"][0]["securityContext"]["runAsUser"] = 1.into();
        assert_eq!(pod(change), ["its user"]);
    }
}
