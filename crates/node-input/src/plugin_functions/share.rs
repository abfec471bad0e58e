//! Equal shares: so many devices of PCI functions, the same number of each.

use device_manager::Device;
use pod_spec::ResourceName;
use topology_model::PciDevice;

/// What the devices of a resource are, of which the number alone is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// The plugin is not known.
    NotKnown,
    /// No PCI functions: what the plugin offers is near no NUMA node.
    Nowhere,
    /// So many of each function.
    Functions { devices: Vec<Device>, what: String },
    /// The number is none that the machine's functions can have; why.
    Differs(String),
}

/// How many devices a plugin makes of one function.
#[derive(Clone, Copy)]
pub(super) enum Shares {
    /// One.
    One,
    /// Any number, the same of each: what shares them is configured.
    Equal,
    /// Any number up to this one, the same of each.
    UpTo(u32),
}

/// So many devices of functions, the same number of each.
pub(super) fn spread(
    resource: &ResourceName,
    count: u32,
    functions: &[&PciDevice],
    what: &str,
    shares: Shares,
) -> Placed {
    let there = u32::try_from(functions.len()).unwrap_or(u32::MAX);
    let of =
        |number: u32| if number == 1 { format!("1 {what}") } else { format!("{number} {}", plural(what)) };
    if count == 0 {
        return Placed::Functions { devices: Vec::new(), what: String::new() };
    }
    if there == 0 {
        return Placed::Differs(format!("the machine has no {what} among its PCI functions"));
    }
    let each = count / there;
    let most = match shares {
        Shares::One => 1,
        Shares::Equal => u32::MAX,
        Shares::UpTo(most) => most,
    };
    if each == 0 || !count.is_multiple_of(there) || each > most {
        let more =
            if each > most && most > 1 { format!(" with at most {most} of each") } else { String::new() };
        return Placed::Differs(format!(
            "{count} of them are no equal share of the machine's {}{more}",
            of(there)
        ));
    }
    let short = resource.as_str().rsplit('/').next().unwrap_or_default();
    let mut devices = Vec::new();
    for function in functions {
        let node: Vec<i64> = function.node.reported().map(|id| id.0).into_iter().collect();
        devices.extend((0..each).map(|at| {
            let id = if each == 1 {
                function.address.to_string()
            } else {
                format!("{short}-{}-{at}", function.address)
            };
            Device::new(&id, &node)
        }));
    }
    let what = match (each, there) {
        (1, 1) => format!("the machine's {what}"),
        (1, _) => format!("the machine's {}", of(there)),
        (_, 1) => format!("{each} of the machine's {what}"),
        _ => format!("{each} of each of the machine's {}", of(there)),
    };
    Placed::Functions { devices, what }
}

/// `GPUs of NVIDIA`, `virtual functions of QuickAssist`: the first noun of several words has the ending.
fn plural(what: &str) -> String {
    match what.split_once(" of ") {
        Some((noun, rest)) => format!("{noun}s of {rest}"),
        None => format!("{what}s"),
    }
}
