//! Nodes with devices of drivers, and claims for them, as objects of `resource.k8s.io/v1`.

use serde::Serialize;
use serde_json::{Value, json};

/// A node with its devices, and the claim of a pod that comes.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimsWork {
    /// Name of the node.
    pub node: &'static str,
    /// `DeviceClass` objects.
    pub classes: Vec<Value>,
    /// `ResourceSlice` objects.
    pub slices: Vec<Value>,
    /// `ResourceClaim` objects.
    pub claims: Vec<Value>,
    /// Whether the claims fit on the node; every side has to find that.
    pub fits: bool,
}

/// The attribute by which devices of several drivers are on one NUMA node.
const NUMA_NODE: &str = "resource.kubernetes.io/numaNode";
/// Most devices that a slice can have.
const SLICE: usize = 128;
const NODE: &str = "node-a";

impl ClaimsWork {
    /// So many CPUs, each a device, in equal parts on two NUMA nodes; four GPUs on the second.
    fn cpus_and_gpus(cpus: usize, requests: &[(&str, usize)], fits: bool) -> Self {
        let cpu = |number: usize| on_node(&format!("cpu-{number:03}"), number * 2 / cpus);
        let gpu = |number: usize| on_node(&format!("gpu-{number}"), 1);
        let drivers = [("cpu", (0..cpus).map(cpu).collect()), ("gpu", (0..4).map(gpu).collect())];
        Self::new(drivers, requests, &[json!({ "matchAttribute": NUMA_NODE })], fits)
    }

    /// A CPU request in front of one for a GPU, on one NUMA node: the order in which kube-scheduler tries all sets of CPUs.
    pub(crate) fn cpus_then_gpu(cpus: usize, wanted: usize) -> Self {
        Self::cpus_and_gpus(cpus, &[("cpu", wanted), ("gpu", 1)], true)
    }

    /// The same in the order that is found at once.
    pub(crate) fn gpu_then_cpus(cpus: usize, wanted: usize) -> Self {
        Self::cpus_and_gpus(cpus, &[("gpu", 1), ("cpu", wanted)], true)
    }

    /// NICs and then GPUs, more of these than one of the two NUMA nodes has.
    pub(crate) fn nics_then_gpus(per_node: usize) -> Self {
        let all = |kind: &str| {
            (0..2 * per_node).map(|number| on_node(&format!("{kind}-{number}"), number / per_node)).collect()
        };
        let requests = [("nic", per_node / 2), ("gpu", per_node + 1)];
        let on_one = [json!({ "matchAttribute": NUMA_NODE })];
        Self::new([("nic", all("nic")), ("gpu", all("gpu"))], &requests, &on_one, false)
    }

    /// One more device than there are values of an attribute, all of which have to differ.
    pub(crate) fn distinct(devices: usize, values: usize) -> Self {
        let device = |number: usize| on_node(&format!("nic-{number}"), number % values);
        let differ = [json!({ "distinctAttribute": NUMA_NODE })];
        let nics = [("nic", (0..devices).map(device).collect())];
        Self::new(nics, &[("nic", values + 1)], &differ, false)
    }

    /// Sixteen devices of one driver on two NUMA nodes, and a claim of one or two requests on one of them.
    pub(crate) fn ordinary(requests: &[usize], fits: bool) -> Self {
        let device = |number: usize| {
            let mut device = on_node(&format!("gpu-{number}"), number / 8);
            device["attributes"]["model"] = json!({ "string": "A100" });
            device["attributes"]["index"] = json!({ "int": number });
            device["capacity"] = json!({ "memory": { "value": "80Gi" } });
            device
        };
        let requests: Vec<(&str, usize)> = requests.iter().map(|count| ("gpu", *count)).collect();
        let on_one = [json!({ "matchAttribute": NUMA_NODE })];
        Self::new([("gpu", (0..16).map(device).collect())], &requests, &on_one, fits)
    }

    /// GPUs of seven slices each that are partitioned as claims ask: single slices first, then whole GPUs.
    pub(crate) fn partitions(gpus: usize, small: usize, whole: usize, fits: bool) -> Self {
        let partition = |profile: &str, number: usize, gpu: usize, slices: usize| {
            json!({
                "name": format!("{profile}-{number}-gpu-{gpu}"),
                "attributes": { "profile": { "string": profile } },
                "consumesCounters": [{
                    "counterSet": format!("gpu-{gpu}"),
                    "counters": { "slices": { "value": slices.to_string() } },
                }],
            })
        };
        let mut devices = Vec::new();
        for (profile, count, slices) in [("small", 7, 1), ("whole", 1, 7)] {
            for number in 0..count {
                devices.extend((0..gpus).map(|gpu| partition(profile, number, gpu, slices)));
            }
        }
        let requests = [("mig", small), ("mig", whole)];
        let mut work = Self::new([("mig", devices)], &requests, &[], fits);
        for (request, profile) in [(0, "small"), (1, "whole")] {
            let expression = format!("device.attributes['mig.example.com'].profile == '{profile}'");
            let selectors = json!([{ "cel": { "expression": expression } }]);
            work.claims[0]["spec"]["devices"]["requests"][request]["exactly"]["selectors"] = selectors;
        }
        let set = |gpu| json!({ "name": format!("gpu-{gpu}"), "counters": { "slices": { "value": "7" } } });
        let sets: Vec<Value> = (0..gpus).map(set).collect();
        let mut counters = slice("mig", "counters", work.slices.len() + 1);
        counters["spec"]["sharedCounters"] = json!(sets);
        for slice in &mut work.slices {
            slice["spec"]["pool"]["resourceSliceCount"] =
                counters["spec"]["pool"]["resourceSliceCount"].clone();
        }
        work.slices.push(counters);
        work
    }

