//! `cpu_manager_state`: the shared pool, and the exclusive CPUs of each container.

mod state;
mod wire;

pub use state::{CpuFormat, CpuState};

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use cpuset::{CpuSet, ParseError, go_quote};
use pod_spec::{ContainerKey, ContainerName, PodUid};
use thiserror::Error;

use kubelet_release::CheckpointForm;

use crate::embedded;
use crate::format::{Attempt, unknown};
use crate::go::{Go, TypeName, checksum, dumped, outline, parse, whole_outline};
use crate::{Baselines, FileError, Forms, Oddities, Oddity, PodLevel, Refused, UnknownFormat};
pub(crate) use wire::PodCpus;
use wire::{Any, Baseline, Body, Data, NewestV2, V1, V2, V3, V4};

/// A file that was accepted, with the texts that are in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuFile {
    /// Which kubelet has read it.
    pub forms: Forms,
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
    /// The CPUs with which containers were admitted, as texts.
    pub baselines: BTreeMap<PodUid, BTreeMap<ContainerName, String>>,
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
        "{}: containerID '{id}' not found in initial containers list",
        match .checkpoint {
            CheckpointForm::Single => "error migrating v1 checkpoint state to v2 checkpoint state",
            CheckpointForm::Plain | CheckpointForm::Embedded => "failed to migrate checkpoint from v1 to v2",
        }
    )]
    UnknownContainer {
        /// Its id.
        id: String,
        /// Whose words: releases differ.
        checkpoint: CheckpointForm,
    },
    /// Another policy wrote it.
    #[error("configured policy {} differs from state checkpoint policy {}", go_quote(.configured), go_quote(.stored))]
    OtherPolicy {
        /// That of the configuration.
        configured: String,
        /// That of the file.
        stored: String,
    },
    /// The shared pool is no list of CPUs.
    #[error(
        "could not parse default {} {}: {error}",
        match .checkpoint {
            CheckpointForm::Single | CheckpointForm::Plain => "cpu set",
            CheckpointForm::Embedded => "CPU set",
        },
        go_quote(.text)
    )]
    SharedPool {
        /// What it is.
        text: String,
        /// Whose words: releases differ.
        checkpoint: CheckpointForm,
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
    /// The CPUs with which a container was admitted are no list of CPUs.
    #[error(
        "could not parse Baseline cpuset {} for container {} in pod {}: {error}",
        go_quote(.text), go_quote(.container.as_str()), go_quote(.pod.as_str())
    )]
    Baseline {
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

/// Format V4 in the kubelet's words.
const FORMAT: embedded::Format = embedded::Format { name: "v4", manager: "cpu" };

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
            CpuFormat::V4 => {
                let V2(older) = self.sealed(V2, |wire| &mut wire.0);
                let data = self.data();
                V4 { older, data_checksum: embedded::sum(&data).into(), data }.write(&mut file);
            }
        }
        file
    }

    /// The text under the checksum of the data in a file of format V4.
    #[must_use]
    pub fn hashed_data(&self) -> String {
        embedded::hashed(&self.data())
    }

    fn data(&self) -> String {
        let mut data = String::new();
        Data(self.body()).write(&mut data);
        data
    }

    /// The text under the file's checksum.
    #[must_use]
    pub fn hashed(&self, format: CpuFormat) -> String {
        match format {
            CpuFormat::V1 | CpuFormat::V2 | CpuFormat::V4 => dumped(&V2(self.body()), HASHED),
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
        let baselines = self.baselines.iter().map(|(pod, containers)| {
            let containers =
                containers.iter().map(|(name, cpus)| (name.clone(), Baseline { cpus: cpus.to_string() }));
            (pod.clone(), Some(containers.collect()))
        });
        Body {
            policy: self.policy.clone(),
            shared: self.shared.to_string(),
            entries: Some(entries.collect()),
            pods: Some(self.pods.iter().map(|(pod, cpus)| (pod.clone(), PodCpus(cpus.clone()))).collect()),
            baselines: Some(baselines.collect()),
            checksum: 0,
        }
    }
}

impl CpuFile {
    /// Reads a file as a kubelet does: the newest format of its release and gates first, then the older ones, and what is
    /// wrong is what is wrong with the oldest; up to 1.35 the oldest first. `running` are the containers that run, for
    /// files of format V1, which releases from 1.37 on do not read.
    pub fn read(file: &[u8], forms: Forms, running: &ContainerIds) -> Result<Self, CpuError> {
        let file = &*outline(file).map_err(FileError::from)?;
        match (forms.checkpoint, forms.pod_level) {
            (CheckpointForm::Single, _) => {
                let (format, body, odd) = Self::oldest_first(file, running)?;
                Ok(Self::of(forms, format, body, odd))
            }
            (CheckpointForm::Plain, PodLevel::Off) => {
                let (format, body, odd) = Self::v2(file, PodLevel::Off, running)?;
                Ok(Self::of(forms, format, body, odd))
            }
            (CheckpointForm::Plain, PodLevel::On) => Self::v3(file, running),
            (CheckpointForm::Embedded, _) => Self::v4(file, forms),
        }
    }

