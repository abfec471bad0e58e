//! Beside a kubelet: its own managers (the Go program of `crates/workspace-tools/kubelet`) write a folder while `serve --observe`
//! watches it, and start from folders that topolet has written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::daemon::{Daemon, Folder, until};
use crate::kubelet::{Holdings, Kubelet, Series, program, running};
use cpuset::CpuSet;
use serde_json::{Value, json};

/// Every file and folder: which it is, how large, and when it last changed in any way.
fn stamps(folder: &Path) -> BTreeMap<PathBuf, (u64, u64, i64, i64)> {
    let stamp = |path: &Path| {
        let about = fs::symlink_metadata(path).unwrap();
        (about.ino(), about.size(), about.ctime(), about.ctime_nsec())
    };
    let mut all = BTreeMap::from([(folder.to_path_buf(), stamp(folder))]);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(stamps(&path));
        } else {
            all.insert(path.clone(), stamp(&path));
        }
    }
    all
}

fn observe(root: &Path, own: &Path, series: &Series) -> Daemon {
    let [machine, config, devices] = series.arguments(own);
    let socket = own.join("observe.sock");
    let (socket_text, devices) = (socket.to_str().unwrap(), devices.to_str().unwrap());
    // The node of all series.
    let identity =
        ["--node-name", "node-1", "--node-labels", "kubernetes.io/os=linux,kubernetes.io/hostname=node-1"];
    let more = [&["--observe", "--socket", socket_text, "--devices", devices][..], &identity].concat();
    let daemon = Daemon::spawn(machine.to_str().unwrap(), root, config.to_str().unwrap(), &more).at(&socket);
    until("a watcher", || daemon.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
    daemon
}

/// Prints on a panic what was served, what was expected, and the watcher's log.
struct Told<'a>(&'a Mutex<Holdings>, &'a Holdings, &'a Daemon);

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.2.log();
            println!("served   {:?}\nexpected {:?}\n{}", self.0.lock().unwrap(), self.1, log.join("\n"));
        }
    }
}

fn served(watcher: &Daemon) -> Holdings {
    Holdings::of_topolet(&serde_json::from_str(&watcher.get("/v1/state").body).unwrap())
}

/// What would be decided on a pod; `None` if an API server would not take it, so that no kubelet hears of it.
fn explained(watcher: &Daemon, pod: &Value) -> Option<Value> {
    let reply = watcher.ask("POST", "/v1/explain", &pod.to_string());
    let said: Value = serde_json::from_str(&reply.body).unwrap();
    assert!(reply.status == 400 || said["decisions"][0].is_object(), "{said}");
    (reply.status != 400).then(|| said["decisions"][0].clone())
}

/// What a kubelet did is what it was expected to do.
fn as_explained(explained: &Value, answer: &Value, what: &str) {
    // With a fate that leaves an answer a pod has containers all the same, if it is admitted.
    let is_admitted = match explained["verdict"].as_str() {
        Some("fate") => explained["containers"].is_array().into(),
        _ => explained["admitted"].clone(),
    };
    assert_eq!(is_admitted, answer["admitted"], "{what}: {explained}\n{answer}");
    if answer["admitted"] == false {
        assert_eq!(explained["refusal"]["reason"], answer["reason"], "{what}");
        assert_eq!(explained["refusal"]["message"], answer["message"], "{what}");
        return;
    }
    let own = |containers: &Value, member: &str| -> BTreeMap<String, String> {
        let all = containers.as_array().into_iter().flatten();
        let all = all.filter_map(|of| Some((of["name"].as_str()?, of[member].as_str()?)));
        all.map(|(name, cpus)| (name.to_owned(), cpus.to_owned())).collect()
    };
    let expected = own(&explained["containers"], "exclusiveCpus");
    assert_eq!(expected, own(&answer["containers"], "exclusive"), "{what}");
}

