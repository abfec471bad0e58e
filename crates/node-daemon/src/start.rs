//! What the node goes on with: as it was found, repaired, or, if that is asked for, as strictly as a kubelet.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use device_manager::Moment;
use kubelet_checkpoint::store::Store;
use node_agent::{FoundFolder, KeptBackups, Owner, ReplacedFile, Unfinished, complete_moves, mend, prune};
use node_input::LoadedNode;
use node_state::moves::MOVES;
use node_state::{OldContents, PodNames, Quarantine, Quarantined, Repair, StateFolder};

use super::root::{self, Damaged};

/// The start of the daemon, by its own clock and on the wall.
#[derive(Clone, Copy)]
pub(super) struct Dates {
    pub(super) now: Moment,
    /// The time since 1970 at moment zero.
    pub(super) epoch: Duration,
}

/// The owner of the node with what was found in the root, and what was repaired.
pub(super) fn owner(
    root: &Path,
    store: &Store,
    node: &LoadedNode,
    damaged: Damaged,
    keep: KeptBackups,
    Dates { now, epoch }: Dates,
) -> anyhow::Result<(Owner, Vec<Repair>)> {
    let cannot = || format!("cannot start from {}", root.display());
    let inventory = node.inventory.clone();
    if damaged == Damaged::Refuse {
        match complete_moves(store).with_context(cannot)? {
            Unfinished::Damaged(error) => return Err(error).with_context(|| MOVES).with_context(cannot),
            Unfinished::NotWritten(left) => return Err(left.why).with_context(cannot),
            Unfinished::Nothing | Unfinished::Completed(_) => {}
        }
        let start = StateFolder::read(store)?.strict(&node.node).with_context(cannot)?;
        let ledger = start.ledger(&node.node, inventory, now).with_context(cannot)?;
        quarantined(root, store);
        return Ok((Owner::new(node.node.clone(), &ledger, start.records).dated(epoch), Vec::new()));
    }
    let FoundFolder { folder, repairs: mut findings, behind } = node_agent::read_anything(store)?;
    let runs = root::pod_list(root).with_context(cannot)?;
    let mut repaired = folder.plan_repair(&node.node, &runs).with_context(cannot)?;
    let ledger = repaired.start.ledger(&node.node, inventory, now).with_context(cannot)?;
    let mended = repaired.settle(&node.node, &ledger);
    findings.append(&mut repaired.findings);
    for Repair { finding, assumption, remedy, quarantined } in &findings {
        let (file, found) = (finding.file.display(), finding.fault.to_string());
        let assumed = assumption.as_ref().map(ToString::to_string).unwrap_or_default();
        let done = remedy.to_string();
        if quarantined.is_empty() {
            tracing::warn!(%file, found, assumed, done, "state is repaired");
        } else {
            let pods: Vec<&str> = quarantined.iter().map(pod_spec::PodUid::as_str).collect();
            tracing::error!(%file, found, assumed, done, ?pods, "state is repaired, and pods are quarantined");
        }
    }
    if let Some(uid) = &repaired.unfinished {
        let record = repaired.start.records.iter().find(|record| record.pod.uid == *uid);
        let pod = record.map_or_else(
            || uid.to_string(),
            |record| format!("{}/{}", record.pod.namespace, record.pod.name),
        );
        tracing::info!(
            pod,
            uid = uid.as_str(),
            "a change of a pod was cut short; it is completed from pods' own files"
        );
    }
    // Nothing is written before the rest of a change that had been decided.
    if let Some(left) = behind.as_ref().filter(|_| !mended.is_empty()) {
        anyhow::bail!(
            "the state has to be repaired, after moves of pods that cannot be written: {}",
            left.why
        );
    }
    let owner = Owner::new(node.node.clone(), &ledger, repaired.start.records).dated(epoch);
    let owner = match mend(store, &mended) {
        Ok(replaced) => {
            backups(&replaced);
            // The files of all pods are there now.
            root::end_rewriting(root)
                .context("failed to remove the mark of pods' files that were removed")?;
            owner
        }
        // Nothing is lost: pods' own files have all of it, and it is completed before anything else is written.
        Err(why) if mended.iter().all(|repair| repair.old == OldContents::Dropped) => {
            tracing::warn!("the change is not completed on disk yet: {why}");
            owner.uncompleted(&mended, &why)
        }
        Err(why) => return Err(why).context("failed to repair the state"),
    };
    for error in prune(store, keep) {
        tracing::warn!("an old backup is not removed: {:#}", anyhow::Error::new(error));
    }
    quarantined(root, store);
    Ok((behind.iter().fold(owner, Owner::behind), findings))
}

/// Logs where the old contents of files are.
fn backups(replaced: &[ReplacedFile]) {
    for ReplacedFile { path, backup } in replaced {
        if let Some(backup) = backup {
            tracing::info!(file = %path.display(), backup = %backup.display(), "file is replaced");
        }
    }
}

/// Tells who is quarantined since a repair by hand. Pods of this node have it in their own files too; those of a
/// kubelet's have nothing else.
fn quarantined(root: &Path, store: &Store) {
    match still_quarantined(root, store) {
        Ok(quarantine) => {
            for file in &quarantine.lost {
                tracing::error!(file, "a repair wrote the file without knowing which pods had been in it");
            }
            for (uid, Quarantined { name, why, .. }) in quarantine.pods {
                tracing::error!(pod = name, uid, why, "pod is quarantined since a repair");
            }
        }
        Err(error) => tracing::error!("{error:#}"),
    }
}

/// Those who hold anything yet. The others are forgotten: another pod of the same name may come to the same UID.
fn still_quarantined(root: &Path, store: &Store) -> anyhow::Result<Quarantine> {
    let known = node_input::quarantine_in(root)?;
    let still = node_input::still_quarantined(root, &node_input::any_state_of(root)?, &PodNames::default())?;
    if still != known {
        node_agent::write_quarantine(store, &still)?;
    }
    Ok(still)
}
