//! Which rules make a difference.
//!
//! One rule of the new release among the old ones is tried first. Where none alone gives the new outcome, rules are
//! taken back from the new release one after the other, for as long as the outcome stays: what is left is a set of
//! which no rule can be left out. That takes two runs for each rule that differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kubelet_release::{Release, Rule, Rules};
use serde::Serialize;

/// A rule that two releases have otherwise, as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResponsibleRule {
    /// What it decides.
    pub decides: &'static str,
    /// The upstream change.
    pub change: &'static str,
}

impl From<Rule> for ResponsibleRule {
    fn from(rule: Rule) -> Self {
        Self { decides: rule.decides(), change: rule.change() }
    }
}

impl fmt::Display for ResponsibleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.decides, self.change)
    }
}

/// Outcomes by the rules of the old release with some of the new one; each is worked out once.
pub(crate) struct Mixtures<T, F> {
    from: Rules,
    to: Release,
    differences: Vec<Rule>,
    work_out: F,
    known: BTreeMap<BTreeSet<Rule>, T>,
}

impl<T, F: FnMut(Rules) -> T> Mixtures<T, F> {
    pub(crate) fn new(from: Release, to: Release, work_out: F) -> Self {
        let (from, new) = (Rules::of(from), Rules::of(to));
        let differences = from.differences(&new).collect();
        Self { from, to, differences, work_out, known: BTreeMap::new() }
    }

    /// The smallest set of rules with which `shows` is true of the outcome, as it is with all of them.
    pub(crate) fn responsible(&mut self, shows: impl Fn(&T) -> bool) -> Vec<ResponsibleRule> {
        let alone = |rule: &Rule| BTreeSet::from([*rule]);
        let rules = self.differences.clone();
        let single = rules.iter().map(alone).find(|rules| shows(self.with(rules)));
        let least = single.unwrap_or_else(|| {
            rules.iter().fold(rules.iter().copied().collect(), |kept: BTreeSet<Rule>, rule| {
                let fewer: BTreeSet<Rule> = kept.iter().copied().filter(|other| other != rule).collect();
                if shows(self.with(&fewer)) { fewer } else { kept }
            })
        });
        least.into_iter().map(ResponsibleRule::from).collect()
    }

    fn with(&mut self, rules: &BTreeSet<Rule>) -> &T {
        if !self.known.contains_key(rules) {
            let mixed = rules.iter().fold(self.from, |mixed, rule| mixed.with(*rule, self.to));
            let outcome = (self.work_out)(mixed);
            self.known.insert(rules.clone(), outcome);
        }
        &self.known[rules]
    }
}

#[cfg(test)]
mod tests {
    use kubelet_release::{AlignedShare, MetricPrefix, QosBy};

    use super::*;

    fn changes(rules: &[ResponsibleRule]) -> Vec<&str> {
        rules.iter().map(|rule| rule.change).collect()
    }

    #[test]
    fn the_smallest_set_is_found() {
        let mut mixtures = Mixtures::new(Release::V1_36, Release::V1_37, |rules: Rules| {
            let share = rules.aligned_share == AlignedShare::Lowered;
            let (class, names) =
                (rules.qos == QosBy::Containers, rules.metric_prefix == MetricPrefix::Kubelet);
            [share, class && names, class || names]
        });
        let both = [Rule::Qos.change(), Rule::MetricPrefix.change()];
        assert_eq!(changes(&mixtures.responsible(|shown| shown[0])), [Rule::AlignedShare.change()]);
        assert_eq!(changes(&mixtures.responsible(|shown| shown[1])), both);
        assert_eq!(changes(&mixtures.responsible(|shown| shown[2])), [Rule::Qos.change()]);
    }
}
