//! Pods to measure with.

use serde_json::{Value, json};

/// A pod whose containers each have these limits, and requests alike.
pub(crate) fn pod(name: &str, containers: usize, limits: &Value) -> Value {
    let containers: Vec<_> = (0..containers)
        .map(|at| {
            json!({
                "name": format!("c{at}"),
                "image": "registry.example/app",
                "resources": {"limits": limits, "requests": limits},
            })
        })
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"containers": containers},
    })
}

/// So many pods of one CPU and 64Mi.
pub(crate) fn residents(count: usize) -> Vec<Value> {
    let limits = json!({"cpu": "1", "memory": "64Mi"});
    (0..count).map(|at| pod(&format!("resident-{at}"), 1, &limits)).collect()
}
