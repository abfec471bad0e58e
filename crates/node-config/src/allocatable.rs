//! What a node has, what is kept for the system, and what is left for pods.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use cpuset::{CpuSet, ParseError};
use k8s_quantity::{Format, Quantity, Sign, hugepage_resource_name};
use kubelet_release::StorageForm;
use thiserror::Error;

use crate::eviction::{Eviction, EvictionError};
use crate::{KubeletConfiguration, reserved_memory};

/// Amounts by resource name.
pub type Amounts = BTreeMap<String, Quantity>;

/// What of a machine becomes the node's capacity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapacityFacts {
    /// How many CPUs it has.
    pub cpus: usize,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its huge pages: size of a page in KiB, and how many.
    pub hugepages: Vec<(u64, u64)>,
    /// Size of the root file system in bytes; `None` until it is known.
    pub root_file_system: Option<u64>,
}

/// A part of the configuration that says what is reserved. The names are those of the kubelet's flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReservedFor {
    /// `kubeReserved`.
    Kube,
    /// `systemReserved`.
    System,
}

impl ReservedFor {
    const fn flag(self) -> &'static str {
        match self {
            Self::Kube => "--kube-reserved",
            Self::System => "--system-reserved",
        }
    }
}

/// What is wrong with an amount that is to be reserved. The texts are the kubelet's.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ReservedAmountError {
    /// This cannot be reserved.
    #[error("cannot reserve \"{0}\" resource")]
    Resource(String),
    /// No quantity.
    #[error("failed to parse quantity {} for \"{resource}\" resource: {error}", cpuset::go_quote(value))]
    Quantity {
        /// The resource.
        resource: String,
        /// What was written.
        value: String,
        /// What is wrong with it.
        error: k8s_quantity::ParseError,
    },
    /// Less than nothing.
    #[error("resource quantity for \"{resource}\" cannot be negative: {value}")]
    Negative {
        /// The resource.
        resource: String,
        /// What was written.
        value: String,
    },
}

/// Why nothing can be reserved as configured. The texts are the kubelet's.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum ReservationError {
    /// `reservedSystemCPUs` is no list.
    #[error("unable to parse reserved-cpus list: {0}")]
    CpuList(ParseError),
    /// Some of the reserved CPUs are not there.
    #[error("reserved-cpus: {reserved} is not a subset of online-cpus: {online}")]
    NotOnline {
        /// Those that were to be reserved, as the configuration has them.
        reserved: String,
        /// Those that are there.
        online: CpuSet,
    },
    /// A map of reserved amounts.
    #[error("{} value failed to parse: {error}", of.flag())]
    Amount {
        /// Which map.
        of: ReservedFor,
        /// What is wrong in it.
        error: ReservedAmountError,
    },
    /// `evictionHard`.
    #[error(transparent)]
    Eviction(#[from] EvictionError),
}

/// More is reserved of a resource than there is. The kubelet stops on it, with internals in place of the amounts.
#[derive(Clone, PartialEq, Debug, Error)]
#[error(
    "invalid Node Allocatable configuration. Resource \"{resource}\" has a reservation of {} but capacity of {}. Expected capacity >= reservation.",
    reserved.canonical(),
    capacity.canonical()
)]
pub struct ReservedTooMuch {
    /// The resource.
    pub resource: String,
    /// What is reserved.
    pub reserved: Quantity,
    /// What there is.
    pub capacity: Quantity,
}

/// What is kept for the system, as configured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reservation {
    /// `reservedSystemCPUs`; empty if not given.
    pub cpus: CpuSet,
    kube: Amounts,
    system: Amounts,
    eviction: Eviction,
}

