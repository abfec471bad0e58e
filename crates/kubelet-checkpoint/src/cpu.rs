//! `cpu_manager_state`: the shared pool, and the CPUs of each container that has some of its own.

mod wire;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use cpuset::{CpuSet, ParseError, go_quote};
use pod_spec::{ContainerKey, ContainerName, PodUid};
use thiserror::Error;

use crate::format::{Attempt, unknown};
use crate::go::{Go, TypeName, checksum, dumped, parse};
use crate::{FileError, Oddities, Oddity, PodLevel, Refused, UnknownFormat};
pub(crate) use wire::PodCpus;
use wire::{Body, V1, V2, V3};

/// What the CPU manager holds, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CpuState {
    /// `none` or `static`.
    pub policy: String,
    /// The CPUs of all containers that have none of their own; empty under policy `none`.
    pub shared: CpuSet,
    /// CPUs by pod and container. A pod without containers is told apart from a pod that is not there.
    pub containers: BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>>,
    /// CPUs of pods that are served as a whole; only format V3 has them.
    pub pods: BTreeMap<PodUid, CpuSet>,
}

/// A format of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CpuFormat {
    /// Before Kubernetes 1.18: CPUs by container id. Only read.
    V1,
    /// CPUs by pod and container.
    V2,
    /// And pods as a whole.
    V3,
}

impl From<PodLevel> for CpuFormat {
    /// What a kubelet writes.
    fn from(pod_level: PodLevel) -> Self {
        match pod_level {
            PodLevel::Off => Self::V2,
            PodLevel::On => Self::V3,
        }
    }
}

/// A file that was accepted, with the texts that are in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuFile {
    /// What it was read as.
    pub format: CpuFormat,
    /// The policy that wrote it.
    pub policy: String,
    /// The shared pool.
    pub default_cpu_set: String,
    /// CPUs by pod and container.
    pub entries: BTreeMap<PodUid, BTreeMap<ContainerName, String>>,
    /// CPUs of pods as a whole.
    pub pod_entries: BTreeMap<PodUid, CpuSet>,
    /// What of it the kubelet does not write.
    pub oddities: Oddities,
}

/// Which container an id is of; files of format V1 know ids only.
pub type ContainerIds = BTreeMap<String, ContainerKey>;

/// Why a kubelet does not start from a file. The texts are its own; [`CpuError::refused`] gives the whole message.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CpuError {
    /// It cannot be read. Of several formats that were tried the kubelet reports the oldest.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of format V1 names a container that does not run.
    #[error(
        "failed to migrate checkpoint from v1 to v2: containerID '{0}' not found in initial containers list"
    )]
    UnknownContainer(String),
    /// Another policy wrote it.
    #[error("configured policy {} differs from state checkpoint policy {}", go_quote(.configured), go_quote(.stored))]
    OtherPolicy {
        /// That of the configuration.
        configured: String,
        /// That of the file.
        stored: String,
    },
    /// The shared pool is no list of CPUs.
    #[error("could not parse default cpu set {}: {error}", go_quote(.text))]
    SharedPool {
        /// What it is.
        text: String,
        /// Why not.
        #[source]
        error: ParseError,
    },
    /// A container's CPUs are no list of CPUs.
    #[error(
        "could not parse cpuset {} for container {} in pod {}: {error}",
        go_quote(.text), go_quote(.container.as_str()), go_quote(.pod.as_str())
    )]
    Container {
        /// What they are.
        text: String,
        /// Whose.
        container: ContainerName,
        /// Whose.
        pod: PodUid,
        /// Why not.
        #[source]
        error: ParseError,
    },
}

impl CpuError {
    /// The message with which the kubelet ends; `path` is the file's.
    #[must_use]
    pub const fn refused<'a>(&'a self, path: &'a str) -> Refused<'a, Self> {
        Refused { cause: self, manager: "CPU", path }
    }
}

/// The name that all formats have in the text that is hashed.
const HASHED: TypeName = TypeName::Plain("*state.CPUManagerCheckpoint");

impl CpuState {
    /// The file's text. Format V1 cannot be written: it is as V2 then.
    #[must_use]
    pub fn encode(&self, format: CpuFormat) -> String {
        let mut file = String::new();
        match format {
            CpuFormat::V1 | CpuFormat::V2 => self.sealed(V2, |wire| &mut wire.0).write(&mut file),
            CpuFormat::V3 => self.sealed(V3, |wire| &mut wire.0).write(&mut file),
        }
        file
    }

