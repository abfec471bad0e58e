//! What becomes of events in which a kubelet ends its list more than once.

use super::*;

fn pod(uid: &str) -> KubeletPod {
    let text = format!(
        r#"{{"metadata":{{"name":"{uid}","namespace":"default","uid":"{uid}"}},"spec":{{"containers":[]}},"status":{{"phase":"Running"}}}}"#
    );
    KubeletPod::from_json(&text).unwrap()
}

fn running(pods: &KubeletPods) -> Option<Vec<String>> {
    let told = pods.0.lock();
    told.pods.as_ref().map(|pods| pods.keys().map(ToString::to_string).collect())
}

#[test]
fn only_the_first_end_of_a_list_replaces_the_pods() {
    let pods = KubeletPods::default();
    let mut events = Events::new(&pods, PodRules::default());
    let is = |uid: &str| Event::Is(Box::new(pod(uid)));
    let steps = [
        (is("a"), Applied::Collected, None),
        (is("b"), Applied::Collected, None),
        (Event::Complete, Applied::Listed(2), Some(vec!["a", "b"])),
        (is("c"), Applied::Changed, Some(vec!["a", "b", "c"])),
        (Event::Complete, Applied::Collected, Some(vec!["a", "b", "c"])),
        (Event::Gone(Box::new(pod("a"))), Applied::Changed, Some(vec!["b", "c"])),
        (Event::Complete, Applied::Collected, Some(vec!["b", "c"])),
    ];
    for (number, (event, applied, left)) in steps.into_iter().enumerate() {
        assert_eq!(events.apply(event), applied, "event {number}");
        let left = left.map(|left| left.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(running(&pods), left, "after event {number}");
    }
}
