//! Case files, and the data that cases name.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::case::{Case, Expected};

/// The case files below some folders.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Folder with one sub-folder for each domain.
    root: PathBuf,
}

/// Why a case file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file system said no.
    #[error("failed to read {path}")]
    Read {
        /// What was read.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// A line is no JSON, or no case.
    #[error("{path}: line {line} is not a case: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Nothing to play.
    #[error("no case files (*.jsonl, *.jsonl.zst) below {0}")]
    Empty(PathBuf),
}

impl Corpus {
    /// The corpus at `folder`, which is the root of all domains or the folder of one.
    pub fn open(folder: &Path) -> Result<(Self, Vec<PathBuf>), CorpusError> {
        let mut files = Vec::new();
        collect(folder, &mut files)?;
        files.sort();
        if files.is_empty() {
            return Err(CorpusError::Empty(folder.to_path_buf()));
        }
        let folder = folder.canonicalize().map_err(|error| read_error(folder, error))?;
        let is_domain = files.iter().any(|file| file.parent().is_some_and(|parent| same(parent, &folder)));
        let root = if is_domain { folder.parent().unwrap_or(&folder).to_path_buf() } else { folder };
        Ok((Self { root }, files))
    }

    /// The cases of a file; none if it holds data instead.
    pub fn cases(&self, file: &Path) -> Result<Vec<Case>, CorpusError> {
        let domain = file.parent().and_then(|parent| parent.canonicalize().ok());
        let domain =
            domain.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let stem = name.split('.').next().unwrap_or_default();
        let text = read(file)?;
        let mut cases = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let fault = |reason: String| CorpusError::Line { path: file.to_path_buf(), line: at + 1, reason };
            let mut value: Value = serde_json::from_str(line).map_err(|error| fault(error.to_string()))?;
            if value.get("case").is_none() {
                return Ok(Vec::new());
            }
            let input = value["case"].take();
            let expected = if value["hang"].as_bool() == Some(true) {
                Expected::Hang
            } else if let Some(panic) = value["panic"].as_str() {
                Expected::Crash(panic.to_owned())
            } else if value.get("result").is_some() {
                Expected::Result(value["result"].take())
            } else {
                return Err(fault("it has no result".to_owned()));
            };
            let kind = input["kind"].as_str().unwrap_or(stem).to_owned();
            let id = value["id"].as_str().unwrap_or_default().to_owned();
            cases.push(Case { domain: domain.clone(), kind, id, input, expected });
        }
        Ok(cases)
    }

    /// Where a data file lies: plain, or packed.
    pub(crate) fn data(&self, name: &str) -> PathBuf {
        let packed = self.root.join(format!("{name}.zst"));
        if packed.exists() { packed } else { self.root.join(name) }
    }

    /// cAdvisor's description of a machine that cases name.
    pub(crate) fn machine_info(&self, name: &str) -> Result<Value, CorpusError> {
        let packed = self.root.join("machineinfo").join(format!("{name}.json.zst"));
        let plain = self.root.join("admission/machines").join(format!("{name}.json"));
        let path = if packed.exists() { packed } else { plain };
        let text = read(&path)?;
        serde_json::from_str(&text).map_err(|error| CorpusError::Line {
            path,
            line: error.line(),
            reason: error.to_string(),
        })
    }
}

/// Groups cases by domain and kind, in order of name.
pub(crate) type ByKind<T> = BTreeMap<String, T>;

fn same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| a == *b)
}

pub(crate) fn read_error(path: &Path, error: io::Error) -> CorpusError {
    CorpusError::Read { path: path.to_path_buf(), error }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CorpusError> {
    for entry in fs::read_dir(folder).map_err(|error| read_error(folder, error))? {
        let path = entry.map_err(|error| read_error(folder, error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = name.strip_suffix(".zst").unwrap_or(&name);
        if path.is_dir() {
            collect(&path, files)?;
        } else if plain.strip_suffix(".jsonl").is_some() {
            files.push(path);
        }
    }
    Ok(())
}

/// The text of a file, unpacked if it is packed.
pub(crate) fn read(path: &Path) -> Result<String, CorpusError> {
    let bytes = fs::read(path).map_err(|error| read_error(path, error))?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "zst") {
        let unpacked = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice())
            .map_err(|error| read_error(path, io::Error::other(error)))?
            .read_to_string(&mut text);
        unpacked.map_err(|error| read_error(path, error))?;
    } else {
        text = String::from_utf8(bytes).map_err(|error| read_error(path, io::Error::other(error)))?;
    }
    Ok(text)
}