    /// The text under the file's checksum.
    #[must_use]
    pub fn hashed(&self, format: CpuFormat) -> String {
        match format {
            CpuFormat::V1 | CpuFormat::V2 => dumped(&V2(self.body()), HASHED),
            CpuFormat::V3 => dumped(&V3(self.body()), HASHED),
        }
    }

    fn sealed<T: Go>(&self, wrap: fn(Body) -> T, body: fn(&mut T) -> &mut Body) -> T {
        let mut wire = wrap(self.body());
        body(&mut wire).checksum = checksum(&wire, HASHED).into();
        wire
    }

    fn body(&self) -> Body {
        let entries = self.containers.iter().map(|(pod, containers)| {
            let containers = containers.iter().map(|(name, cpus)| (name.clone(), cpus.to_string()));
            (pod.clone(), Some(containers.collect()))
        });
        Body {
            policy: self.policy.clone(),
            shared: self.shared.to_string(),
            entries: Some(entries.collect()),
            pods: Some(self.pods.iter().map(|(pod, cpus)| (pod.clone(), PodCpus(cpus.clone()))).collect()),
            checksum: 0,
        }
    }
}

impl CpuFile {
    /// Reads a file as a kubelet does: the format of its gate first, then the older ones, and what is wrong is what
    /// is wrong with the oldest. `running` are the containers that run, for files of format V1.
    pub fn read(file: &[u8], pod_level: PodLevel, running: &ContainerIds) -> Result<Self, CpuError> {
        match pod_level {
            PodLevel::Off => {
                Self::v2(file, pod_level, running).map(|(format, body, odd)| Self::of(format, body, odd))
            }
            PodLevel::On => Self::v3(file, running),
        }
    }

    fn v3(file: &[u8], running: &ContainerIds) -> Result<Self, CpuError> {
        let mut newest = V3(Body::begun());
        let (read, odd) = parse(file, &mut newest);
        if read.is_ok() {
            let stored = core::mem::take(&mut newest.0.checksum);
            if stored == checksum(&newest, HASHED).into() {
                return Ok(Self::of(CpuFormat::V3, newest.0, odd));
            }
        }
        let (format, older, odd) = Self::v2(file, PodLevel::On, running)?;
        // What the older format has nothing of stays as the failed attempt left it: kubelets keep pods' entries that
        // no checksum covers.
        let mut body = newest.0;
        if !older.policy.is_empty() {
            body.policy = older.policy;
        }
        if !older.shared.is_empty() {
            body.shared = older.shared;
        }
        if older.entries.as_ref().is_some_and(|entries| !entries.is_empty()) {
            body.entries = older.entries;
        }
        Ok(Self::of(format, body, odd))
    }

    fn v2(
        file: &[u8],
        pod_level: PodLevel,
        running: &ContainerIds,
    ) -> Result<(CpuFormat, Body, Oddities), CpuError> {
        let mut wire = V2(Body::begun());
        let (read, mut odd) = parse(file, &mut wire);
        if read.is_ok() {
            let stored = core::mem::take(&mut wire.0.checksum);
            let of_own_name = || checksum(&wire, TypeName::Pointer(&V2::TYPE));
            if stored == 0 {
                odd.push(file.len(), Oddity::NoChecksum);
            }
            if stored == 0
                || stored == checksum(&wire, HASHED).into()
                || (pod_level == PodLevel::Off && stored == of_own_name().into())
            {
                return Ok((CpuFormat::V2, wire.0, odd));
            }
        }
        let (oldest, odd) = Self::v1(file)?;
        let mut body = Body { policy: oldest.policy, shared: oldest.shared, ..Body::begun() };
        for (id, cpus) in oldest.entries.unwrap_or_default() {
            let Some(key) = running.get(&id) else { return Err(CpuError::UnknownContainer(id)) };
            let containers = body.entries.get_or_insert_default().entry(key.pod.clone()).or_default();
            containers.get_or_insert_default().insert(key.container.clone(), cpus);
        }
        Ok((CpuFormat::V1, body, odd))
    }

