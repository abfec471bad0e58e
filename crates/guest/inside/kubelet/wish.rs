//! Pods that the kubelet gets: drawn from a seed, or written down in a test.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

/// The resource that the device plugin offers.
pub(crate) const DEVICE: &str = "example.com/fn";

/// A static pod.
#[derive(Clone, Debug)]
pub(crate) struct PodWish {
    pub(crate) name: String,
    containers: Vec<Amounts>,
    class: Class,
}

/// What a container asks for, by resource.
pub(crate) type Amounts = BTreeMap<String, String>;

/// The QoS class: whether a pod's limits are as large as its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Guaranteed,
    /// No limits for CPU and memory.
    Burstable,
}

impl PodWish {
    /// Mostly whole CPUs that fit, sometimes parts, none, or too much; one container or two.
    pub(crate) fn random(at: usize, rng: &mut Rng) -> Self {
        let class = if rng.u8(..10) < 8 { Class::Guaranteed } else { Class::Burstable };
        let count = if rng.u8(..4) == 0 { 2 } else { 1 };
        let containers = (0..count).map(|_| random(rng, class)).collect();
        Self { name: format!("pod{at}"), containers, class }
    }

    /// As in `cpu=2 memory=64Mi + cpu=3 memory=64Mi`, one part for each container.
    pub(crate) fn of(name: &str, class: Class, text: &str) -> Self {
        let amounts = |part: &str| {
            let each = part.split_whitespace().filter_map(|word| word.split_once('='));
            each.map(|(resource, amount)| (resource.to_owned(), amount.to_owned())).collect()
        };
        Self { name: name.to_owned(), containers: text.split('+').map(amounts).collect(), class }
    }

    /// The same pod with another amount of a resource in the container of this name, or in the first if `container` is `None`.
    pub(crate) fn with_amount(mut self, container: Option<&str>, resource: &str, amount: &str) -> Self {
        let at = container.and_then(|name| name.strip_prefix('c')?.parse().ok()).unwrap_or(0);
        if let Some(own) = self.containers.get_mut(at) {
            own.insert(resource.to_owned(), amount.to_owned());
        }
        self
    }

    /// The same under another name.
    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// What the kubelet calls it in its files.
    pub(crate) fn uid(&self) -> String {
        format!("uid-of-{}", self.name)
    }

    /// The manifest of a static pod that needs no network and no token. It has a fixed UID: the UID that the
    /// kubelet derives from a manifest differs between releases, and a new UID ends the pod and starts it anew.
    pub(crate) fn manifest(&self) -> Value {
        let containers: Vec<Value> = self
            .containers
            .iter()
            .enumerate()
            .map(|(at, own)| {
                let mut resources = json!({"requests": own});
                if self.class == Class::Guaranteed {
                    resources["limits"] = json!(own);
                } else {
                    // Huge pages and devices have limits in any pod.
                    let both = own.iter().filter(|(name, _)| name.contains("huge") || name.contains('/'));
                    resources["limits"] = json!(both.collect::<BTreeMap<_, _>>());
                }
                json!({"name": format!("c{at}"), "image": "localhost/test:1", "imagePullPolicy": "Never",
                "resources": resources})
            })
            .collect();
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": self.name, "namespace": "default", "uid": self.uid()},
            "spec": {"hostNetwork": true, "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 0, "containers": containers}})
    }

    /// What it requests, for the reader of the output.
    pub(crate) fn summary(&self) -> String {
        let containers: Vec<String> = self.containers.iter().map(|own| json!(own).to_string()).collect();
        let class = match self.class {
            Class::Guaranteed => "limits",
            Class::Burstable => "requests",
        };
        format!("{class} {}", containers.join(" and "))
    }

    /// Whether a container asks for some of a resource.
    pub(crate) fn asks_for(&self, resource: &str) -> bool {
        self.containers.iter().any(|own| own.contains_key(resource))
    }

    /// How many containers it has.
    pub(crate) fn containers(&self) -> usize {
        self.containers.len()
    }
}

/// Draws the amounts of one container.
fn random(rng: &mut Rng, class: Class) -> Amounts {
    // In thousandths; 0 asks for none.
    let cpu = match rng.u8(..20) {
        0..=11 => 1000 * rng.u64(1..=3),
        12..=13 => 1000 * rng.u64(4..=8),
        14..=17 => 250 * rng.u64(1..=5),
        _ if class == Class::Guaranteed => 100,
        _ => 0,
    };
    let memory = match rng.u8(..10) {
        0..=6 => 16 * rng.u64(1..=8),
        7..=8 => 64 * rng.u64(2..=6),
        _ => 512 + 64 * rng.u64(0..=6),
    };
    let huge_pages = if rng.u8(..6) == 0 { rng.u64(1..=5) } else { 0 };
    let devices = if rng.u8(..5) == 0 { rng.u64(1..=3) } else { 0 };
    let drawn = [
        ("memory", memory, format!("{memory}Mi")),
        ("cpu", cpu, format!("{cpu}m")),
        ("hugepages-2Mi", huge_pages, format!("{}Mi", 2 * huge_pages)),
        (DEVICE, devices, devices.to_string()),
    ];
    let asked = drawn.into_iter().filter(|(_, amount, _)| *amount > 0);
    asked.map(|(resource, _, text)| (resource.to_owned(), text)).collect()
}