/// The sum over the nodes of a metric.
fn total(metrics: &str, name: &str) -> u64 {
    let lines = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

/// Whether this can be between two states: nothing is of neither, but for the memory of the pod that is being admitted,
/// whose containers hand it on, and the shared pool is what they leave.
fn is_between(seen: &Holdings, before: &Holdings, after: &Holdings, all: &CpuSet, pod: &str) -> bool {
    let keys: BTreeSet<&String> =
        [seen, before, after].into_iter().flat_map(|holdings| holdings.held.keys()).collect();
    let is_known = keys.into_iter().all(|key| {
        let [seen, before, after] = [seen, before, after].map(|holdings| holdings.held.get(key));
        seen == before || seen == after || (key.starts_with(&format!("{pod}/")) && key.ends_with(" memory"))
    });
    let cpus = seen.held.iter().filter(|(key, _)| key.ends_with(" cpus"));
    let own = cpus.fold(CpuSet::new(), |sum, (_, cpus)| &sum | &cpus.parse().unwrap());
    is_known && (all.is_empty() || (own.is_disjoint(&seen.shared) && &own | &seen.shared == *all))
}

/// Small pods that come and go.
fn crowd() -> Vec<Value> {
    let mut steps = Vec::new();
    for round in 0..30 {
        let name = format!("crowd{round}");
        let limits = json!({"cpu": format!("{}", 1 + round % 2), "memory": "64Mi"});
        let container = |name: &str| json!({"name": name, "image": "x", "resources": {"limits": limits}});
        steps.push(json!({"op": "add", "pod": {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name},
            "spec": {"containers": [container("a"), container("b")]},
        }}));
        if round % 3 != 0 {
            steps.push(json!({"op": "remove", "name": name}));
        }
    }
    steps
}

#[test]
fn what_a_kubelet_settles_on_is_what_is_served() {
    let Some(program) = program() else { return };
    let (mut settled, mut explanations, mut looks, mut distinct) = (0, 0, 0, 0);
    for series in Series::all() {
        let (root, own) = (Folder::new(), Folder::new());
        let (mut kubelet, started) = Kubelet::start(&program, root.path(), &series, &[]);
        let started = &started["start"];
        if !started.is_object() {
            println!("{}: the kubelet does not start", series.id);
            continue;
        }
        let allocatable: CpuSet = started["allocatableCPUs"].as_str().unwrap_or_default().parse().unwrap();
        let mut state = Holdings::of_kubelet(&started["state"]);
        let all_cpus = state.shared.clone();
        let watcher = observe(root.path(), own.path(), &series);
        let mut pods = BTreeSet::new();
        let at_rest = |state: &Holdings, pods: &BTreeSet<String>, what: &str| {
            let state = &state.clone().with_devices_of(pods);
            // Differing states are shown if it never comes to this one.
            let last = Mutex::new(Holdings::default());
            let told = Told(&last, state, &watcher);
            let free = state.shared.intersection_len(&allocatable) as u64;
            until(what, || {
                let holdings = served(&watcher).with_devices_of(pods);
                // A state may come twice, so that what is seen may be the first of the two.
                let is_so =
                    holdings == *state && total(&watcher.get("/metrics").body, "topolet_free_cpus") == free;
                *last.lock().unwrap() = holdings;
                is_so.then_some(())
            });
            drop(told);
            let before = stamps(root.path());
            assert_eq!(watcher.get("/metrics").status, 200);
            assert_eq!(watcher.get("/v1/machine").status, 200);
            assert!(!watcher.get("/v1/pods").body.is_empty());
            assert_eq!(stamps(root.path()), before, "{what}: something was written");
        };
        at_rest(&state, &pods, &series.id);
        for (at, step) in series.steps.iter().enumerate() {
            let what = format!("{} step {at}", series.id);
            let is_known = state.is_of(&pods) && served(&watcher).is_of(&pods);
            let expected =
                (is_known && step["op"] == "add").then(|| explained(&watcher, &step["pod"])).flatten();
            let answer = kubelet.step(step);
            // Pods without exclusive resources are not in the folder, and their requests may leave no room.
            let is_of_managers = !answer["reason"].as_str().unwrap_or_default().starts_with("OutOf");
            if let Some(expected) = expected.filter(|_| is_of_managers) {
                as_explained(&expected, &answer, &what);
                explanations += 1;
            }
            state = Holdings::of_kubelet(&answer["state"]);
            running(&mut pods, step, &answer);
            at_rest(&state, &pods, &what);
            settled += 1;
        }
        // All steps at once, without waiting for answers.
        let steps = crowd();
        for step in &steps {
            kubelet.tell(step);
        }
        let (is_over, seen) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let mut states = vec![state];
        std::thread::scope(|scope| {
            // The thread that looks ends with the comparison, even if that fails.
            let over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let holdings = served(&watcher);
                    let mut seen = seen.lock().unwrap();
                    if seen.last() != Some(&holdings) {
                        seen.push(holdings);
                    }
                    looks += 1;
                }
            });
            for step in &steps {
                let answer = kubelet.answer();
                running(&mut pods, step, &answer);
                states.push(Holdings::of_kubelet(&answer["state"]));
            }
            at_rest(states.last().unwrap(), &pods, &series.id);
            drop(over);
        });
        let mut from = 0;
        for holdings in seen.into_inner().unwrap() {
            distinct += 1;
            let found = (from..steps.len()).find(|at| {
                let (before, after) = (&states[*at], &states[*at + 1]);
                let pod = steps[*at]["pod"]["metadata"]["name"].as_str().unwrap_or("-");
                // The crowd asks for none, and those that others hold were compared before.
                let [holdings, before, after] = [&holdings, before, after]
                    .map(|holdings| holdings.clone().with_devices_of(&BTreeSet::new()));
                is_between(&holdings, &before, &after, &all_cpus, pod)
            });
            from = found.unwrap_or_else(|| panic!("{}: never was from {from} on: {holdings:?}", series.id));
        }
        assert!(watcher.terminate());
    }
    println!(
        "{settled} states settled on were served, {explanations} explanations came true; \
         of {looks} looks while it was busy {distinct} differed, each of a moment that was"
    );
    assert!(settled > 0);
}

