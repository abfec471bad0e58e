//! What helps against a fault, where a sentence has more than one form.

use std::path::Path;

use kubelet_checkpoint::pods::PodFile;
use kubelet_checkpoint::store::StateFile;

use super::{Damage, ReservedGiven};
use crate::books::{BookDifference, Column};
use crate::words;

/// The way out that always works.
pub(super) const DELETE: &str = "drain the node, delete the file and restart the kubelet";

pub(super) const ONLINE: &str = "bring them online again";
pub(super) const ONE_OF_TWO: &str = "delete one of the two pods";
pub(super) const RESERVED_BEFORE: &str = "reserve the CPUs that were reserved when the file was written";
pub(super) const STRICT_AGAIN: &str = "turn strict-cpu-reservation on again (with an empty pool no kubelet starts with it \
    either), or run `topolet state repair --apply`, which puts them into the pool";

/// The way out for files of what pods were admitted or run with.
const PUT_ASIDE: &str = "delete the file before the kubelet starts, or have `topolet state repair --apply` put it aside: the \
    kubelet then takes what the pods' manifests request";

/// What helps where a manager does not start from its state file, by the kubelet's error alone: the name of the file, and the sentence. `None`: the
/// error is about none of these files.
#[must_use]
pub fn against_start_error(error: &str) -> Option<(&'static str, String)> {
    let file = match () {
        () if error.contains("start cpu manager error") => StateFile::Cpu.path(),
        () if error.contains("start memory manager error") => StateFile::Memory.path(),
        () => return None,
    };
    let policies = || {
        let (before, after) = error.split_once("differs from state checkpoint policy \"")?;
        let configured = before.split_once("configured policy \"")?.1.split('"').next()?;
        Some((after.split('"').next()?, configured))
    };
    let help = match policies() {
        Some((stored, configured)) => of_policy(stored, configured),
        None if error.contains("expected machine state is different") => or_delete(MEMORY_OR_RESERVED),
        None => DELETE.to_owned(),
    };
    Some((file, help))
}

/// The way out for a file that a manager of another policy wrote.
pub(super) fn of_policy(stored: &str, configured: &str) -> String {
    let is_of_cpus = matches!(configured, "static" | "none");
    let field = if is_of_cpus { "cpuManagerPolicy" } else { "memoryManagerPolicy" };
    or_delete(&format!("set {field} to {stored:?} again"))
}

/// A way out beside the one that always works.
pub(super) fn or_delete(first: &str) -> String {
    format!("{first}, or {DELETE}")
}

pub(super) fn of_damage(damage: &Damage, file: &Path) -> String {
    let is_of_pods = || PodFile::ALL.iter().any(|of_pods| file == Path::new(of_pods.path()));
    if damage.is_of_embedded() {
        or_delete(
            "run `topolet state repair --apply`, which takes what kubelets up to v1.36 read of the file",
        )
    } else if file == Path::new(StateFile::Device.path()) {
        "before the kubelet starts, delete the pods that hold devices".to_owned()
    } else if is_of_pods() {
        format!("{PUT_ASIDE}; drain the node first if pods are being resized")
    } else {
        DELETE.to_owned()
    }
}

pub(super) fn of_reserved(given: &ReservedGiven) -> String {
    match given {
        ReservedGiven::WithCores(cores) => format!(
            "reserve whole cores: add {} to reservedSystemCPUs; then {DELETE}. Delete the pod first while the kubelet \
             runs, and the file may stay",
            words::cpus(cores)
        ),
        ReservedGiven::Before => or_delete("reserve the CPUs that were reserved when the pod got its own"),
    }
}

pub(super) fn of_drift(differences: &[BookDifference]) -> String {
    match moved(differences) {
        Some(Moved::Little) => ANOTHER_BOOT.to_owned(),
        Some(Moved::Up) => format!("{DELETE}: the memory has grown since the file was written"),
        None => or_delete(drifted(differences)),
    }
}

/// How the memory of NUMA nodes differs from that of a file, where nothing brings it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Moved {
    /// By less than a boot changes.
    Little,
    /// It has grown.
    Up,
}

/// The most bytes by which a node's memory changes from boot to boot, however small it is: the kernel's image lies on another
/// node (KEP-6232).
const IMAGE: u64 = 64 << 20;

