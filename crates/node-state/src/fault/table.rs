//! The table: each fault with what it has, its kind, what it is to a kubelet, its sentence and what helps.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use cpuset::CpuSet;
use device_manager::DeviceId;
use kubelet_checkpoint::cpu::CpuError;
use kubelet_checkpoint::store::NotRegular;
use kubelet_checkpoint::{Oddity, PodLevel, UnknownFormat};
use kubelet_release::Release;
use memory_manager::{StoredBlock, UnevenPages};
use pod_spec::{PodUid, ResourceName};

use super::help::{self, DELETE, or_delete};
use super::{
    Damage, FaultKind, Holding, NamedPod, ReservedGiven, ReservedPart, Unproven, WholeShare, reserved,
};
use crate::books::BookDifference;
use crate::files::NullBooks;
use crate::finding_line::Problem;
use crate::moves::MovesError;
use crate::record::RecordError;
use crate::start::StartError;
use crate::words;

/// Whether a fault is one for a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Weight {
    /// The kubelet cannot use the file, so nothing else in it matters.
    WholeFile,
    /// Always.
    Fault,
    /// Only if the kubelet refuses the file: otherwise it is put right as the kubelet goes on.
    IfRefused,
    /// Never.
    RepairOnly,
}

/// Under which configurations of the kubelet a folder has a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Under every one.
    Files,
    /// Under some: another configuration explains the file.
    Configuration,
}

