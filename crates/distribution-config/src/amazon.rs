//! What Amazon reserves for a kubelet by CPUs and by pods, and what a configuration tells about the pods.

use alloc::string::String;

use k8s_quantity::{Format, Quantity};
use node_config::KubeletConfiguration;

use crate::reservation::Reservation;

const MEBI: i64 = 1 << 20;

/// What Amazon reserves of the CPUs for the kubelet: 60m of the first CPU, 10m of the second, 5m of each of the next two
/// and 2.5m of each further one.
#[must_use]
pub const fn milli_cpus_of_kubelet(cpus: usize) -> usize {
    match cpus {
        0 => 0,
        1 => 60,
        2 => 70,
        3 => 75,
        more => 80 + (more - 4) * 5 / 2,
    }
}

/// What Amazon reserves of the memory for the kubelet, in mebibytes.
#[must_use]
pub const fn memory_for_pods(pods: i64) -> i64 {
    255 + 11 * pods
}

/// What is reserved for the kubelet by the number of pods, as far as `reservedMemory` tells: it has to be what is reserved in
/// all and the threshold of eviction.
pub(crate) fn by_pods(own: &KubeletConfiguration) -> Reservation {
    if own.kube_reserved.contains_key("memory") {
        return Reservation::Known;
    }
    let Some(of_kubelet) = left_for_kubelet(own) else { return Reservation::ByPods };
    let least = memory_for_pods(0) * MEBI;
    let pods = (of_kubelet.saturating_sub(least) / (11 * MEBI)).max(0);
    if pods > 0 && memory_for_pods(pods) * MEBI == of_kubelet {
        Reservation::ForPods(pods)
    } else {
        Reservation::ForNoPods(if of_kubelet == 0 { 0 } else { pods.max(1) })
    }
}

/// What `reservedMemory` leaves for the kubelet, in bytes; `None`: it is not written, or no policy looks at it.
fn left_for_kubelet(own: &KubeletConfiguration) -> Option<i64> {
    if own.reserved_memory.is_empty() || own.memory_policy() != "Static" {
        return None;
    }
    let mut sum = Quantity::from_units(0, Format::BinarySi);
    for node in &own.reserved_memory {
        if let Some(amount) = node.limits.get("memory") {
            sum += amount.clone();
        }
    }
    let bytes = |text: &str| text.parse::<Quantity>().ok().and_then(|amount| amount.as_int64());
    let evicted = own.eviction_hard.as_ref().and_then(|evictions| evictions.get("memory.available"));
    let evicted = bytes(evicted.map_or("100Mi", String::as_str))?;
    let of_system = own.system_reserved.get("memory").map_or(Some(0), |text| bytes(text))?;
    sum.as_int64()?.checked_sub(evicted)?.checked_sub(of_system)
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::vec;

    use node_config::ReservedMemory;

    use super::*;

    #[test]
    fn reserved_memory_tells_for_how_many_pods_it_is() {
        let own = |mebi: i64| {
            let amount = Quantity::from_units(mebi * MEBI, Format::BinarySi);
            let on_first = ReservedMemory { numa_node: 0, limits: [("memory".to_owned(), amount)].into() };
            KubeletConfiguration {
                memory_manager_policy: Some("Static".to_owned()),
                reserved_memory: vec![on_first],
                ..KubeletConfiguration::default()
            }
        };
        assert_eq!(by_pods(&own(100 + 255 + 11 * 234)), Reservation::ForPods(234));
        assert_eq!(by_pods(&own(1024)), Reservation::ForNoPods(60));
        assert_eq!(by_pods(&own(300)), Reservation::ForNoPods(1));
        assert_eq!(by_pods(&own(100)), Reservation::ForNoPods(0));
        let written = KubeletConfiguration {
            kube_reserved: [("memory".to_owned(), "1Gi".to_owned())].into(),
            ..own(1124)
        };
        assert_eq!(by_pods(&written), Reservation::Known);
        let unbound = KubeletConfiguration { memory_manager_policy: None, ..own(1124) };
        assert_eq!(by_pods(&unbound), Reservation::ByPods);
    }
}
