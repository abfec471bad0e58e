//! Addresses and networks of the internet protocol.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Address(IpAddr);

/// A network: an address, all of it kept, and how many of its bits name the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Prefix {
    address: Address,
    length: u8,
}

impl Address {
    /// Reads an address without a zone; IPv4 addresses in IPv6 form are refused.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.contains('%') {
            return Err(format!("IP address {text:?} with zone value is not allowed"));
        }
        let read: Result<IpAddr, _> = text.parse();
        let read = read.map_err(|error| {
            format!("IP Address {text:?} parse error during conversion from string: {error}")
        })?;
        match read {
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
                Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"))
            }
            _ => Ok(Self(read)),
        }
    }

    pub(crate) const fn family(self) -> i64 {
        if self.0.is_ipv4() { 4 } else { 6 }
    }

    pub(crate) const fn bytes(self) -> usize {
        if self.0.is_ipv4() { 4 } else { 16 }
    }

    pub(crate) const fn is_unspecified(self) -> bool {
        self.0.is_unspecified()
    }

    pub(crate) const fn is_loopback(self) -> bool {
        self.0.is_loopback()
    }

    pub(crate) const fn is_link_local_multicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
            IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
        }
    }

    pub(crate) const fn is_link_local_unicast(self) -> bool {
        match self.0 {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(address) => address.is_unicast_link_local(),
        }
    }

    pub(crate) fn is_global_unicast(self) -> bool {
        let is_broadcast = self.0 == IpAddr::V4(Ipv4Addr::BROADCAST);
        let is_special = is_broadcast || self.is_unspecified() || self.is_loopback() || self.0.is_multicast();
        !is_special && !self.is_link_local_unicast()
    }

    fn bits(self) -> u128 {
        match self.0 {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        }
    }
}

impl Prefix {
    /// Reads `10.0.0.0/8`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let refused = |reason: &str| {
            let twice = "network address parse error during conversion from string: ".repeat(2);
            format!("{twice}netip.ParsePrefix({text:?}): {reason}")
        };
        let (address, length) = text.rsplit_once('/').ok_or_else(|| refused("no '/'"))?;
        let address = Address::parse(address).map_err(|_| refused("unable to parse IP"))?;
        let is_number = length.bytes().all(|digit| digit.is_ascii_digit())
            && !length.is_empty()
            && (length == "0" || !length.starts_with('0'));
        let length: u8 =
            length.parse().ok().filter(|_| is_number).ok_or_else(|| refused("bad bits after slash"))?;
        if usize::from(length) > address.bytes() * 8 {
            return Err(refused("prefix length out of range"));
        }
        Ok(Self { address, length })
    }

    pub(crate) const fn length(self) -> u8 {
        self.length
    }

    pub(crate) const fn address(self) -> Address {
        self.address
    }

    fn mask(self) -> u128 {
        u128::MAX.checked_shl(128 - u32::from(self.length)).unwrap_or(0)
    }

    /// With the bits of hosts cleared.
    pub(crate) fn masked(self) -> Self {
        let bits = self.address.bits() & self.mask();
        let address = match self.address.0 {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(bits >> 96).unwrap_or_default())),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(bits)),
        };
        Self { address: Address(address), ..self }
    }

    pub(crate) fn contains(self, address: Address) -> bool {
        self.address.family() == address.family() && (self.address.bits() ^ address.bits()) & self.mask() == 0
    }

    pub(crate) fn contains_network(self, other: Self) -> bool {
        self.length <= other.length && self.contains(other.address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}
