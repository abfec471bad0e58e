//! Files that have their data once more as text: what kubelets from v1.37 on write, and what they and older ones make
//! of it.

use std::collections::BTreeMap;

use cpuset::CpuSet;
use kubelet_checkpoint::cpu::{ContainerIds, CpuFile, CpuFormat, CpuState};
use kubelet_checkpoint::memory::{Block, MemoryError, MemoryFile, MemoryFormat, MemoryState};
use kubelet_checkpoint::{Baselines, Forms, PodLevel};
use pod_spec::{ContainerName, PodUid, ResourceName};

/// A file that v1.37.1 wrote.
const CPU: &str = r#"{"policyName":"static","defaultCpuSet":"0-1,4-7","entries":{"u1":{"c":"2-3"}},"checksum":1826232433,"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-1,4-7\",\"entries\":{\"u1\":{\"c\":\"2-3\"}}}","dataChecksum":4124933032}"#;

/// The same of the memory manager.
const MEMORY: &str = r#"{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":1024,"systemReserved":24,"allocatable":1000,"reserved":100,"free":900}},"cells":[0]}},"entries":{"u1":{"c":[{"numaAffinity":[0],"type":"memory","size":100}]}},"checksum":2360995339,"data":"{\"policyName\":\"Static\",\"machineState\":{\"0\":{\"numberOfAssignments\":1,\"memoryMap\":{\"memory\":{\"total\":1024,\"systemReserved\":24,\"allocatable\":1000,\"reserved\":100,\"free\":900}},\"cells\":[0]}},\"entries\":{\"u1\":{\"c\":[{\"numaAffinity\":[0],\"type\":\"memory\",\"size\":100}]}}}","dataChecksum":2138996056}"#;

const NEW: Forms = Forms::embedded(PodLevel::Off);
const OLD: Forms = Forms::plain(PodLevel::Off);

fn set(text: &str) -> CpuSet {
    text.parse().unwrap()
}

fn of(cpus: &str) -> BTreeMap<PodUid, BTreeMap<ContainerName, CpuSet>> {
    BTreeMap::from([(PodUid::new("u1"), BTreeMap::from([(ContainerName::new("c"), set(cpus))]))])
}

fn cpu(file: &str, forms: Forms) -> Result<CpuState, String> {
    let read = CpuFile::read(file.as_bytes(), forms, &ContainerIds::new());
    read.and_then(|read| read.state()).map_err(|error| error.to_string())
}

fn memory(file: &str, forms: Forms) -> Result<MemoryState, String> {
    MemoryFile::read(file.as_bytes(), forms).map(|read| read.state).map_err(|error| error.to_string())
}

#[test]
fn files_of_the_kubelet_are_read_and_written() {
    let state = cpu(CPU, NEW).unwrap();
    assert_eq!((state.shared.to_string(), &state.containers), ("0-1,4-7".into(), &of("2-3")));
    assert_eq!(state.encode(CpuFormat::V4), CPU);
    let state = memory(MEMORY, NEW).unwrap();
    assert_eq!(state.encode(MemoryFormat::V3), MEMORY);
}

