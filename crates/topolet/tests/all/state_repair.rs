//! Copies of the folders in `fixtures/state` are repaired; afterwards nothing is wrong, and what was there is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubelet_checkpoint::store::StateFile;
use node_state::moves::{self, ChangedFile, MOVES, NewText};

const FILES: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];

/// Folders, the exit status of their repair, and the files that are replaced.
const FOLDERS: [(&str, i32, &[&str]); 17] = [
    ("healthy", 0, &[]),
    ("torn", 2, &[FILES[0]]),
    ("empty", 2, &[FILES[1]]),
    ("edited", 0, &[FILES[0]]),
    ("no-json", 0, &[FILES[1]]),
    ("other-form", 0, &[FILES[1]]),
    ("other-policy", 0, &[FILES[0], FILES[1]]),
    ("other-gate", 0, &[FILES[0], FILES[1]]),
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

/// The node of the folders.
const NODE: [&str; 4] = ["--machine", "xeon-2s-96cpu-sriov", "--config", "pinned"];

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

    /// Repairs it, whatever is lost.
    fn force(&self) -> (Option<i32>, String) {
        self.run_with("repair", &fixtures().join("pods"), &["--force"])
    }

    /// All files but sockets and the lock.
    fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let folders = [self.0.clone(), self.0.join("device-plugins")];
        let paths = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let files = paths.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        let files = files.filter(|path| !path.ends_with(".topolet.lock"));
        let mut all: Vec<_> = files.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        all.sort();
        all
    }

    fn run(&self, command: &str) -> (Option<i32>, String) {
        self.run_with(command, &fixtures().join("pods"), &[])
    }

    fn run_with(&self, command: &str, pods: &Path, more: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["state", command, "--pods"])
            .arg(pods)
            .args(more)
            .arg("--state")
            .arg(&self.0)
            .args(NODE.iter().filter(|_| command != "show"))
            .args(["--apply"].iter().filter(|_| command == "repair"))
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

/// A change of several pods that `topolet serve` had decided when it stopped counts, and is in the files after a repair.
#[test]
fn moves_that_had_been_decided_are_completed_first() {
    let copy = Copy::of("torn", "moves");
    fs::create_dir_all(copy.0.join("topolet/pods")).unwrap();
    let whole = fs::read_to_string(fixtures().join("healthy").join(FILES[0])).unwrap();
    let change = NewText { file: ChangedFile::State(StateFile::Cpu), text: Some(whole.clone()) };
    fs::write(copy.0.join(MOVES), moves::text(&[change])).unwrap();
    let (code, told) = copy.run("check");
    assert_eq!(code, Some(0), "{told}");
    assert!(copy.0.join(MOVES).exists(), "who looks changes nothing");
    let (code, told) = copy.run("repair");
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("nothing to repair"), "{told}");
    assert!(!copy.0.join(MOVES).exists());
    assert_eq!(fs::read_to_string(copy.0.join(FILES[0])).unwrap(), whole);
}

#[test]
fn every_folder_is_repaired_and_what_was_there_is_kept() {
    for (name, status, replaced) in FOLDERS {
        let copy = Copy::of(name, "every");
        if status == 2 {
            let before = copy.contents();
            let (code, told) = copy.run("repair");
            assert_eq!(code, Some(2), "{name}: {told}");
            assert!(told.contains("nothing is written"), "{name}: {told}");
            assert_eq!(copy.contents(), before, "{name}: {told}");
        }
        let (code, told) = copy.force();
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
        assert_eq!(code, Some(status), "{name} after its repair: {told}");
        let is_known = |line: &str| line.contains("is quarantined since a repair");
        assert_eq!(told.lines().any(is_known), status == 2, "{name}: {told}");
        assert_eq!(told.contains("nothing wrong was found"), status == 0, "{name}: {told}");
        let is_usual = |line: &str| line.contains("is not known") || line.contains("a reboot can change");
        let is_odd = |line: &str| line.starts_with("! ") && !is_usual(line);
        assert!(!told.contains("does not start") && !told.lines().any(is_odd), "{name}: {told}");
        let (code, told) = copy.run("repair");
        assert_eq!(code, Some(status), "{name} again: {told}");
        assert!(told.contains("nothing to repair"), "{name}: {told}");
    }
}

