//! Addresses of PCI devices.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The address of a PCI device as sysfs and drivers write it, such as `0000:41:00.0`: domain, bus, device and function in
/// lower-case hexadecimal digits. The helpers take functions above 7 too, which no device has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PciAddress(String);

/// Why a text is no address. The texts are the helpers'.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PciAddressError {
    /// No text.
    #[error("PCI Bus ID cannot be empty")]
    Empty,
    /// Another shape: capitals, a domain of five digits, no domain.
    #[error("invalid PCI Bus ID format: {0}")]
    Format(String),
}

/// How many digits stand before each separator.
const SHAPE: &[u8] = b"0000:00:00.0";

impl PciAddress {
    /// The text: the value of `pciBusID`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PciAddress {
    type Err = PciAddressError;

    fn from_str(text: &str) -> Result<Self, PciAddressError> {
        if text.is_empty() {
            return Err(PciAddressError::Empty);
        }
        let fits = |(byte, shape): (u8, &u8)| match shape {
            b'0' => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            separator => byte == *separator,
        };
        if text.len() == SHAPE.len() && text.bytes().zip(SHAPE).all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PciAddressError::Format(text.to_owned()))
        }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
