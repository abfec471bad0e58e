//! What `config check --propose` makes of the files that distributions ship: only what it changes is changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

const MACHINES: [&str; 5] = [
    "xeon-2s-96cpu-sriov",
    "gb200-nvl4-34node",
    "turin-9755-nps4-l3numa-32node",
    "threadripper3960x-nps4-memoryless-4node",
    "xeon-cxl-4node",
];

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/configs/distributions");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| !path.ends_with("README.md")).collect();
    files.sort();
    assert!(files.len() >= 7);
    files
}

/// What the program prints, and its exit status.
fn check(config: &Path, machine: &str, more: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["config", "check", "--machine", machine, "--config"])
        .arg(config)
        .args(more)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

/// A document as another reader of YAML has it; JSON is read as JSON.
fn parsed(text: &str) -> Value {
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let documents = YamlLoader::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1);
    json(&documents[0])
}

fn json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Null => Value::Null,
        Yaml::Boolean(value) => (*value).into(),
        Yaml::Integer(value) => (*value).into(),
        Yaml::Real(text) | Yaml::String(text) => text.as_str().into(),
        Yaml::Array(items) => items.iter().map(json).collect(),
        Yaml::Hash(fields) => {
            let field = |(key, value): (&Yaml, &Yaml)| (key.as_str().unwrap().to_owned(), json(value));
            Value::Object(fields.iter().map(field).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// The fields of the kubelet in a document.
fn body(document: &mut Value) -> &mut Map<String, Value> {
    let openshift = document.pointer("/spec/kubeletConfig").is_some();
    let configz = document.get("kubeletconfig").is_some();
    let body = match (openshift, configz) {
        (true, _) => document.pointer_mut("/spec/kubeletConfig"),
        (_, true) => document.get_mut("kubeletconfig"),
        _ => Some(document),
    };
    body.unwrap().as_object_mut().unwrap()
}

#[test]
fn nothing_of_a_distributions_file_is_lost() {
    let mut changed_in_all = 0;
    for sample in samples() {
        let text = fs::read_to_string(&sample).unwrap();
        for machine in MACHINES {
            let at = format!("{} on {machine}", sample.display());
            let (checked, _) = check(&sample, machine, &["-o", "json"]);
            let checked: Value = serde_json::from_str(&checked).unwrap();
            let changes = checked["changes"].as_array().unwrap();
            changed_in_all += changes.len();
            let fields: BTreeSet<&str> = changes.iter().map(|own| own["field"].as_str().unwrap()).collect();
            let (proposed, _) = check(&sample, machine, &["--propose"]);
            let (mut before, mut after) = (parsed(&text), parsed(&proposed));
            let is_configz = before.get("kubeletconfig").is_some();
            for change in changes {
                let field = change["field"].as_str().unwrap();
                assert_eq!(body(&mut after).get(field), change.get("to"), "{at}: {field}");
            }
            for document in [&mut before, &mut after] {
                body(document).retain(|field, _| !fields.contains(field.as_str()));
            }
            if is_configz {
                // What `/configz` answers is no file; what is made of it is one.
                let mut file = body(&mut before).clone();
                file.insert("apiVersion".into(), "kubelet.config.k8s.io/v1beta1".into());
                file.insert("kind".into(), "KubeletConfiguration".into());
                before = Value::Object(file);
            }
            assert_eq!(before, after, "{at}");
            if !is_configz {
                untouched_lines_are_the_same(&text, &proposed, &fields, &at);
            }
        }
    }
    assert!(changed_in_all > 100, "{changed_in_all}");
}

/// All lines that are no part of a changed field are there, in their order, byte for byte.
fn untouched_lines_are_the_same(text: &str, proposed: &str, fields: &BTreeSet<&str>, at: &str) {
    let mut is_of_changed = false;
    let mut margin = 0;
    let mut rest = proposed.lines();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let word = line.trim_start().trim_start_matches('"');
        let key = word.split([':', '"']).next().unwrap_or_default();
        let is_end = indent == margin && line.trim_start().starts_with(['}', ']', '-']);
        if fields.contains(key) {
            (is_of_changed, margin) = (true, indent);
        } else if indent < margin || (indent == margin && !is_end) {
            is_of_changed = false;
        }
        // JSON has a comma behind all but the last field.
        let is_same =
            |own: &str| own == line || (text.starts_with('{') && own.strip_suffix(',') == Some(line));
        if !is_of_changed {
            assert!(rest.any(is_same), "{at}: this line is gone or moved: {line}");
        }
    }
}

#[test]
fn what_is_written_into_a_file_is_right_and_the_last_word() {
    let folder = tempfile_folder();
    for sample in samples() {
        for machine in MACHINES {
            let (proposed, _) = check(&sample, machine, &["--propose"]);
            let file = folder.join(format!("{machine}-{}", sample.file_name().unwrap().to_string_lossy()));
            fs::write(&file, &proposed).unwrap();
            let (again, status) = check(&file, machine, &["--propose"]);
            assert_eq!(again, proposed, "{} on {machine}", sample.display());
            // Kept where it is asked for, although kubelet 1.36 refuses running pods for it when it restarts.
            let is_asked_for = proposed.contains("full-pcpus-only");
            assert!(
                status == Some(0) || (is_asked_for && status == Some(2)),
                "{} on {machine}",
                sample.display()
            );
        }
    }
}

#[test]
fn a_drop_in_merged_into_the_file_is_the_proposal() {
    for sample in samples() {
        let text = fs::read_to_string(&sample).unwrap();
        // OpenShift's operator writes the kubelet's files: there are no drop-ins.
        if text.contains("kind: KubeletConfig\n") {
            continue;
        }
        for machine in MACHINES {
            let (drop_in, _) = check(&sample, machine, &["--drop-in"]);
            let mut patch = parsed(&drop_in);
            let header = patch.as_object_mut().unwrap();
            assert_eq!(header.remove("kind").unwrap(), "KubeletConfiguration");
            header.remove("apiVersion").unwrap();
            let mut merged = Value::Object(body(&mut parsed(&text)).clone());
            merge(&mut merged, &patch);
            let (proposed, _) = check(&sample, machine, &["--propose"]);
            let mut proposed = parsed(&proposed);
            let mut wanted = body(&mut proposed).clone();
            if text.starts_with("{\"kubeletconfig\"") {
                wanted.remove("kind");
                wanted.remove("apiVersion");
            }
            assert_eq!(merged, Value::Object(wanted), "{} on {machine}", sample.display());
        }
    }
}

/// The machines that are built in.
fn built_in() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet")).args(["topology", "--list"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn an_ordinary_pod_runs_under_every_proposal_or_its_notes_say_why_not() {
    let pod = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/ordinary-pod.yaml");
    let folder = tempfile_folder();
    let defaults = PathBuf::from("kubelet-defaults");
    let (mut admitted, mut said) = (0, 0);
    let machines = built_in();
    assert!(machines.len() >= 20, "{machines:?}");
    let samples =
        samples().into_iter().filter(|path| path.ends_with("eks.json") || path.ends_with("openshift.yaml"));
    let samples: Vec<PathBuf> = samples.chain([defaults]).collect();
    assert_eq!(samples.len(), 3);
    for machine in machines {
        for sample in &samples {
            let at = format!("{} on {machine}", sample.display());
            let (proposed, _) = check(sample, &machine, &["--propose"]);
            let file = folder.join(format!("ordinary-{machine}.yaml"));
            fs::write(&file, proposed).unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_topolet"))
                .args(["admit", "--machine", &machine, "-f"])
                .arg(&pod)
                .arg("--config")
                .arg(&file)
                .output()
                .unwrap();
            // What a kubelet would not start with is a warning there.
            assert!(output.stderr.is_empty(), "{at}: {}", String::from_utf8_lossy(&output.stderr));
            if output.status.success() {
                admitted += 1;
                continue;
            }
            let (checked, _) = check(sample, &machine, &["-o", "json"]);
            let checked: Value = serde_json::from_str(&checked).unwrap();
            let notes = checked["notes"].to_string();
            let numbers =
                notes.split("Guaranteed pods of ").skip(1).filter_map(|rest| rest.split(" CPUs").next());
            assert!(numbers.flat_map(|own| own.split(", ")).any(|own| own == "2"), "{at}: {notes}");
            said += 1;
        }
    }
    assert!(admitted > 50 && said < 10, "{admitted} admitted, {said} refused as is said");
}

/// RFC 7396, as the kubelet merges drop-ins.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.entry(key.clone()).or_insert(Value::Null), value);
        }
    }
}

fn tempfile_folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proposals");
    fs::create_dir_all(&folder).unwrap();
    folder
}
