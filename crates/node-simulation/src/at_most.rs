//! How many pods of a run could be admitted at most, whoever places them.
//!
//! Each kind of limit is a [class](classes): at every moment what the running pods take of it is no more than there is. A
//! placement that knows the future and may turn pods away on purpose keeps to all of them; so the most pods that do, when
//! parts of pods count too, are no fewer than any strategy admits. That number is approached from above: [`prices`].

mod classes;
mod prices;

use crate::queue::Retry;
use crate::run::Fleet;
use crate::workload::{Arrival, Template};

/// The most of `arrivals` that `fleet` could admit, each at its first try. `reached` is a number that was admitted: the
/// nearer to the result, the closer the result.
///
/// `None` where nothing is known: pods are tried again, or one may end others.
#[must_use]
pub fn at_most(fleet: &Fleet<'_>, templates: &[Template], arrivals: &[Arrival], reached: u64) -> Option<u64> {
    let is_critical = |template: &Template| template.pod.constraints.is_critical();
    if fleet.retry != Retry::Never || templates.iter().any(is_critical) {
        return None;
    }
    let stays = prices::stays(arrivals, templates.len());
    let classes = classes::of(fleet, templates);
    let admitted = stays.len() as u64 - prices::refused_at_least(&classes, &stays, reached);
    Some(admitted.max(reached))
}
