//! A machine that is captured is the same machine elsewhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A separate folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("topolet-capture-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn topolet(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).current_dir(folder).output().unwrap()
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_is_captured_is_shown_as_the_machine_itself() {
    let folder = folder("same");
    for name in ["gb200-nvl4-34node", "epyc-2s-96cpu-16l3-8gpu"] {
        let file = format!("{name}.tar.zst");
        let captured = topolet(&["capture", &file, "-m", name], &folder);
        assert!(captured.status.success(), "{}", String::from_utf8_lossy(&captured.stderr));
        for format in ["table", "tree", "json", "machineinfo"] {
            let own = topolet(&["topology", "-m", name, "-o", format], &folder);
            let again = topolet(&["topology", "-m", &file, "-o", format], &folder);
            assert!(own.status.success() && own.stdout == again.stdout, "{name} as {format}");
        }
        assert!(topolet(&["capture", "--check", &file, "-m", name], &folder).status.success());
        // What is there is not written over.
        let before = std::fs::read(folder.join(&file)).unwrap();
        assert!(
            error(&topolet(&["capture", &file, "-m", "gh200-9node"], &folder))
                .contains("is there already, and is not written over")
        );
        assert!(std::fs::read(folder.join(&file)).unwrap() == before);
    }
    let differs =
        topolet(&["capture", "--check", "gb200-nvl4-34node.tar.zst", "-m", "gb300-tray-34node"], &folder);
    let said = String::from_utf8_lossy(&differs.stdout);
    assert_eq!(differs.status.code(), Some(2));
    assert!(said.contains("no longer what was captured") && said.contains("NUMA "), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_captured_is_said() {
    let folder = folder("not");
    std::fs::write(folder.join("info.json"), "{\"num_cores\": 1}").unwrap();
    let said = error(&topolet(&["capture", "new.tar.zst", "-m", "./info.json"], &folder));
    assert!(said.contains("info.json"), "{said}");
    assert!(error(&topolet(&["capture", "--check", "info.json"], &folder)).contains("cAdvisor"));
    assert!(error(&topolet(&["capture", "--check", "nothing.tar.zst"], &folder)).contains("nothing.tar.zst"));
    assert!(!folder.join("new.tar.zst").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
