//! What a fuzz target begins with: the fixtures, as each target reads them.

use std::path::Path;

use anyhow::Context as _;
use fs_err as fs;
use serde_json::Value;
use workspace_tools::workspace::root;

/// Files that are larger are no good seeds.
const LARGEST: usize = 64 << 10;
/// The state files of a folder.
const STATE: [&str; 3] =
    ["cpu_manager_state", "memory_manager_state", "device-plugins/kubelet_internal_checkpoint"];
/// A pod's own file, as `topolet serve` keeps it.
const RECORD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"default","uid":"u1"},"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"2","memory":"2Gi"},"requests":{"cpu":"2","memory":"2Gi"}}}]},"topolet":{"arrival":0,"source":"request","running":{"c1":{"container":"app"}}}}"#;

/// Writes the seeds of a target into a folder; what is there already stays.
pub(super) fn write(target: &str, folder: &Path) -> anyhow::Result<()> {
    for (at, seed) in of(target)?.into_iter().enumerate() {
        let path = folder.join(format!("seed-{at}"));
        fs::write(&path, seed)?;
    }
    Ok(())
}

fn of(target: &str) -> anyhow::Result<Vec<Vec<u8>>> {
    Ok(match target {
        "values" => texts(&[
            "1Gi",
            "1.5",
            "100m",
            "1e3",
            "-0.5n",
            "12E-2",
            "9223372036854775807",
            "0-3,8-11",
            "0,2,4-7",
            "1m30s",
            "1.5h",
            "-10ms",
            "0000:18:01.1",
            "00000000,ffffffff",
            "\"1Gi\"",
            "null",
        ]),
        "machine_info" => {
            let mut seeds = files(&["fixtures/kubelet/discovery", "fixtures/machines"])?;
            seeds.extend(texts(&["0-3,8-11", "ff,00000000,ffffffff", "2x2x4x2", "numa:2 core:4 pu:2"]));
            seeds
        }
        "machine" => vec![MACHINE.join("\0").into_bytes()],
        "archive" => {
            let mut seeds = files(&["crates/machine-fixtures/machines"])?;
            seeds.push(tar(&MACHINE_FILES)?);
            seeds
        }
        "manifest" => manifests()?,
        "state" => state_folders()?.into_iter().flatten().filter(|file| !file.is_empty()).collect(),
        "start" => state_folders()?
            .into_iter()
            .map(|mut files| {
                files.push(RECORD.as_bytes().to_vec());
                files.join(&0)
            })
            .collect(),
        // Three pods; then a cut, a changed bit, and both.
        "repair" => vec![
            vec![1, 2, 1, 255, 0, 0, 0, 90],
            vec![1, 2, 1, 255, 1, 33, 0, 70],
            vec![2, 1, 0, 1, 255, 0, 0, 0, 90, 1, 0, 1, 44, 0, 1, 0, 9],
        ],
        "plugin" => plugin(),
        "authority" => vec![AUTHORITY.to_vec()],
        "nri" => nri(),
        "selector" => selectors()?,
        "allocation" => (0..64).map(drawn).collect(),
        "commands" => commands()?,
        "requests" => requests(),
        "clients" => clients(),
        _ => Vec::new(),
    })
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// All files below folders, in the order of their paths.
fn files(folders: &[&str]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for folder in folders {
        let path = root().join(folder);
        let mut entries: Vec<_> = fs::read_dir(&path)
            .and_then(Iterator::collect)
            .with_context(|| format!("failed to read {}", path.display()))?;
        entries.sort_by_key(fs::DirEntry::path);
        for entry in entries.iter().map(fs::DirEntry::path).filter(|path| path.is_file()) {
            let content = fs::read(&entry)?;
            if content.len() <= LARGEST {
                found.push(content);
            }
        }
    }
    Ok(found)
}

fn manifests() -> anyhow::Result<Vec<Vec<u8>>> {
    files(&[
        "fixtures/pods",
        "fixtures/pods/refused",
        "fixtures/configs",
        "fixtures/devices",
        "fixtures/scenarios",
    ])
}

/// The three files of every folder of states; one that is missing is empty.
fn state_folders() -> anyhow::Result<Vec<Vec<Vec<u8>>>> {
    let path = root().join("fixtures/state");
    let mut folders: Vec<_> =
        fs::read_dir(&path).and_then(Iterator::collect).context("failed to read fixtures/state")?;
    folders.sort_by_key(fs::DirEntry::path);
    let read = |folder: &fs::DirEntry| {
        STATE.iter().map(|file| fs::read(folder.path().join(file)).unwrap_or_default()).collect::<Vec<_>>()
    };
    Ok(folders.iter().map(read).filter(|files| files.iter().any(|file| !file.is_empty())).collect())
}

/// The texts of a small machine in the order of `fuzz_targets/machine.rs`.
const MACHINE: [&str; 22] = [
    "0-1\n",
    "0-1\n",
    "0\n",
    "0\n",
    "3\n",
    "0-1\n",
    "1\n",
    "Data\n",
    "32K\n",
    "0\n",
    "3\n",
    "0\n",
    "0-1\n",
    "10\n",
    "Node 0 MemTotal:       16000000 kB\n",
    "4\n",
    "0x020000\n",
    "0\n",
    "0-1\n",
    "0\n",
    "MemTotal:       16000000 kB\n",
    "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\n",
];

/// The same in few files, as an archive has them.
const MACHINE_FILES: [(&str, &str); 9] = [
    ("sys/devices/system/cpu/online", "0-1\n"),
    ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
    ("sys/devices/system/cpu/cpu0/topology/thread_siblings", "1\n"),
    ("sys/devices/system/cpu/cpu1/topology/core_id", "1\n"),
    ("sys/devices/system/node/online", "0\n"),
    ("sys/devices/system/node/node0/cpulist", "0-1\n"),
    ("sys/devices/system/node/node0/distance", "10\n"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       16000000 kB\n"),
    ("node/node.json", "{}"),
];

fn tar(files: &[(&str, &str)]) -> anyhow::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_bytes())?;
    }
    let mut link = tar::Header::new_ustar();
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_size(0);
    archive.append_link(
        &mut link,
        "sys/bus/pci/devices/0000:00:01.0",
        "../../../devices/pci0000:00/0000:00:01.0",
    )?;
    Ok(archive.into_inner()?)
}