impl Reservation {
    /// Reads what is reserved on a machine with these CPUs online. Given reserved CPUs, their number replaces the
    /// CPUs of the two maps.
    ///
    /// # Errors
    /// The first of reserved CPUs, `kubeReserved`, `systemReserved` and `evictionHard` that is at fault; of the maps
    /// each entry that is, since the one that the kubelet would report is left to chance.
    pub fn check(config: &KubeletConfiguration, online: &CpuSet) -> Result<Self, Vec<ReservationError>> {
        let one = |error| alloc::vec![error];
        let cpus = reserved_cpus(config.reserved_cpus(), online).map_err(one)?;
        // CPUs that the maps reserve are not even read where they do not count.
        let (mut kube, mut system) = (config.kube_reserved.clone(), config.system_reserved.clone());
        if !cpus.is_empty() {
            kube.remove("cpu");
            system.remove("cpu");
        }
        let kube = amounts(ReservedFor::Kube, &kube)?;
        let mut system = amounts(ReservedFor::System, &system)?;
        if !cpus.is_empty() {
            let count = i64::try_from(cpus.len()).unwrap_or(i64::MAX);
            system.insert("cpu".to_owned(), Quantity::from_units(count, Format::DecimalSi));
        }
        let eviction = Eviction::parse(&config.eviction())
            .map_err(|faults| faults.into_iter().map(ReservationError::Eviction).collect::<Vec<_>>())?;
        Ok(Self { cpus, kube, system, eviction })
    }

    /// What is kept of each resource that the node has; what nothing is kept of is left out.
    #[must_use]
    pub fn amounts(&self, capacity: &Amounts) -> Amounts {
        let mut reserved = Amounts::new();
        for (resource, there_is) in capacity {
            let mut sum = Quantity::from_units(0, Format::DecimalSi);
            for part in [self.system.get(resource), self.kube.get(resource)].into_iter().flatten() {
                sum += part;
            }
            if let Some(part) = self.eviction.reserved(resource, there_is) {
                sum += &part;
            }
            if !sum.is_zero() {
                reserved.insert(resource.clone(), sum);
            }
        }
        reserved
    }
}

fn reserved_cpus(list: &str, online: &CpuSet) -> Result<CpuSet, ReservationError> {
    // The kubelet repeats the text, in its order.
    let not_online = || ReservationError::NotOnline { reserved: list.to_owned(), online: online.clone() };
    match list.parse::<CpuSet>() {
        Ok(cpus) if cpus.is_subset(online) => Ok(cpus),
        Ok(_) | Err(ParseError::TooLarge(_)) => Err(not_online()),
        Err(error) => Err(ReservationError::CpuList(error)),
    }
}