    fn v4(file: &[u8], forms: Forms) -> Result<Self, CpuError> {
        let (mut outer, mut data) = (V4::begun(), Data(Body::begun()));
        let attempt = embedded::read(FORMAT, file, &mut outer, &mut data).refused(FORMAT)?;
        let (format, mut body, odd) = if attempt.read.is_ok() {
            (CpuFormat::V4, data.0, attempt.oddities)
        } else if let Some((body, odd)) = Self::sealed_v3(file) {
            (CpuFormat::V3, body, odd)
        } else {
            let (body, odd) = Self::sealed_v2(file, forms.pod_level)?;
            (CpuFormat::V2, body, odd)
        };
        // With the gate off they are lost at the next write.
        if forms.pod_level == PodLevel::Off {
            body.pods = None;
        }
        if forms.baselines == Baselines::Off {
            body.baselines = None;
        }
        Ok(Self::of(forms, format, body, odd))
    }

    fn oldest_first(file: &[u8], running: &ContainerIds) -> Result<(CpuFormat, Body, Oddities), CpuError> {
        if let Ok((oldest, odd)) = Self::v1(file) {
            return Ok((CpuFormat::V1, Self::migrated(oldest, CheckpointForm::Single, running)?, odd));
        }
        let mut wire = NewestV2(Body::begun());
        let (read, mut odd) = parse(file, &mut wire);
        read.map_err(FileError::from)?;
        let stored = core::mem::take(&mut wire.0.checksum);
        let computed = checksum(&wire, HASHED);
        if stored == 0 {
            odd.push(file.len(), Oddity::NoChecksum);
        } else if stored != computed.into() {
            return Err(FileError::Corrupt { stored, computed }.into());
        }
        Ok((CpuFormat::V2, wire.0, odd))
    }

    /// Format V3 as releases read it that write V4.
    fn sealed_v3(file: &[u8]) -> Option<(Body, Oddities)> {
        let mut wire = V3(Body::begun());
        let (read, odd) = parse(file, &mut wire);
        let stored = core::mem::take(&mut wire.0.checksum);
        let names = [HASHED, TypeName::Plain("*state.CPUManagerCheckpointV3")];
        let is_sealed = read.is_ok() && names.into_iter().any(|name| stored == checksum(&wire, name).into());
        is_sealed.then_some((wire.0, odd))
    }

    /// Format V2; without a checksum it is taken too.
    fn sealed_v2(file: &[u8], pod_level: PodLevel) -> Result<(Body, Oddities), FileError> {
        let mut wire = V2(Body::begun());
        let (read, mut odd) = parse(file, &mut wire);
        read?;
        let stored = core::mem::take(&mut wire.0.checksum);
        if stored == 0 {
            odd.push(file.len(), Oddity::NoChecksum);
            return Ok((wire.0, odd));
        }
        let computed = checksum(&wire, HASHED);
        let of_own_name = || checksum(&wire, TypeName::Pointer(&V2::TYPE));
        if stored == computed.into() || (pod_level == PodLevel::Off && stored == of_own_name().into()) {
            return Ok((wire.0, odd));
        }
        Err(FileError::Corrupt { stored, computed })
    }

