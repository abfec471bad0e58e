//! The sum of many decisions.

use std::collections::BTreeMap;
use std::fmt;

use admission_report::{Conclusion, Remark, Report};
use serde::Serialize;

/// How many pods came out how; displays as `11 admitted, 29 refused: 29 TopologyAffinityError`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// Pods that may run.
    admitted: usize,
    /// Of those admitted: some container of the pod shares CPUs.
    not_pinned: usize,
    /// Pods that the managers admit, and whose claims of devices were not decided on.
    #[serde(skip_serializing_if = "is_none")]
    without_claims: usize,
    /// Pods that kube-scheduler does not place on the node because of their claims of devices.
    #[serde(skip_serializing_if = "is_none")]
    unschedulable: usize,
    /// By the kubelet's reason.
    refused: BTreeMap<String, usize>,
    /// It waits for a device plugin.
    #[serde(skip_serializing_if = "is_none")]
    deferred: usize,
    /// Too little is known to decide.
    undecided: usize,
    /// A kubelet does not simply admit or refuse it: by what happens instead.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fates: BTreeMap<&'static str, usize>,
    /// The same, in a few words.
    #[serde(skip)]
    fates_in_words: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts one more.
    pub fn add(&mut self, report: &Report) {
        match &report.conclusion {
            Conclusion::Admitted(_) => {
                self.admitted += 1;
                self.not_pinned += usize::from(is_not_pinned(report));
            }
            Conclusion::WithoutClaims(..) => self.without_claims += 1,
            Conclusion::Unschedulable(_) => self.unschedulable += 1,
            Conclusion::Refused(refusal) => {
                *self.refused.entry(refusal.reason.to_string()).or_default() += 1;
            }
            Conclusion::Deferred(_) => self.deferred += 1,
            Conclusion::Undecided(_) => self.undecided += 1,
            Conclusion::Fated(fated) => {
                *self.fates.entry(fated.fate.kind()).or_default() += 1;
                *self.fates_in_words.entry(fated.fate.brief()).or_default() += 1;
            }
        }
    }

    /// Whether none is refused or open.
    #[must_use]
    pub fn is_all_admitted(&self) -> bool {
        self.refused.is_empty()
            && self.undecided == 0
            && self.deferred == 0
            && self.without_claims == 0
            && self.unschedulable == 0
            && self.fates.is_empty()
    }

    /// How many are admitted.
    #[must_use]
    pub const fn admitted(&self) -> usize {
        self.admitted
    }

    /// How many are refused.
    #[must_use]
    pub fn refused(&self) -> usize {
        self.refused.values().sum()
    }

    /// How many are admitted, and a container of them shares CPUs.
    #[must_use]
    pub const fn not_pinned(&self) -> usize {
        self.not_pinned
    }

    /// How many the managers admit, whose claims were not decided on.
    #[must_use]
    pub const fn without_claims(&self) -> usize {
        self.without_claims
    }

    /// How many there are.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.admitted
            + self.without_claims
            + self.unschedulable
            + self.refused()
            + self.deferred
            + self.undecided
            + self.fates.values().sum::<usize>()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it in")]
const fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Whether a pod is admitted, and a container of it shares CPUs.
#[must_use]
pub fn is_not_pinned(report: &Report) -> bool {
    report.is_admitted() && report.notes.iter().any(|note| matches!(note.remark, Remark::NotPinned { .. }))
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            admitted,
            not_pinned,
            without_claims,
            unschedulable,
            refused,
            deferred,
            undecided,
            fates: _,
            fates_in_words,
        } = self;
        match admitted {
            0 => f.write_str("none admitted")?,
            some => write!(f, "{some} admitted")?,
        }
        match not_pinned {
            0 => {}
            some if some == admitted => f.write_str(", CPUs NOT pinned")?,
            some => write!(f, ", {some} of them with CPUs NOT pinned")?,
        }
        match without_claims {
            0 => {}
            some => write!(f, ", {some} admitted without claims, which are not decided here")?,
        }
        match unschedulable {
            0 => {}
            some => write!(f, ", {some} not scheduled here because of claims")?,
        }
        let mut reasons: Vec<_> = refused.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        match reasons.as_slice() {
            [] => f.write_str(", none refused")?,
            reasons => {
                write!(f, ", {} refused: ", refused.values().sum::<usize>())?;
                let each = reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
                f.write_str(&each.collect::<Vec<_>>().join(", "))?;
            }
        }
        match deferred {
            0 => {}
            some => write!(f, ", {some} deferred until a device plugin is back")?,
        }
        fates_in_words.iter().try_for_each(|(words, count)| write!(f, ", {count} {words}"))?;
        match undecided {
            0 => Ok(()),
            some => write!(f, ", {some} not decided"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tally: &Tally, expected: &str) {
        assert_eq!(tally.to_string(), expected);
    }

    #[test]
    fn reasons_are_told_by_their_count() {
        let refused = |all: &[(&str, usize)]| {
            all.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect::<BTreeMap<_, _>>()
        };
        check(&Tally { admitted: 2, ..Tally::default() }, "2 admitted, none refused");
        check(
            &Tally {
                admitted: 11,
                not_pinned: 3,
                refused: refused(&[("TopologyAffinityError", 29)]),
                ..Tally::default()
            },
            "11 admitted, 3 of them with CPUs NOT pinned, 29 refused: 29 TopologyAffinityError",
        );
        check(
            &Tally { refused: refused(&[("OutOfcpu", 1), ("TopologyAffinityError", 2)]), ..Tally::default() },
            "none admitted, 3 refused: 2 TopologyAffinityError, 1 OutOfcpu",
        );
        check(
            &Tally { without_claims: 2, ..Tally::default() },
            "none admitted, 2 admitted without claims, which are not decided here, none refused",
        );
        check(
            &Tally { admitted: 1, not_pinned: 1, undecided: 1, ..Tally::default() },
            "1 admitted, CPUs NOT pinned, none refused, 1 not decided",
        );
    }
}
