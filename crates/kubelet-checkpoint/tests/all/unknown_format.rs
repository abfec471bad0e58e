//! Whole files that no known format explains, and those that only look like it.

use kubelet_checkpoint::UnknownFormat;
use kubelet_checkpoint::cpu::CpuFile;
use kubelet_checkpoint::device::{DeviceFile, DeviceState};
use kubelet_checkpoint::memory::{MemoryFile, MemoryFormat, MemoryState};

type Asked = fn(&[u8]) -> Option<UnknownFormat>;

const CPU: Asked = CpuFile::unknown_format;
const MEMORY: Asked = MemoryFile::unknown_format;
const DEVICE: Asked = DeviceFile::unknown_format;

/// What a release to come could write, and the reason that is reported.
const STRANGE: [(Asked, &str, &str); 10] = [
    // A member more in the data, under its checksum.
    (
        CPU,
        r#"{"data":"{\"policyName\":\"static\",\"borrowed\":{}}","dataChecksum":1}"#,
        r#"member "borrowed""#,
    ),
    (MEMORY, r#"{"data":"{\"policyName\":\"Static\",\"tiers\":[]}","dataChecksum":1}"#, r#"member "tiers""#),
    // A structure in the place of the text.
    (CPU, r#"{"data":{"policyName":"static"},"dataChecksum":1}"#, "cannot unmarshal object"),
    (DEVICE, r#"{"data":"{}","dataChecksum":1}"#, "member \"dataChecksum\""),
    // One member more, under the checksum.
    (
        CPU,
        r#"{"policyName":"static","defaultCpuSet":"0,3-7","entries":{"u":{"app":"1-2"}},"borrowed":{"u":"3"},"checksum":9}"#,
        r#"member "borrowed""#,
    ),
    (
        MEMORY,
        r#"{"policyName":"Static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{},"cells":[0],"tier":"cxl"}},"checksum":9}"#,
        r#"member "tier""#,
    ),
    (
        DEVICE,
        r#"{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"app","ResourceName":"r","DeviceIDs":{"0":["d"]},"AllocResp":"","Health":"ok"}],"RegisteredDevices":{}},"Checksum":9}"#,
        r#"member "Health""#,
    ),
    // A structure in the place of a text.
    (
        CPU,
        r#"{"policyName":"static","defaultCpuSet":"0","entries":{"u":{"app":{"cpuSet":"1-2"}}},"checksum":9}"#,
        "cannot unmarshal object",
    ),
    // A list in the place of a map, as kubelets before 1.20 wrote it.
    (
        DEVICE,
        r#"{"Data":{"PodDeviceEntries":[{"PodUID":"u","DeviceIDs":["d"]}],"RegisteredDevices":{}},"Checksum":9}"#,
        "cannot unmarshal array",
    ),
    // No checksum where there always was one.
    (
        CPU,
        r#"{"apiVersion":"v4","policyName":"static","defaultCpuSet":"0-7","pods":[]}"#,
        r#"members "apiVersion", "pods""#,
    ),
];

#[test]
fn what_a_release_to_come_could_write_is_not_known() {
    for (asked, file, told) in STRANGE {
        let found = asked(file.as_bytes()).unwrap_or_else(|| panic!("{file}")).to_string();
        assert!(found.contains("format that is not known") && found.contains(told), "{found}");
        assert!(found.contains("known are V1") || found.contains("known are that"), "{found}");
    }
}

#[test]
fn what_is_torn_or_changed_by_hand_is_not_strange() {
    let memory = MemoryState { policy: "Static".into(), nodes: None, ..MemoryState::default() };
    let memory = memory.encode(MemoryFormat::V1);
    let device = DeviceState::default().encode();
    let cpu = r#"{"policyName":"none","defaultCpuSet":"","checksum":1353318690}"#.to_owned();
    for (asked, file) in [(CPU, &cpu), (MEMORY, &memory), (DEVICE, &device)] {
        assert_eq!(asked(file.as_bytes()), None, "{file}");
        // A note that was added by hand is under no checksum.
        let noted = file.replacen('{', r#"{"note":"mine","#, 1);
        assert_eq!(asked(noted.as_bytes()), None, "{noted}");
        for end in 0..file.len() {
            let torn = file.get(..end).unwrap();
            assert_eq!(asked(torn.as_bytes()), None, "{torn}");
        }
    }
    for (asked, file) in [
        (CPU, r#"{"policyName":"static","defaultCpuSet":"0-6","entries":{"u":{"app":"7"}},"checksum":9}"#),
        (CPU, r#"{"policyName":"static","defaultCpuSet":"0-6","entries":{"id":"7"},"checksum":9}"#),
        (
            CPU,
            r#"{"policyName":"static","defaultCpuSet":"0-6","podEntries":{"u":{"cpuSet":"7"}},"checksum":9}"#,
        ),
        (
            MEMORY,
            r#"{"policyName":"Static","machineState":{"0":{"numberOfAssignments":-99999999999999999999}},"checksum":9}"#,
        ),
        (DEVICE, r#"{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":9}"#),
    ] {
        assert_eq!(asked(file.as_bytes()), None, "{file}");
    }
}

#[test]
fn a_strange_file_that_is_torn_is_torn() {
    for (asked, file, _) in STRANGE {
        for end in 0..file.len() {
            assert_eq!(asked(file.get(..end).unwrap().as_bytes()), None, "{file} up to {end}");
        }
    }
}
