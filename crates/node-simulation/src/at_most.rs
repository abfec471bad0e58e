//! How many pods of a run any scheduler could admit at most.
//!
//! Each kind of limit is a [class](classes): at every moment what the running pods take of it is no more than there is. A
//! placement that knows the future and may turn pods away on purpose keeps to all of them; so the most pods that do, when
//! parts of pods count too, are no fewer than any strategy admits. That number is approached from above: [`prices`].

mod classes;
mod prices;

use alloc::vec::Vec;

use crate::fleet::Fleet;
use crate::queue::Retry;
use crate::workload::{Arrival, Template};
use classes::Class;
use prices::Problem;

/// What limits the pods of a fleet under any scheduler. Fleets whose limits are equal have the same bound.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    classes: Vec<Class>,
    templates: usize,
}

impl Limits {
    /// The limits of a fleet for pods of these kinds. `None` where nothing is known: pods are tried again, or one may end
    /// others.
    #[must_use]
    pub fn new(fleet: &Fleet<'_>, templates: &[Template]) -> Option<Self> {
        let is_critical = |template: &Template| template.pod.constraints.is_critical();
        if fleet.retry != Retry::Never || templates.iter().any(is_critical) {
            return None;
        }
        Some(Self { classes: classes::of(fleet, templates), templates: templates.len() })
    }

    /// The most of `arrivals` that could be admitted, each at its first try. `reached` is a number that was admitted: the
    /// nearer to the result, the closer the result.
    #[must_use]
    pub fn at_most(&self, arrivals: &[Arrival], reached: u64) -> u64 {
        let stays = prices::stays(arrivals, self.templates);
        let refused = Problem::new(&self.classes, &stays).refused_at_least(reached);
        (stays.len() as u64 - refused).max(reached)
    }
}
