//! `cargo xtask recorded`: tests on what others recorded, which is too large or may not be copied.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use crate::hwloc;
use crate::test::Tests;

/// What a folder of recorded answers has for these tests.
const PARTS: [&str; 8] = [
    "machines/real",
    "machines/synthesised",
    "oracle/machineinfo",
    "oracle/hwloc",
    "oracle/admission/fragment.jsonl.zst",
    "oracle/cpu/start.jsonl.zst",
    "oracle/memory/start.jsonl.zst",
    "oracle-dra/numa/machines.jsonl.zst",
];

/// The tests that read more where they are given it, as nextest selects them.
const TESTS: &str = "package(topology-discovery) & test(/(^|::)(a_machine_is_the_same_after_it_is_captured|\
    every_machine_is_what_its_truth_file_says|cadvisor_would_print_the_same)$/) \
    | package(machine-picture) & binary(places_agree) \
    | package(kubelet-checkpoint) & test(/^upstream::/) | package(topolet) & test(/^resource_slices::/) \
    | package(conformance) & test(a_simulation_decides_as_the_kubelet_on_fragmented_nodes)";

/// Runs the tests that can read more than is committed on a folder of captured machines (`machines`) and recorded answers
/// (`oracle`); the contract with hwloc too, where its library is installed.
///
/// `cargo xtask conformance FOLDER/oracle` plays the cases of such a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Recorded {
    /// The folder.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}

impl Recorded {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let folder = whole(&self.folder)?;
        if hwloc::is_installed() {
            hwloc::contract(Some(&folder))?;
        } else {
            eprintln!("skipped: the contract with hwloc, which is not installed");
        }
        Tests::build()?.run_some(TESTS, "TOPOLET_RECORDED", &folder)
    }
}

/// The folder as tests find it from wherever they run, if it lacks nothing.
fn whole(folder: &Path) -> anyhow::Result<PathBuf> {
    let found = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
    let missing: Vec<&str> = PARTS.into_iter().filter(|part| !found.join(part).exists()).collect();
    ensure!(
        missing.is_empty(),
        "{} is no folder of recorded answers: it lacks {}",
        folder.display(),
        missing.join(", ")
    );
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_that_lacks_a_part_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for part in PARTS {
            let error = whole(folder.path()).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        assert_eq!(whole(folder.path()).unwrap(), folder.path().canonicalize().unwrap());
        let nowhere = whole(&folder.path().join("nowhere")).unwrap_err().to_string();
        assert!(nowhere.starts_with("there is no folder "), "{nowhere}");
    }
}
