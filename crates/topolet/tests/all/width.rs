//! What people read fits their terminal: no line is wider, but for words that cannot be broken.

use std::process::Command;

use unicode_width::UnicodeWidthStr;

/// Commands whose output is for people, from the project's folder. `MACHINE` is each machine in turn.
const COMMANDS: &[&str] = &[
    "topology --list",
    "topology -m MACHINE",
    "topology -m MACHINE -o tree",
    "topology -m MACHINE -c pinned",
    "topology -m MACHINE -c kubelet-defaults -o tree",
    "topology -m xeon-2s-96cpu-sriov --state fixtures/state/healthy --pods fixtures/state/pods",
    "topology -m xeon-2s-96cpu-sriov --state fixtures/state/healthy --pods fixtures/state/pods -o tree",
    "status -m xeon-2s-96cpu-sriov --state fixtures/state/two-owners --pods fixtures/state/pods",
    "diff -m MACHINE -f crates/topolet/tests/cmd/many-web.yaml --policy none,best-effort,restricted,single-numa-node",
    "admit -m MACHINE -f fixtures/pods/dpdk.yaml",
    "admit -m MACHINE -f fixtures/pods/dpdk.yaml --legend",
    "admit -m MACHINE -f fixtures/pods/workloads.yaml",
    "explain -m MACHINE -f fixtures/pods/dpdk.yaml",
    "explain -m MACHINE -f fixtures/pods/two-containers.yaml",
    "config check -m MACHINE",
    "config check -m MACHINE -c kubelet-defaults",
    "simulate -f fixtures/scenarios/telco.yaml",
    "simulate -f fixtures/scenarios/training.yaml",
    "simulate --find-max -m MACHINE -f fixtures/pods/two-containers.yaml",
    "simulate --find-max -m MACHINE -f fixtures/pods/two-containers.yaml --legend",
    "state show --state fixtures/state/healthy",
    "state show --state fixtures/state/two-owners",
    "state check -c pinned -m xeon-2s-96cpu-sriov --state fixtures/state/healthy",
    "state check -m xeon-2s-96cpu-sriov --state fixtures/state/healthy",
    "state check -c pinned -m xeon-2s-96cpu-sriov --state fixtures/state/two-owners",
    "state check -c pinned -m xeon-2s-96cpu-sriov --state fixtures/state/torn",
    "upgrade check --from 1.36 --to 1.37 -m MACHINE -f fixtures/pods/two-containers.yaml",
    "repack -m MACHINE -f fixtures/pods/dpdk.yaml",
    "diff -m MACHINE -f fixtures/pods/dpdk.yaml --policy restricted,single-numa-node",
    "admit -m MACHINE -f fixtures/pods/dpdk.yaml --add memory@0=8Gi",
    "status -m xeon-2s-96cpu-sriov -c fixtures/configs/performance-profile.yaml",
    "config check -m xeon-2s-96cpu-sriov -c fixtures/configs/performance-profile.yaml",
    "config check -m xeon-2s-96cpu-sriov -c crates/topolet/tests/cmd/profile-wrong.yaml",
    "upgrade check --from 1.34 --to 1.37 -m xeon-2s-96cpu-sriov -c fixtures/configs/performance-profile.yaml -f fixtures/pods/two-containers.yaml",
    "diagnose crates/topolet/tests/cmd/described-bundle",
    "diagnose fixtures/state/healthy fixtures/state/running.yaml",
    "explain -m xeon-2s-96cpu-sriov --kubelet 1.37 --node-name worker-1 -f crates/topolet/tests/cmd/claims-cluster.yaml -f crates/topolet/tests/cmd/claims-pods.yaml",
    "claim check crates/topolet/tests/cmd/claims-wrong.yaml",
    "state repair --state fixtures/state/two-owners -m xeon-2s-96cpu-sriov -c pinned",
    "demo",
    "--help",
    "repack --help",
    "diff --help",
    "diagnose --help",
    "status --help",
    "claim check --help",
    "config show --help",
    "admit --help",
    "explain --help",
    "topology --help",
    "simulate --help",
    "config check --help",
    "state show --help",
    "state check --help",
    "state repair --help",
    "serve --help",
    "capture --help",
    "export nrt --help",
    "upgrade check --help",
    "apply --help",
    "get pods --help",
];

const MACHINES: &[&str] = &["xeon-2s-96cpu-sriov", "gb200-nvl4-34node", "power8-phyp-1024cpu-16node"];

/// What a command prints, whatever its exit status.
fn printed(command: &str, width: usize, locale: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(command.split(' '))
        .env("COLUMNS", width.to_string())
        .env("LC_ALL", locale)
        .env("NO_COLOR", "1")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!error.contains("Usage:") && output.status.code() < Some(101), "{command}: {error}");
    String::from_utf8(output.stdout).unwrap() + &error
}

/// The lines of a text that are wider, and could have been broken: all but one word of them fits.
fn wide(text: &str, width: usize) -> Vec<&str> {
    let can_break = |line: &str| {
        let text = line.trim_start();
        let indent = line.width() - text.width();
        // A quoted line of a file, and a path, stay whole.
        let is_quoted = text.contains('│') || text.contains('|') || text.contains('╰');
        let widest = text.split([' ', ',']).map(UnicodeWidthStr::width).max().unwrap_or(0);
        !is_quoted && indent + widest < width
    };
    // A proposal for a file stays as it is to be copied.
    let text = text.split("\nas a ").next().unwrap_or_default();
    text.lines().filter(|line| line.width() > width && can_break(line)).collect()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut faults = Vec::new();
    for command in COMMANDS {
        let machines = if command.contains("MACHINE") { MACHINES } else { &[""] };
        for machine in machines {
            let command = command.replace("MACHINE", machine);
            for (width, locale) in [(80, "C.UTF-8"), (80, "C"), (120, "C.UTF-8"), (200, "C.UTF-8")] {
                for line in wide(&printed(&command, width, locale), width) {
                    faults.push(format!("{command} at {width}: {line}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} lines are too wide:\n{}", faults.len(), faults.join("\n"));
}
