//! What the kubelet's state files say, and whether they can be relied on.
//!
//! A kubelet replaces a file as a whole, before the runtime hears of the pod. The files are taken only if they stand still
//! while they are read, have a checksum, do not contradict themselves, and were written or taken over by a kubelet since
//! the machine started: a kubelet makes the socket of its pod resources service each time that it starts.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cpuset::{CpuId, CpuSet};
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuState};
use kubelet_checkpoint::memory::{MemoryFile, MemoryState};
use kubelet_checkpoint::store::{self, StateFile};
use kubelet_checkpoint::{Forms, PodLevel};
use pod_spec::{ContainerName, PodUid};

/// Which a kubelet makes anew when it starts, below its folder.
const SOCKET: &str = "pod-resources/kubelet.sock";
/// How often files are read that change meanwhile.
const READS: usize = 5;
/// Forms that files are read in: the newest first. Each reads the older formats of its members too.
const FORMS: [Forms; 3] = [Forms::embedded(PodLevel::On), Forms::plain(PodLevel::On), Forms::SINGLE];

/// What the state files say of a node, or why they count for nothing. In all cases but the first nothing is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StateView {
    /// Who holds which CPUs.
    Fresh(Arc<NodeCpus>),
    /// The kubelet's CPU manager gives no container exclusive CPUs: its policy.
    NotStatic(String),
    /// There is no such file.
    Absent(PathBuf),
    /// A file is not whole, cannot be read, changes all the time or contradicts itself: which, and why.
    Torn(PathBuf, String),
    /// No kubelet has written or taken over the file since the machine started.
    OtherBoot(PathBuf),
    /// The file does not have a pod that the runtime has already: why that is known.
    OlderThanPod(String),
}

impl fmt::Display for StateView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fresh(_) => f.write_str("the kubelet's state files are read"),
            Self::NotStatic(policy) => write!(
                f,
                "the kubelet's CPU manager has policy {policy:?}, so that no container has exclusive CPUs"
            ),
            Self::Absent(path) => write!(f, "{} does not exist", path.display()),
            Self::Torn(path, why) => write!(f, "{} cannot be relied on: {why}", path.display()),
            Self::OtherBoot(path) => write!(
                f,
                "{} is from before the machine started, and no kubelet has started since",
                path.display()
            ),
            Self::OlderThanPod(why) => write!(f, "the kubelet's state files are older than a pod: {why}"),
        }
    }
}

/// Who holds which CPUs and NUMA nodes, by the kubelet's files.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct NodeCpus {
    /// The CPUs of all containers without exclusive ones.
    pub shared: CpuSet,
    /// Exclusive CPUs by pod and container.
    pub exclusive: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>,
    /// CPUs of pods that are served as a whole.
    pub pods: BTreeMap<PodUid, CpuSet>,
    /// NUMA nodes by pod and container, of the memory manager.
    pub mems: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>,
}

/// What a container holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding<'a> {
    /// These CPUs alone.
    Exclusive(&'a CpuSet),
    /// Some of the CPUs that its pod has as a whole, which is the kubelet's affair.
    OfPod,
    /// None: it runs on the shared CPUs.
    Shared,
}

impl NodeCpus {
    /// From what is in the files.
    ///
    /// # Errors
    /// Containers of two pods, or a container and the shared pool, have a CPU in common: a sentence that names them.
    pub fn of(cpus: CpuState, memory: Option<&MemoryState>) -> Result<Self, String> {
        let CpuState { shared, containers: exclusive, pods, .. } = cpus;
        let mut taken = CpuSet::new();
        for (pod, containers) in &exclusive {
            // Containers of one pod may follow one another on the same CPUs.
            let mut of_pod = pods.get(pod).cloned().unwrap_or_default();
            for (container, cpus) in containers {
                if !cpus.is_disjoint(&shared) {
                    let both = cpus & &shared;
                    return Err(format!(
                        "CPUs {both} are shared, and exclusive to container {container} of pod {pod}"
                    ));
                }
                of_pod |= cpus;
            }
            if !of_pod.is_disjoint(&taken) {
                let both = &of_pod & &taken;
                return Err(format!("CPUs {both} are exclusive to pod {pod} and to another one"));
            }
            taken |= &of_pod;
        }
        let mems = memory.map(nodes_of).unwrap_or_default();
        Ok(Self { shared, exclusive, pods, mems })
    }

    /// What a container holds.
    pub fn holding(&self, pod: &PodUid, container: &ContainerName) -> Holding<'_> {
        match self.exclusive.get(pod).and_then(|containers| containers.get(container)) {
            Some(cpus) => Holding::Exclusive(cpus),
            None if self.pods.contains_key(pod) => Holding::OfPod,
            None => Holding::Shared,
        }
    }

    /// The NUMA nodes of a container's memory, where the memory manager has given it some.
    pub fn mems(&self, pod: &PodUid, container: &ContainerName) -> Option<&CpuSet> {
        self.mems.get(pod)?.get(container)
    }
}

