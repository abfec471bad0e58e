//! Devices that leave switches whole, against a look at all sets of devices.

use std::collections::{BTreeMap, BTreeSet};

use device_manager::{
    DeviceId, DeviceIds, Devices, Holdings, Inventory, Links, PluginOptions, Question, Reply, Request,
};
use node_config::LinkRule;
use pod_spec::Pod;
use proptest::prelude::*;
use topology_hint::Affinity;
use topology_model::{Link, LinkKind, PciAddress};

use crate::fixture::{asking, gpu, ids, names, near, plugged, settle};

const PREFERS: PluginOptions = PluginOptions { preferred_allocation: true, pre_start: false };

/// The address of a device that is called by a letter.
fn address(id: &DeviceId) -> PciAddress {
    PciAddress { domain: 0, bus: id.as_str().as_bytes()[0], device: 0, function: 0 }
}

/// Links in words: `abc de` are a switch with three devices and one with two, `=abcde` a domain.
fn links(words: &str) -> Links {
    let members = |word: &str| -> Vec<DeviceId> {
        word.chars().map(|letter| DeviceId::new(&letter.to_string())).collect()
    };
    let link = |word: &str| {
        let kind = if word.starts_with('=') { LinkKind::Domain } else { LinkKind::Switch };
        let members = members(word.trim_start_matches('=')).iter().map(address).collect();
        Link { kind, name: word.to_owned(), members }
    };
    let addresses: BTreeMap<_, _> =
        members("abcdefghijkl").into_iter().map(|id| (id.clone(), address(&id))).collect();
    let all = words.split_whitespace().map(link).collect();
    Links::new(LinkRule::Ignore, all, BTreeMap::new(), addresses, Vec::new())
}

/// What a pod is given that its plugin prefers so.
fn given(
    inventory: &Inventory,
    held: &Holdings,
    pod: &Pod,
    near: Affinity,
    keep_whole: Option<&Links>,
    preferred: &DeviceIds,
) -> (DeviceIds, Holdings) {
    let request = Request { keep_whole, ..Request::new(pod, &pod.containers[0], near) };
    let answer = |question: &Question| match question {
        Question::Preferred { .. } => Reply::Preferred(preferred.clone()),
        other => Reply::willing(other),
    };
    let decided = settle(Devices::allocate, Devices::default(), inventory, held, &request, answer).1;
    let allocation = decided.expect("there are enough");
    (allocation.granted.get(&gpu()).cloned().unwrap_or_default(), allocation.after)
}

/// The holdings when another pod has these devices.
fn holding(inventory: &Inventory, taken: &DeviceIds) -> Holdings {
    if taken.is_empty() {
        return Holdings::default();
    }
    let pod = asking("other", u32::try_from(taken.len()).expect("a few"));
    let (given, held) = given(inventory, &Holdings::default(), &pod, Affinity::Any, None, taken);
    assert_eq!(&given, taken, "a plugin has its way");
    held
}

#[test]
fn devices_come_from_the_switch_with_the_fewest_free_ones_that_has_all() {
    // a to f are on node 0, g to l on node 1.
    let words = "a:0 b:0 c:0 d:0 e:0 f:0 g:1 h:1 i:1 j:1 k:1 l:1";
    let inventory = plugged(words, PREFERS);
    for (switches, taken, nodes, asked, by_name, expected) in [
        ("abc def", "d", &[0][..], 1, "a", "e"),
        ("abc def", "d", &[0], 2, "a b", "e f"),
        ("abc def", "d", &[0], 3, "a b c", "a b c"),
        ("abc def", "d", &[0], 4, "a b c e", "a b e f"),
        // Three broken ones: the tightest that has them.
        ("ab cd ef", "a c", &[0], 1, "b", "b"),
        ("abcd ef", "a e", &[0], 1, "b", "f"),
        // A switch with all of it goes before pieces of several.
        ("ab cd ef", "a c", &[0], 2, "b d", "e f"),
        // A device on no switch breaks nothing.
        ("abc de", "", &[0], 1, "a", "f"),
        // Other nodes are not chosen, whatever is broken there.
        ("abc def gh", "g", &[0], 1, "a", "a"),
        ("abc def ghi jkl", "j", &[1], 1, "g", "k"),
        // All are in one domain: its switches decide. In a switch its ports do.
        ("=abcdef abc def", "d", &[0], 1, "a", "e"),
        ("abcdef abc def", "d", &[0], 2, "a b", "e f"),
        ("abcdef abc def", "d", &[0], 3, "a b c", "a b c"),
        ("=abc =def ab de", "f", &[0], 1, "a", "d"),
        // No switch at all.
        ("", "a", &[0], 2, "b c", "b c"),
    ] {
        let links = links(switches);
        let held = holding(&inventory, &ids(taken));
        let near = near(&inventory, nodes);
        let got = |keep_whole, preferred: &str| {
            names(&given(&inventory, &held, &asking("p", asked), near, keep_whole, &ids(preferred)).0)
        };
        assert_eq!(got(None, ""), by_name, "by name: {asked} of {switches} without {taken}");
        assert_eq!(got(Some(&links), ""), expected, "{asked} of {switches} without {taken}");
    }
}

