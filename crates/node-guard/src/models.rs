//! Events of a runtime, its records and a kubelet: at random, and with threads in thousands of orders. The cgroups follow
//! the kernel's rules in memory; the kubelet's file is a file.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use cgroup_cpuset::{CgroupPath, Cgroups, MemoryHierarchy, Place};
use cpuset::{CpuId, CpuSet};
use kubelet_checkpoint::cpu::{CpuFormat, CpuState};
use nri_plugin::ContainerId;
use nri_plugin::messages::{Container, PodSandbox};
use pod_spec::{ContainerName, PodUid};
use proptest::prelude::*;
use shuttle::sync::Mutex;

use crate::guard::{Drift, Guard, Settings};
use crate::records::{Records, Shared};
use crate::report::{GuardCondition, Reason, State};
use crate::request::tests::{container, pod};
use crate::state_view::StateFiles;

const MOUNTED: &str = "/sys/fs/cgroup";
const LONG_AGO: SystemTime = SystemTime::UNIX_EPOCH;

fn set(text: &str) -> CpuSet {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A node with 16 CPUs.
struct Node {
    folder: tempfile::TempDir,
    kernel: &'static MemoryHierarchy,
    cgroups: Cgroups<&'static MemoryHierarchy>,
    state: CpuState,
    /// By id: its messages, what the runtime has on record, and whether it has a cgroup.
    containers: BTreeMap<String, (PodSandbox, Container, CpuSet, bool)>,
}

fn cgroup(name: &str) -> CgroupPath {
    CgroupPath::new(format!("kubepods/burstable/pod{name}/{name}")).unwrap_or_else(|error| panic!("{error}"))
}

impl Node {
    fn new() -> Self {
        let kernel: &'static _ = Box::leak(Box::new(MemoryHierarchy::new(set("0-15"), [0])));
        let cgroups = Cgroups::on(kernel, MOUNTED).unwrap_or_else(|error| panic!("{error}"));
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let state = CpuState { policy: "static".into(), shared: set("0-15"), ..CpuState::default() };
        let node = Self { folder, kernel, cgroups, state, containers: BTreeMap::new() };
        node.write();
        node
    }

    fn files(&self) -> StateFiles {
        StateFiles::new(self.folder.path(), LONG_AGO)
    }

    fn guard(&self, settings: Settings) -> Guard<&'static MemoryHierarchy> {
        let cgroups = Cgroups::on(self.kernel, MOUNTED).unwrap_or_else(|error| panic!("{error}"));
        Guard::new(self.files(), cgroups, settings, None)
    }

    fn write(&self) {
        let (path, passing) = (self.folder.path().join("cpu_manager_state"), self.folder.path().join("new"));
        let written = std::fs::write(&passing, self.state.encode(CpuFormat::V4));
        assert!(written.and_then(|()| std::fs::rename(passing, path)).is_ok());
    }

    /// The kubelet admits a pod with exclusive CPUs, or with none.
    fn admit(&mut self, name: &str, count: usize) -> CpuSet {
        if count > 0 {
            let cpus: CpuSet = self.state.shared.iter().skip(1).take(count).collect();
            self.state.shared -= &cpus;
            let of_pod = self.state.containers.entry(PodUid::new(name)).or_default();
            of_pod.insert(ContainerName::new("c"), cpus.clone());
            self.write();
            return cpus;
        }
        self.state.shared.clone()
    }

    fn leave(&mut self, name: &str) {
        self.containers.remove(name);
        for cpus in self.state.containers.remove(&PodUid::new(name)).unwrap_or_default().into_values() {
            self.state.shared |= &cpus;
        }
        self.write();
    }

    fn place(&self, name: &str, cpus: &CpuSet) {
        let placed = self.cgroups.place(&cgroup(name), &Place { cpus: Some(cpus.clone()), mems: None });
        assert!(placed.is_ok(), "{placed:?}");
    }

    fn create(&mut self, guard: &mut Guard<&'static MemoryHierarchy>, name: &str, asked: &CpuSet) {
        let pod = pod(name, Some("api"));
        let path = cgroup(name).to_string();
        let asked_for = container(&pod, name, &path, &asked.to_string(), 2);
        let answer = guard.create(&pod, &asked_for, Some(Instant::now() + Duration::from_secs(10)));
        let record = answer.cpus.unwrap_or_else(|| asked.clone());
        self.containers.insert(name.to_owned(), (pod, asked_for, record, false));
    }

    fn start(&mut self, guard: &mut Guard<&'static MemoryHierarchy>, name: &str) {
        let Some((pod, container, record, _)) = self.containers.get(name).cloned() else { return };
        self.kernel.create(&cgroup(name).to_string()[1..]);
        self.place(name, &record);
        if let Some((.., is_started)) = self.containers.get_mut(name) {
            *is_started = true;
        }
        guard.start(&pod, &container, None);
    }

    /// The kubelet's reconciliation of one container.
    fn reconcile(&mut self, guard: &mut Guard<&'static MemoryHierarchy>, name: &str) {
        let holds = self.state.containers.get(&PodUid::new(name)).and_then(|of| of.values().next());
        let cpus = holds.unwrap_or(&self.state.shared).clone();
        guard.update(name, Some(cpus.clone()));
        self.change(name, &cpus);
        guard.updated(name);
    }

    fn change(&mut self, name: &str, cpus: &CpuSet) {
        let Some((.., record, is_started)) = self.containers.get_mut(name) else { return };
        *record = cpus.clone();
        if *is_started {
            self.place(name, cpus);
        }
    }

    /// Where started containers overlap with exclusive CPUs of others.
    fn overlaps(&self) -> Vec<String> {
        let on = |name: &String| self.cgroups.runs_on(&cgroup(name)).unwrap_or_default();
        let started =
            || self.containers.iter().filter(|(_, (.., is_started))| *is_started).map(|(name, _)| name);
        let mut found = Vec::new();
        for exclusive in started().filter(|name| self.state.containers.contains_key(&PodUid::new(name))) {
            for other in started().filter(|name| *name != exclusive) {
                let both = &on(exclusive) & &on(other);
                if !both.is_empty() {
                    found.push(format!("{other} runs on {both} of {exclusive}"));
                }
            }
        }
        found
    }
}