/// A field of a message that holds bytes; shorter than 128.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap_or(0);
    [&[number << 3 | 2, length], content].concat()
}

/// Lists of devices, and answers to `Allocate`.
fn plugin() -> Vec<Vec<u8>> {
    // NUMANode { ID: 1 } in TopologyInfo in Device.
    let topology = field(3, &field(1, &[8, 1]));
    let device = |id: &str| [field(1, id.as_bytes()), field(2, b"Healthy"), topology.clone()].concat();
    let list = [field(1, &device("vf0")), field(1, &device("vf1"))].concat();
    let environment = field(1, &[field(1, b"VF"), field(2, b"vf0")].concat());
    let reply = [environment, field(2, &[field(1, b"/a"), field(2, b"/b")].concat())].concat();
    let head = [2, 0, u8::try_from(list.len()).unwrap_or(0)];
    vec![[&head[..], &list, &reply].concat()]
}

/// SETTINGS, and HEADERS of a call to `/v1beta1.Registration/Register` with a name that is put into the table.
const AUTHORITY: &[u8] = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00\
    \x00\x00\x33\x01\x04\x00\x00\x00\x01\x83\x86\x41\x0alocalhost1\
    \x44\x1e/v1beta1.Registration/Register\x40\x02te\x01a\
    \x00\x00\x05\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00";

/// Requests of a runtime in frames, read in pieces of 4 and of 256 bytes.
fn nri() -> Vec<Vec<u8>> {
    let pod = field(1, &[field(1, b"p1"), field(2, b"pod")].concat());
    let annotation = field(6, &[field(1, b"key"), field(2, b"value")].concat());
    // The CPUs 0-3: LinuxCPU in LinuxResources in LinuxContainer.
    let cpus = field(11, &field(3, &field(2, &field(6, b"0-3"))));
    let container = [field(1, b"c1"), field(3, b"app"), annotation, cpus].concat();
    let event = [pod.clone(), field(2, &container)].concat();
    let state_change = [&[8, 6][..], &pod, &field(2, &[]), &field(3, &container)].concat();
    let requests = [
        ("Synchronize", [event.clone(), vec![24, 0]].concat()),
        ("CreateContainer", event.clone()),
        ("ValidateContainerAdjustment", event.clone()),
        ("StopContainer", event),
        ("StateChange", state_change),
    ];
    let mut bytes = Vec::new();
    for (stream, (method, payload)) in (1_u8..).step_by(2).zip(requests) {
        let body =
            [field(1, b"nri.pkg.api.v1alpha1.Plugin"), field(2, method.as_bytes()), field(3, &payload)]
                .concat();
        let length = u8::try_from(body.len()).unwrap_or(0);
        let message = [&[0, 0, 0, length, 0, 0, 0, stream, 1, 0][..], &body].concat();
        let frame = u16::try_from(message.len()).unwrap_or(0).to_be_bytes();
        bytes.extend([&[0, 0, 0, 1, 0, 0][..], &frame, &message].concat());
    }
    [3, 255].map(|piece| [&[piece][..], &bytes].concat()).into()
}

/// Recorded expressions behind the byte of their environment (`fuzz_targets/selector.rs`).
fn selectors() -> anyhow::Result<Vec<Vec<u8>>> {
    let path = root().join("fixtures/dra/cel/cel.jsonl");
    let mut seeds = Vec::new();
    for line in fs::read_to_string(&path)?.lines() {
        let line: Value =
            serde_json::from_str(line).with_context(|| format!("no JSON in {}", path.display()))?;
        let case = &line["case"];
        let environment = if case["env"] == "new" { 2 } else { u8::from(case["derived"] == true) };
        let expression = case["expression"].as_str().unwrap_or_default();
        seeds.push([&[environment][..], expression.as_bytes()].concat());
    }
    Ok(seeds)
}

