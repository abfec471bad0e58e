//! Made-up bundles by the documented layouts, as folders and as archives.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use support_bundle::{Bundle, BundleForm, DocumentKind, NodeEvidence, StateName, read};
use tempfile::TempDir;

const NODE: &str =
    "apiVersion: v1\nkind: Node\nmetadata: {name: NAME}\nstatus: {nodeInfo: {kubeletVersion: VERSION}}\n";
const REFUSED: &str = "Nov 26 10:21:03 HOST kubenswrapper[22]: I1126 10:21:03.1 22 kubelet.go:1] \"Pod admission denied\" podUID=\"u-du\" pod=\"ran/du\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\"\n";

fn node(name: &str, version: &str) -> String {
    NODE.replace("NAME", name).replace("VERSION", version)
}

fn pod(name: &str, node: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: ran, uid: u-{name}}}\n\
         spec: {{nodeName: {node}, containers: [{{name: c, image: i}}]}}\n\
         status: {{phase: Failed, reason: TopologyAffinityError, message: 'Pod was rejected: x'}}\n"
    )
}

fn event(pod: &str, host: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: e}}\ninvolvedObject: {{kind: Pod, namespace: ran, name: {pod}}}\n\
         reason: TopologyAffinityError\nmessage: x\nsource: {{component: kubelet, host: {host}}}\n"
    )
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn tar(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    archive.into_inner().unwrap()
}

fn must_gather() -> Vec<(&'static str, Vec<u8>)> {
    let sysinfo = gzip(&tar(&[("sysinfo/sys/devices/system/cpu/online", b"0-3\n".to_vec())]));
    let log = gzip(REFUSED.replace("HOST", "w-1").as_bytes());
    vec![
        ("q/cluster-scoped-resources/core/nodes/w-1.yaml", node("w-1", "v1.36.3").into()),
        ("q/cluster-scoped-resources/core/nodes/w-2.yaml", node("w-2", "v1.35.1").into()),
        ("q/namespaces/ran/core/pods.yaml", pod("du", "w-1").into()),
        (
            "q/namespaces/ran/core/secrets.yaml",
            b"apiVersion: v1\nkind: Pod\nmetadata: {name: never}\n".to_vec(),
        ),
        ("q/namespaces/ran/core/events.yaml", event("du", "w-1").into()),
        ("q/namespaces/ran/pods/du/du.yaml", pod("du", "w-1").into()),
        ("q/host_service_logs/masters/kubelet_service.log", REFUSED.replace("HOST", "w-2").into()),
        ("q/nodes/w-1/sysinfo.tgz", sysinfo),
        ("q/nodes/w-1/w-1_logs_kubelet.gz", log),
        ("q/nodes/w-2/lscpu", b"Architecture: x86_64\nCPU(s): 4\nNUMA node0 CPU(s): 0-3\n".to_vec()),
    ]
}

fn written(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn of(path: &Path) -> Bundle {
    read(&[path.to_path_buf()]).unwrap()
}

fn named<'b>(bundle: &'b Bundle, name: &str) -> &'b NodeEvidence {
    bundle
        .nodes
        .iter()
        .find(|node| node.name.as_deref() == Some(name))
        .unwrap_or_else(|| panic!("{bundle:?}"))
}

fn check_must_gather(bundle: &Bundle) {
    assert_eq!(bundle.remarks, Vec::<String>::new());
    assert_eq!(bundle.paths[0].form, BundleForm::MustGather);
    assert_eq!(bundle.nodes.len(), 2, "{bundle:?}");
    let first = named(bundle, "w-1");
    assert_eq!((first.machines.len(), first.pods.len(), first.events.len(), first.logs.len()), (1, 1, 1, 1));
    assert_eq!(first.logs[0].refusals[0].said.reason, "TopologyAffinityError");
    assert_eq!(first.object.as_ref().unwrap().value.kubelet_version.as_deref(), Some("v1.36.3"));
    let second = named(bundle, "w-2");
    assert_eq!(second.of_kind(DocumentKind::Machine).count(), 1);
    // A log of several hosts says whose line it is.
    assert_eq!(second.logs[0].refusals.len(), 1);
}

