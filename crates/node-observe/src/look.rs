//! The files of one moment.
//!
//! A kubelet replaces each file whole, one after the other. A look counts only if the next one is the same, down to
//! which file it was and when it last changed: then all three have been there together in between.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use kubelet_checkpoint::store::{self, StateFile};
use node_state::{QUARANTINE, StateFolder};

/// Where a kubelet answers who asks what its pods hold, below its root.
pub(super) const SOCKET: &str = "pod-resources/kubelet.sock";
/// How often the files are read at once until they stand still.
const READS: usize = 20;

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Look {
    pub(super) folder: StateFolder,
    /// The file that says who is quarantined, which no kubelet writes.
    pub(super) quarantine: Option<Vec<u8>>,
    /// As they were before the contents were read, in the order of [`StateFile::ALL`]. The last is that of the socket on
    /// which a kubelet answers, which it makes anew when it starts.
    stamps: [Option<Stamp>; 4],
}

/// Which start of the kubelet it was that made its socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KubeletStart(Stamp);

/// Which file it is, and its last change. A file that has another's name and contents has not its stamp.
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
    /// They cannot be read, none is there, or they change all the time.
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
