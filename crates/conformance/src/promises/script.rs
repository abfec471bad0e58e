//! What happens on a node: pods that come and go, restarts, changes of devices. Drawn before the first answer,
//! so that no step depends on one.

use serde_json::{Value, json};

use super::configurations::configuration;
use super::draw::Draw;
use super::pods::Setting;

/// The steps of one filling.
pub(super) fn steps(setting: &Setting<'_>, config: &Value, draw: &mut Draw) -> Vec<Value> {
    let mut steps = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut serial = 0;
    let mut next_name = || {
        serial += 1;
        format!("p{serial}")
    };
    if setting.distributes && draw.percent(50) {
        let name = next_name();
        steps.push(json!({ "op": "add", "pod": setting.nearly_all(&name, draw) }));
        names.push(name);
    }
    // Some nodes are filled with equal pods first.
    let parts = if draw.percent(35) { draw.between(2, 10) } else { 0 };
    for _ in 0..parts + parts / 4 {
        let name = next_name();
        steps.push(json!({ "op": "add", "pod": setting.part(&name, parts, draw) }));
        names.push(name);
    }
    if parts > 0 && draw.percent(60) {
        steps.push(restart(setting, config, draw));
    }
    for _ in 0..draw.between(3, 9) {
        if !names.is_empty() && draw.percent(25) {
            let at = usize::try_from(draw.below(names.len() as u64)).unwrap_or(0);
            let name = names.remove(at);
            steps.push(json!({ "op": "remove", "name": name, "lazy": draw.percent(30) }));
        }
        let name = next_name();
        let pod = setting.pod(&name, draw);
        let first = pod["spec"]["containers"][0]["name"].clone();
        steps.push(json!({ "op": "add", "pod": pod }));
        names.push(name.clone());
        match draw.below(100) {
            0..5 => steps.push(json!({ "op": "restartContainer", "name": name, "container": first })),
            5..8 => steps.extend(changed_devices(setting, draw)),
            8..9 => steps.extend(unplugged(setting)),
            9..18 => steps.push(restart(setting, config, draw)),
            _ => {}
        }
    }
    if draw.percent(60) {
        steps.push(restart(setting, config, draw));
        if draw.percent(50) {
            steps.push(restart(setting, config, draw));
        }
    }
    steps
}

fn restart(setting: &Setting<'_>, config: &Value, draw: &mut Draw) -> Value {
    let plugins = draw.one_of(&["before", "after", "after", "never"]);
    let mut step = json!({ "op": "restart", "running": draw.percent(75), "plugins": plugins });
    if draw.percent(12) {
        // Another configuration, or the same with another part.
        let other = configuration(setting.machine, draw);
        let mut changed = if draw.percent(30) { other.clone() } else { config.clone() };
        let part = draw.one_of(&[
            "cpuManagerPolicyOptions",
            "topologyManagerPolicy",
            "reservedSystemCPUs",
            "systemReserved",
        ]);
        match other.get(part) {
            Some(value) => changed[part] = value.clone(),
            None => {
                changed.as_object_mut().map(|fields| fields.remove(part));
            }
        }
        // The gates of a process are set once.
        match config.get("featureGates") {
            Some(gates) => changed["featureGates"] = gates.clone(),
            None => {
                changed.as_object_mut().map(|fields| fields.remove("featureGates"));
            }
        }
        step["config"] = changed;
    }
    step
}

/// Some devices of a plugin that prefers change their health.
fn changed_devices(setting: &Setting<'_>, draw: &mut Draw) -> Option<Value> {
    let lists = setting.devices.as_array()?;
    let list = lists.iter().find(|list| list["preferred"] == true)?;
    let mut devices = list["devices"].as_array()?.clone();
    for device in &mut devices {
        if draw.percent(30) {
            let is_unhealthy = device["unhealthy"] == true;
            device["unhealthy"] = json!(!is_unhealthy);
        }
    }
    Some(json!({ "op": "devices", "resource": list["resource"], "devices": devices }))
}

fn unplugged(setting: &Setting<'_>) -> Option<Value> {
    let list = setting.devices.as_array()?.first()?;
    Some(json!({ "op": "unplug", "resource": list["resource"] }))
}
