#![doc = include_str!("../README.md")]
//!
//! # Where things are
//!
//! - Which file is about which node, by its path: `crates/support-bundle/src/place.rs`; what it is, by its content: `content.rs`
//!   beside it.
//! - How folders, archives and archives in them are read within bounds: `crates/support-bundle/src/reader.rs`.
//! - Which lines of a log are kept: `crates/support-bundle/src/log.rs`; those in JSON: `json_line.rs` beside it.
//! - How files and objects become nodes: `crates/support-bundle/src/nodes.rs`.

mod bundle;
mod common_folder;
mod content;
mod dump;
mod json_line;
mod log;
mod nodes;
mod place;
mod reader;
mod stream;
mod unit;
mod zipped;

use std::path::PathBuf;

pub use bundle::{
    Bundle, BundleError, BundleForm, BundlePath, BundlePod, Document, DocumentKind, MachineFiles,
    NodeEvidence, Sourced, StateName,
};
pub use log::{KubeletStart, LinePlace, LogRead, LogRefusal, MachineLine, StartFailure};

/// Reads folders, archives and files as one bundle.
///
/// # Errors
/// One of the paths cannot be opened. What is wrong with what is in them is a remark of the bundle.
pub fn read(paths: &[PathBuf]) -> Result<Bundle, BundleError> {
    let mut reader = reader::BundleReader::default();
    for path in paths {
        reader.path(path)?;
    }
    let mut bundle = nodes::assembled(reader.finish());
    common_folder::take_common_folder(&mut bundle);
    Ok(bundle)
}
