//! Pods that come to a kubelet one after the other: behind one without an answer it gets to no other.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use kubelet_fates::{Blocker, Fate};
use pod_spec::Pod;

use crate::conclusion::Conclusion;
use crate::report::Report;

/// The pods before the next one, as far as they keep the kubelet from it.
#[derive(Clone, Default, Debug)]
pub struct AdmissionQueue {
    blocker: Option<Blocker>,
}

impl AdmissionQueue {
    /// The report on the next pod, which was decided on as if the kubelet got to it.
    #[must_use]
    pub fn next(&mut self, pod: &Pod, report: Report) -> Report {
        if let Some(blocker) = &self.blocker {
            return behind(report, blocker.clone());
        }
        self.blocker = report.fated().and_then(|fated| Blocker::of(pod, &fated.fate));
        report
    }

    /// Whether the kubelet gets to no pod any more, the last one included.
    #[must_use]
    pub const fn is_blocked(&self) -> bool {
        self.blocker.is_some()
    }
}

/// The report on a pod to which the kubelet never gets: what was concluded is its answer without `blocker`.
fn behind(report: Report, blocker: Blocker) -> Report {
    let answer = match &report.conclusion {
        Conclusion::Refused(refusal) => format!("{}: {}", refusal.reason, refusal.message),
        Conclusion::Fated(fated) => fated.to_string(),
        Conclusion::WithoutClaims(_, claims) => claims.to_string(),
        Conclusion::Unschedulable(why) => why.to_string(),
        Conclusion::Undecided(why) => why.to_string(),
        Conclusion::Deferred(deferred) => format!("deferred: {deferred}"),
        Conclusion::Admitted(_) => {
            let own = report.containers().iter().filter_map(|own| own.exclusive_cpus.as_ref());
            let cpus: Vec<String> = own.map(ToString::to_string).collect();
            let with = if cpus.is_empty() { "" } else { " with CPUs " };
            format!("admitted{with}{}", cpus.join(" and "))
        }
    };
    let way_out = format!("{} deleted: {answer}", blocker.pod);
    report.with_fate(Fate::NotReached(Box::new(blocker)), vec![way_out])
}