#[test]
fn what_a_plugin_prefers_goes_ahead() {
    let inventory = plugged("a:0 b:0 c:0 d:0 e:0 f:0", PREFERS);
    let (links, held) = (links("abc def"), holding(&inventory, &ids("d")));
    for (preferred, asked, expected) in
        [("b", 1, "b"), ("b c", 2, "b c"), ("c", 2, "c e"), ("e", 3, "a e f"), ("", 2, "e f"), ("z", 1, "e")]
    {
        let near = near(&inventory, &[0]);
        let got = given(&inventory, &held, &asking("p", asked), near, Some(&links), &ids(preferred)).0;
        assert_eq!(names(&got), expected, "{asked}, preferred {preferred}");
    }
}

/// Switches touched, whole ones broken, and devices left in those touched. A device on no switch is one by itself.
fn cost(switches: &[BTreeSet<DeviceId>], taken: &DeviceIds, given: &[DeviceId]) -> (usize, usize, usize) {
    let touched = || switches.iter().filter(|switch| given.iter().any(|id| switch.contains(id)));
    let loose = given.iter().filter(|id| !switches.iter().any(|switch| switch.contains(*id))).count();
    let is_whole =
        |switch: &&BTreeSet<DeviceId>| switch.len() > 1 && switch.iter().all(|id| !taken.contains(id));
    let is_left = |id: &&DeviceId| !taken.contains(id) && !given.contains(id);
    let left = touched().map(|switch| switch.iter().filter(is_left).count()).sum();
    (touched().count() + loose, touched().filter(is_whole).count(), left)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_devices_break_fewer_whole_switches(
        on in prop::collection::vec(0..5_usize, 10),
        taken in any::<[bool; 10]>(),
        asked in 1..6_u32,
    ) {
        let letters: Vec<String> = "abcdefghij".chars().map(String::from).collect();
        let inventory = plugged(&letters.iter().map(|id| format!("{id}:0")).collect::<Vec<_>>().join(" "), PREFERS);
        // The last of five is no switch.
        let words: Vec<String> = (0..4)
            .map(|switch| letters.iter().zip(&on).filter(|(_, at)| **at == switch).map(|(id, _)| id.as_str()).collect())
            .filter(|word: &String| !word.is_empty())
            .collect();
        let switches: Vec<BTreeSet<DeviceId>> = words
            .iter()
            .map(|word| word.chars().map(|letter| DeviceId::new(&letter.to_string())).collect())
            .collect();
        let taken: DeviceIds =
            letters.iter().zip(taken).filter(|(_, taken)| *taken).map(|(id, _)| DeviceId::new(id)).collect();
        let free: Vec<DeviceId> =
            letters.iter().map(|id| DeviceId::new(id)).filter(|id| !taken.contains(id)).collect();
        if free.len() < asked as usize {
            return Ok(());
        }
        let held = holding(&inventory, &taken);
        let (pod, near) = (asking("p", asked), near(&inventory, &[0]));
        let links = links(&words.join(" "));
        let got = given(&inventory, &held, &pod, near, Some(&links), &DeviceIds::new()).0;
        let got: Vec<DeviceId> = got.iter().cloned().collect();
        let sets = (0..1_u32 << free.len()).filter(|bits| bits.count_ones() == asked);
        let least = sets.map(|bits| {
            let set = free.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            cost(&switches, &taken, &set.map(|(_, id)| id.clone()).collect::<Vec<_>>())
        });
        prop_assert_eq!(got.len(), asked as usize);
        prop_assert_eq!(Some(cost(&switches, &taken, &got)), least.min(), "{:?} of {:?}, {:?}", got, words, taken);
    }
}