#[test]
fn earlier_backups_are_kept() {
    let copy = Copy::of("torn", "earlier");
    let state = copy.0.join(FILES[0]);
    copy.force();
    fs::write(&state, "{").unwrap();
    copy.force();
    let read = |number: u32| fs::read(copy.0.join(format!("{}.bak-{number}", FILES[0]))).unwrap();
    assert_eq!(read(1), fs::read(fixtures().join("torn").join(FILES[0])).unwrap());
    assert_eq!(read(2), b"{");
}

/// What a kubelet to come could write, whose checksum covers more than is known here.
const STRANGE: [(&str, &str, &str); 3] = [
    (
        FILES[0],
        r#"{"policyName":"static","defaultCpuSet":"0,7-95","entries":{"u":{"app":"1-6"}},"lent":{"u":"3"},"checksum":9}"#,
        r#"it has member "lent"; known are V1 to V4, which kubelets up to v1.37 write"#,
    ),
    (
        FILES[1],
        r#"{"data":"{\"policyName\":\"Static\",\"tiers\":{}}","dataChecksum":3735928559}"#,
        r#"it has member "tiers"; known are V1 to V3, which kubelets up to v1.37 write"#,
    ),
    (
        FILES[2],
        r#"{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"app","ResourceName":"r","DeviceIDs":{"0":["d"]},"AllocResp":"","Health":"ok"}],"RegisteredDevices":{}},"Checksum":9}"#,
        r#"it has member "Health"; known are that with the members "Data" and "Checksum""#,
    ),
];

#[test]
fn a_format_that_is_not_known_is_left_alone() {
    for (name, contents, told) in STRANGE {
        let copy = Copy::of("healthy", "strange");
        fs::write(copy.0.join(name), contents).unwrap();
        let before = copy.contents();
        let state = copy.0.to_str().unwrap();
        let socket = format!("{state}.sock");
        let node = ["--machine", "xeon-2s-96cpu-sriov"];
        let what = format!("{name} is of a format that is not known here");
        // Who would write, or count on what is held, says one thing and does nothing.
        for words in [
            vec!["state", "repair", "--apply", "--config", "pinned", "--state", state],
            vec!["state", "repair", "--dry-run", "--config", "pinned", "--state", state],
            vec!["admit", "--state", state, "-f", "../../fixtures/state/pods.yaml"],
            vec!["serve", "--socket", &socket, "--root", state],
            vec!["serve", "--observe", "--socket", &socket, "--root", state],
        ] {
            let output =
                Command::new(env!("CARGO_BIN_EXE_topolet")).args(&words).args(node).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
            assert!(said.contains(&what) && said.contains(told), "{words:?}: {said}");
            assert!(said.contains("run the kubelet that wrote it, or move the file away"), "{said}");
        }
        assert_eq!(copy.contents(), before, "{name}");
        // Who only looks says what it is, and the rest.
        for command in ["check", "show"] {
            let (code, said) = copy.run(command);
            assert_eq!(code, Some(2), "{name}: {said}");
            assert!(said.contains(told), "{command}: {said}");
        }
        assert_eq!(copy.contents(), before, "{name}");
    }
}

