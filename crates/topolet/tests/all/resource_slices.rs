//! `topolet export resourceslices`: the attributes of a machine's devices are those that Kubernetes' library for drivers reads, and the
//! slices are valid.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn topolet(arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The devices of a machine with their attributes.
fn devices(machine: &str) -> Vec<Value> {
    let (text, said) =
        topolet(&["export", "resourceslices", "-m", machine, "--node-name", "worker-1", "-o", "json"]);
    let list: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{machine}: {error}: {said}"));
    let slices = list["items"].as_array().unwrap();
    let devices = slices.iter().flat_map(|slice| slice["spec"]["devices"].as_array().unwrap());
    let devices: Vec<Value> = devices.cloned().collect();
    assert!(slices.iter().all(|slice| slice["spec"]["pool"]["resourceSliceCount"] == slices.len()));
    devices
}

/// Compares the devices of a machine with the library's answers; returns how many there are.
fn compare(machine: &str, answers: &Value) -> usize {
    let devices = devices(machine);
    for device in &devices {
        let attribute = |name: &str, form: &str| {
            let value = &device["attributes"][format!("resource.kubernetes.io/{name}")];
            if value.is_null() { None } else { Some(value[form].clone()) }
        };
        let address = attribute("pciBusID", "string").unwrap();
        let answer = &answers[address.as_str().unwrap()];
        assert_eq!(answer["pciBusID"], address, "{machine}");
        for (name, form) in [("numaNode", "int"), ("pcieRoot", "string")] {
            let expected = Some(answer[name].clone()).filter(|value| !value.is_object());
            assert_eq!(attribute(name, form), expected, "{machine} {address} {name}: {answer}");
        }
    }
    devices.len()
}

fn cases(text: &str) -> impl Iterator<Item = (String, Value)> + '_ {
    text.lines().map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        (case["case"]["machine"].as_str().unwrap().to_owned(), case["result"]["pci"].clone())
    })
}

#[test]
fn devices_of_built_in_machines_have_the_attributes_that_the_library_reads() {
    let text = include_str!("../machines/pci-attributes.jsonl");
    let counts: Vec<(String, usize)> =
        cases(text).map(|(machine, answers)| (machine.clone(), compare(&machine, &answers))).collect();
    println!("{counts:?}");
    assert!(counts.len() == 4 && counts.iter().all(|(_, count)| *count > 0), "{counts:?}");
}

#[test]
fn slices_of_built_in_machines_are_valid() {
    let folder = std::env::temp_dir().join(format!("topolet-slices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for machine in ["xeon-2s-96cpu-sriov", "epyc-2s-96cpu-16l3-8gpu", "gb200-nvl4-34node"] {
        let (text, _) = topolet(&["export", "resourceslices", "-m", machine]);
        assert!(text.contains("kind: ResourceSlice"), "{text}");
        let file: PathBuf = folder.join(format!("{machine}.yaml"));
        std::fs::write(&file, text).unwrap();
        let (checked, said) = topolet(&["claim", "check", file.to_str().unwrap()]);
        assert!(checked.contains("0 refused") || checked.contains("nothing"), "{machine}: {checked} {said}");
        assert!(!said.contains("error"), "{machine}: {said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// All captured machines that the library was asked about.
#[test]
fn recorded_devices_have_the_attributes_that_the_library_reads() {
    let Some(folder) = std::env::var_os("TOPOLET_RECORDED").map(PathBuf::from) else {
        return println!("skipped: TOPOLET_RECORDED is not set");
    };
    let packed = std::fs::read(folder.join("oracle-dra/numa/machines.jsonl.zst")).unwrap();
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap().read_to_string(&mut text).unwrap();
    let (mut machines, mut devices) = (0, 0);
    for (machine, answers) in cases(&text) {
        let place = |kind: &str| folder.join(format!("machines/{kind}/{machine}.tar.zst"));
        let file = ["real", "synthesised"].map(place).into_iter().find(|file: &PathBuf| file.is_file());
        let Some(file) = file else { panic!("{machine} is missing in {}", Path::display(&folder)) };
        machines += 1;
        devices += compare(file.to_str().unwrap(), &answers);
    }
    println!("{machines} machines, {devices} devices");
    assert!(machines > 40 && devices > 80, "{machines} {devices}");
}
