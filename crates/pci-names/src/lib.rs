#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(test)]
extern crate std;

/// Lines `VVVV NAME` in ascending order.
const VENDORS: &str = include_str!("../vendors.txt");
/// Lines `VVVVDDDD NAME` in ascending order.
const DEVICES: &str = include_str!("../devices.txt");

/// What a vendor is called, in a word or two; `None`: the table does not have it.
#[must_use]
pub fn vendor(vendor: u16) -> Option<&'static str> {
    find(VENDORS, 4, u32::from(vendor))
}

/// What a device is called, without its vendor; `None`: the table does not have it.
#[must_use]
pub fn device(vendor: u16, device: u16) -> Option<&'static str> {
    find(DEVICES, 8, u32::from(vendor) << 16 | u32::from(device))
}

/// The rest of the line that begins with a number of `digits` hexadecimal digits; the lines are in ascending order.
fn find(table: &'static str, digits: usize, wanted: u32) -> Option<&'static str> {
    let mut rest = table;
    while !rest.is_empty() {
        // The line in which the middle lies, with its end. Lines are found by bytes: names are not all ASCII.
        let (before, after) = rest.as_bytes().split_at(rest.len() / 2);
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let end = after.iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| before.len() + at + 1);
        let line = rest.get(start..end)?;
        let number = u32::from_str_radix(line.get(..digits)?, 16).ok()?;
        rest = match number.cmp(&wanted) {
            core::cmp::Ordering::Equal => return line.get(digits + 1..).map(str::trim_end),
            core::cmp::Ordering::Less => rest.get(end..)?,
            core::cmp::Ordering::Greater => rest.get(..start)?,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// The lines of a table as numbers and names, one after the other: the slow way.
    fn lines(table: &'static str, digits: usize) -> Vec<(u32, &'static str)> {
        let lines = table.lines().map(|line| {
            let (number, name) = line.split_at(digits);
            (u32::from_str_radix(number, 16).unwrap(), name.strip_prefix(' ').unwrap())
        });
        lines.collect()
    }

    #[test]
    fn every_line_is_found_and_no_number_between_two() {
        for (table, digits) in [(VENDORS, 4), (DEVICES, 8)] {
            let lines = lines(table, digits);
            assert!(lines.is_sorted_by(|one, other| one.0 < other.0), "ascending, each number once");
            for (at, (number, name)) in lines.iter().enumerate() {
                assert!(!name.is_empty() && name.trim() == *name, "{number:x}: {name:?}");
                assert_eq!(find(table, digits, *number), Some(*name), "{number:x}");
                let next = lines.get(at + 1).map_or(u32::MAX, |(next, _)| *next);
                if number + 1 < next {
                    assert_eq!(find(table, digits, number + 1), None, "{:x}", number + 1);
                }
            }
        }
        assert_eq!(vendor(0), None);
        assert_eq!(device(0xffff, 0xffff), None);
    }

    #[test]
    fn every_device_has_a_vendor() {
        for (number, name) in lines(DEVICES, 8) {
            assert!(vendor((number >> 16) as u16).is_some(), "{number:08x} {name}");
        }
    }

    #[test]
    fn devices_of_servers_have_their_names() {
        for (maker, model, name) in [
            (0x10de, 0x2330, "NVIDIA H100 SXM5 80GB"),
            (0x10de, 0x2941, "NVIDIA HGX GB200"),
            (0x1002, 0x74a1, "AMD Instinct MI300X"),
            (0x15b3, 0x1021, "Mellanox ConnectX-7"),
            (0x8086, 0x1592, "Intel E810-C for QSFP"),
            (0x1d0f, 0xefa1, "Amazon Elastic Fabric Adapter (EFA)"),
        ] {
            let found = std::format!("{} {}", vendor(maker).unwrap(), device(maker, model).unwrap());
            assert_eq!(found, name);
        }
    }
}
