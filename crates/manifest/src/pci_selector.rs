//! PCI functions by their class, vendor and device.

use crate::node::{Field, known_fields};
use crate::{ManifestError, Problem};

/// Which PCI functions are meant. What is `None` may be anything; at least one is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PciSelector {
    /// The class, or its first digits.
    pub class: Option<PciClass>,
    /// The vendor's number.
    pub vendor: Option<u16>,
    /// The vendor's number of the device.
    pub device: Option<u16>,
}

/// The first two, four or six hexadecimal digits of a class: `02` is every network card, `020000` Ethernet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PciClass {
    bits: u32,
    mask: u32,
}

impl PciClass {
    /// Network cards.
    pub(crate) const NETWORK: Self = Self { bits: 0x02_0000, mask: 0xff_0000 };
    /// Processing accelerators.
    pub(crate) const ACCELERATOR: Self = Self { bits: 0x12_0000, mask: 0xff_0000 };

    /// Whether a class of 24 bits (as in sysfs: `0x030200`) begins with these digits.
    #[must_use]
    pub const fn matches(self, class: u32) -> bool {
        class & self.mask == self.bits
    }
}

impl PciSelector {
    /// Whether a function of this class (24 bits), vendor and device is meant.
    #[must_use]
    pub fn matches(&self, class: u32, vendor: u16, device: u16) -> bool {
        self.class.is_none_or(|wanted| wanted.matches(class))
            && self.vendor.is_none_or(|wanted| wanted == vendor)
            && self.device.is_none_or(|wanted| wanted == device)
    }
}

pub(crate) fn read_selector(field: &Field<'_>) -> Result<PciSelector, ManifestError> {
    const FIELDS: &str = "class, vendor or device";
    known_fields(field, &["class", "vendor", "device"], FIELDS)?;
    let class = field.get("class")?.map(|class| read_class(&class)).transpose()?;
    let id = |key| -> Result<Option<u16>, ManifestError> {
        const EXPECTED: &str = "one to four hexadecimal digits, with or without 0x";
        let Some(field) = field.get(key)? else { return Ok(None) };
        let (value, _) = hex(&field, 4, EXPECTED)?;
        u16::try_from(value).map(Some).map_err(|_| field.unexpected(EXPECTED))
    };
    let selector = PciSelector { class, vendor: id("vendor")?, device: id("device")? };
    if selector.class.is_none() && selector.vendor.is_none() && selector.device.is_none() {
        return Err(
            field.fail(Problem::Missing { field: "class, vendor or device", expected: "at least one" })
        );
    }
    Ok(selector)
}

fn read_class(field: &Field<'_>) -> Result<PciClass, ManifestError> {
    const EXPECTED: &str = "two, four or six hexadecimal digits, with or without 0x";
    let (value, digits) = hex(field, 6, EXPECTED)?;
    let shift = match digits {
        2 => 16,
        4 => 8,
        6 => 0,
        _ => return Err(field.unexpected(EXPECTED)),
    };
    Ok(PciClass { bits: value << shift, mask: (0x00ff_ffff >> shift) << shift })
}

/// The number and how many digits it was written with.
fn hex(field: &Field<'_>, most: usize, expected: &'static str) -> Result<(u32, usize), ManifestError> {
    let text = field.written(expected)?;
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let well_formed =
        (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| well_formed);
    value.map(|value| (value, digits.len())).ok_or_else(|| field.unexpected(expected))
}