    /// What is wrong with a file as one format, whatever it is as the others: the kubelet logs that, and reports what
    /// is wrong with the oldest.
    #[must_use]
    pub fn fault_as(format: CpuFormat, file: &[u8]) -> Option<FileError> {
        fn fault<T: Go>(file: &[u8], mut wire: T, body: fn(&mut T) -> &mut Body) -> Option<FileError> {
            let (read, _) = parse(file, &mut wire);
            let stored = core::mem::take(&mut body(&mut wire).checksum);
            let computed = checksum(&wire, HASHED);
            match read {
                Err(error) => Some(error.into()),
                Ok(()) => (stored != computed.into()).then_some(FileError::Corrupt { stored, computed }),
            }
        }
        match format {
            CpuFormat::V1 => Self::v1(file).err(),
            CpuFormat::V2 => fault(file, V2(Body::begun()), |wire| &mut wire.0),
            CpuFormat::V3 => fault(file, V3(Body::begun()), |wire| &mut wire.0),
        }
    }

    fn v1(file: &[u8]) -> Result<(V1, Oddities), FileError> {
        let mut wire = V1 { entries: Some(BTreeMap::new()), ..V1::default() };
        let (read, mut odd) = parse(file, &mut wire);
        read?;
        let stored = core::mem::take(&mut wire.checksum);
        if stored == 0 {
            odd.push(file.len(), Oddity::NoChecksum);
            return Ok((wire, odd));
        }
        let computed = checksum(&wire, HASHED);
        if stored == computed.into() { Ok((wire, odd)) } else { Err(FileError::Corrupt { stored, computed }) }
    }

    fn of(format: CpuFormat, body: Body, oddities: Oddities) -> Self {
        let entries = body.entries.unwrap_or_default();
        let pods = body.pods.unwrap_or_default();
        Self {
            format,
            policy: body.policy,
            default_cpu_set: body.shared,
            entries: entries.into_iter().map(|(pod, of)| (pod, of.unwrap_or_default())).collect(),
            pod_entries: pods.into_iter().map(|(pod, PodCpus(cpus))| (pod, cpus)).collect(),
            oddities,
        }
    }

    /// What is in a whole file that no known format has: v1.36 may refuse it for any reason, or take it for empty.
    /// `None`: its format is known, or it is no whole JSON text.
    #[must_use]
    pub fn unknown_format(file: &[u8]) -> Option<UnknownFormat> {
        let is_sealed = [PodLevel::Off, PodLevel::On].into_iter().any(|pod_level| {
            match Self::read(file, pod_level, &ContainerIds::new()) {
                // Somebody who edits a file takes the checksum away; then it says who holds what all the same.
                Ok(read) => !read.oddities.has_no_checksum() || !read.entries.is_empty(),
                Err(error) => matches!(error, CpuError::UnknownContainer(_)),
            }
        });
        let newest = Attempt::of(file, V3(Body::begun()));
        let older = [Attempt::of(file, V2(Body::begun())), Attempt::of(file, V1::default())];
        unknown(&newest, &older, is_sealed, "V1, V2 and V3, which kubelets up to v1.36 write")
    }

    /// What a manager of that policy starts with. Of several faults the kubelet reports any; here it is the first by
    /// pod and container.
    pub fn restore(&self, policy: &str) -> Result<CpuState, CpuError> {
        if self.policy != policy {
            return Err(CpuError::OtherPolicy { configured: policy.to_owned(), stored: self.policy.clone() });
        }
        self.state()
    }

    /// What the file holds, whichever policy wrote it.
    pub fn state(&self) -> Result<CpuState, CpuError> {
        let shared = self
            .default_cpu_set
            .parse()
            .map_err(|error| CpuError::SharedPool { text: self.default_cpu_set.clone(), error })?;
        let mut containers = BTreeMap::new();
        for (pod, of) in &self.entries {
            let parsed = of.iter().map(|(container, text)| {
                let fault = |error| CpuError::Container {
                    text: text.clone(),
                    container: container.clone(),
                    pod: pod.clone(),
                    error,
                };
                Ok((container.clone(), text.parse::<CpuSet>().map_err(fault)?))
            });
            containers.insert(pod.clone(), parsed.collect::<Result<BTreeMap<_, _>, CpuError>>()?);
        }
        Ok(CpuState { policy: self.policy.clone(), shared, containers, pods: self.pod_entries.clone() })
    }
}
