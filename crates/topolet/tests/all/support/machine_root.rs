//! The root of a machine as folders, with processes in its `/proc`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A machine with two NUMA nodes, whose process 1 runs. Gone afterwards.
pub(crate) struct MachineRoot(TempDir);

impl MachineRoot {
    pub(crate) fn new() -> Self {
        let machine = Self(TempDir::new().unwrap());
        let archive = machine_fixtures::archive("xeon-2s-96cpu-sriov").unwrap();
        let decoder = ruzstd::decoding::StreamingDecoder::new(archive).unwrap();
        tar::Archive::new(decoder).unpack(machine.0.path()).unwrap();
        machine.write("proc/stat", "cpu  1 2 3\nbtime 1700000000\n");
        machine.process(1, "/sbin/init", "/sbin/init");
        machine
    }

    /// A process of root's, in the namespaces of the machine.
    pub(crate) fn process(&self, pid: u32, executable: &str, line: &str) {
        let of = format!("proc/{pid}");
        self.write(&format!("{of}/cmdline"), &(line.replace(' ', "\0") + "\0"));
        self.write(&format!("{of}/stat"), &format!("{pid} (p) S {}12345 9 9\n", "0 ".repeat(18)));
        self.write(&format!("{of}/status"), &format!("NSpid:\t{pid}\nUid:\t0\t0\t0\t0\n"));
        fs::create_dir_all(self.path(&of).join("ns")).unwrap();
        symlink(executable, self.path(&of).join("exe")).unwrap();
        symlink("mnt:[1]", self.path(&of).join("ns/mnt")).unwrap();
        symlink("pid:[1]", self.path(&of).join("ns/pid")).unwrap();
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}
