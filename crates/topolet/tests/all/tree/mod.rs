//! Folders of a machine's files, made up: so many NUMA nodes, each a package with two cores of one thread.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Files by path, to be written into a folder.
pub(crate) struct Tree(BTreeMap<String, String>);

impl Tree {
    /// A machine of nodes with 64 GiB each that lacks nothing.
    pub(crate) fn of_nodes(nodes: usize) -> Self {
        let mut files = Self(BTreeMap::new());
        let (cpu, node) = ("sys/devices/system/cpu", "sys/devices/system/node");
        for list in ["online", "possible", "present"] {
            files.put(&format!("{cpu}/{list}"), &format!("0-{}", 2 * nodes - 1));
        }
        files.put(&format!("{cpu}/isolated"), "");
        for list in ["online", "possible", "has_cpu", "has_memory"] {
            files.put(&format!("{node}/{list}"), &format!("0-{}", nodes - 1));
        }
        files.put("proc/meminfo", &format!("MemTotal: {} kB\nSwapTotal: 0 kB", nodes << 26));
        files.put("proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.000");
        for at in 0..nodes {
            let (folder, list) = (format!("{node}/node{at}"), format!("{}-{}", 2 * at, 2 * at + 1));
            let row: Vec<_> = (0..nodes).map(|other| if other == at { "10" } else { "20" }).collect();
            files.put(&format!("{folder}/distance"), &row.join(" "));
            files.put(&format!("{folder}/cpulist"), &list);
            files.put(&format!("{folder}/meminfo"), &format!("Node {at} MemTotal: {} kB", 1 << 26));
            for own in [2 * at, 2 * at + 1] {
                let topology = format!("{cpu}/cpu{own}/topology");
                files.put(&format!("{topology}/core_id"), &(own % 2).to_string());
                files.put(&format!("{topology}/physical_package_id"), &at.to_string());
                files.put(&format!("{topology}/thread_siblings_list"), &own.to_string());
                files.put(&format!("{topology}/core_siblings_list"), &list);
                // Stands for a link, of which the name is all that is looked at.
                files.put(&format!("{folder}/cpu{own}/online"), "1");
            }
        }
        files
    }

    fn put(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), format!("{text}\n"));
    }

    pub(crate) fn with(mut self, path: &str, text: &str) -> Self {
        self.put(path, text);
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        let before = self.0.len();
        self.0.retain(|own, _| own != path);
        assert!(self.0.len() < before, "there is no {path}");
        self
    }

    /// Without any file that tells how much memory there is.
    pub(crate) fn without_memory(mut self) -> Self {
        self.0.retain(|path, _| !path.ends_with("/meminfo"));
        self
    }

    /// A folder with the machine in `machine`, below a place of this test's own.
    pub(crate) fn written(&self, name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("topolet-tree-{name}-{}", std::process::id()));
        for (path, text) in &self.0 {
            let path = folder.join("machine").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Place(folder)
    }
}

/// A folder that is gone when the test ends.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Runs topolet here; the machine is `./machine`.
    pub(crate) fn topolet(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_topolet")).args(arguments).current_dir(&self.0).output().unwrap()
    }

    /// What topolet prints when it succeeds.
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let output = self.topolet(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What topolet says when it fails with an error.
    pub(crate) fn error(&self, arguments: &[&str]) -> String {
        let output = self.topolet(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        said
    }

    /// The machine as `topolet topology` shows it.
    pub(crate) fn shown(&self, format: &str) -> String {
        self.printed(&["topology", "-m", "./machine", "-o", format])
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing is lost when the system's own cleaning has to do it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
