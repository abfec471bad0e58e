//! A manager that breaks a law is found.

use std::panic::{AssertUnwindSafe, catch_unwind};

use manager_contract::{Manager, Visit, check};
use numa_bitmask::NodeMask;
use pod_spec::{Container, Pod, PodUid, ResourceList, Role, Unit};
use topology_hint::{Answers, Hint};

/// Which law is broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Defect {
    None,
    /// The last hint is not honoured.
    Breaks,
    /// A seat stays taken when its pod goes.
    Leaks,
    /// Seats are given out twice.
    Shares,
    /// The first plan differs from the second.
    Wavers,
}

/// Two seats on node 0. A pod holds its seats by their numbers.
struct Seats {
    defect: Defect,
    plans: std::cell::Cell<usize>,
}

type Held = Vec<(PodUid, usize)>;

impl Manager for Seats {
    type Holdings = Held;
    type Error = &'static str;

    fn nodes(&self) -> NodeMask {
        NodeMask::all(2)
    }

    fn empty(&self) -> Held {
        Held::new()
    }

    fn hints(&self, held: &Held, _: Unit<'_>, answers: &mut Answers) {
        let free = 2_u64.saturating_sub(held.len() as u64);
        let mut family = answers.push_family("acme.com/seat");
        family.open(NodeMask::all(2)).need(1, [(NodeMask::all(1), free)]).preferred_size(1);
    }

    fn allocate(&self, held: &Held, pod: &Pod, _: &Container, _: Hint) -> Result<Held, &'static str> {
        self.plans.set(self.plans.get() + 1);
        if held.len() == 2 || self.defect == Defect::Breaks && held.len() == 1 {
            return Err("no seat is left");
        }
        let wavers = usize::from(self.defect == Defect::Wavers && self.plans.get().is_multiple_of(2));
        let seat =
            if self.defect == Defect::Shares { 0 } else { held.first().map_or(0, |(_, taken)| 1 - taken) };
        let mut after = held.clone();
        after.push((pod.uid.clone(), seat + wavers));
        Ok(after)
    }

    fn release(&self, held: &Held, pod: &PodUid) -> Held {
        if self.defect == Defect::Leaks {
            return held.clone();
        }
        held.iter().filter(|(holder, _)| holder != pod).cloned().collect()
    }

    fn conflict(&self, held: &Held) -> Option<String> {
        match held.as_slice() {
            [(a, one), (b, other)] if one == other => Some(format!("{a} and {b} have seat {one}")),
            _ => None,
        }
    }
}

/// The law that is broken, as the first words of the panic.
fn broken(defect: Defect) -> Option<String> {
    let amounts = ResourceList::new();
    let app = Container { name: "app".into(), role: Role::App, requests: amounts.clone(), limits: amounts };
    let pods = ["a", "b", "c"].map(|name| Pod::new("default", name, vec![app.clone()]));
    let visits = [0, 1, 2, 0, 2].map(|pod| Visit { pod, hint: 0 });
    let manager = Seats { defect, plans: std::cell::Cell::new(0) };
    let outcome = catch_unwind(AssertUnwindSafe(|| check(&manager, &pods, &visits)));
    let panic = outcome.err()?;
    let text = panic.downcast_ref::<String>()?;
    ["a hint can be honoured", "release undoes", "never two owners", "planning is pure"]
        .into_iter()
        .find(|law| text.contains(law))
        .map(str::to_owned)
}

#[test]
fn each_law_is_checked() {
    assert_eq!(broken(Defect::None), None);
    assert_eq!(broken(Defect::Breaks).as_deref(), Some("a hint can be honoured"));
    assert_eq!(broken(Defect::Leaks).as_deref(), Some("release undoes"));
    assert_eq!(broken(Defect::Shares).as_deref(), Some("never two owners"));
    assert_eq!(broken(Defect::Wavers).as_deref(), Some("planning is pure"));
}
