//! Damaged files: what is accepted is what the kubelet accepts, and is as it was; all else is refused with a place.

use std::collections::BTreeMap;

use kubelet_checkpoint::cpu::{ContainerIds, CpuError, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::device::{DeviceEntry, DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{Block, MemoryFile, MemoryFormat, MemoryState, MemoryTable, NodeState};
use kubelet_checkpoint::{FileError, Forms, JsonFault, Oddities, Oddity, PodLevel};
use pod_spec::{ContainerKey, ContainerName, PodUid, ResourceName};
use topology_model::NodeId;

fn cpu_state() -> CpuState {
    let container = |name: &str, cpus: &str| (ContainerName::new(name), cpus.parse().unwrap());
    CpuState {
        policy: "static".into(),
        shared: "0,4-7".parse().unwrap(),
        containers: BTreeMap::from([
            (PodUid::new("7d1c"), BTreeMap::from([container("app", "1-2")])),
            (PodUid::new("é<"), BTreeMap::from([container("db", "3")])),
        ]),
        pods: BTreeMap::from([(PodUid::new("7d1c"), "1-2".parse().unwrap())]),
        baselines: BTreeMap::new(),
    }
}

fn memory_state() -> MemoryState {
    let memory = ResourceName::new("memory");
    let table =
        MemoryTable { total: 8 << 30, system_reserved: 1 << 30, allocatable: 7 << 30, reserved: 5, free: 0 };
    let block = Block { nodes: Some(vec![NodeId(0)]), resource: memory.clone(), size: 5 };
    let node = NodeState {
        assignments: 1,
        memory: Some(BTreeMap::from([(memory, Some(table))])),
        cells: Some(vec![NodeId(0)]),
    };
    let blocks = BTreeMap::from([(ContainerName::new("app"), Some(vec![block]))]);
    MemoryState {
        policy: "Static".into(),
        nodes: Some(BTreeMap::from([(NodeId(0), Some(node))])),
        entries: BTreeMap::from([(PodUid::new("7d1c"), Some(blocks))]),
        pod_entries: BTreeMap::new(),
    }
}

fn device_state() -> DeviceState {
    let entry = DeviceEntry {
        pod: PodUid::new("7d1c"),
        container: ContainerName::new("app"),
        resource: ResourceName::new("intel.com/vf"),
        devices: Some(BTreeMap::from([(0, Some(vec!["0000:3b:02.1".into()]))])),
        reply: Some(vec![10, 1, 255, 0]),
    };
    let registered = BTreeMap::from([(ResourceName::new("intel.com/vf"), Some(vec!["a".into()]))]);
    DeviceState { entries: Some(vec![entry]), registered: Some(registered) }
}

/// What came of reading a file: what is in it and what was odd, or why not.
type Outcome<T> = Result<(T, Oddities), FileError>;

fn read_cpus(file: &[u8], pod_level: PodLevel) -> Outcome<CpuState> {
    match CpuFile::read(file, Forms::plain(pod_level), &ContainerIds::new()) {
        Ok(read) => Ok((read.state().unwrap(), read.oddities)),
        Err(CpuError::File(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

fn read_memory(file: &[u8], pod_level: PodLevel) -> Outcome<MemoryState> {
    let read = MemoryFile::read(file, Forms::plain(pod_level))?;
    Ok((read.state, read.oddities))
}

fn read_devices(file: &[u8]) -> Outcome<DeviceState> {
    let read = DeviceFile::read(file);
    read.fault.map_or(Ok((read.state, read.oddities)), Err)
}

/// Every beginning of the file, and every byte of it as every other.
fn damage<T: PartialEq + std::fmt::Debug>(file: &str, whole: &T, read: impl Fn(&[u8]) -> Outcome<T>) {
    assert_eq!(read(file.as_bytes()), Ok((read(file.as_bytes()).unwrap().0, Oddities::default())));
    for length in 0..file.len() {
        match read(&file.as_bytes()[..length]) {
            Err(FileError::Json(error)) => assert_eq!(error.offset, length, "{error}"),
            other => panic!("the first {length} bytes are taken for {other:?}"),
        }
    }
    let mut named = 0;
    for at in 0..file.len() {
        let mut damaged = file.as_bytes().to_vec();
        for byte in 0..=255 {
            if byte == file.as_bytes()[at] {
                continue;
            }
            damaged[at] = byte;
            match read(&damaged) {
                // Another spelling of a member, or a member that has no meaning; the checksum covers the rest.
                Ok((state, odd)) => {
                    assert_eq!(&state, whole, "byte {at} as {byte} is another state");
                    named += usize::from(!odd.is_empty());
                }
                Err(FileError::Json(error)) => assert!(error.offset <= file.len(), "{error}"),
                Err(_) => {}
            }
        }
    }
    assert!(named > 0, "letters of members can be of either case, and that is said");
}

#[test]
fn damaged_files_of_cpus() {
    let whole = cpu_state();
    damage(&whole.encode(CpuFormat::V3), &whole, |file| read_cpus(file, PodLevel::On));
    let without_pods = CpuState { pods: BTreeMap::new(), ..whole };
    damage(&without_pods.encode(CpuFormat::V2), &without_pods, |file| read_cpus(file, PodLevel::Off));
}

#[test]
fn damaged_files_of_memory() {
    let whole = memory_state();
    damage(&whole.encode(MemoryFormat::V1), &whole, |file| read_memory(file, PodLevel::Off));
    damage(&whole.encode(MemoryFormat::V2), &whole, |file| read_memory(file, PodLevel::On));
}

#[test]
fn damaged_files_of_devices() {
    let whole = device_state();
    damage(&whole.encode(), &whole, read_devices);
}

#[test]
fn a_refusal_says_what_and_where() {
    let deep = |depth: usize| format!("{{\"x\":{}", "[".repeat(depth));
    for (file, text, offset) in [
        ("", "unexpected end of JSON input", 0),
        ("x", "invalid character 'x' looking for beginning of value", 0),
        ("{\"a\":tru", "invalid character ' ' in literal true (expecting 'e')", 8),
        ("{\"a\":1}}", "invalid character '}' after top-level value", 7),
        ("{\"a\" 1}", "invalid character '1' after object key", 5),
        ("{'a':1}", r"invalid character '\'' looking for beginning of object key string", 1),
        ("{\"a\":01}", "invalid character '1' after object key:value pair", 6),
        ("{\"a\":\"\u{1}\"}", r"invalid character '\x01' in string literal", 6),
        ("{\"a\":\"\\q\"}", "invalid character 'q' in string escape code", 7),
        ("[1]", "json: cannot unmarshal array into Go value of type state.MemoryManagerCheckpointV1", 0),
        (
            "{\"checksum\":-1}",
            "json: cannot unmarshal number -1 into Go struct field MemoryManagerCheckpointV1.checksum of type checksum.Checksum",
            12,
        ),
        (
            "{\"machineState\": {\"0\": {\"memoryMap\": {\"memory\": {\"free\": 18446744073709551616}}}}}",
            "json: cannot unmarshal number 18446744073709551616 into Go struct field MemoryTable.machineState.memoryMap.free of type uint64",
            57,
        ),
        (
            "{\"machineState\": {\"x\": {}}}",
            "json: cannot unmarshal number x into Go struct field MemoryManagerCheckpointV1.machineState of type int",
            18,
        ),
        (
            "{\"entries\": {\"p\": {\"c\": [1]}}}",
            "json: cannot unmarshal number into Go struct field MemoryManagerCheckpointV1.entries of type state.Block",
            25,
        ),
        // The first of several faults counts.
        (
            "{\"policyName\": [], \"checksum\": {}}",
            "json: cannot unmarshal array into Go struct field MemoryManagerCheckpointV1.policyName of type string",
            15,
        ),
        (&deep(100), "unexpected end of JSON input", 105),
        (&deep(10_000), "invalid character '[' exceeded max depth", 10_004),
    ] {
        match MemoryFile::read(file.as_bytes(), Forms::plain(PodLevel::Off)) {
            Err(FileError::Json(error)) => {
                assert_eq!((error.to_string().as_str(), error.offset), (text, offset));
            }
            other => panic!("{file}: {other:?}"),
        }
    }
    let torn =
        CpuFile::read(b"{\"policyName\":\"static\"", Forms::plain(PodLevel::Off), &ContainerIds::new())
            .unwrap_err();
    assert_eq!(
        torn.refused("/var/lib/kubelet/cpu_manager_state").to_string(),
        "could not restore state from checkpoint: unexpected end of JSON input, please drain this node and delete \
         the CPU manager checkpoint file \"/var/lib/kubelet/cpu_manager_state\" before restarting Kubelet"
    );
}

#[test]
fn nesting_without_a_meaning_costs_no_stack() {
    let file = format!("{{\"checksum\":0,\"x\":{}{}}}", "[".repeat(9_999), "]".repeat(9_999));
    let read = MemoryFile::read(file.as_bytes(), Forms::plain(PodLevel::Off)).unwrap();
    assert_eq!(read.state.policy, "");
}

#[test]
fn what_the_kubelet_takes_is_taken_and_named() {
    let cases: &[(&[u8], &str, Oddity)] = &[
        (
            b"{\"policyName\":\"none\",\"policyName\":\"static\"}",
            "static",
            Oddity::Repeated("policyName".into()),
        ),
        (
            b"{\"POLICYname\":\"static\"}",
            "static",
            Oddity::OtherCase { name: "POLICYname".into(), member: "policyName" },
        ),
        (b"{\"policyName\":\"static\",\"v\":{\"a\":[\"}\"]}}", "static", Oddity::UnknownMember("v".into())),
        (
            b"{\"policyName\":\"a\xff\xfeb\"}",
            "a\u{fffd}\u{fffd}b",
            Oddity::ReplacedText("a\u{fffd}\u{fffd}b".into()),
        ),
        (b"{\"policyName\":\"\\ud800x\"}", "\u{fffd}x", Oddity::ReplacedText("\u{fffd}x".into())),
        (b"{\"policyName\":\"static\",\"checksum\":0}", "static", Oddity::NoChecksum),
        (
            b"{\"policyName\":\"static\",\"data\":\"{}\",\"dataChecksum\":12}",
            "static",
            Oddity::NewerFormat("dataChecksum".into()),
        ),
        // Null changes nothing.
        (b"{\"policyName\":\"static\",\"policyName\":null}", "static", Oddity::NoChecksum),
    ];
    for (file, policy, oddity) in cases {
        let shown = String::from_utf8_lossy(file);
        let read = CpuFile::read(file, Forms::plain(PodLevel::Off), &ContainerIds::new()).unwrap();
        assert_eq!(&read.policy, policy, "{shown}");
        assert!(read.oddities.iter().any(|(_, found)| found == oddity), "{shown}: {:?}", read.oddities);
        let is_newer = matches!(oddity, Oddity::NewerFormat(_));
        assert_eq!(read.oddities.is_newer_format(), is_newer, "{shown}");
    }
}

#[test]
fn a_map_given_twice_keeps_the_entries_of_both() {
    let file = br#"{"entries":{"p":{"a":"1"},"q":{"b":"2"}},"entries":{"p":{"c":"3"}}}"#;
    let read = CpuFile::read(file, Forms::plain(PodLevel::Off), &ContainerIds::new()).unwrap();
    let state = read.state().unwrap();
    let shown: Vec<String> = state
        .containers
        .iter()
        .flat_map(|(pod, of)| of.iter().map(move |(name, cpus)| format!("{pod}/{name} {cpus}")))
        .collect();
    assert_eq!(shown, ["p/c 3", "q/b 2"]);
}

#[test]
fn files_of_old_kubelets_need_the_containers_that_run() {
    let file = br#"{"policyName":"static","defaultCpuSet":"0-3","entries":{"c1d":"4-5"}}"#;
    let error = CpuFile::read(file, Forms::plain(PodLevel::On), &ContainerIds::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to migrate checkpoint from v1 to v2: containerID 'c1d' not found in initial containers list"
    );
    let key = ContainerKey { pod: PodUid::new("p"), container: ContainerName::new("c") };
    let read =
        CpuFile::read(file, Forms::plain(PodLevel::On), &ContainerIds::from([("c1d".into(), key.clone())]))
            .unwrap();
    assert_eq!(read.format, CpuFormat::V1);
    let state = read.restore("static").unwrap();
    assert_eq!(state.containers[&key.pod][&key.container].to_string(), "4-5");
    assert_eq!(state.shared.to_string(), "0-3");
}

#[test]
fn entries_of_pods_survive_a_file_whose_checksum_does_not_cover_them() {
    let file =
        br#"{"policyName":"static","defaultCpuSet":"0","podEntries":{"p":{"cpuSet":"1"}},"checksum":0}"#;
    let read = CpuFile::read(file, Forms::plain(PodLevel::On), &ContainerIds::new()).unwrap();
    assert_eq!(read.format, CpuFormat::V2);
    assert_eq!(read.pod_entries[&PodUid::new("p")].to_string(), "1");
}

#[test]
fn bytes_in_base64() {
    let file = |reply: &str| {
        format!(
            "{{\"Data\":{{\"PodDeviceEntries\":[{{\"AllocResp\":{reply}}}],\"RegisteredDevices\":{{}}}}}}"
        )
    };
    let reply = |text: &str| {
        let read = DeviceFile::read(file(text).as_bytes());
        match read.fault {
            Some(FileError::Json(error)) => match error.fault {
                JsonFault::Base64 { .. } | JsonFault::WrongType { .. } => Err(error.to_string()),
                other => panic!("{other}"),
            },
            // Without a checksum it is corrupt, and read nevertheless.
            _ => Ok(read.state.entries.unwrap()[0].reply.clone()),
        }
    };
    assert_eq!(reply("null"), Ok(None));
    assert_eq!(reply("\"\""), Ok(Some(vec![])));
    assert_eq!(reply("\"AP8=\""), Ok(Some(vec![0, 255])));
    assert_eq!(reply(r#""AP\n8\r=""#), Ok(Some(vec![0, 255])));
    assert_eq!(reply("[0,255]"), Ok(Some(vec![0, 255])));
    for (text, at) in [("\"A\"", 0), ("\"AP8\"", 0), ("\"AP8=x\"", 4), ("\"A===\"", 1), ("\"A*==\"", 1)] {
        assert_eq!(reply(text), Err(format!("illegal base64 data at input byte {at}")), "{text}");
    }
    assert!(reply("[256]").unwrap_err().ends_with("AllocResp of type uint8"));
}

/// What is no object is refused by its kind, in the words that Go has for a short value of it, however long it is.
#[test]
fn a_file_that_is_no_object_is_refused_by_its_kind() {
    let long = |begin: &str, item: &str, end: &str| format!("{begin}{}{end}", item.repeat(100_000));
    for (file, short) in [
        (long("[0", ",0", "]"), "[]"),
        (long(" \n[{}", ",{\"entries\": 1}", "]"), " \n[]"),
        (long("\"", "x", "\""), "\"\""),
        (long("1", "0", ""), "1"),
        ("false".to_owned(), "true"),
        ("null".to_owned(), "null"),
    ] {
        let (file, short) = (file.as_bytes(), short.as_bytes());
        for forms in Forms::ALL {
            let read = |file| CpuFile::read(file, forms, &ContainerIds::new());
            assert_eq!(read(file), read(short), "{forms:?}");
            assert_eq!(MemoryFile::read(file, forms), MemoryFile::read(short, forms), "{forms:?}");
        }
        assert_eq!(DeviceFile::read(file), DeviceFile::read(short));
        assert_eq!(CpuFile::unknown_format(file), CpuFile::unknown_format(short));
        assert_eq!(MemoryFile::unknown_format(file), MemoryFile::unknown_format(short));
        assert_eq!(DeviceFile::unknown_format(file), DeviceFile::unknown_format(short));
    }
    // Torn: where it breaks off is where that of the whole file is.
    let torn = long("[0", ",0", "");
    let end = |error: &FileError| matches!(error, FileError::Json(error) if error.offset == torn.len());
    for forms in Forms::ALL {
        let read = CpuFile::read(torn.as_bytes(), forms, &ContainerIds::new());
        assert!(matches!(&read, Err(CpuError::File(error)) if end(error)), "{forms:?}: {read:?}");
        let read = MemoryFile::read(torn.as_bytes(), forms);
        assert!(read.as_ref().is_err_and(end), "{forms:?}: {read:?}");
    }
    assert!(DeviceFile::read(torn.as_bytes()).fault.as_ref().is_some_and(end));
    assert_eq!(CpuFile::unknown_format(torn.as_bytes()), None);
}