#[test]
fn gates_decide_which_members_are_kept() {
    let state = CpuState {
        policy: "static".into(),
        shared: set("0-1,6-7"),
        containers: of("2-3"),
        pods: BTreeMap::from([(PodUid::new("u1"), set("2-5"))]),
        baselines: of("2-3"),
    };
    let file = state.encode(CpuFormat::V4);
    let end = r#",\"podEntries\":{\"u1\":{\"cpuSet\":\"2-5\"}},\"baselines\":{\"u1\":{\"c\":{\"baseline\":\"2-3\"}}}}","dataChecksum":3903860609}"#;
    assert!(file.ends_with(end) && file.contains(r#""checksum":569755903,"#), "{file}");
    let both = Forms { baselines: Baselines::On, ..Forms::embedded(PodLevel::On) };
    assert_eq!(cpu(&file, both).unwrap(), state);
    let read = cpu(&file, NEW).unwrap();
    assert_eq!((read.pods.len(), read.baselines.len()), (0, 0));
    // Who wrote no baselines has resized nothing.
    let resizing = Forms { baselines: Baselines::On, ..NEW };
    assert_eq!(cpu(CPU, resizing).unwrap().baselines, of("2-3"));
}

#[test]
fn a_damaged_text_is_refused_and_older_kubelets_do_not_see_it() {
    for (from, to, error) in [
        ("4124933032", "4124933033", "could not load v4 checkpoint: checkpoint is corrupted"),
        (
            r#"\"2-3\"}}}","dataC"#,
            r#"\"2-4\"}}}","dataC"#,
            "could not load v4 checkpoint: checkpoint is corrupted",
        ),
        (
            r#"}}}","dataC"#,
            r#"}}","dataC"#,
            "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint data: unexpected end of JSON input",
        ),
        (
            r#""dataChecksum":4124933032"#,
            r#""dataChecksum":1.5"#,
            "could not load v4 checkpoint: failed to deserialize cpu manager checkpoint: json: cannot unmarshal number \
             1.5 into Go struct field CPUManagerCheckpoint.dataChecksum of type checksum.Checksum",
        ),
    ] {
        let file = CPU.replacen(from, to, 1);
        assert_ne!(file, CPU, "{from}");
        assert_eq!(cpu(&file, NEW), Err(error.to_owned()), "{file}");
        assert_eq!(cpu(&file, OLD).unwrap().containers, of("2-3"), "{file}");
    }
    let file = MEMORY.replacen("2138996056", "1", 1);
    assert_eq!(memory(&file, NEW), Err("could not load v3 checkpoint: checkpoint is corrupted".to_owned()));
    assert_eq!(memory(&file, OLD).unwrap(), memory(MEMORY, NEW).unwrap());
}

#[test]
fn only_the_text_counts() {
    let file = CPU.replacen(
        r#""policyName":"static","defaultCpuSet":"0-1,4-7""#,
        r#""policyName":"none","defaultCpuSet":"9""#,
        1,
    );
    assert_eq!(cpu(&file, NEW), cpu(CPU, NEW));
    // Of another type they still fail.
    let file = CPU.replacen(r#""policyName":"static""#, r#""policyName":5"#, 1);
    let error = cpu(&file, NEW).unwrap_err();
    let place = "Go struct field CPUManagerCheckpoint.CPUManagerCheckpointV2.policyName of type string";
    assert!(error.ends_with(place), "{error}");
}

#[test]
fn older_formats_are_read_whatever_the_gate() {
    let whole = CpuState {
        policy: "static".into(),
        shared: set("0"),
        containers: of("2"),
        pods: BTreeMap::from([(PodUid::new("u1"), set("2-3"))]),
        ..CpuState::default()
    };
    let file = whole.encode(CpuFormat::V3);
    assert_eq!(cpu(&file, Forms::embedded(PodLevel::On)).unwrap(), whole);
    assert_eq!(cpu(&file, NEW).unwrap(), CpuState { pods: BTreeMap::new(), ..whole.clone() });
    assert!(cpu(&file, OLD).is_err());
    // Whatever the attempt with podEntries has read is forgotten: nothing covers it.
    let unsealed = whole.encode(CpuFormat::V2).replacen(
        r#","checksum""#,
        r#","podEntries":{"u1":{"cpuSet":"9"}},"checksum""#,
        1,
    );
    assert_eq!(cpu(&unsealed, Forms::embedded(PodLevel::On)).unwrap().pods.len(), 0);
    assert_eq!(cpu(&unsealed, Forms::plain(PodLevel::On)).unwrap().pods.len(), 1);
    let by_id = r#"{"policyName":"static","defaultCpuSet":"0","entries":{"id":"1"},"checksum":0}"#;
    let error = "json: cannot unmarshal string into Go struct field CPUManagerCheckpointV2.entries of type map[string]string";
    assert_eq!(cpu(by_id, NEW), Err(error.to_owned()));
}

#[test]
fn memory_without_a_checksum_loses_its_pods() {
    let blocks = vec![Block { nodes: None, resource: ResourceName::new("memory"), size: 1 }];
    let whole = MemoryState {
        policy: "Static".into(),
        nodes: Some(BTreeMap::new()),
        pod_entries: BTreeMap::from([(
            PodUid::new("u"),
            kubelet_checkpoint::memory::PodEntry { blocks: Some(blocks) },
        )]),
        ..MemoryState::default()
    };
    let file = whole.encode(MemoryFormat::V2);
    let (sealed, rest) = file.rsplit_once(':').unwrap();
    let unsealed = format!("{sealed}:0{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    for (file, pods) in [(&file, 1), (&unsealed, 0)] {
        assert_eq!(memory(file, Forms::embedded(PodLevel::On)).unwrap().pod_entries.len(), pods, "{file}");
    }
    assert_eq!(memory(&unsealed, Forms::plain(PodLevel::On)).unwrap().pod_entries.len(), 1);
}

#[test]
fn the_words_for_the_shared_pool_are_the_releases() {
    let file = CpuState { policy: "static".into(), ..CpuState::default() }.encode(CpuFormat::V2);
    let file = file.replacen(r#""defaultCpuSet":"""#, r#""defaultCpuSet":"x""#, 1);
    let sum = file.rsplit_once(':').unwrap().0.to_owned() + ":0}";
    assert!(cpu(&sum, OLD).unwrap_err().starts_with("could not parse default cpu set \"x\""));
    assert!(cpu(&sum, NEW).unwrap_err().starts_with("could not parse default CPU set \"x\""));
}

#[test]
fn the_whole_message_names_the_format() {
    let file = MEMORY.replacen("2138996056", "1", 1);
    let error = MemoryError::from(MemoryFile::read(file.as_bytes(), NEW).unwrap_err());
    assert_eq!(
        error.refused("/var/lib/kubelet/memory_manager_state").to_string(),
        "could not restore state from checkpoint: could not load v3 checkpoint: checkpoint is corrupted, please drain \
         this node and delete the memory manager checkpoint file \"/var/lib/kubelet/memory_manager_state\" before \
         restarting Kubelet"
    );
}