#[test]
fn who_is_quarantined_is_known_until_it_is_gone() {
    let copy = Copy::of("two-owners", "quarantine");
    let mark = copy.0.join("topolet-quarantine.json");
    copy.run("check");
    assert!(!mark.exists(), "who only looks writes nothing");
    let (_, told) = copy.force();
    assert!(told.contains("topolet-quarantine.json keeps who is quarantined"), "{told}");
    let why = "is quarantined since a repair: ran/dpdk-7 and ran/upf-0 both hold CPUs 3-4";
    for command in ["show", "check"] {
        let (code, told) = copy.run(command);
        assert_eq!(code, Some(2), "{told}");
        for pod in ["ran/dpdk-7", "ran/upf-0"] {
            assert!(told.contains(&format!("{pod} {why}")), "{command}: {told}");
        }
        assert!(told.contains("the files before the repair are cpu_manager_state.bak-1"), "{told}");
    }
    let before = fs::read(&mark).unwrap();
    let (code, told) = copy.run("repair");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("ran/upf-0 is still quarantined since an earlier repair"), "{told}");
    assert_eq!(fs::read(&mark).unwrap(), before);

    // One of them is deleted.
    let pods = copy.0.join("pods");
    fs::create_dir_all(pods.join("ran_dpdk-7_5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07")).unwrap();
    let show = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["state", "show", "--state"])
        .args([&copy.0, Path::new("--pods"), &pods])
        .output()
        .unwrap();
    let told = String::from_utf8(show.stdout).unwrap();
    assert!(told.contains("ran/dpdk-7 is quarantined") && !told.contains("ran/upf-0 is"), "{told}");
    // The operator has dealt with the rest.
    fs::remove_file(&mark).unwrap();
    let (_, told) = copy.run("show");
    assert!(!told.contains("quarantined"), "{told}");
    fs::write(&mark, "{").unwrap();
    let (code, _) = copy.run("show");
    assert_eq!(code, Some(1), "a file that does not say who is no file that says nobody");
}

#[test]
fn a_machine_with_torn_state_is_drawn_and_something_is_wrong() {
    for (name, status) in [("healthy", 0), ("torn", 2), ("newer", 2)] {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["topology", "--machine", "xeon-2s-96cpu-sriov", "--state"])
            .arg(fixtures().join(name))
            .output()
            .unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(status), "{name}: {told}");
        assert_eq!(told.contains("cpu_manager_state"), status == 2, "{name}: {told}");
    }
}

