//! Answers of several nodes in one line, with equal reasons counted.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;

/// What a node answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeAnswer {
    /// The claims get devices there.
    Fits,
    /// They do not, for this reason.
    Refused(String),
    /// Not decided.
    Unknown,
}

/// The answers of some nodes. Displays as `31 of 40 nodes: no device of class C; 8: 2 of 4 are left; 1 fits`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodesAnswer {
    /// How many nodes.
    pub nodes: usize,
    /// Reasons, the most frequent first, each with the number of nodes and the first of these.
    pub refused: Vec<NodesRefused>,
    /// The nodes that have devices, in order.
    pub fits: Vec<String>,
    /// How many were not decided.
    pub unknown: usize,
    /// How many others were not asked. For the caller to fill in.
    pub not_asked: usize,
}

/// Nodes that refuse for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodesRefused {
    /// The reason.
    pub reason: String,
    /// How many nodes.
    pub nodes: usize,
    /// The first of them.
    pub first: String,
}

/// Folds the answers of nodes, each with the node's name.
#[must_use]
pub fn fold(answers: impl IntoIterator<Item = (String, NodeAnswer)>) -> NodesAnswer {
    let mut folded =
        NodesAnswer { nodes: 0, refused: Vec::new(), fits: Vec::new(), unknown: 0, not_asked: 0 };
    for (node, answer) in answers {
        folded.nodes += 1;
        match answer {
            NodeAnswer::Fits => folded.fits.push(node),
            NodeAnswer::Unknown => folded.unknown += 1,
            NodeAnswer::Refused(reason) => match folded.refused.iter_mut().find(|own| own.reason == reason) {
                Some(own) => own.nodes += 1,
                None => folded.refused.push(NodesRefused { reason, nodes: 1, first: node }),
            },
        }
    }
    // The sort is stable: equally frequent reasons keep the order of nodes.
    folded.refused.sort_by_key(|refused| core::cmp::Reverse(refused.nodes));
    folded
}

impl fmt::Display for NodesAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = if self.nodes == 1 { "node" } else { "nodes" };
        for (at, refused) in self.refused.iter().enumerate() {
            match at {
                0 => write!(f, "{} of {} {nodes}: {}", refused.nodes, self.nodes, refused.reason)?,
                _ => write!(f, "; {}: {}", refused.nodes, refused.reason)?,
            }
        }
        if !self.refused.is_empty() {
            f.write_str("; ")?;
        }
        match self.fits.as_slice() {
            [] => f.write_str("none fits")?,
            [one] => write!(f, "1 fits ({one})")?,
            all => write!(f, "{} fit", all.len())?,
        }
        for (count, what) in [(self.unknown, "not decided"), (self.not_asked, "not asked")] {
            if count > 0 {
                write!(f, "; {count} {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;

    use super::*;

    #[test]
    fn equal_reasons_are_counted_and_the_most_frequent_comes_first() {
        let answers = (0..40).map(|node| {
            let answer = match node {
                0 => NodeAnswer::Fits,
                1..9 => NodeAnswer::Refused("2 of 4 are left".into()),
                _ => NodeAnswer::Refused("no device of class C".into()),
            };
            (format!("node-{node}"), answer)
        });
        let folded = fold(answers).to_string();
        assert_eq!(folded, "31 of 40 nodes: no device of class C; 8: 2 of 4 are left; 1 fits (node-0)");
        assert_eq!(fold([("a".into(), NodeAnswer::Unknown)]).to_string(), "none fits; 1 not decided");
    }
}
