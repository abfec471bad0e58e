//! Pods as they are drawn from a seed.

use fastrand::Rng;
use serde_json::{Value, json};

/// The resource that the device plugin offers.
pub(crate) const DEVICE: &str = "example.com/fn";

/// A pod of one or two containers.
#[derive(Clone, Debug)]
pub(crate) struct PodWish {
    pub(crate) name: String,
    containers: Vec<ContainerWish>,
    /// Limits, too; without them the pod is Burstable.
    guaranteed: bool,
}

#[derive(Clone, Debug)]
struct ContainerWish {
    /// In thousandths; 0 asks for none.
    cpu: u64,
    /// In MiB.
    memory: u64,
    /// Pages of 2 MiB.
    huge_pages: u64,
    devices: u64,
}

impl PodWish {
    /// Mostly whole CPUs that fit, sometimes parts, none, or too much.
    pub(crate) fn random(at: usize, rng: &mut Rng) -> Self {
        let guaranteed = rng.u8(..10) < 8;
        let count = if rng.u8(..4) == 0 { 2 } else { 1 };
        let containers = (0..count).map(|_| ContainerWish::random(rng, guaranteed)).collect();
        Self { name: format!("pod{at}"), containers, guaranteed }
    }

    /// The manifest of a static pod that needs no network and no token. It has a UID of its own: the one that the kubelet
    /// makes of a manifest is another by each release, which ends the pod and starts it anew.
    pub(crate) fn manifest(&self) -> Value {
        let containers: Vec<Value> = self
            .containers
            .iter()
            .enumerate()
            .map(|(at, own)| {
                let amounts = own.amounts();
                let mut resources = json!({"requests": amounts});
                if self.guaranteed {
                    resources["limits"] = amounts;
                } else {
                    // Huge pages and devices have limits in any pod.
                    let both = amounts.as_object().into_iter().flatten();
                    let both = both.filter(|(name, _)| name.contains("huge") || name.contains('/'));
                    resources["limits"] = both.map(|(name, value)| (name.clone(), value.clone())).collect();
                }
                json!({"name": format!("c{at}"), "image": "localhost/test:1", "imagePullPolicy": "Never",
                "resources": resources})
            })
            .collect();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, "namespace": "default", "uid": format!("uid-of-{}", self.name)},
            "spec": {"hostNetwork": true, "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0, "containers": containers}})
    }

    /// For people.
    pub(crate) fn summary(&self) -> String {
        let containers: Vec<String> = self.containers.iter().map(|own| own.amounts().to_string()).collect();
        format!("{} {}", if self.guaranteed { "limits" } else { "requests" }, containers.join(" and "))
    }

    /// How many containers it has.
    pub(crate) fn containers(&self) -> usize {
        self.containers.len()
    }
}

impl ContainerWish {
    fn random(rng: &mut Rng, guaranteed: bool) -> Self {
        let cpu = match rng.u8(..20) {
            0..=11 => 1000 * rng.u64(1..=3),
            12..=13 => 1000 * rng.u64(4..=8),
            14..=17 => 250 * rng.u64(1..=5),
            _ if guaranteed => 100,
            _ => 0,
        };
        let memory = match rng.u8(..10) {
            0..=6 => 16 * rng.u64(1..=8),
            7..=8 => 64 * rng.u64(2..=6),
            _ => 512 + 64 * rng.u64(0..=6),
        };
        let huge_pages = if rng.u8(..6) == 0 { rng.u64(1..=5) } else { 0 };
        let devices = if rng.u8(..5) == 0 { rng.u64(1..=3) } else { 0 };
        Self { cpu, memory, huge_pages, devices }
    }

    fn amounts(&self) -> Value {
        let mut amounts = json!({"memory": format!("{}Mi", self.memory)});
        if self.cpu > 0 {
            amounts["cpu"] = json!(format!("{}m", self.cpu));
        }
        if self.huge_pages > 0 {
            amounts["hugepages-2Mi"] = json!(format!("{}Mi", 2 * self.huge_pages));
        }
        if self.devices > 0 {
            amounts[DEVICE] = json!(self.devices.to_string());
        }
        amounts
    }
}