impl Records for Mutex<Node> {
    fn change(&self, id: &ContainerId, cpus: &CpuSet) -> Result<(), String> {
        let mut node = self.lock().unwrap_or_else(|error| panic!("{error}"));
        node.change(id.as_str(), cpus);
        Ok(())
    }
}

fn effective(guard: &Guard<&'static MemoryHierarchy>) -> State {
    let report = guard.report(Duration::ZERO);
    report.conditions.get(&GuardCondition::GuardEffective).cloned().unwrap_or_default()
}

/// Does all that has to follow.
fn follow(guard: &mut Guard<&'static MemoryHierarchy>, node: &mut Node) {
    while let Some((id, cpus)) = guard.next_record() {
        node.change(id.as_str(), &cpus);
        guard.recorded(&id, &cpus, Ok(()));
    }
}

#[test]
fn shared_containers_lose_cpus_at_once_and_get_them_back_when_the_kubelet_says_so() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("web", 0);
    node.create(&mut guard, "web", &shared);
    node.start(&mut guard, "web");
    let held = node.admit("fast", 4);
    node.create(&mut guard, "fast", &held);
    let web = |node: &Node| node.cgroups.runs_on(&cgroup("web")).unwrap_or_default();
    assert_eq!(web(&node), set("0,5-15"), "before anything of the other container exists");
    node.start(&mut guard, "fast");
    assert_eq!(node.overlaps(), [""; 0]);
    follow(&mut guard, &mut node);
    assert_eq!(node.containers.get("web").map(|of| of.2.clone()), Some(set("0,5-15")), "the record follows");
    assert_eq!(effective(&guard), State::Works);

    guard.gone("fast");
    node.leave("fast");
    guard.look();
    assert_eq!(web(&node), set("0,5-15"), "a look takes and does not give");
    guard.audit();
    follow(&mut guard, &mut node);
    assert_eq!(web(&node), set("0-15"), "the kubelet's file says that they are shared");
    assert!(guard.report(Duration::ZERO).taken_from.is_empty());
}

