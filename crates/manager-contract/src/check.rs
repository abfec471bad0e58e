//! Pods come and go, and after each step the laws hold.

use pod_spec::{Pod, Unit};

use crate::Manager;
use crate::offers::Offers;

/// A pod that comes, or goes if it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visit {
    /// Which of the pods; modulo their number.
    pub pod: usize,
    /// Near which of the hints that were given its containers are allocated; modulo their number.
    pub hint: usize,
}

/// What happened, so that a test can tell that something did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Visits {
    /// Pods that were served.
    pub admitted: usize,
    /// Pods for which there was no hint, or that could not be served and were promised nothing.
    pub refused: usize,
    /// Hints near which a container could be served.
    pub honoured: usize,
}

/// Lets `pods` visit `manager`.
///
/// # Panics
/// A law is broken.
pub fn check<M: Manager>(manager: &M, pods: &[Pod], visits: &[Visit]) -> Visits {
    let mut here = alloc::vec![false; pods.len()];
    let mut held = manager.empty();
    let mut happened = Visits::default();
    for visit in visits {
        let Some(at) = visit.pod.checked_rem(pods.len()) else { break };
        let pod = &pods[at];
        if here[at] {
            held = manager.release(&held, &pod.uid);
            here[at] = false;
        } else {
            let before = Offers::of_all(manager, &held, pods);
            let served = serve(manager, &held, pod, visit.hint, &mut happened);
            let released = manager.release(served.as_ref().unwrap_or(&held), &pod.uid);
            let after = Offers::of_all(manager, &released, pods);
            assert_eq!(before, after, "release undoes: {} has come and gone", pod.name);
            match served {
                Some(served) => {
                    (held, here[at]) = (served, true);
                    happened.admitted += 1;
                }
                None => happened.refused += 1,
            }
        }
        assert_eq!(manager.conflict(&held), None, "never two owners, after {visit:?}");
    }
    for (pod, _) in pods.iter().zip(here).filter(|(_, is_here)| *is_here) {
        held = manager.release(&held, &pod.uid);
    }
    let (left, empty) =
        (Offers::of_all(manager, &held, pods), Offers::of_all(manager, &manager.empty(), pods));
    assert_eq!(left, empty, "release undoes: all pods have gone");
    happened
}

/// The holdings with all containers of `pod`; `None` if one of them was not served, and was promised nothing.
fn serve<M: Manager>(
    manager: &M,
    held: &M::Holdings,
    pod: &Pod,
    choice: usize,
    happened: &mut Visits,
) -> Option<M::Holdings> {
    let mut held = held.clone();
    for container in &pod.containers {
        let offers = Offers::of(manager, &held, Unit::Container(pod, container));
        let hints = offers.agreed(manager.nodes());
        for hint in &hints {
            let copy = held.clone();
            let plan = manager.allocate(&held, pod, container, *hint);
            assert_eq!(plan, manager.allocate(&held, pod, container, *hint), "planning is pure: {hint:?}");
            assert_eq!(held, copy, "planning is pure: a plan changes nothing");
            match plan {
                Ok(_) => happened.honoured += 1,
                Err(error) if offers.is_promise() => {
                    panic!(
                        "a hint can be honoured: {hint:?} for {} of {}: {error:?}",
                        container.name, pod.name
                    )
                }
                Err(_) => {}
            }
        }
        let hint = hints.get(choice.checked_rem(hints.len())?)?;
        held = manager.allocate(&held, pod, container, *hint).ok()?;
    }
    Some(held)
}
