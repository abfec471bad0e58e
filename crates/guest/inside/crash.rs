//! The daemon is killed, its file system fails, the machine loses power, and the machine has less memory at its next start.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use nix::mount::{MsFlags, mount, umount};

use crate::container::Container;
use crate::machine::{Guest, disk, settles};
use crate::node::{Holding, Node, Wish, disjoint};

/// Where the disk is mounted, which keeps its contents over all boots.
const STATE_DISK: &str = "/state";
/// The daemon's folder on that disk, in the tests of power loss.
const STATE: &str = "/state/node";

/// The `at`-th pod: a core and 16 MiB.
fn wish(guest: &Guest, at: usize) -> Wish {
    // A whole core and no more, so that several pods fit on the smallest machine.
    Wish::new(&format!("pod{at}"), guest.shape.threads * 1000, 16)
}

pub(crate) fn kill(guest: &Guest) -> anyhow::Result<()> {
    let node = Node::fresh(guest, "kill")?;
    let held = node.admit(&wish(guest, 0))?;
    let container = Container::start(&node, &held.pod)?;
    settles(&held.pod, || container.is_at(&held))?;
    let before = node.holdings()?;
    let root = node.kill()?;
    container.is_at(&held)?;
    let node = Node::start(guest, &root)?;
    ensure!(node.holdings()? == before, "{:?} instead of {before:?}", node.holdings()?);
    let second = node.admit(&wish(guest, 1))?;
    disjoint(&[held.clone(), second])?;
    settles(&held.pod, || container.is_at(&held))
}

/// The file system below the daemon fails, as ext4 does after an error of its disk: from then on it is read-only. What was
/// confirmed holds, what is asked for is refused, no container moves, and with the file system mounted anew the node goes on.
pub(crate) fn file_system_fails(guest: &Guest) -> anyhow::Result<()> {
    let disk = disk("state").context("the guest has no disk for state")?;
    let name = disk.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mounted = |flags, options| {
        mount(Some(&disk), STATE_DISK, Some("ext4"), flags, Some(options)).context("failed to mount the disk")
    };
    mounted(MsFlags::MS_REMOUNT, "errors=remount-ro")?;
    let root = Path::new(STATE_DISK).join("failing");
    let node = Node::start(guest, &root)?;
    let held = node.admit(&wish(guest, 0))?;
    let container = Container::start(&node, &held.pod)?;
    settles(&held.pod, || container.is_at(&held))?;
    let before = node.holdings()?;

    fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "a test")
        .context("failed to make ext4 fail")?;
    ensure!(fs::write(root.join("probe"), "").is_err(), "the file system still takes files");
    let (status, body) = node.request(&wish(guest, 1))?;
    // The kernel says that the file system is read-only, or, where its journal was aborted, that a write failed.
    ensure!(status == 507 && body.contains("failed to store the change"), "{status}: {body}");
    let deleted = node.delete(&held.pod);
    ensure!(deleted.is_err(), "a deletion is confirmed that is not on disk");
    ensure!(node.holdings()? == before, "{:?} instead of {before:?}", node.holdings()?);
    container.is_at(&held)?;

    node.kill()?;
    umount(STATE_DISK).context("failed to unmount the disk")?;
    mounted(MsFlags::empty(), "errors=continue")?;
    let node = Node::start(guest, &root)?;
    ensure!(node.holdings()? == before, "{:?} instead of {before:?} after a mount", node.holdings()?);
    let second = node.admit(&wish(guest, 1))?;
    disjoint(&[held.clone(), second])?;
    settles(&held.pod, || container.is_at(&held))
}

/// Pods come and go, and each confirmed change is printed, until the machine's power is cut from outside.
#[expect(clippy::print_stdout, reason = "the host cuts the power after some lines")]
pub(crate) fn change_for_ever(guest: &Guest) -> anyhow::Result<()> {
    let node = Node::start(guest, Path::new(STATE))?;
    let kept = node.admit(&wish(guest, 0))?;
    println!("ack + {} {}", kept.pod, kept.cpus);
    for at in 1..1000 {
        let held = node.admit(&wish(guest, at))?;
        println!("ack + {} {}", held.pod, held.cpus);
        node.delete(&held.pod)?;
        println!("ack - {}", held.pod);
    }
    std::thread::sleep(Duration::from_mins(1));
    anyhow::bail!("nobody has cut the power")
}

/// All that was confirmed before the power loss is in effect. The change that was under way may be in effect or not.
pub(crate) fn after_power_loss(guest: &Guest) -> anyhow::Result<()> {
    let confirmed = fs::read_to_string("/acknowledged").context("failed to read /acknowledged")?;
    ensure!(!confirmed.is_empty(), "nothing was confirmed before the power loss");
    let mut expected: Vec<(&str, &str)> = Vec::new();
    for line in confirmed.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["+", pod, cpus] => expected.push((pod, cpus)),
            ["-", pod] => expected.retain(|(name, _)| *name != pod),
            _ => anyhow::bail!("{line} is no change"),
        }
    }
    let node = Node::start(guest, Path::new(STATE))?;
    let held = node.holdings()?;
    disjoint(&held)?;
    let find = |name: &str| held.iter().find(|own| own.pod == name);
    // The pod of the last confirmed change: if it was an admission, its deletion was under way when power was lost.
    let (last, open) =
        confirmed.lines().next_back().and_then(|line| line.split_once(' ')).context("no change")?;
    let open = open.split(' ').next().unwrap_or_default();
    for (pod, cpus) in &expected {
        match find(pod) {
            Some(own) => ensure!(own.cpus == cpus.parse()?, "{own:?} held {cpus}"),
            None => ensure!(
                last == "+" && *pod == open && *pod != "pod0",
                "{pod} with CPUs {cpus} is lost: {held:?}"
            ),
        }
    }
    let known = |own: &&Holding| expected.iter().any(|(pod, _)| *pod == own.pod);
    let unknown: Vec<&Holding> = held.iter().filter(|own| !known(own)).collect();
    ensure!(unknown.len() <= usize::from(last == "-"), "nobody admitted {unknown:?}");
    // Goes on as if nothing had happened.
    let more = node.admit(&wish(guest, 2000))?;
    disjoint(&node.holdings()?)?;
    node.delete(&more.pod)
}

/// A kubelet would not start from this state, and `--strict` says so; without it the state is repaired.
pub(crate) fn less_memory(guest: &Guest) -> anyhow::Result<()> {
    let log = Node::refuses_to_start(guest, Path::new(STATE))?;
    ensure!(log.contains("memory"), "--strict does not name memory: {log}");
    let node = Node::start(guest, Path::new(STATE))?;
    let held = node.holdings()?;
    disjoint(&held)?;
    ensure!(held.iter().any(|own| own.pod == "pod0" && !own.cpus.is_empty()), "pod0 lost its CPUs: {held:?}");
    let more = node.admit(&wish(guest, 3000))?;
    ensure!(!more.cpus.is_empty(), "{more:?}");
    disjoint(&node.holdings()?)
}
