//! Annotations `topolet.dev/…`, with which a pod chooses by what rules it is decided on. A kubelet ignores them, and so
//! does a node that does not allow them.

use alloc::collections::BTreeMap;
use alloc::string::String;

/// The annotations of a pod that begin with [`Wishes::PREFIX`], as they are written: neither their names nor their
/// values have been checked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Wishes(BTreeMap<String, String>);

impl Wishes {
    /// What the names of these annotations begin with.
    pub const PREFIX: &str = "topolet.dev/";

    /// The annotation, without its prefix, by which a pod says whether it may be moved so that others fit: `restart`,
    /// `live` or `never`. It decides nothing when a pod is admitted.
    pub const MOVE: &str = "move";

    /// The annotation, without its prefix, by which a pod demands of schedulers that the devices of its claims lie where its CPUs
    /// and memory will be: `required`. It decides nothing on a node.
    pub const ALIGN_CLAIMS: &str = "align-claims";

    /// Those of `annotations` that are wishes.
    #[must_use]
    pub fn among<'a>(annotations: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let wishes = annotations.into_iter().filter_map(|(name, value)| {
            name.strip_prefix(Self::PREFIX).map(|name| (name.into(), value.into()))
        });
        Self(wishes.collect())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of the annotation with this name, which is without the prefix.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Replaces the value of the annotation with this name, which is without the prefix.
    pub fn choose(&mut self, name: String, value: String) {
        self.0.insert(name, value);
    }

    /// Names without the prefix, and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_annotations_are_no_wishes() {
        let all = [
            ("topolet.dev/policy", "restricted"),
            ("topolet.development/policy", "none"),
            ("policy", "none"),
        ];
        let wishes = Wishes::among(all);
        assert_eq!(wishes.iter().collect::<alloc::vec::Vec<_>>(), [("policy", "restricted")]);
        assert_eq!((wishes.get("policy"), wishes.get("scope")), (Some("restricted"), None));
        assert!(Wishes::among([("scope", "pod")]).is_empty());
    }

    #[test]
    fn a_wish_is_replaced() {
        let mut wishes = Wishes::among([("topolet.dev/policy", "none")]);
        wishes.choose("policy".into(), "restricted".into());
        assert_eq!(wishes.iter().collect::<alloc::vec::Vec<_>>(), [("policy", "restricted")]);
    }
}
