//! A kubelet's own managers in a folder, step by step; and what pods hold, in one form for the kubelet's and
//! topolet's answers.

#![allow(unreachable_pub, dead_code, reason = "each test uses its part")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use cpuset::CpuSet;
use serde_json::{Value, json};

/// The project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// How long a kubelet may take for one answer, and to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// The program, where `cargo xtask test` or `cargo xtask kubelet-node` has built it and it may run; else it is printed
/// why not, which in CI is a failure.
pub fn program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_topolet")).parent()?.parent()?;
    let path = target.join("kubelet/admission");
    let why = if path.is_file() {
        let tried = Command::new(&path).args(["drive", "/tmp"]).stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&tried.stderr);
        let why = format!("a kubelet needs a mount namespace of its own: {}", text.trim());
        (!tried.status.success()).then_some(why)
    } else {
        Some(format!("{} is not built; `cargo xtask kubelet-node` builds it", path.display()))
    };
    let Some(why) = why else { return Some(path) };
    assert!(std::env::var_os("CI").is_none(), "{why}");
    println!("skipped: {why}");
    None
}

/// A recorded series of pods on a node, whose steps are played again.
pub struct Series {
    pub id: String,
    /// Without the steps.
    pub case: Value,
    pub steps: Vec<Value>,
}

