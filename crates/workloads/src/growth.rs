//! How the time grows: one curve for each thing that there can be more of.

use serde_json::json;

use crate::catalogue::lists;
use crate::claims::ClaimsWork;
use crate::machines::{devices, made_up, pinned};
use crate::pods::{pod, residents};
use crate::work::{NodeWork, Task, Work};

/// What there is more and more of.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What is done, in words.
    pub title: &'static str,
    /// What there is more of.
    pub axis: &'static str,
    /// From few to many.
    pub points: Vec<Point>,
}

/// One point of a curve.
#[derive(Clone, Debug)]
pub struct Point {
    /// How many there are.
    pub at: usize,
    /// What is done with so many.
    pub work: Work,
}

impl Curve {
    fn new(title: &'static str, axis: &'static str, ats: &[usize], task: impl Fn(usize) -> Task) -> Self {
        let point = |&at| Point { at, work: Work { name: format!("{title}: {at} {axis}"), task: task(at) } };
        Self { title, axis, points: ats.iter().map(point).collect() }
    }
}

/// The curves of claims, which kube-scheduler's allocator decides too.
#[must_use]
pub fn claim_growth() -> Vec<Curve> {
    let curve = |title, axis, ats: &[usize], work: fn(usize) -> ClaimsWork| {
        Curve::new(title, axis, ats, |at| Task::Claims(work(at)))
    };
    vec![
        curve("CPUs of 96, then 1 GPU, one NUMA node", "CPUs", &[1, 2, 3, 4, 5, 6, 8, 16], |wanted| {
            ClaimsWork::cpus_then_gpu(96, wanted)
        }),
        curve("1 GPU, then CPUs of 96, one NUMA node", "CPUs", &[1, 2, 4, 8, 16, 24], |wanted| {
            ClaimsWork::gpu_then_cpus(96, wanted)
        }),
        curve("3 CPUs, then 1 GPU, one NUMA node", "devices", &[8, 16, 32, 64, 128, 256], |cpus| {
            ClaimsWork::cpus_then_gpu(cpus, 3)
        }),
        curve("NICs, then GPUs, refused", "GPUs a node", &[4, 6, 8, 10, 12], ClaimsWork::nics_then_gpus),
        curve("9 devices that differ, of 8 values", "devices", &[16, 24, 32, 48, 64], |devices| {
            ClaimsWork::distinct(devices, 8)
        }),
        curve("partitions, then whole GPUs, refused", "GPUs", &[2, 3, 4, 6, 8], |gpus| {
            // More small ones than a GPU has, so that two GPUs are broken up.
            ClaimsWork::partitions(gpus, 8, gpus - 1, false)
        }),
        curve(
            "4 requests, 2 constraints, all devices unlike, refused",
            "devices",
            &[16, 64, 250, 1000],
            ClaimsWork::unlike,
        ),
    ]
}

/// All curves of what the kubelet decides.
#[must_use]
pub fn growth() -> Vec<Curve> {
    let ordinary = json!({"cpu": "2", "memory": "1Gi", "example.com/nic": "1"});
    let one_pod = |machine_nodes: usize, cpus: usize, containers: usize, others: usize| {
        let ids: Vec<i64> = (0..).take(machine_nodes).collect();
        let mut work = NodeWork::empty(
            made_up(machine_nodes, cpus),
            pinned("0", machine_nodes),
            pod("p", containers, &ordinary),
        );
        work.devices = vec![devices("example.com/nic", 64, &ids)];
        work.residents = residents(others);
        work
    };
    vec![
        Curve::new("admit a pod", "NUMA nodes", &[1, 2, 4, 8, 16, 32, 64], |nodes| {
            Task::Admit(one_pod(nodes, nodes * 16, 1, 0))
        }),
        Curve::new("merge 3 lists on 8 nodes", "hints", &[8, 36, 92, 162, 255], |hints| Task::Merge {
            merge: lists(8, 3, hints),
        }),
        Curve::new("take half of the CPUs", "CPUs", &[8, 32, 128, 512, 1024], |cpus| {
            let limits = json!({"cpu": (cpus / 2).to_string(), "memory": "1Gi"});
            Task::TakeCpus(NodeWork::empty(made_up(2, cpus), pinned("0", 2), pod("p", 1, &limits)))
        }),
        Curve::new("hints on 4 nodes", "devices", &[1, 4, 16, 64, 256, 1024], |count| {
            let mut work = NodeWork::empty(
                made_up(4, 64),
                pinned("0", 4),
                pod("p", 1, &json!({"example.com/nic": "1"})),
            );
            work.devices = vec![devices("example.com/nic", count, &[0, 1, 2, 3])];
            Task::DeviceHints(work)
        }),
        Curve::new(
            "admit 4 containers beside others",
            "resident pods",
            &[1, 10, 50, 100, 200, 500],
            |others| Task::Admit(one_pod(2, 640, 4, others)),
        ),
        Curve::new("admit a pod of many", "containers", &[1, 2, 5, 10, 20], |containers| {
            Task::Admit(one_pod(2, 256, containers, 0))
        }),
    ]
}
