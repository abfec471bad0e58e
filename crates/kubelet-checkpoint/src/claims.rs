//! `dra_manager_state`: the claims of devices that a kubelet has begun to prepare for its pods, with the devices that drivers
//! answered.
//!
//! A text with the CRC-32 of that text. A kubelet writes it before and after it calls the drivers of a claim, and removes a claim once
//! it is unprepared for its last pod. It does not start if the file is torn or changed. Kubernetes 1.32 to 1.37 have one form of it.

mod prepared;
mod wire;

pub use prepared::{PreparedClaim, PreparedDevice};

use alloc::vec::Vec;

use thiserror::Error;

use crate::go::parse;
use crate::{FileError, JsonError, Oddities};
use wire::{Data, File};

/// The path of the file below the kubelet's root folder.
pub const PATH: &str = "dra_manager_state";

/// A file that was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClaimsFile {
    /// Its claims, in the order of the file.
    pub claims: Vec<PreparedClaim>,
    /// What of the file around the text the kubelet does not write.
    pub oddities: Oddities,
}

/// Why a kubelet does not start from such a file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ClaimsError {
    /// The file around the text is no JSON, of other types, or the text was changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The text is no JSON, or of other types.
    #[error("{0}")]
    Data(JsonError),
}

impl ClaimsFile {
    /// Reads a file as a kubelet does.
    ///
    /// # Errors
    /// The kubelet does not start from it.
    pub fn read(file: &[u8]) -> Result<Self, ClaimsError> {
        let mut outer = File::default();
        let (read, oddities) = parse(file, &mut outer);
        read.map_err(FileError::from)?;
        let computed = crc32(outer.data.as_bytes());
        if outer.checksum != computed.into() {
            return Err(FileError::Corrupt { stored: outer.checksum, computed }.into());
        }
        let mut data = Data::default();
        parse(outer.data.as_bytes(), &mut data).0.map_err(ClaimsError::Data)?;
        Ok(Self { claims: data.claims(), oddities })
    }
}

/// CRC-32 with the polynomial of IEEE 802.3, as Go's `hash/crc32` has it. Bit by bit: the file is small and seldom read.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let sum = bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg()))
    });
    !sum
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_checksum_is_that_of_ieee() {
        // The check value of the catalogue of CRC algorithms.
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
