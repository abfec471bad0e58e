//! The kubelet's own answers on state files at its start: the committed ones, and all of the folder `TOPOLET_RECORDED`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use kubelet_checkpoint::cpu::{ContainerIds, CpuFile};
use kubelet_checkpoint::memory::{MemoryError, MemoryFile};
use kubelet_checkpoint::{Forms, PodLevel};
use pod_spec::{ContainerKey, ContainerName, PodUid};
use serde_json::Value;

/// What a refusal of the file itself begins with; other refusals are the managers'.
const REFUSED: &str = "could not restore state from checkpoint: ";

/// The starts of a domain by their ids: of those that are committed twice or recorded again each is there once.
fn starts(domain: &str) -> BTreeMap<String, Value> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut lines = fs::read_to_string(fixtures.join("kubelet").join(domain).join("start.jsonl")).unwrap();
    let recorded = std::env::var_os("TOPOLET_RECORDED")
        .map(|folder| PathBuf::from(folder).join("oracle").join(domain).join("start.jsonl.zst"));
    for path in std::iter::once(fixtures.join(format!("kubelet-starts/{domain}.jsonl.zst"))).chain(recorded) {
        let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        ruzstd::decoding::StreamingDecoder::new(file).unwrap().read_to_string(&mut lines).unwrap();
    }
    let vectors = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    vectors.map(|vector| (vector["id"].as_str().unwrap().to_owned(), vector)).collect()
}

/// Asks `refusal` about the file of every start; it says why the file is refused, if so.
fn compare(domain: &str, refusal: fn(&Value, &str, PodLevel) -> Option<String>) {
    let (mut accepted, mut refused) = (0, 0);
    for vector in starts(domain).values() {
        let (case, result) = (&vector["case"], &vector["result"]);
        let Some(file) = case["file"].as_str() else { continue };
        let pod_level = match case["gates"]["PodLevelResourceManagers"].as_bool() {
            Some(true) => PodLevel::On,
            _ => PodLevel::Off,
        };
        let one = std::slice::from_ref(result);
        let answers = result["anyOf"].as_array().map_or(one, Vec::as_slice);
        let errors: Vec<&str> = answers.iter().filter_map(|answer| answer["error"].as_str()).collect();
        // A policy that is not there ends the start before the file is opened.
        if errors
            .iter()
            .any(|error| error.contains("policy: ") || error.contains("is not available for platform"))
        {
            continue;
        }
        let expected: Vec<&str> = errors.iter().copied().filter(|error| error.starts_with(REFUSED)).collect();
        match refusal(case, file, pod_level) {
            None => {
                assert_eq!(expected, [""; 0], "{vector}");
                accepted += 1;
            }
            Some(text) => {
                assert!(expected.contains(&text.as_str()), "{text}\n{vector}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 700 && refused > 140, "{domain}: {accepted} files accepted, {refused} refused");
}

#[test]
fn files_of_cpus_are_refused_with_the_kubelets_words() {
    compare("cpu", |case, file, pod_level| {
        let running: ContainerIds = case["containerMap"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|known| {
                let text = |name: &str| known[name].as_str().unwrap_or_default();
                let key = ContainerKey {
                    pod: PodUid::new(text("pod")),
                    container: ContainerName::new(text("container")),
                };
                (text("id").to_owned(), key)
            })
            .collect();
        let policy = case["policy"].as_str().unwrap_or("static");
        let read = CpuFile::read(file.as_bytes(), Forms::plain(pod_level), &running);
        let error = read.and_then(|read| read.restore(policy)).err()?;
        Some(error.refused("{dir}/cpu_manager_state").to_string())
    });
}

#[test]
fn files_of_memory_are_refused_with_the_kubelets_words() {
    compare("memory", |case, file, pod_level| {
        let policy = case["policy"].as_str().unwrap_or("Static");
        let read = MemoryFile::read(file.as_bytes(), Forms::plain(pod_level)).map_err(MemoryError::from);
        let error = read.and_then(|read| read.restore(policy).map(|_| ())).err()?;
        Some(error.refused("$DIR/memory_manager_state").to_string())
    });
}
