//! What commands print as JSON is what the published schemas say, and they are those of the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::described::{Described, document};

/// What a command prints in the folder of fixtures.
fn topolet(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(arguments)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code != 1), "topolet {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn kinds() -> BTreeSet<String> {
    let list = topolet(&["schema"]);
    let rows = list.lines().skip(1);
    rows.map(|row| row.split_whitespace().next().unwrap().to_owned()).collect()
}

/// The file has this text; `cargo xtask schemas` writes it.
fn is_published(path: &str, text: &str) {
    let published = fs::read_to_string(document(path)).unwrap_or_default();
    assert!(published == text, "docs/{path} is not that of the code: run `cargo xtask schemas`");
}

#[test]
fn published_schemas_are_those_of_the_code() {
    let kinds = kinds();
    for kind in &kinds {
        is_published(&format!("schemas/{kind}.json"), &topolet(&["schema", kind]));
    }
    let files = fs::read_dir(document("schemas")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let expected = kinds.iter().map(|kind| format!("{kind}.json")).chain(["README.md".to_owned()]);
    assert_eq!(files.collect::<BTreeSet<_>>(), expected.collect());
    is_published("openapi.json", &topolet(&["schema", "--openapi"]));
}

/// Commands that print as JSON what their kind has.
const SESSIONS: &[&str] = &[
    "explain -m xeon-2s-96cpu-sriov -f pods/dpdk.yaml -f pods/gpu.yaml --devices devices/intel-2s-16vf.yaml",
    "explain -m xeon-2s-96cpu-sriov -f pods/dpdk.yaml --devices devices/intel-2s-16vf.yaml --add intel.com/sriov_vf@1=8",
    "explain -m phytium-ft2500-16node --hugepages 0:1Gi=12 -f pods/dpdk.yaml --tries 3",
    "explain -m xeon-cxl-4node -f pods/mesh-sidecar.yaml -f pods/init-containers.yaml --policy none",
    "explain -m xeon-2s-96cpu-sriov -f pods/refused/conflict.yaml --policy single-numa-node --scope pod --devices devices/xeon-2s-1gpu-2vf.yaml",
    "explain -m gb200-nvl4-34node -f pods/gpu-4.yaml --devices devices/gb200-4gpu.yaml --config configs/closest.yaml",
    "explain -m xeon-cxl-4node -f pods/dpdk.yaml --topolet-config configs/own-keep-room.yaml",
    "explain -m xeon-2s-96cpu-sriov -f pods/pod-policy.yaml --topolet-config configs/own-pod-policy.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/refused/handed-on.yaml",
    "explain -m xeon-2s-96cpu-sriov -f pods/refused/handed-on.yaml",
    "explain -m xeon-2s-96cpu-sriov -f pods/workloads.yaml -f pods/refused/smt.yaml --config configs/cpu-full-pcpus-only.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/workloads.yaml -f pods/refused/smt.yaml --config configs/cpu-full-pcpus-only.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/refused/conflict.yaml --policy single-numa-node --scope pod --devices devices/xeon-2s-1gpu-2vf.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/refused/device.yaml --state state/healthy --pods state/pods --devices devices/example.yaml",
    "explain -m xeon-2s-96cpu-sriov -f pods/refused/device.yaml --state state/healthy --pods state/pods --devices devices/example.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/cards.yaml --devices devices/example.yaml --policy best-effort",
    "explain -m xeon-2s-96cpu-sriov -f pods/cards.yaml --devices devices/example.yaml --policy best-effort",
    "explain -m xeon-2s-96cpu-sriov -f pods/memory-groups.yaml --policy best-effort --scope pod",
    "admit -m xeon-2s-96cpu-sriov -f pods/memory-groups.yaml --scope pod",
    "explain -m xeon-2s-96cpu-sriov -f pods/memory-groups.yaml --scope pod",
    "admit -m xeon-2s-96cpu-sriov -f pods/pod-policy.yaml --topolet-config configs/own-pod-policy.yaml",
    "admit -m epyc-2s-96cpu-16l3-8gpu -f pods/linked.yaml --topolet-config configs/own-links-prefer.yaml",
    "explain -m epyc-2s-96cpu-16l3-8gpu -f pods/linked.yaml --topolet-config configs/own-links-prefer.yaml",
    "explain -m xeon-2s-96cpu-sriov --policy single-numa-node --state state/healthy --pods ../docs/guide/files/running.yaml --devices devices/intel-2s-16vf.yaml -f ../docs/guide/files/forwarder.yaml",
    "explain -m xeon-2s-96cpu-sriov -f field/40-refused-pod/refused.yaml -c field/40-refused-pod/kubelet.yaml",
    "admit -m xeon-2s-96cpu-sriov --kubelet 1.37 -f ../crates/topolet/tests/cmd/claims-cluster.yaml -f ../crates/topolet/tests/cmd/claims-pods.yaml",
    "explain -m xeon-2s-96cpu-sriov --kubelet 1.37 -f ../crates/topolet/tests/cmd/claims-cluster.yaml -f ../crates/topolet/tests/cmd/claims-pods.yaml",
    "explain -m xeon-2s-96cpu-sriov --node-name worker-1 -f ../crates/topolet/tests/cmd/claims-why-cluster.yaml -f ../crates/topolet/tests/cmd/claims-why-pods.yaml",
    "admit -m xeon-2s-96cpu-sriov -f dra/drivers/shared-bandwidth.yaml -f ../crates/topolet/tests/cmd/claims-shared.yaml",
    "explain -m xeon-2s-96cpu-sriov -f dra/drivers/shared-bandwidth.yaml -f ../crates/topolet/tests/cmd/claims-shared.yaml",
    "explain -m xeon-2s-96cpu-sriov --kubelet 1.37 -f ../crates/topolet/tests/cmd/claims-aligned-cluster.yaml -f ../crates/topolet/tests/cmd/claims-aligned-pods.yaml",
    "explain -m gb200-nvl4-34node --kubelet 1.37 -f ../crates/topolet/tests/cmd/claims-gb200.yaml",
    "claim check ../crates/topolet/tests/cmd/claims-cluster.yaml ../crates/topolet/tests/cmd/claims-wrong.yaml",
    "simulate --find-max -m xeon-2s-96cpu-sriov -f ../crates/topolet/tests/cmd/claims-near.yaml",
    "admit -m xeon-2s-96cpu-sriov -f pods/dpdk.yaml --summary",
    "diff -m xeon-2s-96cpu-sriov -f pods/dpdk.yaml -f pods/workloads.yaml --policy none,single-numa-node",
    "config check -m xeon-2s-96cpu-sriov -c configs/cpu-strict-cpu-reservation.yaml",
    "config check -m xeon-2s-96cpu-sriov -c ../crates/topolet/tests/operators/config-bare.yaml",
    "config check -m xeon-2s-96cpu-sriov -c kubelet-defaults --for topolet",
    "simulate -f scenarios/schedulers.yaml",
    "simulate -f scenarios/edge.yaml",
    "simulate -f ../crates/topolet/tests/cmd/simulate-claims.yaml",
    "simulate --find-max -m xeon-cxl-4node -f ../crates/topolet/tests/cmd/simulate-pod.yaml",
    "simulate --find-max -m xeon-2s-96cpu-sriov -f ../crates/topolet/tests/cmd/simulate-pod.yaml --state state/healthy --pods state/pods",
    "simulate --find-max -m phytium-ft2500-16node -f ../crates/topolet/tests/cmd/simulate-pod.yaml --config kubelet-defaults",
    "topology -m xeon-2s-96cpu-sriov --state state/healthy --pods state/pods --config configs/closest.yaml",
    "repack -m xeon-2s-96cpu-sriov --policy single-numa-node --state state/healthy --pods ../docs/guide/files/running.yaml --devices devices/intel-2s-16vf.yaml -f ../docs/guide/files/forwarder.yaml",
    "repack -m xeon-2s-96cpu-sriov -f pods/refused/smt.yaml -f pods/dpdk.yaml",
    "topology -m gb200-nvl4-34node",
    "topology -m xeon-cxl-4node --hugepages 0:1Gi=12",
    "topology --list",
    "state show --state state/healthy --pods state/pods",
    "state show --state state/torn",
    "state check -c pinned -m xeon-2s-96cpu-sriov --state state/two-owners",
    "state check -m xeon-2s-96cpu-sriov --state state/healthy",
    "state check -c kubelet-defaults -m xeon-2s-96cpu-sriov --state state/healthy --pods state/running.yaml",
    "state check -c pinned -m xeon-2s-96cpu-sriov --state state/torn",
    "state repair -c pinned --dry-run -m xeon-2s-96cpu-sriov --state state/torn --pods state/pods",
    "state repair -c pinned --dry-run -m xeon-2s-96cpu-sriov --state state/two-owners --pods state/pods",
    "state repair -c pinned --dry-run -m xeon-2s-96cpu-sriov --state state/devices-corrupt",
    "status -m xeon-2s-96cpu-sriov --state state/healthy --pods state/pods --devices devices/example.yaml",
    "status -m xeon-2s-96cpu-sriov --state state/two-owners --pods state/pods.yaml",
    "diagnose ../docs/guide/files/bundle",
    "upgrade check --to 1.37 -m xeon-2s-96cpu-sriov --state state/healthy --pods state/pods",
    "upgrade check --from 1.36 --to 1.37 -m gnr-snc3-r8i-metal96xl-6node --config ../crates/topolet/tests/cmd/upgrade-distributed.yaml -f ../crates/topolet/tests/cmd/upgrade-wide.yaml",
    "upgrade check --from 1.36 --to 1.37 -m kubelet/admission/machines/smt2-2n-16cpu.json --config ../crates/topolet/tests/cmd/upgrade-whole-cores.yaml --state state/odd-cpus --pods ../crates/topolet/tests/cmd/upgrade-odd-pod.yaml",
    "upgrade check --to 1.34 -m xeon-2s-96cpu-sriov -f ../crates/topolet/tests/cmd/upgrade-odd-pod.yaml",
    "upgrade check --to 1.37 -m xeon-2s-96cpu-sriov -c ../crates/topolet/tests/cmd/upgrade-gate-gone.yaml",
];

#[test]
fn commands_print_what_schemas_say() {
    let mut schemas = BTreeMap::<String, Described>::new();
    for session in SESSIONS {
        let arguments: Vec<&str> = session.split(' ').chain(["-o", "json"]).collect();
        let printed: Value = serde_json::from_str(&topolet(&arguments)).unwrap();
        let kind = printed["kind"].as_str().unwrap().to_owned();
        let schema = schemas.entry(kind.clone()).or_insert_with(|| Described::kind(&kind));
        schema.check(&printed, session);
    }
    // A report has everything somewhere that its schema has, but for what a daemon adds.
    let unmet = schemas["Explanation"].unmet();
    let of_daemon = |place: &String| DAEMONS.iter().any(|start| place.starts_with(start));
    let unmet: Vec<&String> = unmet.iter().filter(|place| !of_daemon(place)).collect();
    assert!(unmet.is_empty(), "described and printed nowhere: {unmet:?}");
}

/// What a daemon alone writes.
const DAEMONS: [&str; 8] = [
    ".decisions",
    ".dryRun",
    ".failed",
    ".unchanged",
    ".warnings",
    "FailedPod.",
    "Deferred.",
    "Report.deferred",
];
