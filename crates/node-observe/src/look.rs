//! Reads the state files of one moment.
//!
//! A kubelet replaces each file as a whole, one after the other. A look counts only if the next one finds the same files, by
//! inode and time of change: then all three existed together in between.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use kubelet_checkpoint::store::{self, StateFile};
use node_state::{QUARANTINE, StateFolder};

/// The socket of the kubelet's pod resources service, below its root.
pub(super) const SOCKET: &str = "pod-resources/kubelet.sock";
/// How often the files are read until two reads are equal.
const READS: usize = 20;

/// The state files of one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Look {
    pub(super) folder: StateFolder,
    /// topolet's file of quarantined pods, which no kubelet writes.
    pub(super) quarantine: Option<Vec<u8>>,
    /// Taken before the contents were read, in the order of [`StateFile::ALL`]. The last one is of the pod resources socket,
    /// which a kubelet makes anew when it starts.
    stamps: [Option<Stamp>; 4],
}

/// A start of the kubelet, by the socket that it made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KubeletStart(Stamp);

/// The identity of a file and its last change. A file that was replaced by one with the same content has another stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Look {
    /// The files of one moment.
    ///
    /// # Errors
    /// They cannot be read, none exists, or they change all the time.
    pub(super) fn settled(root: &Path) -> anyhow::Result<Self> {
        let mut before = Self::once(root)?;
        for _ in 0..READS {
            let now = Self::once(root)?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
        bail!("the files in {} never stand still", root.display())
    }

    /// The kubelet's last start; `None`: its socket is not there.
    pub(super) fn kubelet(&self) -> Option<KubeletStart> {
        let [.., socket] = self.stamps;
        socket.map(KubeletStart)
    }

    fn once(root: &Path) -> anyhow::Result<Self> {
        let mut stamps = [None; 4];
        let files = StateFile::ALL.map(StateFile::path).into_iter().chain([SOCKET]);
        for (stamp, file) in stamps.iter_mut().zip(files) {
            let path = root.join(file);
            *stamp = Stamp::of(&path).with_context(|| format!("failed to look at {}", path.display()))?;
        }
        let quarantine = store::read(&root.join(QUARANTINE))?;
        Ok(Self { folder: node_input::state_of(root)?, quarantine, stamps })
    }
}

impl Stamp {
    /// `None`: there is no such file.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(about) => Ok(Some(Self {
                inode: about.ino(),
                size: about.size(),
                changed: (about.ctime(), about.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