#[test]
fn a_missing_byte_loses_nothing() {
    let pods = fixtures().join("pods.yaml");
    let copy = Copy::of("healthy", "byte");
    let shorten = |file: &str| {
        let path = copy.0.join(file);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
    };
    shorten(FILES[0]);
    shorten(FILES[1]);
    let (code, told) = copy.run_with("repair", &pods, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("quarantined"), "{told}");
    let text = |file: &str| fs::read_to_string(copy.0.join(file)).unwrap();
    assert!(text(FILES[0]).contains(r#"{"testpmd":"1-4,49-52"}"#), "{}", text(FILES[0]));
    assert!(text(FILES[0]).contains(r#"{"trainer":"25-32,73-80"}"#), "{}", text(FILES[0]));
    assert!(text(FILES[1]).contains(r#""type":"memory","size":34359738368"#), "{}", text(FILES[1]));
    let (code, told) = copy.run_with("check", &pods, &[]);
    assert_eq!(code, Some(0), "{told}");
}

#[test]
fn who_runs_without_what_they_held_is_named_until_they_are_gone() {
    let pods = fixtures().join("pods.yaml");
    let copy = Copy::of("healthy", "lost");
    for file in &FILES[..2] {
        fs::write(copy.0.join(file), "").unwrap();
    }
    let before = copy.contents();
    let (code, told) = copy.run_with("repair", &pods, &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("nothing is written: another pod could get what they run on"), "{told}");
    assert_eq!(copy.contents(), before);
    let (code, told) = copy.run_with("repair", &pods, &["--force"]);
    assert_eq!(code, Some(2), "{told}");
    let names = "quarantined  ran/dpdk-7, ml/train-0";
    assert!(told.contains(names) && told.contains("2 pods are quarantined"), "{told}");
    // ml/train-0 has nothing left that would say that it runs.
    for pods in [&pods, &fixtures().join("pods")] {
        let (code, told) = copy.run_with("check", pods, &[]);
        assert_eq!(code, Some(2), "{told}");
        assert!(
            told.contains("ran/dpdk-7 is quarantined") && told.contains("ml/train-0 is quarantined"),
            "{told}"
        );
        assert!(!told.contains("the kubelet starts from these files"), "{told}");
    }
    let (code, told) = copy.run_with("repair", &pods, &[]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("nothing to repair") && told.contains("still quarantined"), "{told}");
}

/// Without a list of pods it is unknown which pod lost what.
#[test]
fn lost_parts_are_written_without_a_list_of_pods_only_by_force() {
    for name in ["empty", "fault"] {
        let damage = |text: &str| match name {
            "empty" => String::new(),
            _ => text.replacen("\"entries\":{", "\"entries\";{", 1),
        };
        let copy = Copy::of("healthy", name);
        for file in &FILES[..2] {
            let path = copy.0.join(file);
            let text = damage(&fs::read_to_string(&path).unwrap());
            fs::write(path, text).unwrap();
        }
        let run = |command: &str, more: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
                .args(["state", command])
                .args(NODE)
                .args(["--apply"].iter().filter(|_| command == "repair"))
                .arg("--state")
                .arg(&copy.0)
                .args(more)
                .output()
                .unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        let before = copy.contents();
        let (code, told) = run("repair", &[]);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(told.contains("the pods in them are not known") && told.contains("--pods"), "{name}: {told}");
        assert_eq!(copy.contents(), before, "{name}: {told}");
        let (code, told) = run("repair", &["--force"]);
        assert_eq!(code, Some(2), "{name}: {told}");
        let (code, told) = run("check", &[]);
        assert_eq!(code, Some(2), "{name}: {told}");
        assert!(told.contains("were lost"), "{name}: {told}");
        let (code, told) = run("repair", &[]);
        assert_eq!(code, Some(2), "{name}: {told}");
    }
}

#[test]
fn only_so_many_backups_are_kept() {
    let copy = Copy::of("healthy", "backups");
    for round in 1..=4 {
        let state = copy.0.join(FILES[0]);
        let text = fs::read(&state).unwrap();
        fs::write(&state, &text[..text.len() - round]).unwrap();
        let (code, told) = copy.run_with("repair", &fixtures().join("pods"), &["--keep-backups", "2"]);
        assert_eq!(code, Some(0), "{told}");
    }
    let is_there = |number: u32| copy.0.join(format!("{}.bak-{number}", FILES[0])).exists();
    assert_eq!([1, 2, 3, 4].map(is_there), [false, false, true, true]);
}

/// A repair without a list of running pods quarantines every pod that may have held something. A manifest that
/// arrives later ends that for a pod that holds all that it requests.
#[test]
fn a_pod_is_quarantined_for_want_of_a_list_until_its_manifest_shows_it_whole() {
    let copy = Copy::of("healthy", "unlisted");
    fs::write(copy.0.join(FILES[2]), "").unwrap();
    let repair = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["state", "repair", "--apply"])
            .args(NODE)
            .arg("--state")
            .arg(&copy.0)
            .args(more)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, told) = repair(&["--force"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("3 pods are quarantined"), "{told}");
    let running = fixtures().join("running.yaml");
    let (code, told) = repair(&["--pods", running.to_str().unwrap()]);
    // The other two request devices, and no file has these any more.
    assert_eq!(code, Some(2), "{told}");
    let of = |name: &str| told.contains(&format!("{name} is still quarantined"));
    let uids = ["c7d9b8aa-90f2-4a55-b0b6-1d2e3f405162", "5e0f3f5c-7e5b-4a3e-9c57-2f4f1b8f6d07"];
    assert_eq!(uids.map(of), [false, true], "{told}");
    let (_, told) = copy.run_with("check", &running, &[]);
    let of = |name: &str| told.contains(&format!("{name} is quarantined"));
    assert_eq!(uids.map(of), [false, true], "{told}");
}

/// A script that relied on writing gets a message, and nothing is written.
#[test]
fn nothing_is_written_without_apply() {
    let copy = Copy::of("edited", "plan");
    let before = copy.contents();
    for (more, status, is_told) in [(&[][..], 2, true), (&["--force"], 2, true), (&["--dry-run"], 0, false)] {
        let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(["state", "repair", "--state"])
            .arg(&copy.0)
            .args(NODE)
            .args(more)
            .output()
            .unwrap();
        let (told, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(status), "{more:?}: {told}{said}");
        assert!(told.contains("would rewrite cpu_manager_state"), "{more:?}: {told}");
        assert_eq!(
            said.contains("note: nothing is written: the same command with --apply"),
            is_told,
            "{more:?}: {said}"
        );
        assert_eq!(copy.contents(), before, "{more:?}");
    }
    // Where nothing is to be done nothing changed.
    let whole = Copy::of("healthy", "plan");
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["state", "repair", "--state"])
        .arg(&whole.0)
        .args(NODE)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Whole files of a node are not repaired for a configuration or a machine that was only guessed.
#[test]
fn a_repair_never_guesses_the_node() {
    for (file, machine, told) in [
        // A kubelet with strict-cpu-reservation wrote it.
        (
            r#"{"policyName":"static","defaultCpuSet":"2-15,17-31,34-47,49-63,64-95","checksum":0}"#,
            Some("xeon-2s-96cpu-sriov"),
            "no configuration of the kubelet was given or found; --config names it",
        ),
        (
            r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#,
            Some("xeon-2s-96cpu-sriov"),
            "no configuration of the kubelet was given or found; --config names it",
        ),
        // No machine here has such a CPU.
        (
            r#"{"policyName":"static","defaultCpuSet":"0-8190","checksum":0}"#,
            None,
            "its files are evidently of another machine: they name CPUs 0-8190",
        ),
    ] {
        let copy = Copy::of("healthy", "guess");
        fs::write(copy.0.join(FILES[0]), file).unwrap();
        fs::remove_file(copy.0.join(FILES[1])).unwrap();
        let before = copy.contents();
        for more in [&["--apply"][..], &["--apply", "--force"], &[]] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
            command.args(["state", "repair", "--state"]).arg(&copy.0).args(more);
            let output = command.args(machine.iter().flat_map(|name| ["--machine", name])).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(said.contains(told), "{said}");
            assert_eq!(copy.contents(), before);
        }
    }
}

/// A kubelet does not start from a torn file of what pods were admitted with, and starts without it.
#[test]
fn torn_files_of_what_pods_were_admitted_with_are_put_aside() {
    for file in ["allocated_pods_state", "actuated_pods_state"] {
        let copy = Copy::of("healthy", file);
        let torn = "{\"data\":\"{\\\"entries\\\":{}}\",\"checksum\":1}\"}";
        fs::write(copy.0.join(file), torn).unwrap();
        let (code, told) = copy.run("check");
        assert_eq!(code, Some(2), "{told}");
        let reaction = match file {
            "allocated_pods_state" => {
                "kubelet  panics when it starts: could not restore state from checkpoint: "
            }
            _ => {
                "kubelet  does not start: failed to initialize actuated state checkpoint: could not restore state"
            }
        };
        assert!(told.contains(reaction) && told.contains(&format!("/var/lib/kubelet/{file}")), "{told}");
        let (code, told) = copy.run("repair");
        assert_eq!(code, Some(0), "{told}");
        assert!(!copy.0.join(file).exists(), "{told}");
        assert_eq!(fs::read_to_string(copy.0.join(format!("{file}.bak-1"))).unwrap(), torn);
        let (code, told) = copy.run("check");
        assert_eq!(code, Some(0), "{told}");
    }
}

/// Many pods on one CPU are one finding, whose sentence names the first few of them.
#[test]
fn many_owners_of_one_cpu_are_told_of_together() {
    let copy = Copy::of("healthy", "crowd");
    let pods: Vec<String> = (0..2000).map(|pod| format!("\"u{pod}\":{{\"c\":\"1\"}}")).collect();
    let file = copy.0.join(FILES[0]);
    let text = fs::read_to_string(&file).unwrap();
    let (begin, end) = text.split_once("\"entries\":{").unwrap();
    fs::write(&file, format!("{begin}\"entries\":{{{},{end}", pods.join(","))).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
    command.args(["state", "repair", "--state"]).arg(&copy.0).args(NODE).args(["--apply", "--force"]);
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("and 1991 more all hold CPU 1\n"), "{told}");
    assert!(told.contains("keeps it; the 2000 other pods keep the rest of their CPUs\n"), "{told}");
    assert!(told.contains(" and 1991 more\n"), "{told}");
    let quarantine = fs::read(copy.0.join("topolet-quarantine.json")).unwrap();
    assert!(quarantine.len() < 2001 * 1000, "{} bytes", quarantine.len());
    let (code, told) = copy.run("check");
    assert_eq!(code, Some(2), "{told}");
    assert!(!told.contains("hold CPU 1\n  kubelet  does not look"), "{told}");
}