#[test]
fn a_must_gather_is_the_same_as_a_folder_and_as_an_archive() {
    let files = must_gather();
    let folder = written(&files);
    check_must_gather(&of(folder.path()));
    let archive = folder.path().join("mg.tar.gz");
    fs::write(&archive, gzip(&tar(&files))).unwrap();
    check_must_gather(&of(&archive));
}

#[test]
fn a_sosreport_is_called_as_its_hostname_says() {
    let files = [
        ("sosreport-w-1-0123-2026-11-26-abc/etc/hostname", b"w-1.example.com\n".to_vec()),
        (
            "sosreport-w-1-0123-2026-11-26-abc/sos_commands/numa/numactl_--hardware",
            b"available: 1 nodes (0)\nnode 0 cpus: 0\n".to_vec(),
        ),
        ("sosreport-w-1-0123-2026-11-26-abc/proc/meminfo", b"MemTotal: 1024 kB\n".to_vec()),
        ("sosreport-w-1-0123-2026-11-26-abc/var/lib/kubelet/cpu_manager_state", b"{}".to_vec()),
        (
            "sosreport-w-1-0123-2026-11-26-abc/var/lib/kubelet/pods/x/volumes/kubernetes.io~secret/y/token",
            b"kind: Pod\n".to_vec(),
        ),
        (
            "sosreport-w-1-0123-2026-11-26-abc/sos_commands/process/ps_auxwww",
            b"USER PID COMMAND\nroot 1 /usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf\n".to_vec(),
        ),
    ];
    let folder = written(&[("nodes.yaml", node("w-1", "v1.36.3").into())]);
    fs::write(folder.path().join("sos.tar"), tar(&files)).unwrap();
    let bundle = of(folder.path());
    let [node] = bundle.nodes.as_slice() else { panic!("{bundle:?}") };
    assert_eq!(node.name.as_deref(), Some("w-1"));
    assert_eq!(bundle.paths[0].form, BundleForm::Sosreport);
    assert!(node.object.is_some() && node.state(StateName::Cpu).is_some());
    assert_eq!(node.of_kind(DocumentKind::Machine).count(), 2);
    let flags: Vec<_> = node.of_kind(DocumentKind::Flags).collect();
    assert_eq!(flags[0].text, b"/usr/bin/kubelet --config=/etc/kubernetes/kubelet.conf");
}

#[test]
fn loose_files_are_one_node_unless_two_folders_have_its_state() {
    let state = |cpu: &str| format!("{{\"policyName\":\"static\",\"defaultCpuSet\":\"{cpu}\"}}").into_bytes();
    let loose = [
        ("a.json", state("0")),
        ("b/lscpu.txt", b"Architecture: x\nCPU(s): 1\n".to_vec()),
        ("c/pods.yaml", pod("du", "w-1").into()),
    ];
    let folder = written(&loose);
    let bundle = of(folder.path());
    let [node] = bundle.nodes.as_slice() else { panic!("{bundle:?}") };
    assert_eq!(node.name.as_deref(), Some("w-1"));
    assert!(node.state(StateName::Cpu).is_some() && node.of_kind(DocumentKind::Machine).count() == 1);
    let files: Vec<PathBuf> = loose.iter().map(|(path, _)| folder.path().join(path)).collect();
    assert_eq!(read(&files).unwrap().nodes.len(), 1, "the same as files");
    let two = written(&[
        ("w-1/state", state("0")),
        ("w-1/hostname", b"w-1\n".to_vec()),
        ("w-2/state", state("1")),
        ("w-2/hostname", b"w-2\n".to_vec()),
    ]);
    let bundle = of(two.path());
    assert_eq!(named(&bundle, "w-2").state(StateName::Cpu).unwrap().text, state("1"));
}

