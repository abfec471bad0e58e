//! Copies of the folders in `fixtures/state` are repaired; afterwards nothing is wrong, and what was there is kept.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];

/// Folders, the exit status of their repair, and the files that are replaced.
const FOLDERS: [(&str, i32, &[&str]); 18] = [
    ("healthy", 0, &[]),
    ("torn", 2, &[FILES[0]]),
    ("empty", 2, &[FILES[1]]),
    ("edited", 0, &[FILES[0]]),
    ("no-json", 2, &[FILES[1]]),
    ("other-form", 2, &[FILES[1]]),
    ("other-policy", 0, &[FILES[0], FILES[1]]),
    ("other-gate", 0, &[FILES[0], FILES[1]]),
    ("newer", 0, &[FILES[0], FILES[1]]),
    ("cpus-offline", 2, &[FILES[0]]),
    ("cpus-new", 0, &[FILES[0]]),
    ("two-owners", 2, &[FILES[0], FILES[2]]),
    ("in-shared-pool", 0, &[FILES[0]]),
    ("books", 0, &[FILES[1]]),
    ("less-memory", 0, &[FILES[1]]),
    ("gone", 0, &[FILES[0]]),
    ("devices-corrupt", 0, &[FILES[2]]),
    ("odd", 0, &[FILES[0]]),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/state")
}

/// A copy of a folder, which goes with it.
struct Copy(PathBuf);

impl Copy {
    fn of(name: &str, test: &str) -> Self {
        let root = std::env::temp_dir().join(format!("topolet-repair-{test}-{name}-{}", std::process::id()));
        fs::create_dir_all(root.join("device-plugins")).unwrap();
        for file in FILES {
            fs::copy(fixtures().join(name).join(file), root.join(file)).unwrap();
        }
        Self(root)
    }

    fn run(&self, command: &str) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["state", command, "--machine", "xeon-2s-96cpu-sriov", "--pods"])
            .arg(fixtures().join("pods"))
            .arg("--state")
            .arg(&self.0)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn every_folder_is_repaired_and_what_was_there_is_kept() {
    for (name, status, replaced) in FOLDERS {
        let copy = Copy::of(name, "every");
        let (code, told) = copy.run("repair");
        assert_eq!(code, Some(status), "{name}: {told}");
        for file in FILES {
            let read = |name: String| fs::read(copy.0.join(name)).ok();
            let before = fs::read(fixtures().join(name).join(file)).unwrap();
            let backup = read(format!("{file}.bak-1"));
            assert_eq!(backup.is_some(), replaced.contains(&file), "{name}: {file}\n{told}");
            match backup {
                Some(backup) => assert_eq!(backup, before, "{name}: {file}"),
                None => assert_eq!(read(file.to_owned()), Some(before), "{name}: {file}"),
            }
        }
        let (code, told) = copy.run("check");
        assert_eq!(code, Some(0), "{name} after its repair: {told}");
        assert!(told.contains("the kubelet starts from these files"), "{name}: {told}");
        assert!(!told.contains("! "), "{name}: {told}");
        let (code, told) = copy.run("repair");
        assert_eq!(code, Some(0), "{name} again: {told}");
        assert!(told.contains("nothing to repair"), "{name}: {told}");
    }
}

#[test]
fn earlier_backups_are_kept() {
    let copy = Copy::of("torn", "earlier");
    let state = copy.0.join(FILES[0]);
    copy.run("repair");
    fs::write(&state, "{").unwrap();
    copy.run("repair");
    let read = |number: u32| fs::read(copy.0.join(format!("{}.bak-{number}", FILES[0]))).unwrap();
    assert_eq!(read(1), fs::read(fixtures().join("torn").join(FILES[0])).unwrap());
    assert_eq!(read(2), b"{");
}
