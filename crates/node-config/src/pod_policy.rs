//! What pods may choose by annotations: the option `podPolicy.allow`.
//!
//! It is a list of words. `policy`, `scope` and `cpu` allow every value of the annotation of that name;
//! `policy=restricted` allows one. So a list decides whether pods may be stricter than their node, looser, or both.

use alloc::string::String;
use alloc::vec::Vec;

use crate::{Scope, TopologyPolicyName};

/// One value of one annotation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PodChoice {
    /// `topolet.dev/policy`: the pod's hints are merged under this policy.
    Policy(TopologyPolicyName),
    /// `topolet.dev/scope`: they are merged in this scope.
    Scope(Scope),
    /// `topolet.dev/cpu`: containers get exclusive CPUs though the pod is not Guaranteed, as many as their limit.
    ExclusiveCpus,
}

/// What pods may choose; nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PodPolicy {
    /// One bit for each of [`PodChoice::ALL`].
    allowed: u8,
}

impl PodChoice {
    /// Every choice.
    pub const ALL: [Self; 7] = [
        Self::Policy(TopologyPolicyName::None),
        Self::Policy(TopologyPolicyName::BestEffort),
        Self::Policy(TopologyPolicyName::Restricted),
        Self::Policy(TopologyPolicyName::SingleNumaNode),
        Self::Scope(Scope::Container),
        Self::Scope(Scope::Pod),
        Self::ExclusiveCpus,
    ];

    /// The annotations, without the prefix.
    pub const FIELDS: [&str; 3] = ["policy", "scope", "cpu"];

    /// The annotation, without its prefix.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Policy(_) => "policy",
            Self::Scope(_) => "scope",
            Self::ExclusiveCpus => "cpu",
        }
    }

    /// The annotation's value. Behind `exclusive`, names of containers may follow a colon.
    #[must_use]
    pub const fn value(self) -> &'static str {
        match self {
            Self::Policy(policy) => policy.name(),
            Self::Scope(scope) => scope.name(),
            Self::ExclusiveCpus => "exclusive",
        }
    }

    fn bit(self) -> u8 {
        Self::ALL.iter().position(|choice| *choice == self).map_or(0, |at| 1 << at)
    }
}

impl PodPolicy {
    /// The words that `podPolicy.allow` may have, for a message.
    pub const WORDS: &str =
        "policy, scope or cpu, or one value such as policy=restricted, policy=none, scope=pod";

    /// The same with one more choice.
    #[must_use]
    pub fn with(self, choice: PodChoice) -> Self {
        Self { allowed: self.allowed | choice.bit() }
    }

    /// The same with what a word of the list allows; `None`: it is no such word.
    #[must_use]
    pub fn with_word(self, word: &str) -> Option<Self> {
        let is_meant = |choice: &PodChoice| match word.split_once('=') {
            Some((field, value)) => (choice.field(), choice.value()) == (field, value),
            None => choice.field() == word,
        };
        let meant = PodChoice::ALL.into_iter().filter(is_meant);
        let after = meant.fold(Self::default(), Self::with);
        after.is_on().then_some(Self { allowed: self.allowed | after.allowed })
    }

    /// Whether pods may choose anything. If not, the annotations are ignored.
    #[must_use]
    pub const fn is_on(self) -> bool {
        self.allowed != 0
    }

    /// Whether pods may choose this.
    #[must_use]
    pub fn allows(self, choice: PodChoice) -> bool {
        self.allowed & choice.bit() != 0
    }

    /// The values that the annotation of this name may have; none if it may not be there.
    pub fn values(self, field: &str) -> impl Iterator<Item = &'static str> {
        let of_field = PodChoice::ALL.into_iter().filter(move |choice| choice.field() == field);
        of_field.filter(move |choice| self.allows(*choice)).map(PodChoice::value)
    }

    /// The shortest list of words that allows this, in order.
    #[must_use]
    pub fn words(self) -> Vec<String> {
        let mut words = Vec::new();
        for field in PodChoice::FIELDS {
            let all = PodChoice::ALL.into_iter().filter(|choice| choice.field() == field).count();
            let allowed: Vec<&str> = self.values(field).collect();
            if allowed.len() == all {
                words.push(String::from(field));
            } else {
                words.extend(allowed.iter().map(|value| alloc::format!("{field}={value}")));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_they_were_read_from() {
        for (list, expected) in [
            (&[][..], &[][..]),
            (&["cpu", "policy"], &["policy", "cpu"]),
            (&["policy=restricted", "scope"], &["policy=restricted", "scope"]),
            (&["scope=pod", "scope=container"], &["scope"]),
            (&["cpu=exclusive"], &["cpu"]),
            (
                &["policy=single-numa-node", "policy=none", "policy=none"],
                &["policy=none", "policy=single-numa-node"],
            ),
        ] {
            let read = list.iter().try_fold(PodPolicy::default(), |allowed, word| allowed.with_word(word));
            assert_eq!(read.map(PodPolicy::words).unwrap(), expected, "{list:?}");
        }
        for word in
            ["", "policies", "policy=", "policy=restrictd", "scope=restricted", "cpu=4", "Policy", "=pod"]
        {
            assert_eq!(PodPolicy::default().with_word(word), None, "{word}");
        }
    }

    #[test]
    fn one_value_allows_no_other() {
        let only = PodPolicy::default().with(PodChoice::Policy(TopologyPolicyName::Restricted));
        let allowed: Vec<PodChoice> =
            PodChoice::ALL.into_iter().filter(|choice| only.allows(*choice)).collect();
        assert_eq!(allowed, [PodChoice::Policy(TopologyPolicyName::Restricted)]);
        assert_eq!((only.values("policy").count(), only.values("scope").count()), (1, 0));
        assert!(!PodPolicy::default().is_on());
    }
}
