//! Plugins come and go: capacity, the grace period, what is remembered.

use core::time::Duration;

use device_manager::{Capacity, DeviceId, GRACE_PERIOD, Inventory, Moment, PluginOptions};

use crate::fixture::{devices, gpu, machine, plugged, running};

const NONE: PluginOptions = PluginOptions { preferred_allocation: false, pre_start: false };

fn at(seconds: u64) -> Moment {
    Moment(Duration::from_secs(seconds))
}

/// Capacity and allocatable, if there are any.
fn amounts(inventory: &mut Inventory, now: Moment) -> (Option<u64>, Option<u64>, bool) {
    let Capacity { capacity, allocatable, forgotten } = inventory.capacity(now);
    (capacity.get(&gpu()).copied(), allocatable.get(&gpu()).copied(), !forgotten.is_empty())
}

#[test]
fn a_plugin_that_goes_leaves_its_capacity_for_five_minutes() {
    let mut inventory = plugged("a:0 b:0! c:0", NONE);
    assert_eq!(amounts(&mut inventory, at(0)), (Some(3), Some(2), false));
    inventory.disconnect(&gpu(), at(100));
    assert_eq!(amounts(&mut inventory, at(100)), (Some(3), Some(0), false));
    let end = at(100).0 + GRACE_PERIOD;
    assert_eq!(amounts(&mut inventory, Moment(end)), (Some(3), Some(0), false));
    let later = Moment(end + Duration::from_nanos(1));
    assert_eq!(amounts(&mut inventory, later), (None, None, true));
    assert!(!inventory.is_registered(&gpu()));
    // It is forgotten once, and nothing of it remains but the last list.
    assert_eq!(amounts(&mut inventory, later), (None, None, false));
    assert_eq!(inventory.devices(&gpu()).count(), 3);
}

#[test]
fn a_plugin_that_comes_back_has_no_healthy_device_until_it_lists_them() {
    let mut inventory = plugged("a:0 b:0", NONE);
    inventory.disconnect(&gpu(), at(0));
    inventory.set_endpoint(&gpu(), running(NONE));
    assert_eq!(amounts(&mut inventory, at(10_000)), (Some(2), Some(0), false));
    inventory.list(&gpu(), devices("a:0"));
    assert_eq!(amounts(&mut inventory, at(10_000)), (Some(1), Some(1), false));
}

#[test]
fn a_plugin_that_never_listed_is_no_resource_of_devices() {
    let mut inventory = machine(&[0]);
    inventory.set_endpoint(&gpu(), running(NONE));
    assert_eq!(amounts(&mut inventory, at(0)), (None, None, false));
    assert!(!inventory.is_registered(&gpu()));
    // Once it is gone, it has a capacity of none.
    inventory.disconnect(&gpu(), at(0));
    assert_eq!(amounts(&mut inventory, at(0)), (Some(0), None, false));
}

#[test]
fn after_a_restart_a_resource_is_there_without_devices() {
    let mut inventory = machine(&[0]);
    inventory.remember(&gpu(), at(0));
    assert!(inventory.is_registered(&gpu()));
    assert_eq!(amounts(&mut inventory, at(300)), (Some(0), Some(0), false));
    assert_eq!(amounts(&mut inventory, at(301)), (None, None, true));
}

#[test]
fn of_a_device_that_is_listed_twice_the_last_counts_in_both_sets() {
    let mut inventory = machine(&[0, 1]);
    inventory.set_endpoint(&gpu(), running(NONE));
    inventory.list(&gpu(), devices("a:0 b:0 a:1!"));
    assert_eq!(amounts(&mut inventory, at(0)), (Some(3), Some(2), false));
    let listed: Vec<_> = inventory.devices(&gpu()).cloned().collect();
    assert_eq!(listed, devices("a:1! b:0"));
}

#[test]
fn a_list_tells_whose_health_has_changed() {
    let mut inventory = machine(&[0]);
    inventory.set_endpoint(&gpu(), running(NONE));
    for (listed, changed) in [
        ("c:0 a:0 b:0", "a b c"),
        ("a:0 b:0 c:0", ""),
        // A change of node does not count; a device that is no longer listed is not reported.
        ("a:1 c:0!", "c"),
        ("a:1 b:0 c:0!", "b"),
        ("d:0 a:1! c:0 b:0", "a c d"),
    ] {
        let told = inventory.list(&gpu(), devices(listed));
        let told: Vec<&str> = told.iter().map(DeviceId::as_str).collect();
        assert_eq!(told.join(" "), changed, "{listed}");
    }
}

#[test]
fn given_devices_never_go() {
    let mut inventory = machine(&[0]).with("vendor.io/gpu", devices("a:0"));
    inventory.disconnect(&gpu(), at(0));
    assert_eq!(amounts(&mut inventory, at(10_000)), (Some(1), Some(1), false));
}