impl Series {
    /// All that are committed. Steps that change devices are left out, and plugins are there at once after a
    /// restart: an observer learns of devices elsewhere.
    pub fn all() -> Vec<Self> {
        let text = fs::read_to_string(project().join("fixtures/kubelet/admission/sequence.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .filter(|line| line["case"].is_object())
            .map(|mut line| {
                let steps = line["case"]["steps"].take();
                let played =
                    |step: &&Value| ["add", "remove", "restart"].contains(&step["op"].as_str().unwrap());
                let mut steps: Vec<Value> =
                    steps.as_array().unwrap().iter().filter(played).cloned().collect();
                for step in steps.iter_mut().filter(|step| step["op"] == "restart") {
                    step["plugins"] = json!("before");
                }
                Self { id: line["id"].as_str().unwrap().to_owned(), case: line["case"].take(), steps }
            })
            .collect()
    }

    fn machines() -> PathBuf {
        project().join("fixtures/kubelet/admission/machines")
    }

    /// Machine, configuration and devices, as arguments of topolet; their files go to `folder`.
    pub fn arguments(&self, folder: &Path) -> [PathBuf; 3] {
        let name = format!("{}.json", self.case["machine"].as_str().unwrap());
        let mut machine: Value =
            serde_json::from_slice(&fs::read(Self::machines().join(&name)).unwrap()).unwrap();
        if let Some(pages) = self.case["hugepages"].as_array() {
            let mut all: BTreeMap<u64, u64> = BTreeMap::new();
            for node in machine["topology"].as_array_mut().unwrap() {
                let id = node["node_id"].clone();
                let own = pages.iter().filter(|pages| pages["node"] == id);
                let own: Vec<Value> = own
                    .map(|pages| json!({"page_size": pages["sizeKi"], "num_pages": pages["pages"]}))
                    .collect();
                for pages in &own {
                    *all.entry(pages["page_size"].as_u64().unwrap()).or_default() +=
                        pages["num_pages"].as_u64().unwrap();
                }
                node["hugepages"] = json!(own);
            }
            let all = all.iter().map(|(size, count)| json!({"page_size": size, "num_pages": count}));
            machine["hugepages"] = all.collect();
        }
        let mut config = self.case["config"].clone();
        config["apiVersion"] = json!("kubelet.config.k8s.io/v1beta1");
        config["kind"] = json!("KubeletConfiguration");
        let devices: Vec<Value> = self.case["devices"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|of| {
                let list = of["devices"].as_array().unwrap().iter().map(|device| {
                    let mut one = json!({"id": device["id"], "nodes": device["numa"]});
                    if device["unhealthy"] == true {
                        one["unhealthy"] = json!(true);
                    }
                    if one["nodes"].is_null() {
                        one.as_object_mut().unwrap().remove("nodes");
                    }
                    one
                });
                json!({"resource": of["resource"], "list": list.collect::<Vec<_>>()})
            })
            .collect();
        let write = |name: &str, value: Value| {
            let path = folder.join(name);
            fs::write(&path, value.to_string()).unwrap();
            path
        };
        [
            write("machineinfo.json", machine),
            write("config.json", config),
            write("devices.json", json!({"devices": devices})),
        ]
    }
}

/// A kubelet's managers. They end with their input.
pub struct Kubelet {
    child: Child,
    steps: Option<ChildStdin>,
    /// Each line that they print. It is read as soon as it is there, so that they never wait for a reader.
    answers: Receiver<String>,
}

impl Kubelet {
    /// Starts them in a folder, with these pods that run already. Also their first answer.
    pub fn start(program: &Path, root: &Path, series: &Series, residents: &[Value]) -> (Self, Value) {
        let mut kubelet = Self::spawn(program, root, series, residents);
        let answer = kubelet.answer();
        (kubelet, answer)
    }

    /// Whether they start in an empty folder. Of a feature gate that they do not know they die.
    pub fn starts(program: &Path, series: &Series) -> bool {
        let root = std::env::temp_dir().join(format!("kubelet-starts-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        let answer = Self::spawn(program, &root, series, &[]).answers.recv_timeout(PATIENCE);
        fs::remove_dir_all(&root).unwrap();
        answer.is_ok_and(|line| serde_json::from_str::<Value>(&line).unwrap()["start"].is_object())
    }

    fn spawn(program: &Path, root: &Path, series: &Series, residents: &[Value]) -> Self {
        let mut child = Command::new(program)
            .arg("drive")
            .arg(root)
            .env("ADMISSION_MACHINES", Series::machines())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (steps, lines) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (sender, answers) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut kubelet = Self { child, steps, answers };
        let mut case = series.case.clone();
        case["residents"] = json!(residents);
        kubelet.tell(&case);
        kubelet
    }

    /// Does not wait.
    pub fn tell(&mut self, step: &Value) {
        let steps = self.steps.as_mut().unwrap();
        steps.write_all(format!("{step}\n").as_bytes()).unwrap();
    }

    pub fn answer(&mut self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|error| panic!("the kubelet does not answer: {error}"));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub fn step(&mut self, step: &Value) -> Value {
        self.tell(step);
        self.answer()
    }
}

impl Drop for Kubelet {
    /// Its output ends when it ends; one that does not is killed, which ends the process that it started too.
    fn drop(&mut self) {
        drop(self.steps.take());
        let end = Instant::now() + PATIENCE;
        let left = || end.saturating_duration_since(Instant::now());
        while self.answers.recv_timeout(left()).is_ok() {}
        if left().is_zero() {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// Who holds what. A key is `pod/container what`; a whole pod has no container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Holdings {
    pub shared: CpuSet,
    pub held: BTreeMap<String, String>,
}

impl Holdings {
    /// As the kubelet says.
    pub fn of_kubelet(state: &Value) -> Self {
        let mut held = BTreeMap::new();
        let cpu = &state["cpu"];
        for (key, cpus) in cpu["assigned"].as_object().into_iter().flatten() {
            held.insert(format!("{key} cpus"), cpus.as_str().unwrap().to_owned());
        }
        for (pod, cpus) in cpu["podAssigned"].as_object().into_iter().flatten() {
            held.insert(format!("{pod}/ cpus"), cpus.as_str().unwrap().to_owned());
        }
        let blocks = |blocks: &Value| {
            let block = |block: &Value| {
                let [of, size, nodes] = ["type", "size", "nodes"].map(|name| &block[name]);
                format!("{} {size} on {nodes}", of.as_str().unwrap())
            };
            let mut blocks: Vec<String> = blocks.as_array().into_iter().flatten().map(block).collect();
            blocks.sort();
            blocks.join(", ")
        };
        for (key, of) in state["memory"]["assigned"].as_object().into_iter().flatten() {
            held.insert(format!("{key} memory"), blocks(of));
        }
        for (pod, of) in state["memory"]["podAssigned"].as_object().into_iter().flatten() {
            held.insert(format!("{pod}/ memory"), blocks(of));
        }
        for (resource, of) in state["devices"].as_object().into_iter().flatten() {
            for (key, ids) in of.as_object().unwrap() {
                held.insert(format!("{key} {resource}"), ids.to_string());
            }
        }
        held.retain(|_, what| !what.is_empty());
        let shared = cpu["default"].as_str().unwrap_or_default().parse().unwrap();
        Self { shared, held }
    }

    /// As topolet says: the document `State`.
    pub fn of_topolet(state: &Value) -> Self {
        let mut held = BTreeMap::new();
        for line in state["containers"].as_array().unwrap() {
            let key = format!("{}/{}", line["uid"].as_str().unwrap(), line["container"].as_str().unwrap());
            held.insert(format!("{key} cpus"), line["cpus"].as_str().unwrap().to_owned());
            let blocks = line["memory"].as_array().unwrap().iter().map(|block| {
                let [of, size, nodes] = ["resource", "bytes", "nodes"].map(|name| &block[name]);
                format!("{} {size} on {nodes}", of.as_str().unwrap())
            });
            let mut blocks: Vec<String> = blocks.collect();
            blocks.sort();
            held.insert(format!("{key} memory"), blocks.join(", "));
            for of in line["devices"].as_array().unwrap() {
                held.insert(format!("{key} {}", of["resource"].as_str().unwrap()), of["ids"].to_string());
            }
        }
        held.retain(|_, what| !what.is_empty());
        let pool = state["files"][0]["contents"].as_str().unwrap();
        let pool = pool.split_once("shared pool ").map_or("", |(_, pool)| pool);
        Self { shared: pool.parse().unwrap_or_default(), held }
    }

    /// Without devices of other pods than these: of a pod that is gone the kubelet leaves them in its file until it
    /// next writes it, and of one that it refused it may not write them at all.
    pub fn with_devices_of(mut self, pods: &BTreeSet<String>) -> Self {
        let is_told = |key: &str| key.ends_with(" cpus") || key.ends_with(" memory");
        self.held.retain(|key, _| is_told(key) || pods.contains(pod_of(key)));
        self
    }

    /// Whether nothing is held by other pods than these: the kubelet frees that when it next admits one, and no
    /// other program can know.
    pub fn is_of(&self, pods: &BTreeSet<String>) -> bool {
        self.held.keys().all(|key| pods.contains(pod_of(key)))
    }
}

fn pod_of(key: &str) -> &str {
    key.split('/').next().unwrap_or_default()
}

/// The pods that run, by what the kubelet answers to a step.
pub fn running(pods: &mut BTreeSet<String>, step: &Value, answer: &Value) {
    let name = |of: &Value| of.as_str().unwrap().to_owned();
    match step["op"].as_str().unwrap() {
        "add" if answer["admitted"] == true => {
            pods.insert(name(&step["pod"]["metadata"]["name"]));
        }
        "remove" => {
            pods.remove(&name(&step["name"]));
        }
        "restart" => {
            let again = answer["readmit"].as_array().into_iter().flatten();
            *pods = again.filter(|pod| pod["admitted"] == true).map(|pod| name(&pod["pod"])).collect();
        }
        _ => {}
    }
    for pod in answer["preempted"].as_array().into_iter().flatten() {
        pods.remove(&name(pod));
    }
}
