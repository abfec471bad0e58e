//! The owner's thread, as it is, among others, in thousands of orders in which they may run.
//!
//! What is not the owner's stands in: files are a map, plugins and cgroups are threads that answer. Every look at the
//! clock and every file operation is a place where another thread may go on.

mod day;
mod stand_ins;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use node_agent::{Answer, Event, ListedPod, Listing, PluginEvent, Request};
use node_state::ManifestFile;
use node_view::{Message, OwnerReply};
use pod_spec::{Pod, PodLevelResources};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::JoinHandle;
use shuttle::{Config, Runner};
use topology_manifest::{Source, read_accepted_pods};

use self::day::Day;
use self::stand_ins::pause;

const VF: &str = "example.com/vf";

/// A Guaranteed pod of one container, `app`.
fn pod(name: &str, cpus: u32, devices: u32) -> Arc<Pod> {
    let device = if devices > 0 { format!(", {VF}: {devices}") } else { String::new() };
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    image: x\n    \
         resources: {{limits: {{cpu: {cpus}, memory: 1Gi{device}}}}}\n"
    );
    let read = read_accepted_pods(&Source { name: "model", text: &text }, PodLevelResources::Count);
    let read = read.unwrap_or_else(|error| panic!("{error}"));
    let pod = read.pods.into_iter().next().unwrap_or_else(|| panic!("there is one"));
    Arc::new(pod.delivered().with_defaults(PodLevelResources::Count))
}

/// The pods of a file.
fn listing(pods: Vec<Arc<Pod>>) -> Listing {
    let listed = |pod| ListedPod { pod, file: ManifestFile::new("pods.yaml") };
    Listing { pods: pods.into_iter().map(listed).collect(), ..Listing::default() }
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        thread.join().unwrap_or_else(|_| panic!("somebody has panicked"));
    }
}

/// Pods of requests and of the folder come and go, containers start and exit, a client looks, and time passes.
fn pods_and_containers() {
    let day = Day::begins();
    let threads = vec![
        day.somebody(|client| {
            let own = pod("a", 3, 0);
            let Some(is_admitted) = client.admit(&own) else { panic!("it is answered") };
            assert_eq!(client.is_there(&own), is_admitted, "who is told sees it");
            if is_admitted {
                assert!(matches!(client.start(&own, "a1"), Some(OwnerReply::Answer(Answer::Done))));
                assert!(client.is_written("a1"), "it is where it belongs before it runs");
                assert!(matches!(
                    client.ask(Request::Exited("a1".into())),
                    Some(OwnerReply::Answer(Answer::Done))
                ));
                assert!(client.ask(Request::Delete(own.uid.clone())).is_some(), "it is answered");
                assert!(!client.is_there(&own));
            }
        }),
        day.somebody(|client| {
            let own = pod("b", 3, 0);
            let Some(is_admitted) = client.admit(&own) else { panic!("it is answered") };
            assert_eq!(client.is_there(&own), is_admitted);
            client.ask_and_leave(Request::Delete(own.uid.clone()));
        }),
        day.somebody(|client| {
            let pods = vec![pod("f", 2, 0)];
            client.tell(Message::Event(Event::Listed(listing(pods))));
            client.tell(Message::Event(Event::Listed(Listing::default())));
        }),
        day.somebody(|client| {
            let mut version = client.look().ledger.version();
            for _ in 0..3 {
                pause();
                let next = client.look().ledger.version();
                assert!(next >= version, "time does not run backwards");
                version = next;
            }
            client.wait(5);
        }),
    ];
    join(threads);
    assert_eq!(day.ends(), BTreeSet::new(), "all have been deleted");
}

/// A plugin is replaced while it is asked, goes, and is forgotten; its pods stay.
fn plugins_are_replaced() {
    let day = Day::begins();
    let threads = vec![
        day.somebody(|client| {
            client.register();
            client.register();
            client.tell(Message::Event(Event::Plugin(PluginEvent::Gone(VF.into()))));
            client.wait(301);
        }),
        day.somebody(|client| {
            let own = pod("d", 1, 1);
            for _ in 0..2 {
                let is_admitted = client.admit(&own) == Some(true);
                assert_eq!(client.is_there(&own), is_admitted);
                if is_admitted {
                    let _ = client.ask(Request::Delete(own.uid.clone()));
                }
            }
        }),
        day.somebody(|client| {
            client.ask_and_leave(Request::Admit(pod("e", 1, 1)));
            let _ = client.ask(Request::Delete(pod("e", 1, 1).uid.clone()));
        }),
    ];
    join(threads);
    let _ = day.ends();
}

/// Pods wait for a plugin that has gone, and others come while they are decided on one after the other.
fn who_waited_is_decided_on_between_others() {
    let day = Day::begins_with_deferral();
    let prepared = day.somebody(|client| {
        client.register();
        client.tell(Message::Event(Event::Plugin(PluginEvent::Gone(VF.into()))));
        for name in ["d", "e", "f"] {
            let told = client.ask(Request::Admit(pod(name, 1, 1)));
            assert!(matches!(told, Some(OwnerReply::Answer(Answer::Deferred(_)))), "{told:?}");
        }
    });
    join(vec![prepared]);
    let threads = vec![
        day.somebody(|client| {
            client.register();
            client.until_nobody_waits();
        }),
        day.somebody(|client| {
            for name in ["a", "b"] {
                let own = pod(name, 1, 0);
                assert_eq!(client.admit(&own), Some(true));
                assert!(client.is_there(&own));
            }
        }),
    ];
    join(threads);
    let expected = ["a", "b", "d"].map(str::to_owned);
    assert_eq!(
        day.ends(),
        BTreeSet::from(expected),
        "there is one device, and d has waited for the longest time"
    );
}

/// The owner stops in the middle of it: pods that were answered as admitted are there after the restart.
fn a_stop_keeps_what_was_promised() {
    let day = Day::begins();
    let promised = Arc::<Mutex<BTreeSet<String>>>::default();
    let admits = |name: &'static str, cpus: u32| {
        let promised = promised.clone();
        day.somebody(move |client| {
            if client.admit(&pod(name, cpus, 0)) == Some(true) {
                promised.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
            }
        })
    };
    let threads = vec![
        admits("a", 3),
        admits("b", 2),
        day.somebody(|client| {
            client.wait(5);
            client.register();
        }),
    ];
    let kept = day.ends();
    join(threads);
    let promised = promised.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(promised.is_subset(&kept), "{promised:?} were promised, {kept:?} are there");
}

/// The same orders are played in every run.
const SEED: u64 = 1;

/// Plays it in so many orders, drawn evenly; and in half as many where few threads give way.
fn play(model: fn(), orders: usize) {
    let config = || {
        let mut config = Config::default();
        // Threads of a model have small stacks by themselves.
        config.stack_size = 1 << 20;
        config
    };
    Runner::new(RandomScheduler::new_from_seed(SEED, orders), config()).run(model);
    Runner::new(PctScheduler::new_from_seed(SEED, 3, orders / 2), config()).run(model);
}

#[test]
fn pods_and_containers_in_any_order() {
    play(pods_and_containers, 400);
}

#[test]
fn plugins_are_replaced_in_any_order() {
    play(plugins_are_replaced, 400);
}

#[test]
fn who_waited_in_any_order() {
    play(who_waited_is_decided_on_between_others, 200);
}

#[test]
fn a_stop_at_any_time_keeps_what_was_promised() {
    play(a_stop_keeps_what_was_promised, 400);
}