    fn v3(file: &[u8], running: &ContainerIds) -> Result<Self, CpuError> {
        let mut newest = V3(Body::begun());
        let (read, odd) = parse(file, &mut newest);
        if read.is_ok() {
            let stored = core::mem::take(&mut newest.0.checksum);
            if stored == checksum(&newest, HASHED).into() {
                return Ok(Self::of(Forms::plain(PodLevel::On), CpuFormat::V3, newest.0, odd));
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
        Ok(Self::of(Forms::plain(PodLevel::On), format, body, odd))
    }

    fn v2(
        file: &[u8],
        pod_level: PodLevel,
        running: &ContainerIds,
    ) -> Result<(CpuFormat, Body, Oddities), CpuError> {
        if let Ok((body, odd)) = Self::sealed_v2(file, pod_level) {
            return Ok((CpuFormat::V2, body, odd));
        }
        let (oldest, odd) = Self::v1(file)?;
        Ok((CpuFormat::V1, Self::migrated(oldest, CheckpointForm::Plain, running)?, odd))
    }

    /// Format V1 with pods and names of containers in place of their ids.
    fn migrated(oldest: V1, checkpoint: CheckpointForm, running: &ContainerIds) -> Result<Body, CpuError> {
        let mut body = Body { policy: oldest.policy, shared: oldest.shared, ..Body::begun() };
        for (id, cpus) in oldest.entries.unwrap_or_default() {
            let Some(key) = running.get(&id) else {
                return Err(CpuError::UnknownContainer { id, checkpoint });
            };
            let containers = body.entries.get_or_insert_default().entry(key.pod.clone()).or_default();
            containers.get_or_insert_default().insert(key.container.clone(), cpus);
        }
        Ok(body)
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
            CpuFormat::V4 => {
                let (mut outer, mut data) = (V4::begun(), Data(Body::begun()));
                let fault = embedded::read(FORMAT, file, &mut outer, &mut data).read.err()?;
                Some(FileError::Embedded { format: FORMAT.name, fault: Box::new(fault) })
            }
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

    fn of(forms: Forms, format: CpuFormat, body: Body, oddities: Oddities) -> Self {
        let entries = body.entries.unwrap_or_default();
        let pods = body.pods.unwrap_or_default();
        let baselines = body.baselines.unwrap_or_default().into_iter().map(|(pod, of)| {
            let of = of.unwrap_or_default().into_iter().map(|(name, Baseline { cpus })| (name, cpus));
            (pod, of.collect())
        });
        Self {
            forms,
            format,
            policy: body.policy,
            default_cpu_set: body.shared,
            entries: entries.into_iter().map(|(pod, of)| (pod, of.unwrap_or_default())).collect(),
            pod_entries: pods.into_iter().map(|(pod, PodCpus(cpus))| (pod, cpus)).collect(),
            baselines: baselines.collect(),
            oddities,
        }
    }

    /// What is in a whole file that no known format has: a kubelet may refuse it for any reason, or take it for empty.
    /// `None`: its format is known, or it is no whole JSON text.
    #[must_use]
    pub fn unknown_format(file: &[u8]) -> Option<UnknownFormat> {
        let file = &*whole_outline(file).ok()?;
        let is_sealed = Forms::ALL.into_iter().any(|forms| {
            match Self::read(file, forms, &ContainerIds::new()) {
                // An editor may remove the checksum by hand; the entries still say what each container holds.
                Ok(read) => !read.oddities.has_no_checksum() || !read.entries.is_empty(),
                Err(error) => matches!(error, CpuError::UnknownContainer { .. }),
            }
        });
        let newest = Attempt::of(file, Any::default());
        let older = [Attempt::of(file, V2(Body::begun())), Attempt::of(file, V1::default())];
        let (mut outer, mut data) = (V4::begun(), Data(Body::begun()));
        let strange = embedded::read(FORMAT, file, &mut outer, &mut data).strange;
        unknown(&newest, &older, is_sealed, strange, "V1 to V4, which kubelets up to v1.37 write")
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
        let shared = self.default_cpu_set.parse().map_err(|error| {
            let checkpoint = self.forms.checkpoint;
            CpuError::SharedPool { text: self.default_cpu_set.clone(), checkpoint, error }
        })?;
        let containers = parsed(&self.entries, |text, container, pod, error| CpuError::Container {
            text,
            container,
            pod,
            error,
        })?;
        let mut baselines = parsed(&self.baselines, |text, container, pod, error| CpuError::Baseline {
            text,
            container,
            pod,
            error,
        })?;
        if self.forms.checkpoint == CheckpointForm::Embedded
            && self.forms.baselines == Baselines::On
            && baselines.is_empty()
        {
            // A kubelet that wrote no baselines did not resize either.
            baselines.clone_from(&containers);
        }
        let policy = self.policy.clone();
        Ok(CpuState { policy, shared, containers, pods: self.pod_entries.clone(), baselines })
    }
}

/// By pod and container.
type Of<T> = BTreeMap<PodUid, BTreeMap<ContainerName, T>>;

/// The CPUs that are texts.
fn parsed(
    texts: &Of<String>,
    fault: fn(String, ContainerName, PodUid, ParseError) -> CpuError,
) -> Result<Of<CpuSet>, CpuError> {
    let mut all = Of::new();
    for (pod, of) in texts {
        let of = of.iter().map(|(container, text)| match text.parse::<CpuSet>() {
            Ok(cpus) => Ok((container.clone(), cpus)),
            Err(error) => Err(fault(text.clone(), container.clone(), pod.clone(), error)),
        });
        all.insert(pod.clone(), of.collect::<Result<_, CpuError>>()?);
    }
    Ok(all)
}