#[test]
fn what_is_cut_off_or_leads_out_is_said_and_the_rest_is_read() {
    let whole = gzip(&tar(&must_gather()));
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("mg.tar.gz");
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let bundle = of(&archive);
    assert!(bundle.remarks.iter().any(|remark| remark.contains("cut off")), "{:?}", bundle.remarks);
    assert!(!bundle.nodes.is_empty());

    let secret = written(&[("cpu_manager_state", b"{}".to_vec())]);
    let linked = written(&[("nodes.yaml", node("w-1", "v1.36.3").into())]);
    std::os::unix::fs::symlink(
        secret.path().join("cpu_manager_state"),
        linked.path().join("cpu_manager_state"),
    )
    .unwrap();
    let bundle = of(linked.path());
    assert!(bundle.remarks[0].contains("not followed: 1 link"), "{:?}", bundle.remarks);
    assert!(bundle.nodes[0].state(StateName::Cpu).is_none());

    let climbing = folder.path().join("climbing.tar");
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes()[..21].copy_from_slice(b"../cpu_manager_state\0");
    header.set_size(2);
    header.set_cksum();
    archive.append(&header, &b"{}"[..]).unwrap();
    fs::write(&climbing, archive.into_inner().unwrap()).unwrap();
    let bundle = of(&climbing);
    assert!(bundle.nodes.is_empty() && bundle.remarks[0].contains("leads out of it"), "{bundle:?}");
}

#[test]
fn archives_in_archives_and_bombs_are_bounded() {
    let mut inner = tar(&[("cpu_manager_state", b"{}".to_vec())]);
    for _ in 0..6 {
        inner = tar(&[("in.tar", inner)]);
    }
    let folder = written(&[("deep.tar", inner)]);
    let bundle = of(folder.path());
    assert!(bundle.remarks.iter().any(|remark| remark.contains("archives lie in each other")), "{bundle:?}");
    // Zeros pack to a thousandth: the log is read as far as the bound.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let zeros = vec![0_u8; 1 << 20];
    for _ in 0..1100 {
        packed.write_all(&zeros).unwrap();
    }
    let bomb = written(&[
        ("kubelet.log.gz", packed.finish().unwrap()),
        ("nodes.yaml", node("w-1", "v1.36.3").into()),
    ]);
    let bundle = of(bomb.path());
    assert!(
        bundle.remarks.iter().any(|remark| remark.contains("unpacks to more than")),
        "{:?}",
        bundle.remarks
    );
    assert_eq!(bundle.nodes.len(), 1);
}

#[test]
fn contradictions_are_said() {
    let folder = written(&[
        ("a/cpu_manager_state", b"{}".to_vec()),
        ("node.yaml", node("w-1", "v1.36.3").into()),
        ("kubelet.log", b"Nov 26 10:21:03 w-1 kubelet[1]: I1126 10:21:03.1 1 server.go:1] \"Kubelet version\" kubeletVersion=\"v1.35.2\"\n".to_vec()),
    ]);
    let bundle = of(folder.path());
    let said = &bundle.nodes[0].contradictions;
    assert!(said.iter().any(|text| text.contains("v1.36.3") && text.contains("v1.35.2")), "{said:?}");

    let folder = written(&[
        ("hostname", b"w-1\n".to_vec()),
        ("cpu_manager_state", b"{}".to_vec()),
        ("pods.yaml", pod("du", "w-2").into()),
    ]);
    let bundle = of(folder.path());
    let said = &named(&bundle, "w-1").contradictions;
    assert!(said.iter().any(|text| text.contains("they are those of w-2")), "{said:?}");
}

#[test]
fn zip_archives_are_read_from_the_disk_and_within_others() {
    let mut zip = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut zip);
    for (path, content) in must_gather() {
        let (mut entry, config) = archive.new_file(path).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(&content).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mg.zip");
    fs::write(&path, &zip).unwrap();
    check_must_gather(&of(&path));
    let outer = folder.path().join("outer.tar");
    fs::write(&outer, tar(&[("mg.zip", zip)])).unwrap();
    let bundle = of(&outer);
    assert_eq!(bundle.nodes.len(), 2, "{bundle:?}");
}
