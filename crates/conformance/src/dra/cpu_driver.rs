//! The CPU driver: the devices that it publishes of a machine, and the CPUs of claims that it prepares one after the other.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use cpuset::CpuSet;
use dra_model::{AttributeValue, Device, DeviceId, DeviceResult};
use k8s_quantity::{Format, Quantity};
use node_simulation::{CpuDevices, CpuDriver};
use serde_json::{Value, json};
use topology_model::{Cache, CpuTable, MachineCore, MachineInfo, MachineNode};

use crate::case::{Case, Outcome, numbers, text};
use crate::corpus::Corpus;

pub(super) fn cpu_driver(_: &Corpus, case: &Case) -> Outcome {
    match answer(&case.input) {
        Ok(answer) => case.compare(answer),
        Err(error) => Outcome::unreadable(format!("{error:#}")),
    }
}

fn answer(input: &Value) -> anyhow::Result<Value> {
    let mode = match text(&input["mode"]) {
        "numanode" => CpuDevices::ByNode,
        "socket" => CpuDevices::BySocket,
        "individual" => CpuDevices::Individual,
        other => bail!("there is no mode {other:?}"),
    };
    let info = machine(input)?;
    let reserved: CpuSet = text(&input["reserved"]).parse()?;
    let driver = CpuDriver::new(&info, &CpuTable::new(&info)?, &reserved, mode);
    let devices = driver.devices();
    let mut answer = json!({ "steps": steps(&driver, &input["steps"])? });
    answer["smt"] =
        devices.first().is_some_and(|device| attribute(device, "smtEnabled") == json!(true)).into();
    if mode == CpuDevices::Individual {
        if !devices.is_empty() {
            let order: Vec<String> =
                devices.iter().map(|device| attribute(device, "cpuID").to_string()).collect();
            answer["order"] = order.join(",").into();
            answer["sums"] = sums(&devices).into();
        }
    } else if !devices.is_empty() {
        answer["groups"] = devices.iter().map(group).collect();
    }
    Ok(answer)
}

/// The claims, each with the CPUs that it gets or the error.
fn steps(driver: &CpuDriver, steps: &Value) -> anyhow::Result<Vec<String>> {
    let mut held = CpuSet::new();
    let mut claims: BTreeMap<usize, CpuSet> = BTreeMap::new();
    let mut given = Vec::new();
    for (number, step) in steps.as_array().into_iter().flatten().enumerate() {
        if let Some(ended) = step["end"].as_u64() {
            let cpus = claims.remove(&usize::try_from(ended)?).unwrap_or_default();
            held -= &cpus;
            given.push(String::new());
            continue;
        }
        let devices: Vec<DeviceResult> = step["take"].as_array().into_iter().flatten().map(taken).collect();
        given.push(match driver.prepare(&held, &devices) {
            Ok(cpus) => {
                held |= &cpus;
                let shown = cpus.to_string();
                claims.insert(number, cpus);
                shown
            }
            Err(error) => format!("error: {error}"),
        });
    }
    Ok(given)
}

/// A device, and how many CPUs are taken of it.
fn taken(step: &Value) -> DeviceResult {
    let consumed = step[1].as_i64().filter(|count| *count > 0);
    DeviceResult {
        device: DeviceId {
            driver: "dra.cpu".into(),
            pool: "machine".into(),
            device: format!("cpudev{}", text(&step[0])).into(),
        },
        consumed_capacity: consumed
            .map(|count| [("dra.cpu/cpu".into(), Quantity::from_units(count, Format::DecimalSi))].into()),
        ..DeviceResult::default()
    }
}

/// An attribute of the driver; -1 if the device does not have it.
fn attribute(device: &Device, name: &str) -> Value {
    match device.attribute("dra.cpu", &format!("dra.cpu/{name}")).and_then(|attribute| attribute.value()) {
        Some(AttributeValue::Int(number)) => (*number).into(),
        Some(AttributeValue::Bool(is)) => (*is).into(),
        _ => (-1).into(),
    }
}

/// A group: name, socket, NUMA node or -1, and CPUs.
fn group(device: &Device) -> Value {
    let cpus = device.capacity.get("dra.cpu/cpu").map(|capacity| capacity.value.value());
    let name = device.name.strip_prefix("cpudev");
    json!([name, attribute(device, "socketID"), attribute(device, "numaNodeID"), cpus])
}

/// Sums over devices, each with its place.
fn sums(devices: &[Device]) -> Vec<i64> {
    let sum = |name: &str| {
        (1..).zip(devices).map(|(place, device)| place * attribute(device, name).as_i64().unwrap_or(-1)).sum()
    };
    ["socketID", "numaNodeID", "coreID", "cacheL3ID"].map(sum).to_vec()
}

/// The machine of a case, as cAdvisor reports it: `crates/workspace-tools/cpu-driver/cases.go` says how CPUs and cores are numbered.
fn machine(input: &Value) -> anyhow::Result<MachineInfo> {
    let shape = numbers(&input["shape"]);
    let [sockets, nodes, cores, threads, per_cache] = *shape.as_slice() else { bail!("no shape") };
    let offline: CpuSet = text(&input["offline"]).parse()?;
    let per_socket = nodes * cores;
    let all = sockets * per_socket;
    let cpu = |core: i64, thread: i64| match text(&input["numbering"]) {
        "near" => core * threads + thread,
        "turns" => thread * all + core % per_socket * sockets + core / per_socket,
        _ => thread * all + core,
    };
    let is_online = |cpu: &i64| {
        let id = cpuset::CpuId::try_from(*cpu).ok();
        id.is_some_and(|id| !offline.contains(id))
    };
    let caches = (cores + per_cache - 1) / per_cache;
    let mut machine =
        MachineInfo { num_sockets: sockets, memory_capacity: 1 << 30, ..MachineInfo::default() };
    let mut topology = Vec::new();
    for id in 0..sockets * nodes {
        let cache = |at: i64| {
            Some(vec![Cache {
                id: id * caches + at / per_cache,
                size: 1 << 20,
                kind: "Unified".to_owned(),
                level: 3,
            }])
        };
        let mut node =
            MachineNode { id, caches: (caches == 1).then(|| cache(0)).flatten(), ..MachineNode::default() };
        let mut own = Vec::new();
        for at in 0..cores {
            let core = id * cores + at;
            let in_socket = core % per_socket;
            let online: Vec<i64> = (0..threads).map(|thread| cpu(core, thread)).filter(is_online).collect();
            machine.num_cpus += i64::try_from(online.len()).context("CPUs")?;
            if online.is_empty() {
                continue;
            }
            let alone = per_cache == 1 && caches > 1;
            own.push(MachineCore {
                core_id: match text(&input["cores"]) {
                    "machine" => core,
                    "gaps" => in_socket + in_socket / 3 * 5,
                    _ => in_socket,
                },
                thread_ids: Some(online),
                caches: alone.then(|| cache(at)).flatten(),
                uncore_caches: (!alone && caches > 1).then(|| cache(at)).flatten(),
                socket_id: core / per_socket,
                ..MachineCore::default()
            });
        }
        node.cores = Some(own);
        topology.push(node);
    }
    machine.topology = Some(topology);
    Ok(machine)
}
