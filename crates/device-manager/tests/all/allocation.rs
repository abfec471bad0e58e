//! Which devices a container gets, and what its plugin is asked.

use device_manager::{
    BlockedDevices, DeviceIds, Devices, Holdings, Inventory, PluginOptions, Question, Reply, Request,
};
use kubelet_release::Rules;
use pod_spec::{PodUid, Role};
use proptest::prelude::*;
use topology_hint::Affinity;

use crate::fixture::{GPU, asking, devices, gpu, ids, machine, names, near, plugged, pod, serve, settle};

const PREFERS: PluginOptions = PluginOptions { preferred_allocation: true, pre_start: false };

#[test]
fn near_devices_go_first_then_far_ones_then_those_without_a_node() {
    let inventory = machine(&[0, 1]).with(GPU, devices("a b:0 c:0 d:1 e:1,0 f:-1 g:-1,0"));
    for (nodes, asked, expected) in [
        (&[1][..], 1, "d"),
        (&[1], 2, "d e"),
        (&[1], 3, "b d e"),
        (&[1], 5, "b c d e g"),
        (&[1], 6, "a b c d e g"),
        (&[0], 4, "b c e g"),
        (&[0, 1], 5, "b c d e g"),
        // Near no node: all are far, but for those without one.
        (&[], 5, "b c d e g"),
    ] {
        let pod = asking("p", asked);
        let (_, got) = serve(&inventory, &Holdings::default(), &pod, near(&inventory, nodes));
        assert_eq!(got, [expected], "{asked} near {nodes:?}");
    }
    let (_, got) = serve(&inventory, &Holdings::default(), &asking("p", 3), Affinity::Any);
    assert_eq!(got, ["a b c"]);
}

#[test]
fn the_plugin_is_asked_about_the_tier_that_is_cut() {
    let inventory = plugged("a:0 b:0 c:0 d:1 e:1", PREFERS);
    for (nodes, asked, question, answer, expected) in [
        // More near ones than needed: a choice among these. What else it names does not count.
        (&[0][..], 2, Some(("a b c", "", 2)), "c d", "a c"),
        (&[0], 2, Some(("a b c", "", 2)), "no-such", "a b"),
        (&[0], 2, Some(("a b c", "", 2)), "a b c", "a b"),
        // Exactly enough: no choice.
        (&[0], 3, None, "", "a b c"),
        // Too few: these, and a choice among the rest.
        (&[0], 4, Some(("a b c d e", "a b c", 4)), "e", "a b c e"),
        (&[1], 3, Some(("a b c d e", "d e", 3)), "d e b", "b d e"),
        (&[1], 3, Some(("a b c d e", "d e", 3)), "", "a d e"),
    ] {
        let pod = asking("p", asked);
        let request = Request::new(&pod, &pod.containers[0], near(&inventory, nodes));
        let answering = |question: &Question| match question {
            Question::Preferred { .. } => Reply::Preferred(ids(answer)),
            other => Reply::willing(other),
        };
        let held = Holdings::default();
        let (questions, result) =
            settle(Devices::allocate, Devices::default(), &inventory, &held, &request, answering);
        let choice = question.map(|(available, must_include, size)| Question::Preferred {
            resource: gpu(),
            available: ids(available),
            must_include: ids(must_include),
            size,
        });
        let allocate = Question::Allocate { resource: gpu(), devices: ids(expected) };
        assert_eq!(
            questions,
            choice.into_iter().chain([allocate]).collect::<Vec<_>>(),
            "{asked} near {nodes:?}"
        );
        assert_eq!(names(&result.unwrap().granted[&gpu()]), expected);
    }
}

#[test]
fn init_containers_leave_their_devices_and_sidecars_keep_theirs() {
    let inventory = machine(&[0]).with(GPU, devices("a:0 b:0 c:0"));
    let one = format!("{GPU}=1");
    let two = format!("{GPU}=2");
    for (containers, expected) in [
        (
            vec![("i", Role::Init, &two), ("j", Role::Init, &one), ("app", Role::App, &two)],
            vec!["a b", "a", "a b"],
        ),
        (vec![("i", Role::Init, &one), ("app", Role::App, &two)], vec!["a", "a b"]),
        (
            vec![("i", Role::Init, &two), ("side", Role::Sidecar, &one), ("app", Role::App, &two)],
            vec!["a b", "a", "b c"],
        ),
        (vec![("app", Role::App, &one), ("other", Role::App, &two)], vec!["a", "b c"]),
    ] {
        let containers: Vec<_> =
            containers.iter().map(|(name, role, limits)| (*name, *role, limits.as_str())).collect();
        let (_, got) = serve(&inventory, &Holdings::default(), &pod("p", &containers), Affinity::Any);
        assert_eq!(got, expected);
    }
}

