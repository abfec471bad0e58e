//! A slice of the promises: one filling on each committed machine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use conformance::promises::{Only, Run};
use kubelet_release::Release;

/// The kubelet's own code, where `cargo xtask test` or `cargo xtask kubelet-node` has built it and it may run; else it is
/// printed why not, which in CI is a failure.
fn program() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_BIN_EXE_promises")).parent()?.parent()?;
    let path = target.join("kubelet/admission");
    let why = if path.is_file() {
        let tried = Command::new(&path).arg("steps").stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&tried.stderr);
        let why = format!("a kubelet needs a mount namespace of its own: {}", text.trim());
        (!tried.status.success()).then_some(why)
    } else {
        Some(format!("{} is not built; `cargo xtask kubelet-node` builds it", path.display()))
    };
    let Some(why) = why else { return Some(path) };
    assert!(std::env::var_os("CI").is_none(), "{why}");
    println!("skipped: {why}");
    None
}

#[test]
fn what_is_said_of_a_kubelet_is_what_it_does() {
    let Some(program) = program() else { return };
    let run = Run {
        machines: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/cadvisor"),
        program,
        release: Release::default(),
        seed: 20,
        configurations: 1,
        fillings: 2,
        patience: Duration::from_secs(1),
        hang: Duration::from_mins(2),
        only: Only::default(),
        jobs: NonZeroUsize::MIN,
    };
    let tally = run.play(|_, _| Ok(())).unwrap();
    assert!(tally.exceptions.is_empty(), "{:#?}", tally.exceptions);
    let figures = tally.figures();
    assert!(tally.is_kept(), "{tally}");
    assert!(figures.promises > 100 && figures.refusals > 20 && figures.fates > 3, "{tally}");
}