#[test]
fn what_does_not_count_is_left_alone_and_said() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("web", 0);
    node.create(&mut guard, "web", &shared);
    node.start(&mut guard, "web");
    let held = node.admit("fast", 2);
    let path = node.folder.path().join("cpu_manager_state");
    let whole = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(std::fs::write(&path, &whole[..whole.len() / 2]).is_ok());
    node.create(&mut guard, "fast", &held);
    assert_eq!(node.cgroups.runs_on(&cgroup("web")).ok(), Some(set("0-15")));
    let State::Failed { reason: Reason::StateUnusable, message } = effective(&guard) else {
        panic!("{:?}", effective(&guard))
    };
    assert!(message.ends_with("; nothing is done"), "{message}");
    node.write();
    guard.look();
    assert_eq!(node.cgroups.runs_on(&cgroup("web")).ok(), Some(set("0,3-15")));
    assert_eq!(effective(&guard), State::Works);
}

#[test]
fn without_time_a_container_is_created_all_the_same() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("web", 0);
    node.create(&mut guard, "web", &shared);
    node.start(&mut guard, "web");
    let held = node.admit("fast", 2);
    let of = pod("fast", Some("api"));
    let asked = container(&of, "fast", &cgroup("fast").to_string(), "", 2048);
    let answer = guard.create(&of, &asked, Some(Instant::now()));
    assert_eq!(answer.cpus, Some(held), "what the request lacks is put in");
    let report = guard.report(Duration::ZERO);
    assert!(matches!(
        report.conditions.get(&GuardCondition::GuardInTime),
        Some(State::Failed { reason: Reason::Late, .. })
    ));
    assert_eq!(report.counts.late, 1);
    guard.look();
    assert_eq!(node.cgroups.runs_on(&cgroup("web")).ok(), Some(set("0,3-15")), "it is done afterwards");
}

#[test]
fn static_pods_and_exclusive_containers_are_never_written() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings { drift: Drift::Mend, ..Settings::default() });
    let first = node.admit("first", 2);
    node.create(&mut guard, "first", &first);
    node.start(&mut guard, "first");
    let all = set("0-15");
    node.kernel.create("kubepods/burstable/podstatic/static");
    node.place("static", &all);
    let of = pod("static", Some("file"));
    let asked = container(&of, "static", &cgroup("static").to_string(), "0-15", 2);
    let answer = guard.create(&of, &asked, None);
    assert_eq!(answer, crate::guard::Answer::default());
    guard.start(&of, &asked, None);
    // An administrator moves the exclusive one.
    node.place("first", &all);
    let second = node.admit("second", 2);
    node.create(&mut guard, "second", &second);
    node.start(&mut guard, "second");
    for _ in 0..3 {
        guard.audit();
    }
    for name in ["static", "first"] {
        assert_eq!(node.cgroups.runs_on(&cgroup(name)).ok(), Some(all.clone()), "{name}");
    }
    assert!(matches!(effective(&guard), State::Failed { reason: Reason::OtherCpus, .. }));
}

#[test]
fn a_container_that_the_runtime_is_placing_is_not_wrong_yet() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let held = node.admit("fast", 2);
    node.create(&mut guard, "fast", &held);
    node.start(&mut guard, "fast");
    node.place("fast", &set("0-15"));
    guard.audit();
    assert_eq!(effective(&guard), State::Works);
    guard.audit();
    assert!(matches!(effective(&guard), State::Failed { reason: Reason::OtherCpus, .. }));
    node.place("fast", &held);
    guard.audit();
    assert_eq!(effective(&guard), State::Works);
}

