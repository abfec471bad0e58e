//! A trace in words.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use numa_bitmask::NodeMask;

use super::{MergeReason, MergeTrace, ServableSets, Suitability};

impl MergeTrace {
    /// The trace in lines that a person can read: one for each answer, one for each candidate, and the reason last.
    /// `name` says how nodes are called, for instance by their ids.
    #[must_use]
    pub fn lines(&self, name: impl Fn(NodeMask) -> String) -> Vec<String> {
        let said = self.answers.iter().map(|said| format!("{}: {}", said.resource, said.places.text(&name)));
        let candidates = self.candidates.iter().map(|candidate| {
            let short = |wanted| {
                let fits = self.answers.iter().zip(&candidate.fits).filter(move |(_, fit)| **fit == wanted);
                fits.map(|(said, _)| said.resource.as_str()).collect::<Vec<_>>().join(", ")
            };
            let mut text = format!("nodes {}", name(candidate.nodes));
            if let Some(distance) = candidate.distance {
                text += &format!(", average distance {distance:.2}");
            }
            if let Some(score) = candidate.score {
                text += &format!(", score {score}");
            }
            for (fit, words) in
                [(Suitability::Acceptable, "not preferred by"), (Suitability::NotNamed, "not offered by")]
            {
                if candidate.fits.contains(&fit) {
                    text += &format!(", {words} {}", short(fit));
                }
            }
            text
        });
        said.chain(candidates).chain([self.why.text()]).collect()
    }
}

impl ServableSets {
    fn text(&self, name: impl Fn(NodeMask) -> String) -> String {
        let nodes = |count: u32| if count == 1 { String::from("1 node") } else { format!("{count} nodes") };
        match self {
            Self::NoOpinion => String::from("any node will do"),
            Self::Nowhere => String::from("no node set will do"),
            Self::Sets { alone, narrowest, preferred } => {
                let mut text = match narrowest {
                    Some(narrowest) => format!("needs {} or more", nodes(*narrowest)),
                    None => String::from("any node would do"),
                };
                match preferred {
                    Some(preferred) => text += &format!(", prefers {}", nodes(*preferred)),
                    None => text += ", prefers none",
                }
                if !alone.is_empty() {
                    text += &format!(", fits alone on {}", name(*alone));
                }
                text
            }
        }
    }
}

impl MergeReason {
    /// The reason in words.
    #[must_use]
    pub fn text(self) -> String {
        String::from(match self {
            Self::NotLookedAt => "the policy looks at no answer",
            Self::AllOpen => "no manager names nodes, so all are taken",
            Self::NothingInCommon => "the answers have no node in common, so all are taken, not preferred",
            Self::NoNodeSuitsAll => "no single node is preferred by all",
            Self::OnlyCandidate => "nothing else was in question",
            Self::OnlyPreferred => "it alone is preferred by all",
            Self::FewerNodes => "of the preferred ones it has the fewest nodes",
            Self::Size { needed } => {
                return format!(
                    "nothing is preferred by all; {needed} is what the most demanding answer needs"
                );
            }
            Self::Closest => "of equally many nodes these are the closest to each other",
            Self::LowestScore => "of equally good ones it has the lowest score of the placement strategy",
            Self::LowestNumber => "of equally good ones it has the lowest nodes",
            Self::NoAnswer => "there is no exact answer",
        })
    }
}