/// The NUMA nodes of all blocks of a container together.
fn nodes_of(state: &MemoryState) -> BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>> {
    let mut all = BTreeMap::new();
    for (pod, containers) in &state.entries {
        let mut of_pod = BTreeMap::new();
        for (container, blocks) in containers.iter().flatten() {
            let nodes = blocks.iter().flatten().flat_map(|block| block.nodes.iter().flatten());
            let ids = nodes.map(|node| usize::try_from(node.0).ok().and_then(|id| CpuId::new(id).ok()));
            if let Some(ids) = ids.collect::<Option<CpuSet>>().filter(|ids| !ids.is_empty()) {
                of_pod.insert(container.clone(), ids);
            }
        }
        all.insert(pod.clone(), of_pod);
    }
    all
}

/// The state files of a kubelet, read again when they have changed.
#[derive(Debug)]
pub struct StateFiles {
    cpu: PathBuf,
    memory: PathBuf,
    socket: PathBuf,
    booted: SystemTime,
    last: Option<(Stamps, StateView)>,
}

/// The identity of a file and its last change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

type Stamps = [Option<Stamp>; 3];

impl StateFiles {
    /// Those below a kubelet's folder, on a machine that started at this time.
    pub fn new(root: &Path, booted: SystemTime) -> Self {
        Self {
            cpu: root.join(StateFile::Cpu.path()),
            memory: root.join(StateFile::Memory.path()),
            socket: root.join(SOCKET),
            booted,
            last: None,
        }
    }

    /// What they say now. Where nothing has changed nothing is read.
    pub fn read(&mut self) -> StateView {
        for _ in 0..READS {
            let before = match self.stamps() {
                Ok(stamps) => stamps,
                Err((path, error)) => return StateView::Torn(path, error.to_string()),
            };
            if let Some((_, view)) = self.last.as_ref().filter(|(stamps, _)| *stamps == before) {
                return view.clone();
            }
            let view = self.look(&before);
            if self.stamps().is_ok_and(|after| after == before) {
                self.last = Some((before, view.clone()));
                return view;
            }
        }
        StateView::Torn(self.cpu.clone(), "it changes all the time".to_owned())
    }

    fn stamps(&self) -> Result<Stamps, (PathBuf, io::Error)> {
        let mut stamps = [None; 3];
        for (stamp, path) in stamps.iter_mut().zip([&self.cpu, &self.memory, &self.socket]) {
            *stamp = Stamp::of(path).map_err(|error| (path.clone(), error))?;
        }
        Ok(stamps)
    }

    fn look(&self, [cpu, memory, socket]: &Stamps) -> StateView {
        let Some(stamp) = cpu else { return StateView::Absent(self.cpu.clone()) };
        let is_of_this_boot = |stamp: &Stamp| stamp.is_since(self.booted);
        if !is_of_this_boot(stamp) && !socket.as_ref().is_some_and(is_of_this_boot) {
            return StateView::OtherBoot(self.cpu.clone());
        }
        let state = match read_cpus(&self.cpu) {
            Ok(state) if state.policy == "static" => state,
            Ok(state) => return StateView::NotStatic(state.policy),
            Err(why) => return StateView::Torn(self.cpu.clone(), why),
        };
        let nodes = match memory.map(|_| read_memory(&self.memory)) {
            None => None,
            Some(Ok(state)) => Some(state),
            Some(Err(why)) => return StateView::Torn(self.memory.clone(), why),
        };
        match NodeCpus::of(state, nodes.as_ref()) {
            Ok(cpus) => StateView::Fresh(Arc::new(cpus)),
            Err(why) => StateView::Torn(self.cpu.clone(), why),
        }
    }
}

fn read_cpus(path: &Path) -> Result<CpuState, String> {
    let text = contents(path)?;
    in_any_form(|forms| {
        let file = CpuFile::read(&text, forms, &ContainerIds::new()).map_err(|error| error.to_string())?;
        let state = file.state().map_err(|error| error.to_string())?;
        Ok((state, file.oddities.has_no_checksum()))
    })
}

fn read_memory(path: &Path) -> Result<MemoryState, String> {
    let text = contents(path)?;
    in_any_form(|forms| {
        let file = MemoryFile::read(&text, forms).map_err(|error| error.to_string())?;
        let has_no_checksum = file.oddities.has_no_checksum();
        Ok((file.state, has_no_checksum))
    })
}

