//! Each fault of the kubelet with the inputs of its reproduction (`cargo xtask kubelet-faults`): `fixtures/faults`, a folder each,
//! named as its page in `docs/upstream`. Its file `asks` has commands that name the page in the releases that have the fault, and
//! in no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use kubelet_release::{Fault, Release, Standing};

#[test]
fn each_fault_is_named_in_the_releases_that_have_it() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/faults");
    let found = fs::read_dir(&folders).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir());
    let found: BTreeSet<String> = found.map(|entry| entry.file_name().into_string().unwrap()).collect();
    assert_eq!(found, Fault::ALL.iter().map(|fault| fault.id().to_owned()).collect());
    let mut wrong = Vec::new();
    for fault in Fault::ALL {
        let folder = folders.join(fault.id());
        let asks = fs::read_to_string(folder.join("asks")).unwrap();
        assert!(!asks.trim().is_empty(), "{}", fault.id());
        for (ask, release) in asks.lines().flat_map(|ask| Release::ALL.map(|release| (ask, release))) {
            let line = ask.replace("{release}", release.minor());
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some("topolet"), "{line}");
            let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
            let output = command.args(words).current_dir(&folder).env("COLUMNS", "1000").output().unwrap();
            let printed = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            // A kubelet that lacks the feature does not start with its gate.
            let lacks_feature = fault.standing(release) == Standing::LacksFeature;
            let is_answered = output.status.code().is_some_and(|code| code != 1)
                || lacks_feature && printed.contains("would not start");
            let is_named = printed.split_whitespace().collect::<String>().contains(&fault.page().to_string());
            if !is_answered || is_named != fault.is_in(release) {
                wrong.push(format!("{line}: {}\n{printed}", fault.id()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
