//! Changes of several pods at once: all of them happen, or none, though each is kept in several files.
//!
//! The new texts of all files are written to one file first, whose write decides. Then the files themselves are written,
//! and that file is removed. A start that finds it carries it out before it looks at anything else, as often as it takes.
//! Files are named by what they are and never by a path, so that nothing else can be written.

use std::path::{Component, Path, PathBuf};

use kubelet_checkpoint::store::StateFile;
use pod_spec::PodUid;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::record::{self, hash};

/// The file with changes that have been decided and are not in all files yet, below the root.
pub const MOVES: &str = "topolet/moves.json";

/// One file of a change of several pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewText {
    /// Which.
    pub file: ChangedFile,
    /// Its new text; `None`: it is removed.
    pub text: Option<String>,
}

/// A file that a change of several pods may write.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ChangedFile {
    /// A state file of the kubelet.
    State(StateFile),
    /// The record of one pod.
    Pod(PodUid),
}

impl ChangedFile {
    /// The path below the root.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        match self {
            Self::State(file) => PathBuf::from(file.path()),
            Self::Pod(uid) => record::path(uid),
        }
    }
}

/// Why the file cannot be read. topolet writes it whole and never changes it: another program did, or the disk.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MovesError {
    /// It is not as it is written.
    #[error("failed to read the moves of pods")]
    Json(#[from] serde_json::Error),
    /// It names a file that is no state file and no pod's.
    #[error("{0} is no file of a pod and no state file")]
    OtherFile(String),
    /// Its checksum is not that of its contents.
    #[error("changed after it was written")]
    Corrupt,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    files: Vec<StoredText>,
    checksum: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredText {
    file: StoredName,
    text: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredName {
    State(String),
    Pod(String),
}

/// The text of the file [`MOVES`] for a change.
#[must_use]
pub fn text(change: &[NewText]) -> String {
    let files = change.iter().map(|NewText { file, text }| StoredText {
        file: match file {
            ChangedFile::State(file) => StoredName::State(file.path().to_owned()),
            ChangedFile::Pod(uid) => StoredName::Pod(uid.to_string()),
        },
        text: text.clone(),
    });
    let files: Vec<StoredText> = files.collect();
    let checksum = checksum(&files);
    serde_json::json!(Stored { files, checksum }).to_string()
}

fn checksum(files: &[StoredText]) -> String {
    hash(&serde_json::json!(files).to_string())
}

/// The change in a text of the file [`MOVES`].
///
/// # Errors
/// It is not one that [`text`] gave.
pub fn read(text: &[u8]) -> Result<Vec<NewText>, MovesError> {
    let stored: Stored = serde_json::from_slice(text)?;
    if checksum(&stored.files) != stored.checksum {
        return Err(MovesError::Corrupt);
    }
    let each = stored.files.into_iter().map(|StoredText { file, text }| {
        let file = match file {
            StoredName::State(name) => {
                let known = StateFile::ALL.into_iter().find(|file| file.path() == name);
                ChangedFile::State(known.ok_or(MovesError::OtherFile(name))?)
            }
            StoredName::Pod(uid) => of_pod(uid)?,
        };
        Ok(NewText { file, text })
    });
    each.collect()
}

/// The file of a pod, which is in the folder of such files and nowhere else.
fn of_pod(uid: String) -> Result<ChangedFile, MovesError> {
    let file = ChangedFile::Pod(PodUid::new(&uid));
    let path = file.path();
    let inside = path.strip_prefix(record::PODS).map(Path::components);
    let is_plain = inside.is_ok_and(|mut inside| {
        matches!(inside.next(), Some(Component::Normal(_))) && inside.next().is_none()
    });
    if is_plain { Ok(file) } else { Err(MovesError::OtherFile(uid)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change() -> Vec<NewText> {
        let pod = |uid| ChangedFile::Pod(PodUid::new(uid));
        vec![
            NewText {
                file: ChangedFile::State(StateFile::Cpu),
                text: Some("{\"a\":\"\u{e9}\\\"\"}".to_owned()),
            },
            NewText { file: ChangedFile::State(StateFile::Device), text: None },
            NewText { file: pod("u1"), text: Some("{}".to_owned()) },
            NewText { file: pod(&"u".repeat(300)), text: None },
        ]
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(text(&change()).as_bytes()).unwrap(), change());
        assert_eq!(read(text(&[]).as_bytes()).unwrap(), []);
    }

    #[test]
    fn no_other_text_is_read() {
        let whole = text(&change());
        for end in 0..whole.len() {
            assert!(read(&whole.as_bytes()[..end]).is_err(), "cut at {end}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(read(&bytes).is_err(), "byte {at}");
        }
        let named = |file: StoredName| {
            let files = vec![StoredText { file, text: None }];
            let checksum = checksum(&files);
            read(serde_json::json!(Stored { files, checksum }).to_string().as_bytes())
        };
        for name in ["", "cpu_manager_state.bak-1", "../cpu_manager_state", "/etc/passwd", MOVES] {
            assert!(
                matches!(named(StoredName::State(name.to_owned())), Err(MovesError::OtherFile(_))),
                "{name}"
            );
        }
        for uid in ["../moves", "a/b", "/etc/passwd", "..", "../../cpu_manager_state"] {
            let read = named(StoredName::Pod(uid.to_owned()));
            assert_eq!(matches!(read, Err(MovesError::OtherFile(_))), uid != "..", "{uid}: {read:?}");
        }
    }
}
