//! Why one pod is quarantined.

use std::fmt;
use std::sync::Arc;

use crate::words::SHOWN;

/// Sentences on what is wrong with what a pod holds. The first four are kept, and how many more there are: thousands of
/// others may hold something of one pod.
#[derive(Default)]
pub(super) struct Reasons {
    shown: Vec<Arc<str>>,
    more: usize,
}

impl Reasons {
    /// Adds a sentence, unless it is there.
    pub(super) fn add(&mut self, found: &Arc<str>) {
        if self.shown.iter().any(|reason| reason.contains(&**found)) {
            return;
        }
        if self.shown.len() < SHOWN { self.shown.push(found.clone()) } else { self.more += 1 }
    }
}

impl fmt::Display for Reasons {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, reason) in self.shown.iter().enumerate() {
            write!(f, "{}{reason}", if at == 0 { "" } else { "; " })?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reasons_are_shown_and_the_others_are_counted() {
        let of = |reasons: &[&str]| {
            let mut all = Reasons::default();
            for reason in reasons {
                all.add(&Arc::from(*reason));
            }
            all.to_string()
        };
        assert_eq!(of(&[]), "");
        assert_eq!(of(&["a", "b", "a"]), "a; b");
        assert_eq!(of(&["a", "b", "c", "d"]), "a; b; c; d");
        assert_eq!(of(&["a", "b", "c", "d", "e", "f"]), "a; b; c; d; and 2 more");
    }
}
