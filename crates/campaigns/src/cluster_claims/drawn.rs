//! Pods with claims, drawn at random.

use fastrand::Rng;
use serde_json::{Value, json};

/// What the machines' devices are matched by.
const NUMA: &str = "resource.kubernetes.io/numaNode";
/// What devices of drivers are matched by, where they have it.
const NUMA_OF_DRIVERS: &str = "dra.net/numaNode";
const CPUS: &str = "dra.cpu";
/// Drivers whose devices have not the standard attribute.
const WITHOUT_NUMA: [&str; 4] = [CPUS, "cpu.example.com", "gpu.example.com", "net.example.com"];
/// Of a class of devices that several claims share: what is taken, and how much of it.
const SHARED: [(&str, &str, [&str; 3]); 3] = [
    (CPUS, "dra.cpu/cpu", ["1", "2", "4"]),
    ("cpu.example.com", "cpu.example.com/cpu", ["1", "2", "3"]),
    ("net.example.com", "ingressBandwidth", ["1G", "2500M", "40G"]),
];

/// A pod with pinned or shared CPUs and the template of its claim: one to three requests, of which those with an attribute for the NUMA
/// node may have to be on one.
pub(super) fn drawn(pod: &str, classes: &[String], random: &mut Rng) -> String {
    let count = random.usize(1..=3);
    let requests: Vec<Value> = (0..count)
        .map(|at| json!({"name": format!("r-{at}"), "exactly": request(random.choice(classes), random)}))
        .collect();
    let constraints: Vec<Value> = if random.bool() {
        [(NUMA, false), (NUMA_OF_DRIVERS, true)]
            .into_iter()
            .filter_map(|(attribute, is_of_cpus)| {
                let has_it = |request: &&Value| {
                    let class = request["exactly"]["deviceClassName"].as_str().unwrap_or_default();
                    if is_of_cpus { class == CPUS } else { !WITHOUT_NUMA.contains(&class) }
                };
                let named: Vec<&Value> =
                    requests.iter().filter(has_it).map(|request| &request["name"]).collect();
                (!named.is_empty()).then(|| json!({"matchAttribute": attribute, "requests": named}))
            })
            .collect()
    } else {
        Vec::new()
    };
    let template = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": pod},
        "spec": {"spec": {"devices": {"requests": requests, "constraints": constraints}}},
    });
    let limits = json!({"cpu": random.choice(["1", "2", "4", "500m"]), "memory": "256Mi"});
    let mut resources = json!({"limits": limits, "claims": [{"name": "d"}]});
    if random.u8(0..4) == 0 {
        // Burstable: nothing is pinned.
        resources["requests"] = json!({"cpu": "100m", "memory": "128Mi"});
    }
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod},
        "spec": {
            "resourceClaims": [{"name": "d", "resourceClaimTemplateName": pod}],
            "containers": [{"name": "app", "image": "none", "resources": resources}],
            "terminationGracePeriodSeconds": 0,
        },
    });
    format!("{template}\n---\n{pod}\n")
}

/// A request for devices of a class: of CPUs that are devices one, of a shared device a part or all.
fn request(class: Option<&String>, random: &mut Rng) -> Value {
    let class = class.map(String::as_str).unwrap_or_default();
    let shared = SHARED.into_iter().find(|(of, ..)| *of == class);
    if let Some((_, what, amounts)) = shared.filter(|_| random.u8(0..3) > 0) {
        let requests = json!({what: random.choice(amounts)});
        return json!({"deviceClassName": class, "capacity": {"requests": requests}});
    }
    json!({"deviceClassName": class, "count": if class == CPUS { 1 } else { random.u8(1..=3) }})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_a_seed_are_the_same_and_have_all_kinds_of_requests() {
        let classes = ["dra.cpu", "gpu.vendor.com", "net.example.com"].map(str::to_owned);
        let all = |seed| -> Vec<String> {
            let mut random = Rng::with_seed(seed);
            (0..200).map(|number| drawn(&format!("pod-{number}"), &classes, &mut random)).collect()
        };
        assert_eq!(all(1), all(1));
        let text = all(1).concat();
        for part in [
            r#""matchAttribute":"resource.kubernetes.io/numaNode""#,
            r#""matchAttribute":"dra.net/numaNode""#,
            r#""capacity":{"requests":{"dra.cpu/cpu":"4"}}"#,
            r#""requests":{"cpu":"100m","memory":"128Mi"}"#,
            r#""count":3"#,
        ] {
            assert!(text.contains(part), "{part}");
        }
    }
}