fn amounts(of: ReservedFor, map: &BTreeMap<String, String>) -> Result<Amounts, Vec<ReservationError>> {
    let mut read = Amounts::new();
    let mut faults = Vec::new();
    for (resource, value) in map {
        match reserved_amount(resource, value) {
            Ok(amount) => {
                read.insert(resource.clone(), amount);
            }
            Err(error) => faults.push(ReservationError::Amount { of, error }),
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

fn reserved_amount(resource: &str, value: &str) -> Result<Quantity, ReservedAmountError> {
    if !matches!(resource, "cpu" | "memory" | "ephemeral-storage" | "pid") {
        return Err(ReservedAmountError::Resource(resource.to_owned()));
    }
    let both = || (resource.to_owned(), value.to_owned());
    let amount: Quantity = value.parse().map_err(|error| {
        let (resource, value) = both();
        ReservedAmountError::Quantity { resource, value, error }
    })?;
    if amount.sign() == Sign::Negative {
        let (resource, value) = both();
        return Err(ReservedAmountError::Negative { resource, value });
    }
    Ok(amount)
}

/// What a node has in all, by resource: CPUs, memory, each huge page size (even if there are none), storage if it is
/// known, pods. Devices are not in it.
#[must_use]
pub fn capacity(facts: &CapacityFacts, config: &KubeletConfiguration) -> Amounts {
    let bytes = |amount: u64, format| Quantity::from_units(i64::from_ne_bytes(amount.to_ne_bytes()), format);
    let cpus = i64::try_from(facts.cpus).unwrap_or(i64::MAX);
    let mut capacity = Amounts::from([
        ("cpu".to_owned(), Quantity::from_milli(cpus.saturating_mul(1000), Format::DecimalSi)),
        ("memory".to_owned(), bytes(facts.memory, Format::BinarySi)),
    ]);
    for (kib, pages) in &facts.hugepages {
        let size = kib.wrapping_mul(1024).wrapping_mul(*pages);
        capacity.insert(hugepage_resource_name(*kib), bytes(size, Format::BinarySi));
    }
    if let Some(size) = facts.root_file_system {
        let format = match config.rules.storage_form {
            StorageForm::Binary => Format::BinarySi,
            StorageForm::Decimal => Format::DecimalSi,
        };
        capacity.insert("ephemeral-storage".to_owned(), bytes(size, format));
    }
    let limit = i64::from(config.pod_limit());
    let pods = match config.pods_per_core {
        Some(per_core) if per_core > 0 => cpus.saturating_mul(i64::from(per_core)).min(limit),
        _ => limit,
    };
    capacity.insert("pods".to_owned(), Quantity::from_units(pods, Format::DecimalSi));
    capacity
}

/// What is left for pods: capacity without what is reserved, and memory without all huge pages; never below zero.
#[must_use]
pub fn allocatable(capacity: &Amounts, reserved: &Amounts) -> Amounts {
    let mut left: Amounts = capacity
        .iter()
        .map(|(resource, there_is)| {
            let left = reserved.get(resource).map_or_else(|| there_is.clone(), |kept| there_is - kept);
            (resource.clone(), not_negative(left))
        })
        .collect();
    if let Some(mut memory) = left.remove("memory") {
        for (_, pages) in left.iter().filter(|(resource, _)| reserved_memory::is_memory(resource)) {
            memory = not_negative(&memory - pages);
        }
        left.insert("memory".to_owned(), memory);
    }
    left
}

/// The resources of which more is reserved than there is; the kubelet does not start with any.
#[must_use]
pub fn reserved_too_much(capacity: &Amounts, reserved: &Amounts) -> Vec<ReservedTooMuch> {
    let beyond = reserved.iter().filter_map(|(resource, reserved)| {
        let capacity = capacity.get(resource)?;
        (reserved > capacity).then(|| ReservedTooMuch {
            resource: resource.clone(),
            reserved: reserved.clone(),
            capacity: capacity.clone(),
        })
    });
    beyond.collect()
}

fn not_negative(amount: Quantity) -> Quantity {
    if amount.sign() == Sign::Negative { Quantity::from_units(0, amount.format()) } else { amount }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use kubelet_release::{Release, Rules};

    use super::*;

    #[test]
    fn storage_is_printed_in_the_form_of_the_release() {
        let facts = CapacityFacts {
            cpus: 4,
            memory: 16 << 30,
            hugepages: Vec::new(),
            root_file_system: Some(100 << 30),
        };
        for (release, there_is, left, beyond) in [
            (Release::V1_36, "100Gi", "96636764000", "reservation of 200Gi but capacity of 100Gi"),
            (
                Release::V1_37,
                "107374182400",
                "96636764k",
                "reservation of 200Gi but capacity of 107374182400",
            ),
        ] {
            let mut config =
                KubeletConfiguration { rules: Rules::of(release), ..KubeletConfiguration::default() };
            let capacity = capacity(&facts, &config);
            let text = |amounts: &Amounts, resource: &str| amounts[resource].canonical().to_string();
            assert_eq!(text(&capacity, "ephemeral-storage"), there_is);
            assert_eq!(text(&capacity, "memory"), "16Gi");
            let kept = Reservation::check(&config, &CpuSet::default()).unwrap().amounts(&capacity);
            assert_eq!(text(&allocatable(&capacity, &kept), "ephemeral-storage"), left);
            config.system_reserved = [("ephemeral-storage".to_owned(), "200Gi".to_owned())].into();
            config.eviction_hard = Some(BTreeMap::new());
            let kept = Reservation::check(&config, &CpuSet::default()).unwrap().amounts(&capacity);
            let error = reserved_too_much(&capacity, &kept)[0].to_string();
            assert!(error.contains(beyond), "{error}");
        }
    }

    #[test]
    fn reserved_cpus_that_are_not_online_are_repeated_as_written() {
        let online: CpuSet = "0-7".parse().unwrap();
        for (written, expected) in [
            ("16,9", "reserved-cpus: 16,9 is not a subset of online-cpus: 0-7"),
            ("9-9,0", "reserved-cpus: 9-9,0 is not a subset of online-cpus: 0-7"),
            ("8,8", "reserved-cpus: 8,8 is not a subset of online-cpus: 0-7"),
        ] {
            let config = KubeletConfiguration {
                reserved_system_cpus: Some(written.to_owned()),
                ..KubeletConfiguration::default()
            };
            let faults = Reservation::check(&config, &online).unwrap_err();
            assert_eq!(faults.first().map(ToString::to_string).as_deref(), Some(expected));
        }
    }
}
