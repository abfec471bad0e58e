//! What limits the pods that run at one moment, as inequalities that hold wherever they are placed.
//!
//! Things that are not divided lie in bins: pods in machines, and under `single-numa-node` units in NUMA nodes. Of each resource
//!
//! - all things together take no more than all bins have;
//! - a thing of at least `s` counts as often as `s` goes into it, and a bin holds no more of these than `s` goes into it: of
//!   nodes with 15 CPUs each holds one unit of 8;
//! - things that need a resource which some bins lack take no more of any other resource than the bins with it have.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use node_config::Scope;
use pod_spec::{Pod, Role, Unit};
use topology_policy::KubeletPolicy;

use crate::fleet::Fleet;
use crate::host::Host;
use crate::scheduler::ResourceIndex;
use crate::workload::Template;

/// So many sizes of one resource are looked at, the largest first.
const MOST_SIZES: usize = 24;

/// One limit: by template what a pod takes of it, as a share of what there is.
pub(super) type Class = Vec<f64>;

/// By resource.
type Amounts = Vec<u64>;

/// What the pods of one kind of machine are packed into.
struct Packing {
    /// With how often each is there.
    bins: Vec<(Amounts, usize)>,
    /// By template.
    things: Vec<Vec<Amounts>>,
}

/// The limits of a fleet. On machines of several kinds a pod takes what it takes on the kind where that is the least.
pub(super) fn of(fleet: &Fleet<'_>, templates: &[Template]) -> Vec<Class> {
    let index = ResourceIndex::new(templates);
    let mut classes = Vec::new();
    let requests = fleet.hosts.iter().map(|(host, count)| requested(&index, host, *count, templates));
    classes.extend(limits(&requests.collect::<Vec<_>>(), templates.len()));
    // Machines may differ in their resources: they are compared only if all have the same.
    let same = |(host, _): &(Host<'_>, usize)| {
        fleet.hosts.first().is_some_and(|(first, _)| first.resources == host.resources)
    };
    if !fleet.hosts.iter().all(same) {
        return without_weaker(classes);
    }
    let placed = fleet.hosts.iter().map(|(host, count)| placed(host, *count, templates));
    classes.extend(limits(&placed.collect::<Vec<_>>(), templates.len()));
    // Devices of claims need not be on the node that the policy asks for.
    let is_of_one_node = |host: &Host<'_>| host.claims.is_none() && is_of_one_node(host, templates);
    if fleet.hosts.iter().all(|(host, _)| is_of_one_node(host)) {
        let on_nodes = fleet.hosts.iter().map(|(host, count)| on_nodes(host, *count, templates));
        classes.extend(limits(&on_nodes.collect::<Vec<_>>(), templates.len()));
    }
    without_weaker(classes)
}

/// Without those that allow all that another allows.
fn without_weaker(mut classes: Vec<Class>) -> Vec<Class> {
    let mut strongest: Vec<Class> = Vec::new();
    // Larger ones first, so that a class is compared with all that could be stronger.
    classes.sort_by(|one, other| sum(other).total_cmp(&sum(one)));
    for class in classes {
        let is_weaker = |than: &Class| class.iter().zip(than).all(|(own, than)| own <= than);
        if !strongest.iter().any(is_weaker) {
            strongest.push(class);
        }
    }
    strongest
}

fn sum(class: &Class) -> f64 {
    class.iter().sum()
}

/// What pods request, in machines.
fn requested(index: &ResourceIndex, host: &Host<'_>, count: usize, templates: &[Template]) -> Packing {
    let amount = |amount: i64| u64::try_from(amount).unwrap_or(0);
    let mut bin: Amounts = index.capacity(host).map(|capacity| capacity.map_or(u64::MAX, amount)).collect();
    bin.push(amount(host.most_pods()));
    let things = templates.iter().map(|template| {
        let mut thing: Amounts = index.needs(host, template).into_iter().map(amount).collect();
        thing.push(1);
        vec![thing]
    });
    Packing { bins: vec![(bin, count)], things: things.collect() }
}

/// What pods have for themselves, in machines.
fn placed(host: &Host<'_>, count: usize, templates: &[Template]) -> Packing {
    let rows = host.capacity.chunks(host.numa().max(1));
    let bin = rows.map(|row| row.iter().fold(0_u64, |sum, own| sum.saturating_add(*own))).collect();
    let things = templates.iter().map(|template| together(staying(host, &template.pod)));
    Packing { bins: vec![(bin, count)], things: things.collect() }
}

