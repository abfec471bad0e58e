//! Disks without space or without inodes: nothing acknowledged is lost, deletions go on, and a daemon starts on them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::node::{Node, Outcome};
use crate::node::invariants::Disk;
use crate::node::load::Pace;
use crate::node::{Clock, Daemon, Programs};

/// The disks, by what they lack in the end.
const DISKS: [(Lack, &str); 2] =
    [(Lack::Space, "mode=755,size=512k"), (Lack::Inodes, "mode=755,size=16m,nr_inodes=80")];

/// How long the clients ask while the disk is full.
const FULL: Duration = Duration::from_secs(2);

/// What there is no more of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lack {
    Space,
    Inodes,
}

impl Lack {
    const fn name(self) -> &'static str {
        match self {
            Self::Space => "space",
            Self::Inodes => "inodes",
        }
    }
}

/// A mount that goes with the value.
struct Mount<'a>(&'a Path);

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

/// Runs a node on each disk, fills it, kills the daemon, starts it on the full disk, and makes room again.
pub(super) fn fill(
    programs: &Programs,
    place: &Path,
    seed: u64,
    command: &str,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    for (lacks, options) in DISKS {
        let lack = lacks.name();
        let disk = place.join(lack);
        fs::create_dir_all(&disk)?;
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&disk).status();
        ensure!(mounted.context("failed to start mount")?.success(), "failed to mount a small disk");
        let _mount = Mount(&disk);
        let mut node = Node::new(programs, place, lack, seed, command);
        let about = format!(" (disk without {lack})");
        let daemon = node.start(Clock::Own, None, outcome)?;
        node.under_load(Pace::Unbounded, full)?;
        node.check(&about, &Disk::Whole, outcome)?;
        use_up(&disk, lacks);
        node.under_load(Pace::Unbounded, full)?;
        node.check(&about, &Disk::Whole, outcome)?;
        node.under_load(Pace::Unbounded, || {
            std::thread::sleep(FULL / 10);
            daemon.kill()
        })?;
        // On a full disk it lives, and is ready as soon as there is room for what it has to write.
        let mut daemon = Daemon::spawn(programs, &node.root, Clock::Own, &node.log)?;
        daemon.wait(&node.root, "/healthz", &node.log)?;
        fs::remove_dir_all(disk.join("filler"))?;
        daemon.wait(&node.root, "/readyz", &node.log)?;
        node.check(&about, &Disk::Whole, outcome)?;
        let before: u64 = node.loads.iter().map(|load| load.figures.applied).sum();
        node.under_load(Pace::Unbounded, full)?;
        node.check(&about, &Disk::Whole, outcome)?;
        if node.loads.iter().map(|load| load.figures.applied).sum::<u64>() == before {
            outcome.violations.push(format!("no pod is admitted once there are {lack} again"));
        }
        daemon.terminate()?;
        outcome.take(&mut node);
        outcome.count("full disks");
    }
    Ok(())
}

/// Lets the clients ask for a while.
#[expect(clippy::unnecessary_wraps, reason = "what else happens under load may fail")]
fn full() -> anyhow::Result<()> {
    std::thread::sleep(FULL);
    Ok(())
}

/// Uses up whatever the disk still has, in a folder that can be removed.
fn use_up(disk: &Path, lack: Lack) {
    let filler = disk.join("filler");
    if fs::create_dir(&filler).is_err() {
        return;
    }
    // An inode each, or one file with all pages.
    for number in 0..10_000 {
        let Ok(mut file) = File::create(filler.join(number.to_string())) else { return };
        if lack == Lack::Space {
            while file.write_all(&[b'x'; 4096]).is_ok() {}
            return;
        }
    }
}