#[test]
fn drift_is_reported_and_mended_where_that_is_asked() {
    for drift in [Drift::Report, Drift::Mend] {
        let mut node = Node::new();
        let mut guard = node.guard(Settings { drift, ..Settings::default() });
        let shared = node.admit("web", 0);
        node.create(&mut guard, "web", &shared);
        node.start(&mut guard, "web");
        let held = node.admit("fast", 2);
        node.create(&mut guard, "fast", &held);
        node.start(&mut guard, "fast");
        node.place("web", &set("0-15"));
        guard.audit();
        assert_eq!(effective(&guard), State::Works, "the kubelet may be about to change it");
        guard.audit();
        let is_overlapping = !node.overlaps().is_empty();
        assert_eq!(is_overlapping, drift == Drift::Report, "{drift:?}");
        assert_eq!(guard.report(Duration::ZERO).counts.drifted, 1, "{drift:?}");
        if drift == Drift::Report {
            assert!(matches!(effective(&guard), State::Failed { reason: Reason::Overlap, .. }));
        }
    }
}

#[test]
fn a_guard_that_was_killed_knows_what_it_took() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("web", 0);
    node.create(&mut guard, "web", &shared);
    node.start(&mut guard, "web");
    let held = node.admit("fast", 2);
    node.create(&mut guard, "fast", &held);
    follow(&mut guard, &mut node);
    let report = guard.report(Duration::ZERO);
    drop(guard);
    node.leave("fast");
    let cgroups = Cgroups::on(node.kernel, MOUNTED).unwrap_or_else(|error| panic!("{error}"));
    let mut next = Guard::new(node.files(), cgroups, Settings::default(), Some(report));
    let (pods, containers): (Vec<_>, Vec<_>) =
        node.containers.values().map(|(pod, container, ..)| (pod.clone(), container.clone())).unzip();
    next.synchronize(&pods, &containers);
    next.look();
    next.audit();
    follow(&mut next, &mut node);
    assert_eq!(node.cgroups.runs_on(&cgroup("web")).ok(), Some(set("0-15")));
}

#[test]
fn a_guard_that_was_killed_before_records_followed_has_them_follow() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("web", 0);
    node.create(&mut guard, "web", &shared);
    node.start(&mut guard, "web");
    let held = node.admit("fast", 2);
    node.create(&mut guard, "fast", &held);
    drop(guard);
    let mut next = node.guard(Settings::default());
    let (pods, containers): (Vec<_>, Vec<_>) =
        node.containers.values().map(|(pod, container, ..)| (pod.clone(), container.clone())).unzip();
    next.synchronize(&pods, &containers);
    next.look();
    follow(&mut next, &mut node);
    assert_eq!(node.containers.get("web").map(|of| of.2.clone()), Some(set("0,3-15")));
}

