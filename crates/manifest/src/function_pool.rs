//! Pools of PCI functions as the SR-IOV network device plugin is configured with: its `resourceList`.
//!
//! ```json
//! {"resourceList": [{"resourceName": "vf", "resourcePrefix": "intel.com", "deviceType": "netDevice",
//!   "selectors": [{"vendors": ["8086"], "devices": ["1889"], "rootDevices": ["0000:18:00.0#0-3"]}]}]}
//! ```
//!
//! A pool takes the functions of its class that one of its selectors means, and that no pool before it has taken. A
//! physical function with virtual ones is in none. Numbers are compared as the plugin does, digit by digit in lower
//! case. What the functions' facts do not tell (RDMA, and drivers and names of interfaces where none are known) is taken to hold, and is named
//! in [`FunctionPool::not_judged`]. Drivers and names of interfaces are judged where any of the machine's are known. So is not, since no configuration says it, that the plugin leaves out the interface
//! that a node's default route goes through.

use core::fmt;
use core::ops::RangeInclusive;

use terminal_text::nearest;

use crate::node::{Field, Value};
use crate::pci_selector::PciClass;
use crate::problem::Quoted;
use crate::{ManifestError, Problem};

/// Which PCI functions are in a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionPool {
    class: PciClass,
    selectors: Vec<FunctionSelector>,
    nodes: ReportedNodes,
}

/// Whether a pool's plugin says on which NUMA node a device is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportedNodes {
    /// It reports the node of each device.
    Reported,
    /// It reports none (`excludeTopology`): such a device is as near to each node as to any other.
    Withheld,
}

/// One of a pool's selectors: all of it must hold. A list that is empty says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct FunctionSelector {
    vendors: Vec<String>,
    devices: Vec<String>,
    addresses: Vec<String>,
    roots: Vec<RootSelector>,
    /// Cards by the names of their interfaces.
    names: Vec<RootSelector>,
    drivers: Vec<String>,
    links: Vec<String>,
    not_judged: Vec<NotJudged>,
}

/// Functions of a card, and which of them.
#[derive(Clone, PartialEq, Eq, Debug)]
struct RootSelector {
    /// Or the name of its interface.
    address: String,
    /// Numbers of virtual functions; `None`: all.
    numbers: Option<Vec<RangeInclusive<usize>>>,
}

/// A part of a selector that nothing is known for. Displays as a fragment: `drivers "vfio-pci", "iavf"`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NotJudged {
    /// The field of the selector that is not evaluated.
    pub field: &'static str,
    /// What it asks for; empty where it is a switch.
    pub values: Vec<String>,
}

impl fmt::Display for NotJudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field)?;
        for (at, value) in self.values.iter().enumerate() {
            write!(f, "{} {}", if at > 0 { "," } else { "" }, Quoted(value))?;
        }
        Ok(())
    }
}

/// What is known of a PCI function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionFacts<'a> {
    /// Its address with domain: `0000:18:01.0`.
    pub address: &'a str,
    /// Its class of 24 bits: `0x020000`.
    pub class: u32,
    /// The vendor's number, where known.
    pub vendor: Option<u16>,
    /// The vendor's number of the device, where known.
    pub device: Option<u16>,
    /// Its part in sharing a card.
    pub part: FunctionPart<'a>,
    /// What the kernel calls the interfaces of its card; `None`: no names of the machine's interfaces are known, and a selector by
    /// name is taken to hold.
    pub card_names: Option<&'a [String]>,
    /// The driver that it is bound to, empty where it has none; `None`: no drivers of the machine's functions are known, and a selector
    /// by drivers is taken to hold.
    pub driver: Option<&'a str>,
}

/// A function's part in sharing a card.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionPart<'a> {
    /// It is not shared.
    Whole,
    /// It has virtual functions.
    Shared,
    /// It is the virtual function of this number, from 0, of a card at this address.
    Virtual {
        /// The card's address.
        of: &'a str,
        /// The function's number.
        number: usize,
    },
}

impl FunctionPool {
    /// Whether the pool would take a function that no pool before it has.
    #[must_use]
    pub fn takes(&self, function: &FunctionFacts<'_>) -> bool {
        self.class.matches(function.class)
            && function.part != FunctionPart::Shared
            && (self.selectors.is_empty() || self.selectors.iter().any(|selector| selector.means(function)))
    }

