//! `lspci`: a line for each PCI function, with `-v` lines about it beneath, or with `-vmm` a record of fields.

use topology_model::PciAddress;

use super::line::Line;
use crate::facts::{Facts, PciFacts, VirtualFunctions};
use crate::form::Form;

/// Reads the line with which a function begins, if it is one: `3b:00.0 Ethernet controller [0200]: Intel [8086:1572]`,
/// `3b:00.0 0200: 8086:1572`, or `Slot: 3b:00.0`.
pub(super) fn begins(line: Line<'_>, facts: &mut Facts) -> bool {
    let Some(function) = record(line.text).or_else(|| function(line.text)) else { return false };
    facts.forms.insert(Form::Lspci);
    facts.devices.push(function);
    true
}

fn record(text: &str) -> Option<PciFacts> {
    let address = address(text.strip_prefix("Slot:")?.trim())?;
    Some(PciFacts::new(address))
}

fn function(text: &str) -> Option<PciFacts> {
    let (slot, rest) = text.split_once(' ')?;
    let (class, device) = rest.split_once(": ")?;
    let mut function = PciFacts::new(address(slot)?);
    function.class = class_number(class);
    // The last brackets of that form are the numbers: a name can have some.
    let numbers =
        device.rsplit('[').filter_map(|part| part.split_once(']')).find_map(|(inner, _)| pair(inner));
    let plain = || pair(device.split_whitespace().next()?);
    if let Some((vendor, number)) = numbers.or_else(plain) {
        (function.vendor, function.device) = (Some(vendor), Some(number));
    }
    Some(function)
}

/// Reads a line about the last function, which stands beneath it; whether it is one.
pub(super) fn more(line: Line<'_>, facts: &mut Facts) -> bool {
    let Some(function) = facts.devices.last_mut() else { return false };
    let Some((name, value)) = line.text.split_once(':') else { return line.indent > 0 };
    let value = value.trim();
    match name {
        "NUMA node" if line.indent > 0 => function.node = value.parse().ok(),
        "NUMANode" => function.node = value.parse().ok(),
        "Kernel driver in use" if line.indent > 0 => function.driver = Some(value.to_owned()),
        "Driver" => function.driver = Some(value.to_owned()),
        "Class" => function.class = function.class.or_else(|| class_number(value)),
        "Vendor" => function.vendor = function.vendor.or_else(|| bracketed(value)),
        "Device" => function.device = function.device.or_else(|| bracketed(value)),
        "Initial VFs" if line.indent > 0 => function.functions.count = after(line.text, "Number of VFs:"),
        "VF offset" if line.indent > 0 => {
            (function.functions.offset, function.functions.stride) =
                (after(line.text, "VF offset:"), after(line.text, "stride:"));
        }
        "SVendor" | "SDevice" | "PhySlot" | "Rev" | "ProgIf" | "Module" | "IOMMUGroup" | "DTNode" => {}
        _ => return line.indent > 0,
    }
    function.is_verbose = true;
    true
}

/// The number behind a name in a line of several.
fn after(text: &str, name: &str) -> u32 {
    let rest = text.split_once(name).map_or("", |(_, rest)| rest).trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end).and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// `3b:00.0`, with a domain or without.
fn address(slot: &str) -> Option<PciAddress> {
    slot.parse().ok().or_else(|| format!("0000:{slot}").parse().ok())
}

/// `Ethernet controller [0200]` or `0200`: the class with its programming interface, which lspci does not print, as 0.
fn class_number(text: &str) -> Option<u32> {
    let text = text.split(" (").next().unwrap_or_default().trim();
    Some(u32::from(bracketed(text)?) << 8)
}

/// `Intel Corporation [8086]`, or `8086`.
fn bracketed(text: &str) -> Option<u16> {
    let digits = match text.trim_end().strip_suffix(']') {
        Some(inside) => inside.rsplit('[').next()?,
        None => text.trim(),
    };
    hex(digits)
}

/// `8086:1572`
fn pair(text: &str) -> Option<(u16, u16)> {
    let (vendor, device) = text.split_once(':')?;
    Some((hex(vendor)?, hex(device)?))
}

fn hex(digits: &str) -> Option<u16> {
    let is_hex = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

impl VirtualFunctions {
    /// The addresses of the virtual functions of a card, as the standard counts them.
    pub(crate) fn of(self, card: PciAddress) -> impl Iterator<Item = PciAddress> {
        let own = u32::from(card.bus) << 8 | u32::from(card.device) << 3 | u32::from(card.function);
        let count = if self.offset == 0 { 0 } else { self.count };
        (0..count).map_while(move |at| {
            let number = own.checked_add(self.offset)?.checked_add(self.stride.checked_mul(at)?)?;
            let bus = u8::try_from(number >> 8).ok()?;
            let [.., low] = number.to_be_bytes();
            Some(PciAddress { domain: card.domain, bus, device: low >> 3, function: low & 7 })
        })
    }
}