/// As in the kubelet: what is left is remembered for one pod at a time.
#[test]
fn another_pod_in_between_makes_left_devices_forgotten() {
    let inventory = machine(&[0]).with(GPU, devices("a:0 b:0 c:0"));
    let one = format!("{GPU}=1");
    let pod = pod("p", &[("init", Role::Init, &one), ("app", Role::App, &one)]);
    let init = pod_spec::Pod { containers: pod.containers[..1].to_vec().into(), ..pod.clone() };
    let (held, _) = serve(&inventory, &Holdings::default(), &init, Affinity::Any);
    assert_eq!(held.reusable(&pod.uid, &gpu()), Some(&ids("a")));
    let (held, _) = serve(&inventory, &held, &asking("other", 1), Affinity::Any);
    assert_eq!(held.reusable(&pod.uid, &gpu()), None);
    let app = pod_spec::Pod { containers: pod.containers[1..].to_vec().into(), ..pod };
    let (_, got) = serve(&inventory, &held, &app, Affinity::Any);
    assert_eq!(got, ["c"]);
}

#[test]
fn amounts_are_rounded_up_and_what_is_claimed_otherwise_is_passed_over() {
    let inventory = machine(&[0]).with(GPU, devices("a:0 b:0 c:0"));
    let pod = pod("p", &[("app", Role::App, &format!("{GPU}=1500m"))]);
    let (_, got) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    assert_eq!(got, ["a b"]);
    let request =
        Request { claimed: &[gpu()].into(), ..Request::new(&pod, &pod.containers[0], Affinity::Any) };
    let held = Holdings::default();
    let (_, result) =
        settle(Devices::allocate, Devices::default(), &inventory, &held, &request, Reply::willing);
    assert!(result.unwrap().granted.is_empty());
}

#[test]
fn a_container_is_served_once() {
    let inventory = plugged("a:0 b:0", PluginOptions::default());
    let pod = asking("p", 1);
    let (held, _) = serve(&inventory, &Holdings::default(), &pod, Affinity::Any);
    let request = Request::new(&pod, &pod.containers[0], Affinity::Any);
    let (questions, result) =
        settle(Devices::allocate, Devices::default(), &inventory, &held, &request, Reply::willing);
    let again = result.unwrap();
    assert_eq!(questions, []);
    assert!(again.granted.is_empty());
    assert_eq!(again.after, held);
}

/// Which devices each pod holds.
fn owners(held: &Holdings) -> Vec<(PodUid, DeviceIds)> {
    let of_pod = |pod: &PodUid| held.of_pod(pod).flat_map(|(_, _, held)| held.devices()).collect();
    held.pods().map(|pod| (pod.clone(), of_pod(pod))).collect()
}

fn aligned(inventory: &Inventory, ids: &DeviceIds, node: i64) -> usize {
    let on = |id: &&device_manager::DeviceId| {
        inventory
            .device(&gpu(), id)
            .is_some_and(|device| device.topology.ids().contains(&topology_model::NodeId(node)))
    };
    ids.iter().filter(on).count()
}

proptest! {
    /// Pods come and go: no device has two owners, near ones go first, and who goes leaves nothing behind.
    #[test]
    fn devices_have_one_owner_and_near_ones_go_first(
        places in prop::collection::vec(0_i64..3, 1..9),
        steps in prop::collection::vec((0_u8..6, 0_u32..4, 0_i64..2, prop::bool::weighted(0.3)), 1..20),
    ) {
        let words: Vec<String> = places.iter().enumerate().map(|(at, node)| format!("d{at}:{node}")).collect();
        let inventory = machine(&[0, 1, 2]).with(GPU, devices(&words.join(" ")));
        let mut held = Holdings::default();
        for (uid, asked, node, leaves) in steps {
            let pod = asking(&format!("p{uid}"), asked);
            if leaves {
                held = held.release(&pod.uid);
                prop_assert!(!held.has_pod(&pod.uid));
            } else if !held.has_pod(&pod.uid) {
                let taken = held.taken(&gpu()).cloned().unwrap_or_default();
                let free: DeviceIds = inventory.healthy(&gpu()).filter(|id| !taken.contains(id)).cloned().collect();
                let request = Request::new(&pod, &pod.containers[0], near(&inventory, &[node]));
                let policy = Devices::new(&Rules::default(), BlockedDevices::FreeAtOnce);
                let decide = || settle(Devices::allocate, policy, &inventory, &held, &request, Reply::willing);
                let (_, result) = decide();
                prop_assert_eq!(&result, &decide().1);
                if free.len() < asked as usize {
                    let text = format!(
                        "requested number of devices unavailable for {GPU}. Requested: {asked}, Available: {}",
                        free.len()
                    );
                    prop_assert_eq!(result.unwrap_err().error.to_string(), text);
                } else {
                    let allocation = result.unwrap();
                    let got = allocation.granted.get(&gpu()).cloned().unwrap_or_default();
                    prop_assert_eq!(got.len(), asked as usize);
                    prop_assert!(got.is_subset(&free));
                    let most = aligned(&inventory, &free, node).min(got.len());
                    prop_assert_eq!(aligned(&inventory, &got, node), most);
                    held = allocation.after;
                }
            }
            let owned: Vec<DeviceIds> = owners(&held).into_iter().map(|(_, ids)| ids).collect();
            let all: DeviceIds = owned.iter().flatten().cloned().collect();
            prop_assert_eq!(owned.iter().map(DeviceIds::len).sum::<usize>(), all.len());
            prop_assert_eq!(held.taken(&gpu()).cloned().unwrap_or_default(), all);
        }
    }
}