#[test]
fn a_record_that_a_runtime_refuses_does_not_keep_others_from_theirs() {
    let mut node = Node::new();
    let mut guard = node.guard(Settings::default());
    let shared = node.admit("a", 0);
    for name in ["a", "b"] {
        node.create(&mut guard, name, &shared);
        node.start(&mut guard, name);
    }
    let held = node.admit("fast", 2);
    node.create(&mut guard, "fast", &held);
    let mut asked = Vec::new();
    while let Some((id, cpus)) = guard.next_record() {
        guard.recorded(&id, &cpus, if id.as_str() == "a" { Err("no room".to_owned()) } else { Ok(()) });
        asked.push(id.as_str().to_owned());
    }
    assert_eq!(asked, ["a", "b"]);
    assert!(matches!(effective(&guard), State::Failed { reason: Reason::OldRecord, .. }));
    guard.audit();
    follow(&mut guard, &mut node);
    assert_eq!(effective(&guard), State::Works);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Pods come, start and go, the kubelet reconciles some containers, records follow when they do, and the guard is
    /// killed: whenever a container has started, nothing else runs on its CPUs, and no container has CPUs that it never had.
    #[test]
    fn no_container_overlaps_once_one_has_started(steps in prop::collection::vec((0_u8..8, 0_usize..4, 0_usize..8), 1..60)) {
        let mut node = Node::new();
        let mut guard = node.guard(Settings::default());
        let mut made = 0;
        for (what, count, which) in steps {
            let name = node.containers.keys().nth(which % node.containers.len().max(1)).cloned();
            match (what, name) {
                (0..=2, _) if node.state.shared.len() > count + 1 => {
                    let name = format!("n{made}");
                    made += 1;
                    let cpus = node.admit(&name, count);
                    node.create(&mut guard, &name, &cpus);
                    node.start(&mut guard, &name);
                    prop_assert_eq!(node.overlaps(), [""; 0]);
                }
                (3, Some(name)) => {
                    guard.gone(&name);
                    node.leave(&name);
                }
                (4, Some(name)) => node.reconcile(&mut guard, &name),
                (5, _) => follow(&mut guard, &mut node),
                (6, _) => guard.audit(),
                (7, _) => {
                    let report = guard.report(Duration::ZERO);
                    let cgroups = Cgroups::on(node.kernel, MOUNTED).unwrap_or_else(|error| panic!("{error}"));
                    guard = Guard::new(node.files(), cgroups, Settings::default(), Some(report));
                    let all = node.containers.values();
                    let (pods, containers): (Vec<_>, Vec<_>) =
                        all.map(|(pod, container, ..)| (pod.clone(), container.clone())).unzip();
                    guard.synchronize(&pods, &containers);
                    guard.look();
                }
                _ => {}
            }
            prop_assert_eq!(node.overlaps(), [""; 0], "after {}", what);
        }
    }
}

/// The handler creates containers while records follow on another thread and a deadline may have passed: at the end nothing
/// overlaps, and the runtime's records are those of the cgroups.
#[test]
fn handler_records_and_deadline_agree_in_every_order() {
    // Files are read and decoded on these stacks.
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 20;
    let scheduler = shuttle::scheduler::RandomScheduler::new(100);
    shuttle::Runner::new(scheduler, config).run(|| {
        let mut node = Node::new();
        let mut guard = node.guard(Settings::default());
        let shared = node.admit("web", 0);
        for name in ["web", "api"] {
            node.create(&mut guard, name, &shared);
            node.start(&mut guard, name);
        }
        let shared = std::sync::Arc::new(Shared::new(guard));
        let runtime = std::sync::Arc::new(Mutex::new(node));
        let beside = {
            let (shared, runtime) = (shared.clone(), runtime.clone());
            shuttle::thread::spawn(move || {
                for _ in 0..6 {
                    shared.with(Guard::look);
                    let _ = shared.follow(&*runtime);
                    shuttle::thread::yield_now();
                }
            })
        };
        for name in ["one", "two"] {
            let mut node = runtime.lock().unwrap_or_else(|error| panic!("{error}"));
            let held = node.admit(name, 2);
            let of = pod(name, Some("api"));
            let asked = container(&of, name, &cgroup(name).to_string(), &held.to_string(), 2048);
            // The deadline of the second one has passed.
            let until = (name == "two").then(Instant::now);
            shared.with(|guard| guard.create(&of, &asked, until));
            node.containers.insert(name.to_owned(), (of, asked, held, false));
            shared.with(|guard| node.start(guard, name));
        }
        assert!(beside.join().is_ok());
        while shared.follow(&*runtime).is_some() {}
        let node = runtime.lock().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(node.overlaps(), [""; 0]);
        for name in ["web", "api"] {
            let record = node.containers.get(name).map(|of| of.2.clone());
            assert_eq!(node.cgroups.runs_on(&cgroup(name)).ok(), record, "{name}");
            assert!(
                record
                    .is_some_and(|record| record.contains(CpuId::new(15).unwrap_or_else(|_| unreachable!())))
            );
        }
    });
}