    /// What of the pool's selectors is taken to hold because nothing is known of it; each once.
    #[must_use]
    pub fn not_judged(&self) -> Vec<NotJudged> {
        let mut all: Vec<_> =
            self.selectors.iter().flat_map(|selector| selector.not_judged.clone()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The names by which cards are selected; they are judged where a machine's are known.
    #[must_use]
    pub fn names(&self) -> Vec<NotJudged> {
        let named = self.selectors.iter().filter(|selector| !selector.names.is_empty());
        let all = named.map(|selector| NotJudged {
            field: "pfNames",
            values: selector.names.iter().map(ToString::to_string).collect(),
        });
        let mut all: Vec<_> = all.collect();
        all.sort();
        all.dedup();
        all
    }

    /// The drivers by which functions are selected; they are judged where a machine's are known.
    #[must_use]
    pub fn drivers(&self) -> Vec<NotJudged> {
        let by_driver = self.selectors.iter().filter(|selector| !selector.drivers.is_empty());
        let mut all: Vec<_> = by_driver
            .map(|selector| NotJudged { field: "drivers", values: selector.drivers.clone() })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Whether its devices have nodes.
    #[must_use]
    pub const fn nodes(&self) -> ReportedNodes {
        self.nodes
    }
}

impl FunctionSelector {
    fn means(&self, function: &FunctionFacts<'_>) -> bool {
        let number_in = |list: &[String], number: Option<u16>| {
            let number = number.map(|number| format!("{number:04x}"));
            list.is_empty() || number.is_some_and(|number| list.contains(&number))
        };
        // A whole function is its own card.
        let (root, number) = match function.part {
            FunctionPart::Virtual { of, number } => (of, Some(number)),
            FunctionPart::Whole | FunctionPart::Shared => (function.address, None),
        };
        // Infiniband and Ethernet cards differ in their class, also where one card can be either.
        let link = match function.class >> 8 {
            0x0200 => "ether",
            0x0207 => "infiniband",
            _ => "",
        };
        number_in(&self.vendors, function.vendor)
            && number_in(&self.devices, function.device)
            && (self.addresses.is_empty() || self.addresses.iter().any(|own| own == function.address))
            && (self.links.is_empty() || self.links.iter().any(|own| own == link))
            && (self.roots.is_empty() || self.means_root(root, number))
            && (self.names.is_empty() || self.means_named(function.card_names, number))
            && (self.drivers.is_empty()
                || function.driver.is_none_or(|own| self.drivers.iter().any(|wanted| wanted == own)))
    }

    /// As for addresses, but names are whole.
    fn means_named(&self, names: Option<&[String]>, number: Option<usize>) -> bool {
        let Some(names) = names else { return true };
        self.names.iter().find(|entry| names.contains(&entry.address)).is_some_and(|entry| entry.has(number))
    }

    /// Of the entries only the first that names the card counts, as in the plugin.
    fn means_root(&self, root: &str, number: Option<usize>) -> bool {
        let named = self.roots.iter().find(|entry| is_part_of(&entry.address, root));
        named.is_some_and(|entry| entry.has(number))
    }
}

impl RootSelector {
    /// Whether a virtual function of the card with this number is meant; `None`: the card itself.
    fn has(&self, number: Option<usize>) -> bool {
        match (&self.numbers, number) {
            (None, _) => true,
            (Some(ranges), Some(number)) => ranges.iter().any(|range| range.contains(&number)),
            (Some(_), None) => false,
        }
    }
}

impl fmt::Display for RootSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        for (at, range) in self.numbers.iter().flatten().enumerate() {
            write!(f, "{}{}-{}", if at == 0 { "#" } else { "," }, range.start(), range.end())?;
        }
        Ok(())
    }
}

/// The plugin takes an address as a pattern, in which a dot is any character and which may be a part of the whole.
fn is_part_of(pattern: &str, address: &str) -> bool {
    let same = |window: &[u8]| {
        window.iter().zip(pattern.as_bytes()).all(|(byte, wanted)| *wanted == b'.' || byte == wanted)
    };
    pattern.eq_ignore_ascii_case(address) || address.as_bytes().windows(pattern.len().max(1)).any(same)
}

/// What of an entry of `resourceList` is a pool; the name is read elsewhere.
pub(crate) fn read_pool(entry: &Field<'_>) -> Result<FunctionPool, ManifestError> {
    const TYPES: &str = "netDevice or accelerator";
    const SELECTORS: &str = "a mapping, or a list of mappings";
    known(entry, ENTRY_FIELDS)?;
    let kind = entry.get("deviceType")?;
    let class = match kind.as_ref().map_or(Ok("netDevice"), |kind| kind.text(TYPES))? {
        "netDevice" => PciClass::NETWORK,
        "accelerator" => PciClass::ACCELERATOR,
        _ => return Err(kind.unwrap_or_else(|| entry.clone()).unexpected(TYPES)),
    };
    let mut selectors = Vec::new();
    if let Some(field) = entry.get("selectors")? {
        let list = match &field.node.value {
            Value::Map(_) => vec![field],
            Value::List(_) => field.items()?,
            _ => return Err(field.unexpected(SELECTORS)),
        };
        selectors = list.iter().map(read_selector).collect::<Result<_, _>>()?;
    }
    // Older configurations say it of the pool, newer ones of a selector.
    if entry.get("isRdma")?.is_some_and(|field| field.is_true()) {
        let rdma = NotJudged { field: "isRdma", values: Vec::new() };
        match selectors.as_mut_slice() {
            [] => selectors.push(FunctionSelector { not_judged: vec![rdma], ..FunctionSelector::default() }),
            all => all.iter_mut().for_each(|selector| selector.not_judged.push(rdma.clone())),
        }
    }
    let withheld = entry.get("excludeTopology")?.is_some_and(|field| field.is_true());
    let nodes = if withheld { ReportedNodes::Withheld } else { ReportedNodes::Reported };
    Ok(FunctionPool { class, selectors, nodes })
}

const ENTRY_FIELDS: &[&str] = &[
    "resourceName",
    "resourcePrefix",
    "deviceType",
    "excludeTopology",
    "isRdma",
    "selectors",
    "additionalInfo",
];

/// Lists that are asked of what is not known here.
const UNKNOWN_LISTS: &[&str] = &["nicNames", "acpiIndexes", "ddpProfiles", "pKeys", "auxTypes"];

const SELECTOR_FIELDS: &[&str] = &[
    "vendors",
    "devices",
    "drivers",
    "pciAddresses",
    "acpiIndexes",
    "pfNames",
    "nicNames",
    "rootDevices",
    "linkTypes",
    "ddpProfiles",
    "pKeys",
    "auxTypes",
    "isRdma",
    "needVhostNet",
    "vdpaType",
];

fn known(field: &Field<'_>, fields: &'static [&'static str]) -> Result<(), ManifestError> {
    let entries = field.entries()?;
    let Some(entry) = entries.iter().find(|entry| !fields.contains(&entry.key)) else { return Ok(()) };
    let found = entry.key.to_owned();
    let problem = match nearest(&found, fields) {
        Some(meant) => Problem::MisspeltField { found, meant },
        None => Problem::UnknownField { found, expected: "a field of the plugin's configuration" },
    };
    Err(field.fail_at(entry.key_span, problem))
}

fn read_selector(field: &Field<'_>) -> Result<FunctionSelector, ManifestError> {
    known(field, SELECTOR_FIELDS)?;
    let mut selector = FunctionSelector {
        vendors: texts(field, "vendors")?,
        devices: texts(field, "devices")?,
        addresses: texts(field, "pciAddresses")?,
        links: texts(field, "linkTypes")?,
        drivers: texts(field, "drivers")?,
        ..FunctionSelector::default()
    };
    let roots = field.get("rootDevices")?.map_or(Ok(Vec::new()), |list| list.items())?;
    for root in &roots {
        selector.roots.push(read_root(root)?);
    }
    for name in field.get("pfNames")?.map_or(Ok(Vec::new()), |list| list.items())? {
        let (address, numbers) = numbers(&name)?;
        selector.names.push(RootSelector { address, numbers });
    }
    // Where one is a pattern, what the others leave out is not known either.
    if selector.roots.iter().any(|root| !root.address.bytes().all(is_address)) {
        selector.roots.clear();
        selector.not_judged.push(NotJudged { field: "rootDevices", values: texts(field, "rootDevices")? });
    }
    for name in UNKNOWN_LISTS {
        let values = texts(field, name)?;
        if !values.is_empty() {
            selector.not_judged.push(NotJudged { field: name, values });
        }
    }
    if field.get("isRdma")?.is_some_and(|field| field.is_true()) {
        selector.not_judged.push(NotJudged { field: "isRdma", values: Vec::new() });
    }
    let vdpa = field.get("vdpaType")?.map_or(Ok(""), |kind| kind.text("a type of vDPA"))?;
    if !vdpa.is_empty() {
        selector.not_judged.push(NotJudged { field: "vdpaType", values: vec![vdpa.to_owned()] });
    }
    Ok(selector)
}

const fn is_address(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.')
}

fn texts(field: &Field<'_>, key: &str) -> Result<Vec<String>, ManifestError> {
    let items = field.get(key)?.map_or(Ok(Vec::new()), |list| list.items())?;
    items.iter().map(|item| Ok(item.text("a text in quotes")?.to_owned())).collect()
}

/// `0000:18:00.0`, or with numbers of virtual functions `0000:18:00.0#0,2-7`.
fn read_root(field: &Field<'_>) -> Result<RootSelector, ManifestError> {
    let (address, numbers) = numbers(field)?;
    Ok(RootSelector { address, numbers })
}

/// A card and the numbers of its virtual functions; `None`: all.
pub(crate) type Numbered = (String, Option<Vec<RangeInclusive<usize>>>);

/// A card by its address or the name of its interface, with numbers of virtual functions or without: `ens1f0#0-3,6`.
pub(crate) fn numbers(field: &Field<'_>) -> Result<Numbered, ManifestError> {
    const EXPECTED: &str = "an address such as 0000:18:00.0 or a name such as ens1f0, with # and numbers of functions or without";
    let text = field.text(EXPECTED)?;
    let mut parts = text.split('#');
    let (card, numbers) = (parts.next().unwrap_or_default(), parts.next());
    if card.is_empty() || parts.next().is_some() {
        return Err(field.unexpected(EXPECTED));
    }
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let numbers = numbers.map(|numbers| numbers.split(',').map(range).collect::<Option<Vec<_>>>());
    match numbers {
        Some(None) => Err(field.unexpected(EXPECTED)),
        Some(Some(ranges)) => Ok((card.to_owned(), Some(ranges))),
        None => Ok((card.to_owned(), None)),
    }
}