/// What units have for themselves, in NUMA nodes.
fn on_nodes(host: &Host<'_>, count: usize, templates: &[Template]) -> Packing {
    let numa = host.numa();
    let bin = |node: usize| host.capacity.iter().skip(node).step_by(numa.max(1)).copied().collect();
    let units = |template: &Template| units(host, &template.pod);
    Packing {
        bins: (0..numa).map(|node| (bin(node), count)).collect(),
        things: templates.iter().map(units).collect(),
    }
}

fn units(host: &Host<'_>, pod: &Pod) -> Vec<Amounts> {
    match host.node.scope() {
        Scope::Container => staying(host, pod).collect(),
        Scope::Pod => together(staying(host, pod)),
    }
}

/// What each container has for itself. What an ordinary init container holds is free some time after its end, so it adds
/// nothing.
fn staying<'a>(host: &'a Host<'_>, pod: &'a Pod) -> impl Iterator<Item = Amounts> + 'a {
    let stay = pod.containers.iter().filter(|container| container.role != Role::Init);
    stay.map(|container| host.demand(Unit::Container(pod, container)))
}

/// All of them as one thing; none of nothing.
fn together(things: impl Iterator<Item = Amounts>) -> Vec<Amounts> {
    let sum = things.reduce(|mut all, thing| {
        for (sum, own) in all.iter_mut().zip(thing) {
            *sum = sum.saturating_add(own);
        }
        all
    });
    sum.into_iter().collect()
}

/// Whether every unit lies on one NUMA node.
fn is_of_one_node(host: &Host<'_>, templates: &[Template]) -> bool {
    host.node.policy() == KubeletPolicy::SingleNumaNode
        && !host.node.pod_policy().is_on()
        && templates.iter().all(|template| template.pod.resources.is_none())
}

/// The limits of all packings together, which have the same resources.
fn limits(packings: &[Packing], templates: usize) -> Vec<Class> {
    let resources = packings.first().and_then(|own| own.bins.first()).map_or(0, |(bin, _)| bin.len());
    let mut classes = Vec::new();
    let mut add = |what: &dyn Fn(&Amounts) -> u64| classes.extend(class(packings, templates, what));
    for resource in 0..resources {
        add(&|amounts| of_resource(amounts, resource));
        for size in sizes(packings, resource) {
            add(&|amounts| of_resource(amounts, resource) / size);
        }
        if packings.iter().flat_map(|own| &own.bins).any(|(bin, _)| of_resource(bin, resource) == 0) {
            for other in (0..resources).filter(|other| *other != resource) {
                let has = |amounts: &Amounts| of_resource(amounts, resource) > 0;
                let whole = |amounts: &Amounts| if has(amounts) { of_resource(amounts, other) } else { 0 };
                add(&whole);
                for size in sizes(packings, other) {
                    add(&|amounts| whole(amounts) / size);
                }
            }
        }
    }
    classes
}

fn of_resource(amounts: &Amounts, resource: usize) -> u64 {
    amounts.get(resource).copied().unwrap_or(0)
}

/// The different amounts that things take of a resource, the largest first.
fn sizes(packings: &[Packing], resource: usize) -> Vec<u64> {
    let all = packings.iter().flat_map(|own| own.things.iter().flatten());
    let sizes: BTreeSet<u64> = all.map(|thing| of_resource(thing, resource)).filter(|own| *own > 1).collect();
    sizes.into_iter().rev().take(MOST_SIZES).collect()
}

/// The limit of one measure; `None` where there is no end of it, or nothing takes any.
#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn class(packings: &[Packing], templates: usize, what: &dyn Fn(&Amounts) -> u64) -> Option<Class> {
    let mut there_is: u128 = 0;
    for (bin, count) in packings.iter().flat_map(|own| &own.bins) {
        let own = what(bin);
        if own >= u64::MAX / 2 {
            return None;
        }
        there_is += u128::from(own) * *count as u128;
    }
    let takes = |template: usize| {
        let sum = |own: &Packing| -> u128 {
            own.things.get(template).into_iter().flatten().map(|thing| u128::from(what(thing))).sum()
        };
        packings.iter().map(sum).min().unwrap_or(0)
    };
    let takes: Vec<u128> = (0..templates).map(takes).collect();
    if takes.iter().all(|own| *own == 0) {
        return None;
    }
    // What takes any of nothing is never admitted: it takes more than all there is.
    let share = |own: u128| if own == 0 { 0.0 } else { own as f64 / (there_is as f64).max(0.5) };
    Some(takes.into_iter().map(share).collect())
}
