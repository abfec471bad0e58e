//! The whole program, as it is used: what it prints and how it exits.

use std::io::Write as _;
use std::process::{Command, Stdio};

#[test]
fn recorded_sessions() {
    // The locale decides which marks are used.
    trycmd::TestCases::new().env("LC_ALL", "C.UTF-8").case("tests/cmd/*.trycmd");
}

fn admit_stdin(manifest: &[u8]) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["admit", "--machine", "xeon-cxl-4node", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may stop reading before the end.
    let _ = child.stdin.take().unwrap().write_all(manifest);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn what_is_too_large_is_not_read() {
    let manifest = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: \"{}\"}}\n", "x".repeat(2 << 20));
    let (status, said) = admit_stdin(manifest.as_bytes());
    assert_eq!(status, Some(1));
    assert!(said.contains("1 MiB"), "{said}");
    assert!(said.len() < 1000, "an error is short, this one has {} bytes", said.len());
}

#[test]
fn no_input_makes_it_panic() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i, resources: {limits: {LIMITS}}}]}\n";
    let limits = [
        "cpu: -1",
        "cpu: 99999999999999999999999999999999",
        "memory: 16Ei",
        "memory: 9223372036854775807",
        "hugepages-1Gi: 1",
        "hugepages-3Mi: 3Mi",
        "example.com/gpu: 1.5",
        "example.com/gpu: 9223372036854775807",
        "cpu: 1e30",
        "cpu: 9223372036854775807, memory: 7Ei",
    ];
    for limits in limits {
        let (status, said) = admit_stdin(pod.replace("LIMITS", limits).as_bytes());
        assert!(matches!(status, Some(0..=2)) && !said.contains("panicked"), "{limits}: {status:?} {said}");
    }
}

fn topolet(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names of all commands, as the help lists them.
fn commands() -> Vec<String> {
    let help = topolet(&["--help"]);
    let list = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let lines = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    // One that is an option too is followed by a comma.
    names.map(|name| name.trim_end_matches(',')).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_command_is_completed_and_has_a_manual_page() {
    let commands = commands();
    assert!(commands.len() > 8, "{commands:?}");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = topolet(&["completions", shell]);
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
    }
    let folder = std::env::temp_dir().join(format!("topolet-man-{}", std::process::id()));
    topolet(&["man", folder.to_str().unwrap()]);
    for command in &commands {
        let page = std::fs::read_to_string(folder.join(format!("topolet-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// `cargo xtask licences` compares the text with the crates; here it is what the program prints.
#[test]
fn the_licences_of_all_parts_are_printed() {
    let printed = topolet(&["--licences"]);
    assert_eq!(printed, topolet(&["licences"]));
    assert!(printed.starts_with("topolet is licensed under the Apache License, version 2.0"), "{printed}");
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    let lock = std::fs::read_to_string(lock).unwrap();
    for name in ["clap", "kube", "libmimalloc-sys", "ring", "serde", "tokio"] {
        let (_, rest) = lock.split_once(&format!("name = \"{name}\"\nversion = \"")).unwrap();
        let part = format!("{name} {}", rest.split('"').next().unwrap());
        assert!(printed.contains(&part), "{part} is not there");
    }
    assert!(printed.contains("Permission is hereby granted, free of charge"), "the text of the MIT licence");
}

#[test]
fn memory_of_the_whole_is_that_of_its_nodes() {
    let machine = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/machines/2n-8cpu.json");
    let more = std::fs::read_to_string(machine).unwrap().replace("34359738368", "35433480192");
    let file = std::env::temp_dir().join(format!("topolet-memory-{}.json", std::process::id()));
    std::fs::write(&file, more).unwrap();
    let shown = topolet(&["topology", "--machine", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    let head = shown.lines().next().unwrap();
    assert!(head.contains(" 32Gi "), "{shown}");
    assert_eq!(shown.matches("16Gi").count(), 2, "{shown}");
}