    /// A thousand devices that differ in so many ways, four requests of which the last cannot be served, and two constraints.
    pub(crate) fn thousand(classes: usize) -> Self {
        let device = |number: usize| {
            let kind = number % classes;
            let mut device = on_node(&format!("nic-{number:04}"), kind % 4);
            device["attributes"]["kind"] = json!({ "int": kind });
            device["attributes"]["group"] = json!({ "int": kind / 4 });
            device
        };
        let requests = [("nic", 2), ("nic", 3), ("nic", 4), ("nic", 2)];
        let constraints = [
            json!({ "matchAttribute": NUMA_NODE, "requests": ["r0", "r1", "r3"] }),
            json!({ "matchAttribute": "nic.example.com/group", "requests": ["r1", "r2"] }),
        ];
        let nics = [("nic", (0..1000).map(device).collect())];
        let mut work = Self::new(nics, &requests, &constraints, false);
        let driver = "device.attributes['nic.example.com']";
        let on_node = "device.attributes['resource.kubernetes.io'].numaNode";
        // The last request is on another NUMA node than the constraint allows.
        for (request, expression) in [
            format!("{driver}.kind < {}", classes / 2),
            format!("{on_node} != 3"),
            format!("{driver}.kind >= 0"),
            format!("{driver}.kind >= {} && {on_node} == 3", classes / 2),
        ]
        .iter()
        .enumerate()
        {
            let selectors = json!([{ "cel": { "expression": expression } }]);
            work.claims[0]["spec"]["devices"]["requests"][request]["exactly"]["selectors"] = selectors;
        }
        work
    }

    /// So many devices that are all unlike, since one constraint reads a number that each has alone; four requests, of which the
    /// last cannot be served on the NUMA nodes that the others may be on.
    pub(crate) fn unlike(devices: usize) -> Self {
        let device = |number: usize| {
            let mut device = on_node(&format!("nic-{number:04}"), number % 4);
            device["attributes"]["serial"] = json!({ "int": number });
            device
        };
        let requests = [("nic", 2), ("nic", 3), ("nic", 4), ("nic", 2)];
        let constraints = [
            json!({ "matchAttribute": NUMA_NODE, "requests": ["r0", "r1", "r3"] }),
            json!({ "distinctAttribute": "nic.example.com/serial" }),
        ];
        let nics = [("nic", (0..devices).map(device).collect())];
        let mut work = Self::new(nics, &requests, &constraints, false);
        let on_node = "device.attributes['resource.kubernetes.io'].numaNode";
        let serial = "device.attributes['nic.example.com'].serial";
        for (request, expression) in [
            format!("{serial} < {}", devices / 2),
            format!("{on_node} != 3"),
            format!("{serial} % 3 == 0"),
            format!("{on_node} == 3"),
        ]
        .iter()
        .enumerate()
        {
            let selectors = json!([{ "cel": { "expression": expression } }]);
            work.claims[0]["spec"]["devices"]["requests"][request]["exactly"]["selectors"] = selectors;
        }
        work
    }

    fn new<const N: usize>(
        drivers: [(&str, Vec<Value>); N],
        requests: &[(&str, usize)],
        constraints: &[Value],
        fits: bool,
    ) -> Self {
        let class = |(driver, _): &(&str, Vec<Value>)| {
            let expression = format!("device.driver == '{driver}.example.com'");
            json!({
                "metadata": { "name": driver },
                "spec": { "selectors": [{ "cel": { "expression": expression } }] },
            })
        };
        let requests = requests.iter().enumerate().map(|(number, (class, count))| {
            let exactly = json!({ "deviceClassName": class, "allocationMode": "ExactCount", "count": count });
            json!({ "name": format!("r{number}"), "exactly": exactly })
        });
        let requests: Vec<Value> = requests.collect();
        let claim = json!({
            "metadata": { "name": "claim", "namespace": "default" },
            "spec": { "devices": { "requests": requests, "constraints": constraints } },
        });
        let classes = drivers.iter().map(class).collect();
        let mut slices = Vec::new();
        for (driver, devices) in drivers {
            let parts = devices.chunks(SLICE);
            let count = parts.len();
            for (number, devices) in parts.enumerate() {
                let mut slice = slice(driver, &number.to_string(), count);
                slice["spec"]["devices"] = json!(devices);
                slices.push(slice);
            }
        }
        Self { node: NODE, classes, slices, claims: vec![claim], fits }
    }
}

fn slice(driver: &str, name: &str, of: usize) -> Value {
    json!({
        "metadata": { "name": format!("{NODE}-{driver}-{name}") },
        "spec": {
            "driver": format!("{driver}.example.com"),
            "nodeName": NODE,
            "pool": { "name": NODE, "generation": 1, "resourceSliceCount": of },
        },
    })
}

fn on_node(name: &str, numa_node: usize) -> Value {
    json!({ "name": name, "attributes": { NUMA_NODE: { "int": numa_node } } })
}
