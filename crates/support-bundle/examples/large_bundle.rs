//! Makes a must-gather of so many GiB as `.tar.gz`, and reads it: how fast, beside unpacking it alone, and with how much memory.
//!
//! ```console
//! cargo run --release -p support-bundle --example large_bundle -- 5
//! ```
//!
//! The archive has logs of pods, audit logs and the log of a kubelet, in the mixture of a gathered cluster: most of it tells nothing of
//! nodes. It lies in the temporary folder and is removed afterwards. The most memory is what the kernel has counted of the process
//! that reads (`VmHWM`).

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

const MIB: u64 = 1 << 20;
/// How large a log is.
const FILE: u64 = 64 * MIB;
const TOP: &str = "must-gather.local.1/quay-io-openshift";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["read", path] => read(Path::new(path)),
        // Two logs, to see that it runs.
        [] => measured(2 * FILE),
        [size] => {
            measured(size.parse::<u64>().map_err(|_| "expected a number of GiB")?.saturating_mul(1 << 30))
        }
        _ => Err("expected a number of GiB, such as 5".into()),
    }
}

/// Makes the archive, unpacks it, and reads it in another process, whose memory is its own.
fn measured(bytes: u64) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("must-gather.tar.gz");
    let began = Instant::now();
    make(&path, bytes)?;
    let packed = path.metadata()?.len();
    println!("made {} MiB, {} MiB packed, in {:.0?}", bytes / MIB, packed / MIB, began.elapsed());
    let began = Instant::now();
    let unpacked = std::io::copy(&mut unpacked(&path)?, &mut std::io::sink())?;
    let alone = began.elapsed();
    println!("unpacked alone: {alone:.1?}, {} MiB/s", speed(unpacked, alone));
    let status = Command::new(std::env::current_exe()?).arg("read").arg(&path).status()?;
    if status.success() { Ok(()) } else { Err("the archive was not read".into()) }
}

/// MiB in a second.
fn speed(bytes: u64, took: Duration) -> u128 {
    u128::from(bytes / MIB) * 1000 / took.as_millis().max(1)
}

fn unpacked(path: &Path) -> std::io::Result<GzDecoder<BufReader<File>>> {
    Ok(GzDecoder::new(BufReader::with_capacity(1 << 16, File::open(path)?)))
}

fn read(path: &Path) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let bundle = support_bundle::read(&[path.to_path_buf()])?;
    let took = began.elapsed();
    let refusals: usize = bundle.nodes.iter().flat_map(|node| &node.logs).map(|log| log.refusals.len()).sum();
    let names: Vec<&str> = bundle.nodes.iter().filter_map(|node| node.name.as_deref()).collect();
    println!(
        "read: {took:.1?}; nodes {}, {refusals} refusals, {} remarks",
        names.join(", "),
        bundle.remarks.len()
    );
    let mut status = String::new();
    File::open("/proc/self/status")?.read_to_string(&mut status)?;
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("most memory:{}", most.unwrap_or(" not known"));
    Ok(())
}

fn make(path: &Path, size: u64) -> Result<(), Box<dyn Error>> {
    let packed = GzEncoder::new(BufWriter::new(File::create(path)?), Compression::fast());
    let mut archive = tar::Builder::new(packed);
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: worker-1}\nstatus: {capacity: {cpu: '96'}, nodeInfo: {kubeletVersion: v1.36.3}}\n";
    add(
        &mut archive,
        "cluster-scoped-resources/core/nodes/worker-1.yaml",
        node.len() as u64,
        node.as_bytes(),
    )?;
    let mut left = size;
    let mut number = 0_u64;
    while left > 0 {
        let length = FILE.min(left);
        // One of eight is a log of a kubelet, which is looked at line by line.
        let name = match number % 8 {
            0 => format!("nodes/worker-1/log-{number}/worker-1_logs_kubelet"),
            1 | 2 => format!("audit_logs/kube-apiserver/audit-{number}.log"),
            _ => format!("namespaces/ns-{number}/pods/app-{number}/main/main/logs/current.log"),
        };
        add(&mut archive, &name, length, Lines::new(number).take(length))?;
        left -= length;
        number += 1;
    }
    archive.into_inner()?.finish()?.flush()?;
    Ok(())
}

fn add(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    length: u64,
    content: impl Read,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, format!("{TOP}/{name}"), content)
}

/// Lines of a log without end: numbers that differ, so that they pack as logs do.
struct Lines {
    state: u64,
    line: Vec<u8>,
    at: usize,
}

impl Lines {
    const fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, line: Vec::new(), at: 0 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

impl Read for Lines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.line.len() {
            let (pod, time, uid) = (self.next() % 400, self.next() % 1_000_000, self.next());
            self.line.clear();
            self.at = 0;
            // One of some thousands is a refusal.
            if uid % 5000 == 0 {
                writeln!(
                    self.line,
                    "Nov 26 10:21:03 worker-1 kubenswrapper[22]: I1126 10:21:03.{time:06}      22 kubelet.go:2357] \"Pod admission denied\" podUID=\"{uid:016x}\" pod=\"ns-1/app-{pod}\" reason=\"TopologyAffinityError\" message=\"Resources cannot be allocated with Topology locality\""
                )?;
            } else {
                writeln!(
                    self.line,
                    "Nov 26 10:21:03 worker-1 kubenswrapper[22]: I1126 10:21:03.{time:06}      22 kubelet_pods.go:1024] \"Volume is already mounted to pod\" pod=\"ns-1/app-{pod}\" podUID=\"{uid:016x}\" volumeName=\"kube-api-access-{time:x}\""
                )?;
            }
        }
        let rest = self.line.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}