/// Bytes from which a question is drawn, the same in every run.
fn drawn(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..110).map(next).collect()
}

/// Every command with files that it is meant to read; the letters are those of
/// `crates/topolet/src/fuzzed_commands.rs`.
fn commands() -> anyhow::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    let mut add = |letters: &str, files: Vec<Vec<u8>>| {
        for (at, file) in files.into_iter().enumerate() {
            // Every file for one of the commands, and the first ones for all.
            let letters: Vec<u8> = letters.bytes().collect();
            let some = if at < 3 { &letters[..] } else { &letters[at % letters.len()..][..1] };
            seeds.extend(some.iter().map(|letter| [&[*letter][..], &file].concat()));
        }
    };
    add("ABCDTU", files(&["fixtures/pods", "fixtures/pods/refused"])?);
    add("E", files(&["fixtures/scenarios"])?);
    add("FGH", files(&["fixtures/configs"])?);
    add("IJ", files(&["fixtures/devices"])?);
    add("KL", files(&["fixtures/kubelet/discovery", "fixtures/machines"])?);
    add("MN", files(&["crates/machine-fixtures/machines"])?);
    let states = state_folders()?;
    let nth = |at: usize| {
        let files = states.iter().filter_map(|files| files.get(at)).filter(|file| !file.is_empty());
        files.cloned().collect::<Vec<_>>()
    };
    add("OR", nth(0));
    add("PS", nth(1));
    add("Q", nth(2));
    Ok(seeds)
}

/// Conversations with the daemon.
fn requests() -> Vec<Vec<u8>> {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: app, image: i, resources: \
               {limits: {cpu: 2, memory: 1Gi}}}]}\n";
    let started = "POST /v1/pods/default/a/containers/app/started\n{\"id\": \"containerd://c1\", \"cgroup\": \"/sys/fs/cgroup/a\"}";
    let exited = "POST /v1/pods/default/a/containers/app/exited\n{\"id\": \"c1\"}";
    let conversations: [&[&str]; 3] = [
        &[
            &format!("POST /v1/pods?output=table\n{pod}"),
            &format!("POST /v1/pods?dryRun=All\n{pod}"),
            started,
            "GET /v1/pods/default/a",
            exited,
            "DELETE /v1/pods/default/a",
        ],
        &[
            &format!("POST /v1/explain?output=yaml&glyphs=ascii\n{pod}"),
            "GET /v1/machine?output=table",
            "GET /v1/state",
        ],
        &[
            "GET /v1/pods?namespace=default&output=yaml",
            "GET /v1/decisions?limit=3",
            "GET /metrics",
            "GET /readyz",
        ],
    ];
    conversations.iter().map(|parts| parts.join("\0").into_bytes()).collect()
}

/// Schedules of clients: open files, how long the owner takes, what the clients do in the end, and steps
/// (`crates/node-http/src/fuzzing.rs`).
fn clients() -> Vec<Vec<u8>> {
    let schedules: [&[&[u8]]; 6] = [
        // Half requests of a user for every place, and idle connections; root asks.
        &[
            &[0, 20, 0],
            &[0, 1, 47, 14, 255],
            &[0, 2, 47, 0, 0],
            &[0, 3, 47, 14, 255],
            &[8, 0],
            &[7, 120],
            &[8, 1],
        ],
        // Whole requests whose answers are not read, on small connections.
        &[&[0, 90, 1], &[0, 5, 20, 8, 255], &[0, 7, 30, 3, 255], &[7, 10], &[8, 2], &[7, 200], &[8, 6], &[1]],
        // Heads that come late or in parts, bodies that break off, closed halves.
        &[
            &[1, 0, 1],
            &[0, 2, 5, 7, 20],
            &[7, 70],
            &[3, 0, 9, 30],
            &[7, 70],
            &[3, 0, 3, 255],
            &[5, 0, 9],
            &[8, 4],
        ],
        // Pipelines with few open files.
        &[
            &[3, 40, 0],
            &[0, 0, 1, 17, 255],
            &[0, 1, 9, 17, 255],
            &[1, 0, 20, 9],
            &[3, 0, 20, 255],
            &[4, 0, 20],
            &[8, 3],
        ],
        // The token, and raw bytes.
        &[
            &[2, 9, 1],
            &[0, 3, 9, 13, 255],
            &[0, 3, 9, 0, 0],
            &[2, 4, 3, 5],
            b"GET /",
            &[3, 4, 3, 255],
            &[8, 5],
            &[6, 0, 9],
        ],
        // An answer larger than the buffers of a connection, which its clients never read.
        &[&[0, 0, 1], &[0, 3, 9, 18, 255], &[7, 50], &[8, 4]],
    ];
    schedules.iter().map(|steps| steps.concat()).collect()
}