fn contents(path: &Path) -> Result<Vec<u8>, String> {
    match store::read(path) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err("it is gone".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The first form in which a file is whole; else what is wrong with the newest one.
fn in_any_form<T>(read: impl Fn(Forms) -> Result<(T, bool), String>) -> Result<T, String> {
    let mut first = None;
    for forms in FORMS {
        match read(forms) {
            Ok((state, false)) => return Ok(state),
            Ok((_, true)) => {
                first.get_or_insert_with(|| {
                    "it has no checksum, so that nothing shows whether it is whole".to_owned()
                });
            }
            Err(why) => {
                first.get_or_insert(why);
            }
        }
    }
    Err(first.unwrap_or_default())
}

impl Stamp {
    /// `None`: there is no such file.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(about) => Ok(Some(Self {
                inode: about.ino(),
                size: about.size(),
                changed: (about.ctime(), about.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn is_since(&self, time: SystemTime) -> bool {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(self.changed.0).is_ok_and(|changed| changed >= since.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use kubelet_checkpoint::cpu::CpuFormat;

    use super::*;

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn state(shared: &str, exclusive: &[(&str, &str, &str)]) -> CpuState {
        let mut state = CpuState { policy: "static".into(), shared: set(shared), ..CpuState::default() };
        for (pod, container, cpus) in exclusive {
            let of_pod = state.containers.entry(PodUid::new(pod)).or_default();
            of_pod.insert(ContainerName::new(container), set(cpus));
        }
        state
    }

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap_or_else(|error| panic!("{error}")))
        }

        fn write(&self, name: &str, text: &str) {
            let (path, passing) = (self.0.path().join(name), self.0.path().join(".new"));
            let written = fs::create_dir_all(path.parent().unwrap_or(&path))
                .and_then(|()| fs::write(&passing, text))
                .and_then(|()| fs::rename(&passing, &path));
            assert!(written.is_ok(), "{written:?}");
        }

        fn files(&self, booted: SystemTime) -> StateFiles {
            StateFiles::new(self.0.path(), booted)
        }
    }

    const LONG_AGO: SystemTime = SystemTime::UNIX_EPOCH;

    #[test]
    fn every_format_is_read_and_a_change_is_seen() {
        let folder = Folder::new();
        let mut files = folder.files(LONG_AGO);
        assert!(matches!(files.read(), StateView::Absent(_)));
        for (format, cpus) in [(CpuFormat::V2, "2-3"), (CpuFormat::V3, "4-5"), (CpuFormat::V4, "6-7")] {
            folder.write("cpu_manager_state", &state("0-1", &[("p", "c", cpus)]).encode(format));
            let StateView::Fresh(node) = files.read() else { panic!("{format:?}: {}", files.read()) };
            let held = set(cpus);
            let holding = node.holding(&PodUid::new("p"), &ContainerName::new("c"));
            assert_eq!(holding, Holding::Exclusive(&held), "{format:?}");
            assert_eq!(node.holding(&PodUid::new("q"), &ContainerName::new("c")), Holding::Shared);
        }
        let none = CpuState { policy: "none".into(), ..CpuState::default() };
        folder.write("cpu_manager_state", &none.encode(CpuFormat::V2));
        assert_eq!(files.read(), StateView::NotStatic("none".into()));
    }

    #[test]
    fn a_file_that_proves_nothing_counts_for_nothing() {
        let whole = state("0-1", &[("p", "c", "2-3")]).encode(CpuFormat::V2);
        let overlapping =
            [state("0-2", &[("p", "c", "2-3")]), state("0-1", &[("p", "c", "2-3"), ("q", "c", "3-4")])];
        let mut texts = vec![
            whole[..whole.len() / 2].to_owned(),
            String::new(),
            whole.replace("2-3", "2-4"),
            r#"{"policyName":"static","defaultCpuSet":"0-1"}"#.to_owned(),
        ];
        texts.extend(overlapping.iter().map(|state| state.encode(CpuFormat::V2)));
        for text in texts {
            let folder = Folder::new();
            folder.write("cpu_manager_state", &text);
            let view = folder.files(LONG_AGO).read();
            assert!(matches!(view, StateView::Torn(..)), "{text}: {view}");
        }
        let folder = Folder::new();
        folder.write("cpu_manager_state", &whole);
        folder.write("memory_manager_state", "{");
        assert!(matches!(folder.files(LONG_AGO).read(), StateView::Torn(..)));
    }

    #[test]
    fn containers_of_one_pod_may_follow_one_another_on_the_same_cpus() {
        let folder = Folder::new();
        let both = state("0-1", &[("p", "init", "2-3"), ("p", "app", "2-5")]);
        folder.write("cpu_manager_state", &both.encode(CpuFormat::V2));
        assert!(matches!(folder.files(LONG_AGO).read(), StateView::Fresh(_)));
    }

    #[test]
    fn a_file_of_another_boot_counts_once_a_kubelet_has_started() {
        let folder = Folder::new();
        folder.write("cpu_manager_state", &state("0-1", &[]).encode(CpuFormat::V2));
        let later = SystemTime::now() + Duration::from_hours(1);
        assert!(matches!(folder.files(later).read(), StateView::OtherBoot(_)));
        assert!(matches!(folder.files(LONG_AGO).read(), StateView::Fresh(_)));
        // The socket of a kubelet that started since. Both files have the same time here, which is that of the boot.
        folder.write(SOCKET, "");
        let now = fs::metadata(folder.0.path().join(SOCKET)).and_then(|about| about.modified());
        let now = now.unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(folder.files(now).read(), StateView::Fresh(_)));
    }
}