/// What the kubelet does about a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reaction {
    /// This, in whichever file the fault is.
    Does(&'static str),
    /// It does not start from the file, or does this.
    Refuses(&'static str),
    /// The same, but it starts without a file of devices that it cannot parse.
    CannotParse(&'static str),
}

const UNSEEN: &str = "does not look for this";

/// A value of a row, or what most rows have.
macro_rules! or {
    ($default:expr) => {
        $default
    };
    ($default:expr, $value:expr) => {
        $value
    };
}

/// Makes [`Fault`] of a table with a row for each fault: what it has, then its kind, its kind in `topolet state check`,
/// whether it is a fault for a kubelet, and under which configurations; its sentence; what the kubelet does about it, if not
/// refuse the file or overlook it; and what helps, if not to delete the file.
macro_rules! table {
    ($f:ident, $file:ident; $(
        $(#[$doc:meta])*
        $name:ident $(($($tuple:tt)*))? $({$($named:tt)*})?
        [$kind:ident, $problem:ident, $weight:ident, $scope:ident] $(|$values:tt|)? => $sentence:expr
        $(, kubelet: $reaction:expr)? $(, help: $help:expr)?;
    )*) => {
        /// What can be wrong.
        #[derive(Clone, Debug)]
        pub enum Fault {
            $($(#[$doc])* $name $(($($tuple)*))? $({$($named)*})?,)*
        }

        impl Fault {
            /// Its kind.
            #[must_use]
            pub const fn kind(&self) -> FaultKind {
                match self {
                    $(Self::$name { .. } => FaultKind::$kind,)*
                }
            }

            pub(crate) const fn problem(&self) -> Problem {
                match self {
                    $(Self::$name { .. } => Problem::$problem,)*
                }
            }

            pub(crate) const fn weight(&self) -> Weight {
                match self {
                    $(Self::$name { .. } => Weight::$weight,)*
                }
            }

            pub(crate) const fn scope(&self) -> Scope {
                match self {
                    $(Self::$name { .. } => Scope::$scope,)*
                }
            }

            pub(crate) const fn reaction(&self) -> Reaction {
                match self {
                    $(Self::$name { .. } => or!(Reaction::Refuses(UNSEEN) $(, $reaction)?),)*
                }
            }

            /// What helps, where the fault is one of `file`.
            #[expect(unused_variables, reason = "a row names its values once, most for its sentence alone")]
            pub(crate) fn help(&self, $file: &Path) -> String {
                match self {
                    $(Self::$name $($values)? => or!(DELETE.to_owned() $(, $help)?),)*
                }
            }
        }

        impl fmt::Display for Fault {
            #[expect(unused_variables, reason = "a row names its values once, some for what helps alone")]
            fn fmt(&self, $f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name $($values)? => $sentence,)*
                }
            }
        }
    };
}

table! { f, file;
    /// In the place of the file is something else; it was renamed.
    NotRegular(NotRegular) [Unreadable, Unreadable, RepairOnly, Files] |(error)| => error.fmt(f);
    /// The file cannot be parsed, or was changed.
    Damaged(Damage) [Unreadable, Unreadable, WholeFile, Files] |(damage)| => damage.fmt(f),
        kubelet: Reaction::CannotParse(UNSEEN), help: help::of_damage(damage, file);
    /// The file parses, and its contents are no CPUs of pods.
    NotCpus(CpuError) [Unreadable, Unreadable, WholeFile, Files] |(error)| => error.fmt(f);
    /// A kubelet of another release wrote the file.
    UnknownFormat(UnknownFormat) [Unreadable, UnknownFormat, WholeFile, Files] |(format)| => format.fmt(f),
        kubelet: Reaction::CannotParse("takes it for empty"), help: or_delete("run the kubelet that wrote it");
    /// The file of a pod cannot be read.
    UnreadablePod(Arc<RecordError>) [Unreadable, Unreadable, RepairOnly, Files] |(error)| =>
        with_cause(f, error.as_ref());
    /// A change of several pods cannot be read.
    UnreadableMoves(Arc<MovesError>) [Unreadable, Unreadable, RepairOnly, Files] |(error)| =>
        with_cause(f, error.as_ref());
    /// The file of a pod has the name of another pod's file.
    MisnamedPod(PodUid) [Unreadable, Unreadable, RepairOnly, Files] |(uid)| =>
        write!(f, "it is the file of pod {uid}, under another name");
    /// The file of a pod was removed while the pod ran.
    RemovedPod(NamedPod) [Missing, Unreadable, RepairOnly, Files] |(pod)| => write!(f, "removed while {pod} ran");
    /// Pods have files that list holdings, and the state file is missing.
    Missing [Missing, Unreadable, RepairOnly, Files] =>
        f.write_str("missing, and pods have files that list what they hold");
    /// A kubelet with the other value of the feature gate `PodLevelResourceManagers` wrote the file.
    OtherGate(PodLevel) [OtherGate, OtherGate, WholeFile, Configuration] |(configured)| => {
            let [written, configured] = if *configured == PodLevel::Off { ["on", "off"] } else { ["off", "on"] };
            write!(f, "written with feature gate PodLevelResourceManagers {written}")?;
            write!(f, ", and the configuration has it {configured}")
        },
        help: or_delete(match configured {
            PodLevel::Off => "turn the gate on again",
            PodLevel::On => "turn the gate off again",
        });
    /// A kubelet of a release with another form of files wrote it; this one is wanted.
    OtherForm(Release) [OtherForm, UnknownFormat, RepairOnly, Files] |(release)| =>
        write!(f, "not in the form of kubelet {release}");
    /// A pod held CPUs as a whole, which it cannot with the gate off; `beside`: CPUs that none of its containers holds.
    WholeCpus {
        /// The pod.
        pod: NamedPod,
        /// All of them, or those beside the containers'.
        cpus: CpuSet,
        /// Whether containers hold them too.
        share: WholeShare,
    } [OtherGate, OtherGate, RepairOnly, Files] |{ pod, cpus, share }| =>
        write!(f, "{pod} held {} as a whole{share}", words::cpus(cpus));
    /// A manager with another policy wrote the file.
    OtherPolicy {
        /// As the file has it.
        stored: String,
        /// As the configuration has it.
        configured: &'static str,
    } [OtherPolicy, OtherPolicy, Fault, Configuration] |{ stored, configured }| =>
        write!(f, "written under policy {stored:?}, and the configuration has {configured:?}"),
        help: help::of_policy(stored, configured);
    /// A pod holds CPUs that are offline or that the machine does not have.
    CpusGone {
        /// The pod.
        pod: NamedPod,
        /// The CPUs.
        cpus: CpuSet,
    } [CpusGone, Unknown, IfRefused, Files] |{ pod, cpus }| =>
        write!(f, "{pod} holds {}, which {} offline or not on this machine", words::cpus(cpus), words::are(cpus)),
        help: or_delete(help::ONLINE);
    /// The shared pool has CPUs that are offline or that the machine does not have.
    SharedCpusGone(CpuSet) [CpusGone, Unknown, IfRefused, Files] |(cpus)| => {
            let (held, are) = (words::cpus(cpus), words::are(cpus));
            write!(f, "the shared pool has {held}, which {are} offline or not on this machine")
        },
        help: or_delete(help::ONLINE);
    /// CPUs of no pod are not in the shared pool.
    UnownedCpus(CpuSet) [CpusNew, Sums, IfRefused, Configuration] |(cpus)| => {
            let belong = if cpus.len() == 1 { "belongs" } else { "belong" };
            let (held, are) = (words::cpus(cpus), words::are(cpus));
            write!(f, "{held} {belong} to no pod and {are} not in the shared pool")
        },
        help: or_delete("run `topolet state repair --apply`, which gives them back to the shared pool");
    /// A pod holds CPUs that the configuration reserves for the system.
    CpusReserved {
        /// The pod.
        pod: NamedPod,
        /// The CPUs.
        cpus: CpuSet,
        /// How it got them.
        given: ReservedGiven,
    } [Reserved, Sums, IfRefused, Configuration] |{ pod, cpus, given }| =>
        write!(f, "{pod} holds {}, which the configuration reserves for the system{given}", words::cpus(cpus)),
        help: help::of_reserved(given);
    /// Pods hold every CPU that is not reserved for the system alone: the shared pool is empty.
    FullNode [SharedPool, Sums, WholeFile, Files] => f.write_str(reserved::FULL_NODE),
        help: format!(
            "while the kubelet runs, delete a pod that holds exclusive CPUs before you restart it; where it does not \
             run, {DELETE}. Without strict-cpu-reservation the pool keeps the reserved CPUs"
        );
    /// The shared pool has CPUs that only the system may use.
    SharedCpusReserved(CpuSet, ReservedPart) [Reserved, Sums, IfRefused, Configuration] |(cpus, part)| => {
            let held = words::cpus(cpus);
            write!(f, "the shared pool has {held}, which the configuration keeps for the system alone")
        },
        help: or_delete(match part {
            ReservedPart::All => "turn strict-cpu-reservation off again",
            ReservedPart::Some => help::RESERVED_BEFORE,
        });
    /// Reserved CPUs are not in the shared pool.
    ReservedNotShared(CpuSet, ReservedPart) [Reserved, Sums, IfRefused, Configuration] |(cpus, part)| =>
        write!(f, "reserved {} {} not in the shared pool", words::cpus(cpus), words::are(cpus)),
        help: or_delete(match part {
            ReservedPart::All => help::STRICT_AGAIN,
            ReservedPart::Some => help::RESERVED_BEFORE,
        });
    /// CPUs of pods are in the shared pool.
    OwnedAndShared {
        /// The pods.
        pods: Vec<NamedPod>,
        /// The CPUs.
        cpus: CpuSet,
    } [SharedPool, Overlap, IfRefused, Files] |{ pods, cpus }| => {
            let pods = words::names(pods);
            write!(f, "{} of {pods} {} in the shared pool too", words::cpus(cpus), words::are(cpus))
        };
    /// Pods hold the same CPUs.
    CpusOwnedTwice {
        /// The pods, two or more, the oldest first.
        pods: Vec<NamedPod>,
        /// The CPUs.
        cpus: CpuSet,
    } [TwoOwners, Overlap, Fault, Files] |{ pods, cpus }| =>
        write!(f, "{} {} hold {}", words::names(pods), both_or_all(pods), words::cpus(cpus)),
        kubelet: Reaction::Does("does not look for this: both run on them"), help: help::ONE_OF_TWO.to_owned();
    /// Pods hold the same devices.
    DevicesOwnedTwice {
        /// The pods, two or more, the oldest first.
        pods: Vec<NamedPod>,
        /// The devices.
        devices: BTreeSet<(ResourceName, DeviceId)>,
    } [TwoOwners, Overlap, Fault, Files] |{ pods, devices }| =>
        write!(f, "{} {} hold {}", words::names(pods), both_or_all(pods), words::devices(devices)),
        kubelet: Reaction::Does("does not look for this: both use them"), help: help::ONE_OF_TWO.to_owned();
    /// The node has other amounts of memory than the file.
    MemoryDrifted(Vec<BookDifference>) [MemoryDrifted, Sums, IfRefused, Files] |(differences)| =>
        f.write_str(&words::shortened(differences.iter().map(ToString::to_string))),
        help: help::of_drift(differences);
    /// The sums of the file are not those of its entries.
    Books(Vec<BookDifference>) [Books, Sums, IfRefused, Files] |(differences)| =>
        f.write_str(&words::shortened(differences.iter().map(ToString::to_string)));
    /// The books of a NUMA node are null.
    NullBooks(NullBooks) [Books, Unreadable, WholeFile, Files] |(error)| => write!(f, "the {error}"),
        kubelet: Reaction::Does("crashes when it starts");
    /// A pod holds memory where the machine has none of that kind.
    MemoryGone {
        /// The pod.
        pod: NamedPod,
        /// Its blocks there.
        blocks: Vec<StoredBlock>,
    } [MemoryGone, Unknown, IfRefused, Files] |{ pod, blocks }| => {
            let blocks = words::list(blocks.iter().map(words::block));
            write!(f, "{pod} holds {blocks}, and this machine has none of that there")
        };
    /// Pods hold more memory than there is for pods.
    Overbooked {
        /// Of which kind.
        resource: ResourceName,
        /// How many bytes more.
        bytes: u64,
    } [Overbooked, Sums, IfRefused, Configuration] |{ resource, bytes }| => {
            let bytes = words::bytes(*bytes);
            write!(f, "pods hold {bytes} of {resource} more than their NUMA nodes have for pods")
        };
    /// No file proves what pods hold.
    Unproven(Unproven) [Unproven, Sums, RepairOnly, Files] |(unproven)| => unproven.fmt(f);
    /// The state file lists other holdings of a pod than the pod's own file.
    Disagreement {
        /// The pod.
        pod: NamedPod,
        /// By the state file.
        stored: Holding,
        /// By the pod's own file.
        own: Holding,
    } [Disagreement, Sums, RepairOnly, Files] |{ pod, stored, own }| =>
        write!(f, "it lists {stored} for {pod}, and the pod's own file lists {own}");
    /// A pod that does not run holds something.
    PodGone {
        /// The pod.
        pod: PodUid,
        /// What it holds.
        held: Holding,
    } [PodGone, Gone, Fault, Files] |{ pod, held }| => write!(f, "pod {pod} is gone and still holds {held}"),
        kubelet: Reaction::Does("releases them when it next admits a pod"),
        help: "nothing if the kubelet runs; otherwise they stay allocated until it does".to_owned();
    /// Memory is bound over NUMA nodes that do not list the same sizes of huge pages; the kubelet crashes on it.
    UnevenPages(UnevenPages) [Books, Sums, WholeFile, Files] |(uneven)| => uneven.fmt(f),
        kubelet: Reaction::Does("crashes when it starts"),
        help: format!(
            "while the kubelet runs, delete the pods whose memory is bound over both NUMA nodes before you restart \
             it; where it does not run, {DELETE}"
        );
    /// A kubelet would not start from the file for another reason than those above.
    Rejected(Arc<StartError>) [Unreadable, Sums, WholeFile, Files] |(error)| => error.fmt(f);
    /// A kubelet accepts the file and did not write it so; nothing is wrong.
    /// Each with its byte.
    Odd(Vec<(usize, Oddity)>) [Odd, Odd, Fault, Files] |(oddities)| => {
            f.write_str("not as a kubelet writes it: ")?;
            match oddities.first() {
                Some((_, Oddity::NoChecksum)) => write!(f, "{}", Oddity::NoChecksum)?,
                Some((offset, oddity)) => write!(f, "at byte {offset}: {oddity}")?,
                None => {}
            }
            match oddities.len().saturating_sub(1) {
                0 => Ok(()),
                more => write!(f, ", and {more} more such things"),
            }
        },
        kubelet: Reaction::Does("accepts it as it is"),
        help: match oddities.first() {
            Some((_, Oddity::NoChecksum)) => "the kubelet adds one when it next writes the file",
            _ => "the file was edited by hand: check that it matches what the pods hold",
        }
        .to_owned();
}

/// How two or more pods hold the same.
const fn both_or_all(pods: &[NamedPod]) -> &'static str {
    if pods.len() > 2 { "all" } else { "both" }
}

/// An error with what caused it.
fn with_cause(f: &mut fmt::Formatter<'_>, error: &dyn std::error::Error) -> fmt::Result {
    match error.source() {
        Some(cause) => write!(f, "{error}: {cause}"),
        None => write!(f, "{error}"),
    }
}