/// It is over when this goes.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

const STATE_FILES: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];

#[test]
fn a_kubelet_starts_from_what_was_written_here() {
    let Some(program) = program() else { return };
    let [mut folders, mut holdings, mut with_devices, mut again, mut refused] = [0; 5];
    for series in Series::all() {
        let (root, own, empty) = (Folder::new(), Folder::new(), Folder::new());
        let (_, started) = Kubelet::start(&program, empty.path(), &series, &[]);
        if !started["start"].is_object() {
            println!("{}: the kubelet does not start", series.id);
            continue;
        }
        let [machine, config, devices] = series.arguments(own.path());
        let more = ["--devices", devices.to_str().unwrap()];
        let (machine, config) = (machine.to_str().unwrap(), config.to_str().unwrap());
        let daemon = Daemon::spawn(machine, root.path(), config, &more);
        until("a daemon", || daemon.try_get("/readyz").filter(|reply| reply.status == 200).map(drop));
        let mut residents: Vec<Value> = Vec::new();
        for (at, step) in series.steps.iter().enumerate() {
            match step["op"].as_str().unwrap() {
                "add" => {
                    let reply = daemon.ask("POST", "/v1/pods", &step["pod"].to_string());
                    let said: Value = serde_json::from_str(&reply.body).unwrap();
                    if said["decisions"][0]["admitted"] == true {
                        residents.push(step["pod"].clone());
                    }
                }
                "remove" => {
                    let path = format!("/v1/pods/default/{}", step["name"].as_str().unwrap());
                    assert!([200, 404].contains(&daemon.ask("DELETE", &path, "").status));
                    residents.retain(|pod| pod["metadata"]["name"] != step["name"]);
                }
                _ => continue,
            }
            let what = format!("{} step {at}", series.id);
            let ours = served(&daemon);
            let copy = Folder::new();
            fs::create_dir(copy.path().join("device-plugins")).unwrap();
            for file in STATE_FILES {
                fs::copy(root.path().join(file), copy.path().join(file)).unwrap();
            }
            let (_, answer) = Kubelet::start(&program, copy.path(), &series, &residents);
            assert_eq!(answer["error"], Value::Null, "{what}");
            let theirs = Holdings::of_kubelet(&answer["loaded"]);
            assert_eq!(theirs, ours, "{what}");
            folders += 1;
            holdings += theirs.held.len();
            let is_device = |key: &&String| !key.ends_with(" cpus") && !key.ends_with(" memory");
            with_devices += theirs.held.keys().filter(is_device).count();
            // It takes running pods again with what they have. Not all: kubelets refuse some that they have admitted
            // themselves, for instance those whose cores would not be free a second time.
            for pod in answer["readmit"].as_array().into_iter().flatten() {
                again += usize::from(pod["admitted"] == true);
                refused += usize::from(pod["admitted"] != true);
            }
            assert_eq!(Holdings::of_kubelet(&answer["start"]["state"]), ours, "{what}");
        }
    }
    println!(
        "{folders} folders started from: {holdings} holdings are the same, {with_devices} of them devices; \
         {again} running pods taken again, {refused} not"
    );
    assert!(with_devices > 0 && again > refused);
}