/// Whether totals of memory alone differ, each by less than 1 % or 64Mi, or each upwards; `None`: otherwise.
fn moved(differences: &[BookDifference]) -> Option<Moved> {
    let total = |difference: &BookDifference| match difference {
        BookDifference::Amount { resource, column: Column::Total, stored, actual, .. }
            if resource.as_str() == "memory" =>
        {
            Some((*stored, *actual))
        }
        _ => None,
    };
    let totals: Vec<(u64, u64)> = differences.iter().map(total).collect::<Option<_>>()?;
    let is_little = |(stored, actual): &(u64, u64)| stored.abs_diff(*actual) < (stored / 100).max(IMAGE);
    if totals.iter().all(is_little) {
        return Some(Moved::Little);
    }
    totals.iter().all(|(stored, actual)| stored < actual).then_some(Moved::Up)
}

/// The way out for a file whose totals are those of the same machine at another time.
const ANOTHER_BOOT: &str = "the file was written at another boot of this machine, or before its memory changed: after a reboot \
    delete it before the kubelet starts; while pods run, drain the node first";

const MEMORY_OR_RESERVED: &str =
    "bring back the memory and huge pages that the file has, and reserve what it has as reserved";

/// What brings back the memory that a file was written for.
fn drifted(differences: &[BookDifference]) -> &'static str {
    let is_reserved = |difference: &BookDifference| {
        matches!(difference, BookDifference::Amount { column: Column::SystemReserved, .. })
    };
    let of_reservation = differences.iter().filter(|difference| is_reserved(difference)).count();
    match of_reservation {
        0 => "bring back the memory and huge pages that the file has",
        all if all == differences.len() => "reserve the memory that the file has as reserved",
        _ => MEMORY_OR_RESERVED,
    }
}

#[cfg(test)]
mod tests {
    use pod_spec::ResourceName;
    use topology_model::NodeId;

    use super::*;

    #[test]
    fn the_kubelets_error_alone_tells_what_helps() {
        let of = |error: &str| against_start_error(error).map(|(file, help)| format!("{file}: {help}"));
        assert_eq!(
            of(
                "start cpu manager error: could not restore state from checkpoint: configured policy \"static\" differs from state \
                checkpoint policy \"none\", please drain this node"
            ),
            Some(format!("cpu_manager_state: set cpuManagerPolicy to \"none\" again, or {DELETE}"))
        );
        assert_eq!(
            of(
                "start memory manager error: [memorymanager] the expected machine state is different from the real one"
            ),
            Some(format!("memory_manager_state: {MEMORY_OR_RESERVED}, or {DELETE}"))
        );
        assert_eq!(
            of("start cpu manager error: could not restore state from checkpoint: checkpoint is corrupted"),
            Some(format!("cpu_manager_state: {DELETE}"))
        );
        assert_eq!(of("failed to create kubelet: x"), None);
    }

    #[test]
    fn memory_of_another_boot_is_told_from_memory_that_is_gone() {
        const GIB: u64 = 1 << 30;
        const MIB: u64 = 1 << 20;
        let total = |resource: &str, stored, actual| BookDifference::Amount {
            node: NodeId(0),
            resource: ResourceName::new(resource),
            column: Column::Total,
            stored,
            actual,
        };
        let reserved = BookDifference::Amount {
            node: NodeId(0),
            resource: ResourceName::new("memory"),
            column: Column::SystemReserved,
            stored: GIB,
            actual: 2 * GIB,
        };
        for (differences, expected) in [
            // kubernetes#131253.
            (vec![total("memory", 135_233_794_048, 135_277_490_176)], Some(Moved::Little)),
            (vec![total("memory", 4 * GIB, 4 * GIB - 60 * MIB)], Some(Moved::Little)),
            (
                vec![total("memory", 126 * GIB, 125 * GIB), total("memory", 126 * GIB, 127 * GIB)],
                Some(Moved::Little),
            ),
            (vec![total("memory", 5_061_984_256, 5_196_201_984)], Some(Moved::Up)),
            (vec![total("memory", 126 * GIB, 120 * GIB)], None),
            (vec![total("memory", 8 * GIB, 9 * GIB), total("memory", 8 * GIB, 7 * GIB)], None),
            (vec![total("hugepages-2Mi", 8 * GIB, 8 * GIB + 2 * MIB)], None),
            (vec![total("memory", 8 * GIB, 8 * GIB + MIB), reserved], None),
            (vec![BookDifference::NodeGone(NodeId(1))], None),
        ] {
            assert_eq!(moved(&differences), expected, "{differences:?}");
        }
    }
}
