//! Pods of many kinds.

use serde_json::{Map, Value, json};

use super::draw::{Described, Draw};

/// What pods are drawn for.
pub(super) struct Setting<'a> {
    pub(super) machine: &'a Described,
    /// The list of device plugins.
    pub(super) devices: &'a Value,
    /// Whether the managers serve pods as a whole.
    pub(super) serves_pods: bool,
    /// Whether CPUs are distributed over nodes in whole cores.
    pub(super) distributes: bool,
}

type Amounts = Map<String, Value>;

fn amounts<const N: usize>(list: [(&str, String); N]) -> Amounts {
    list.into_iter().map(|(name, amount)| (name.to_owned(), json!(amount))).collect()
}

fn mebi(amount: u64) -> String {
    format!("{amount}Mi")
}

fn container(name: &str, limits: &Amounts) -> Value {
    json!({ "name": name, "image": "registry.example/app:1", "resources": { "limits": limits } })
}

fn named(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "uid": name }, "spec": spec })
}

impl Setting<'_> {
    /// A pod of this name.
    pub(super) fn pod(&self, name: &str, draw: &mut Draw) -> Value {
        let kind = draw.below(100);
        let kind = if self.serves_pods && draw.percent(35) { 78 } else { kind };
        let spec = match kind {
            0..18 => self.one(draw, "pages", Self::paged),
            18..30 => self.one(draw, "train", Self::with_devices),
            30..42 => self.several(draw),
            42..60 => self.one(draw, "main", Self::ordinary),
            60..64 => json!({ "containers": [
                container("main", &self.small(draw)),
                container("part", &amounts([("cpu", draw.one_of(&["500m", "1500m"]).into()), ("memory", "100Mi".into())])),
            ] }),
            64..71 => self.burstable(draw),
            71..75 => {
                let mut limits = Amounts::new();
                self.add_devices(&mut limits, draw, 40);
                json!({ "containers": [container("best", &limits)] })
            }
            75..84 => self.whole(draw),
            84..90 => self.too_large(draw),
            90..93 => json!({
                "overhead": { "cpu": draw.one_of(&["250m", "1"]), "memory": "120Mi" },
                "containers": [container("vm", &self.small(draw))],
            }),
            93..95 => json!({
                "priorityClassName": "system-node-critical", "priority": 2_000_001_000,
                "containers": [container("critical", &self.ordinary(draw))],
            }),
            _ => {
                let each = (0..4).map(|at| container(&format!("c{at}"), &self.small(draw)));
                json!({ "containers": each.collect::<Vec<_>>() })
            }
        };
        named(name, &spec)
    }

    /// A pod that takes an even part of the machine.
    pub(super) fn part(&self, name: &str, parts: u64, draw: &mut Draw) -> Value {
        let threads = self.machine.threads();
        let cpus = (self.machine.cpus() / parts.max(1)).max(1);
        let cpus = if draw.percent(80) { (cpus / threads).max(1) * threads } else { cpus };
        let limits = amounts([("cpu", cpus.to_string()), ("memory", "1Gi".into())]);
        named(name, &json!({ "containers": [container("part", &limits)] }))
    }

    /// A pod that takes all cores but about one on each node; often so many that an odd number of CPUs is left on each,
    /// and what is left over for two of them is one CPU each too much.
    pub(super) fn nearly_all(&self, name: &str, draw: &mut Draw) -> Value {
        let (threads, nodes) = (self.machine.threads(), self.machine.with_cpus().count() as u64);
        let left = draw.one_of(&[3, 5]);
        let free = self.machine.cpus_of_node(draw).saturating_sub(1);
        let cpus = if nodes > left && threads == 2 && free > left && draw.percent(60) {
            nodes * (free - left) + 2 * left
        } else {
            let cores = self.machine.cpus() / threads;
            cores.saturating_sub(draw.between(nodes / 2, 2 * nodes)).max(1) * threads
        };
        let limits = amounts([("cpu", cpus.to_string()), ("memory", "1Gi".into())]);
        named(name, &json!({ "containers": [container("most", &limits)] }))
    }

    fn one(&self, draw: &mut Draw, name: &str, limits: impl Fn(&Self, &mut Draw) -> Amounts) -> Value {
        json!({ "containers": [container(name, &limits(self, draw))] })
    }

    fn cpus(&self, draw: &mut Draw) -> u64 {
        let of_node = self.machine.cpus_of_node(draw);
        let count = match draw.below(12) {
            10 => draw.between(of_node, self.machine.cpus()),
            11 => self.machine.cpus().saturating_sub(draw.between(1, of_node)),
            0 => 1,
            1 | 2 => 2,
            3 => of_node / 4 + 1,
            4 => of_node / 2,
            5 => of_node / 2 + 1,
            6 => of_node.saturating_sub(1),
            7 => of_node,
            8 => of_node + 2,
            _ => draw.between(1, of_node),
        };
        let (count, threads) = (count.max(1), self.machine.threads());
        if draw.percent(60) { count.div_ceil(threads) * threads } else { count }
    }

    fn memory(&self, draw: &mut Draw) -> String {
        let of_node = self.machine.memory_of_node(draw) >> 20;
        match draw.below(8) {
            0 => "200Mi".into(),
            1 => "1Gi".into(),
            2 => mebi(of_node / 4),
            3 => mebi(of_node / 2),
            4 => mebi(of_node / 2 + of_node / 8),
            5 => mebi(of_node + of_node / 4),
            _ => draw.one_of(&["512M", "100Mi", "2Gi", "1500Mi", "1e9", "0.5Gi", "1000000000500m"]).into(),
        }
    }

    fn ordinary(&self, draw: &mut Draw) -> Amounts {
        let mut cpus = self.cpus(draw).to_string();
        if draw.percent(5) {
            cpus = draw.one_of(&["2000m", "1999500u", "1.5", "0", "1e1", "3001m"]).into();
        }
        let mut memory = self.memory(draw);
        if draw.percent(3) {
            memory = draw.one_of(&["0", "1", "123456789123456789", "1Ei"]).into();
        }
        let mut limits = amounts([("cpu", cpus), ("memory", memory)]);
        self.add_devices(&mut limits, draw, 35);
        limits
    }

    fn small(&self, draw: &mut Draw) -> Amounts {
        let memory = draw.one_of(&["100Mi", "256Mi", "1Gi"]);
        let mut limits = amounts([("cpu", draw.between(1, 3).to_string()), ("memory", memory.into())]);
        self.add_devices(&mut limits, draw, 20);
        limits
    }

    fn paged(&self, draw: &mut Draw) -> Amounts {
        let cpus = self.machine.threads() * draw.between(1, 4);
        let memory = draw.one_of(&["200Mi", "1Gi", "2Gi"]);
        let mut limits = amounts([("cpu", cpus.to_string()), ("memory", memory.into())]);
        let sizes = self.machine.page_sizes();
        for (resource, bytes) in &sizes {
            if draw.percent(60) {
                let most = ((4 << 30) / bytes).clamp(1, 128);
                limits.insert(resource.clone(), json!((bytes * draw.between(1, most)).to_string()));
            }
        }
        if draw.percent(4) {
            let (size, amount) =
                draw.one_of(&[("hugepages-2Mi", "4Mi"), ("hugepages-1Gi", "0"), ("hugepages-64Ki", "640Ki")]);
            limits.insert(size.into(), json!(amount));
        }
        self.add_devices(&mut limits, draw, 30);
        limits
    }

    fn with_devices(&self, draw: &mut Draw) -> Amounts {
        let mut limits = amounts([("cpu", self.cpus(draw).to_string()), ("memory", self.memory(draw))]);
        self.add_devices(&mut limits, draw, 90);
        limits
    }

    fn add_devices(&self, limits: &mut Amounts, draw: &mut Draw, chance: u64) {
        for list in self.devices.as_array().into_iter().flatten() {
            let has = list["devices"].as_array().map_or(0, Vec::len) as u64;
            if draw.percent(chance) {
                let count = match draw.below(10) {
                    0 | 1 => 2,
                    2 => draw.between(1, has),
                    3 if draw.percent(20) => 0,
                    _ => 1,
                };
                limits.insert(list["resource"].as_str().unwrap_or_default().into(), json!(count.to_string()));
            }
        }
    }

    fn several(&self, draw: &mut Draw) -> Value {
        let mut init = Vec::new();
        for at in 0..draw.below(3) {
            let limits = if draw.percent(25) { self.ordinary(draw) } else { self.small(draw) };
            let mut own = container(&format!("init{at}"), &limits);
            if draw.percent(40) {
                own["restartPolicy"] = json!("Always");
            }
            init.push(own);
        }
        let mut apps = Vec::new();
        for at in 0..draw.between(1, 3) {
            let limits = if at == 0 && draw.percent(50) { self.ordinary(draw) } else { self.small(draw) };
            apps.push(container(&format!("app{at}"), &limits));
        }
        json!({ "initContainers": init, "containers": apps })
    }

    fn burstable(&self, draw: &mut Draw) -> Value {
        let mut limits = amounts([("cpu", "4".into()), ("memory", "1Gi".into())]);
        self.add_devices(&mut limits, draw, 30);
        let requests =
            amounts([("cpu", draw.one_of(&["1", "100m", "2"]).into()), ("memory", "512Mi".into())]);
        let mut own = container("burst", &limits);
        own["resources"]["requests"] = Value::Object(requests);
        if draw.percent(30) {
            return json!({ "containers": [container("own", &self.ordinary(draw)), own] });
        }
        json!({ "containers": [own] })
    }

    /// With resources at pod level.
    fn whole(&self, draw: &mut Draw) -> Value {
        let cpus = if draw.percent(20) { self.cpus(draw).max(2) } else { draw.between(2, 8) };
        let mut limits = json!({ "cpu": cpus.to_string(), "memory": draw.one_of(&["1Gi", "2Gi", "4Gi"]) });
        if let Some((size, bytes)) = self.machine.page_sizes().first()
            && draw.percent(20)
        {
            limits[size] = json!((bytes * draw.between(1, 4)).to_string());
        }
        let resources = match draw.below(6) {
            0 => json!({ "limits": limits, "requests": { "cpu": "1", "memory": "512Mi" } }),
            1 => json!({ "limits": { "cpu": cpus.to_string() }, "requests": { "cpu": cpus.to_string() } }),
            2 => json!({ "limits": limits }),
            _ => json!({ "limits": limits, "requests": limits }),
        };
        let mut containers = Vec::new();
        if draw.percent(70) {
            let own = amounts([("cpu", draw.between(1, cpus).to_string()), ("memory", "256Mi".into())]);
            containers.push(container("own", &own));
        }
        if containers.is_empty() || draw.percent(75) {
            let mut limits = Amounts::new();
            self.add_devices(&mut limits, draw, 15);
            containers.push(container("shared", &limits));
        }
        let mut init = Vec::new();
        if draw.percent(30) {
            let limits = amounts([("cpu", draw.between(1, 2).to_string()), ("memory", "128Mi".into())]);
            let mut own = container("init", &limits);
            if draw.percent(40) {
                own["restartPolicy"] = json!("Always");
            }
            init.push(own);
        }
        json!({ "resources": resources, "initContainers": init, "containers": containers })
    }

    fn too_large(&self, draw: &mut Draw) -> Value {
        let mut limits = amounts([("cpu", "2".into()), ("memory", "200Mi".into())]);
        match draw.below(4) {
            0 => {
                let cpus = self.machine.cpus() + draw.below(3);
                limits.insert("cpu".into(), json!(cpus.to_string()));
            }
            1 => {
                let memory = (self.machine.info.memory_capacity >> 20) + 1;
                limits.insert("memory".into(), json!(mebi(memory)));
            }
            2 => {
                limits.insert("ephemeral-storage".into(), json!(draw.one_of(&["200Gi", "95Gi", "10Gi"])));
            }
            _ => {
                limits.insert("example.com/unknown".into(), json!("1"));
            }
        }
        json!({ "containers": [container("large", &limits)] })
    }
}
