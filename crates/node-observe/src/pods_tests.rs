//! What becomes of events in which a kubelet ends its list more than once.

use node_view::clock::SystemClock;

use super::*;

/// A clock that is moved by hand.
struct HandClock {
    start: Instant,
    passed: Mutex<Duration>,
}

impl Clock for HandClock {
    fn now(&self) -> Instant {
        self.start + *self.passed.lock()
    }

    fn since_1970(&self) -> Duration {
        *self.passed.lock()
    }

    fn sleep(&self, length: Duration) {
        *self.passed.lock() += length;
    }
}

fn pod(uid: &str, phase: &str) -> KubeletPod {
    let text = format!(
        r#"{{"metadata":{{"name":"{uid}","namespace":"default","uid":"{uid}"}},"spec":{{"containers":[{{"name":"app","image":"none"}}]}},"status":{{"phase":"{phase}"}}}}"#
    );
    KubeletPod::from_json(&text).unwrap()
}

fn running(pods: &KubeletPods) -> Option<Vec<String>> {
    let reported = pods.state.lock();
    reported.pods.as_ref().map(|pods| pods.keys().map(ToString::to_string).collect())
}

#[test]
fn only_the_first_end_of_a_list_replaces_the_pods() {
    let pods = KubeletPods::new(Arc::new(SystemClock));
    let mut events = Events::new(&pods, PodRules::default());
    let is = |uid: &str| Event::Is(Box::new(pod(uid, "Running")));
    let steps = [
        (is("a"), Applied::Collected, None),
        (is("b"), Applied::Collected, None),
        (Event::Complete, Applied::Listed(2), Some(vec!["a", "b"])),
        (is("c"), Applied::Changed, Some(vec!["a", "b", "c"])),
        (Event::Complete, Applied::Collected, Some(vec!["a", "b", "c"])),
        (Event::Gone(Box::new(pod("a", "Running"))), Applied::Changed, Some(vec!["b", "c"])),
        (Event::Complete, Applied::Collected, Some(vec!["b", "c"])),
    ];
    for (number, (event, applied, left)) in steps.into_iter().enumerate() {
        assert_eq!(events.apply(event), applied, "event {number}");
        let left = left.map(|left| left.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(running(&pods), left, "after event {number}");
    }
}

#[test]
fn a_pod_without_a_decision_is_taken_once_and_after_a_while() {
    let clock = Arc::new(HandClock { start: SystemClock.now(), passed: Mutex::default() });
    let pods = KubeletPods::new(clock.clone());
    let mut events = Events::new(&pods, PodRules::default());
    events.apply(Event::Complete);
    events.apply(Event::Is(Box::new(pod("a", "Pending"))));
    clock.sleep(DECIDED / 2);
    events.apply(Event::Is(Box::new(pod("b", "Pending"))));
    let taken = || pods.take_undecided().iter().map(|pod| pod.uid.to_string()).collect::<Vec<_>>();
    assert_eq!(taken(), [""; 0]);
    clock.sleep(DECIDED / 2);
    assert_eq!(taken(), ["a"]);
    clock.sleep(DECIDED);
    assert_eq!(taken(), ["b"], "each once");
    assert!(pods.is_undecided(&PodUid::new("a")));
    events.apply(Event::Is(Box::new(pod("a", "Running"))));
    assert!(!pods.is_undecided(&PodUid::new("a")));
}

#[test]
fn a_pod_that_no_file_lists_is_forgotten_after_minutes() {
    let clock = Arc::new(HandClock { start: SystemClock.now(), passed: Mutex::default() });
    let pods = KubeletPods::new(clock.clone());
    let mut events = Events::new(&pods, PodRules::default());
    events.apply(Event::Is(Box::new(pod("a", "Running"))));
    events.apply(Event::Complete);
    events.apply(Event::Gone(Box::new(pod("a", "Running"))));
    let is_remembered = || {
        pods.names(Some(&BTreeSet::new())).unwrap();
        pods.state.lock().gone.contains_key(&PodUid::new("a"))
    };
    assert!(is_remembered());
    clock.sleep(FORGOTTEN);
    assert!(!is_remembered(), "no file has listed it for so long");
}
