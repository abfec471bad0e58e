//! The whole program, as it is used: what it prints and how it exits.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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
