//! Options that say which node, base or driver is meant: obeyed, or refused with what to do.

use std::process::Command;

/// Which stream of a command's output.
#[derive(Clone, Copy, Debug)]
enum Of {
    Output,
    Errors,
}

const XEON: &str = "xeon-2s-96cpu-sriov";
const HEALTHY: &str = "../../fixtures/state/healthy";
/// Nothing listens there.
const SOCKET: &str = "/nowhere/topolet.sock";

/// What a command prints, where the environment names a socket, and its exit status.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(arguments)
        .env("TOPOLET_SOCKET", SOCKET)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// Each with its arguments, its exit status, and a part of what it prints.
fn check(rows: &[(&[&str], i32, Of, &str)]) {
    for (arguments, status, of, expected) in rows {
        let (code, output, errors) = run(arguments);
        let text = match of {
            Of::Output => &output,
            Of::Errors => &errors,
        };
        // Long lines are broken.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{arguments:?}: expected {expected:?}\n{output}\n{errors}");
        assert_eq!(code, Some(*status), "{arguments:?}\n{output}\n{errors}");
    }
}

#[test]
fn a_node_that_is_named_is_shown_and_not_the_one_of_the_environment() {
    let no_pods = "tests/cmd/no-pods.yaml";
    check(&[
        (
            &["status", "-m", "epyc-2s-96cpu-16l3-8gpu", "-c", "pinned"],
            0,
            Of::Output,
            "epyc-2s-96cpu-16l3-8gpu",
        ),
        (&["status", "--state", HEALTHY, "-m", XEON, "-c", "pinned"], 0, Of::Output, "1-4,49-52"),
        (&["status", "-m", XEON, "--policy", "none"], 0, Of::Output, XEON),
        // Nothing else says which node is meant.
        (&["status"], 1, Of::Errors, "failed to reach topolet at /nowhere/topolet.sock"),
        (
            &["status", "-m", XEON, "--socket", SOCKET],
            1,
            Of::Errors,
            "--socket asks a running node, --machine reads another: give one",
        ),
        (
            &["status", "--socket", SOCKET, "--state", HEALTHY],
            1,
            Of::Errors,
            "--socket asks a running node, --state reads another: give one",
        ),
        (
            &["status", "--socket", SOCKET, "--kubelet-flags", "--max-pods=5"],
            1,
            Of::Errors,
            "--socket asks a running node, on which --kubelet-flags changes nothing",
        ),
        (
            &["repack", "-f", no_pods, "-m", XEON, "--socket", SOCKET],
            1,
            Of::Errors,
            "--socket goes with --apply: without --apply the plan is for the node of --machine",
        ),
        (
            &["repack", "-f", no_pods, "--apply", "--kubelet-flags", "--max-pods=5"],
            1,
            Of::Errors,
            "cannot be used with '--kubelet-flags",
        ),
    ]);
}

/// As it is free for a pod that comes.
#[test]
fn what_pods_that_are_gone_hold_is_shown_as_free() {
    let status =
        ["status", "--state", HEALTHY, "-m", XEON, "-c", "pinned", "--pods", "tests/cmd/no-pods.yaml"];
    check(&[
        (&status, 2, Of::Output, "cpu 46 free of 46 46 free of 46"),
        (
            &status,
            2,
            Of::Output,
            "3 pods hold something in the state files of ../../fixtures/state/healthy/, but are not in --pods: what they hold \
             counts as free: ",
        ),
        (&status, 2, Of::Output, "no pods run, as --pods says"),
    ]);
}

#[test]
fn a_base_is_obeyed_or_refused() {
    let beneath = "--base lies beneath the file of --config; pinned has none beneath it";
    let pod = "../../fixtures/pods/port-80.yaml";
    let with_flags: [&[&str]; 2] = [
        &["config", "show", "-m", XEON, "-c", "pinned", "--base", "talos"],
        &["admit", "-f", pod, "-m", XEON, "-c", "pinned", "--base", "eks"],
    ];
    for arguments in with_flags {
        check(&[(arguments, 1, Of::Errors, beneath)]);
    }
    check(&[
        (&["config", "show", "-m", XEON, "--base", "eks"], 0, Of::Output, "kubelet-defaults over base eks"),
        (&["config", "show", "-m", XEON, "--base", "openshift"], 0, Of::Output, "cpu: 500m"),
        (
            &["config", "show", "-m", XEON, "-c", "kubelet-defaults", "--base", "openshift"],
            0,
            Of::Output,
            "cpu: 500m",
        ),
        (
            &["admit", "-f", pod, "-m", XEON, "--base", "eks"],
            0,
            Of::Output,
            "configuration kubelet-defaults over base eks",
        ),
        (
            &["config", "show", "-m", XEON, "-c", "pinned", "--base", "none"],
            0,
            Of::Output,
            "topologyManagerPolicy",
        ),
    ]);
}

#[test]
fn an_amount_by_the_cpus_of_this_machine_is_named_as_one() {
    let file = "../../fixtures/configs/cpu-plain.yaml";
    let own = "kubeReserved.cpu is that of this machine's ";
    check(&[
        (&["config", "show", "-c", file, "--base", "eks:m5.24xlarge"], 0, Of::Errors, own),
        (&["config", "show", "--base", "eks:m5.24xlarge"], 0, Of::Errors, ": -m names the node's"),
    ]);
    let (_, _, errors) = run(&["config", "show", "-c", file, "--base", "eks:m5.24xlarge", "-m", XEON]);
    assert!(!errors.contains(own), "{errors}");
}

#[test]
fn slices_that_no_api_server_takes_are_not_printed() {
    let slices = |more: &[&'static str]| -> Vec<&str> {
        ["export", "resourceslices", "-m"].into_iter().chain(more.iter().copied()).collect()
    };
    check(&[
        (
            &slices(&[XEON, "--driver", "A B"]),
            1,
            Of::Errors,
            "no driver can be called \"A B\": a lowercase RFC 1123",
        ),
        (
            &slices(&["genoa-9654-l3numa-24node"]),
            0,
            Of::Errors,
            "genoa-9654-l3numa-24node has no GPUs, NICs, NVMe disks or accelerators: no slices",
        ),
    ]);
}

#[test]
fn a_damaged_state_file_is_the_reason_and_no_missing_configuration() {
    let pod = "../../fixtures/pods/port-80.yaml";
    let on = |state: &'static str| ["admit", "-f", pod, "-m", XEON, "--state", state];
    check(&[
        (
            &on("../../fixtures/state/torn"),
            1,
            Of::Errors,
            "error: the kubelet would not start from this state",
        ),
        (
            &on("../../fixtures/state/other-policy"),
            1,
            Of::Errors,
            "error: no configuration of a kubelet was given or found",
        ),
    ]);
}
