//! Made-up names: the same text of a kind has the same one everywhere, and they sort as their originals do.
//!
//! Names are first collected and then numbered, since the order of names decides: of equal devices a kubelet takes the first in
//! byte order. So what is written is made twice, and only what [`Names::numbered`] names the second time is kept.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NameKind {
    /// A node, or what a host calls itself.
    Node,
    /// A namespace.
    Namespace,
    /// A pod.
    Pod,
    /// The UID of a pod or of a claim.
    Uid,
    /// A container.
    Container,
    /// A device of a plugin.
    Device,
    /// An extended resource that no public vendor has named.
    Resource,
    /// The key of a label or a taint.
    LabelKey,
    /// Its value.
    LabelValue,
    /// A claim of devices, or an object that one is made of.
    Claim,
    /// A driver of devices that is not public.
    Driver,
    /// A pool of devices.
    Pool,
    /// A file of the node.
    File,
    /// Any other text.
    Text,
}

impl NameKind {
    /// The made-up name with this number, of a kind that has `all` names.
    fn made_up(self, number: usize, all: usize) -> String {
        let width = all.to_string().len();
        let word = match self {
            Self::Node => "node",
            Self::Namespace => "namespace",
            Self::Pod => "pod",
            Self::Uid => return format!("00000000-0000-4000-8000-{number:012x}"),
            Self::Container => "container",
            Self::Device => "device",
            Self::Resource => return format!("vendor.example/resource-{number:0width$}"),
            Self::LabelKey => return format!("label.example/key-{number:0width$}"),
            Self::LabelValue => "value",
            Self::Claim => "claim",
            Self::Driver => "driver",
            Self::Pool => "pool",
            Self::File => "file",
            Self::Text => "text",
        };
        format!("{word}-{number:0width$}")
    }
}

/// Texts and what stands in their place.
#[derive(Debug, Default)]
pub struct Names {
    of: BTreeMap<NameKind, BTreeMap<String, String>>,
    is_numbered: bool,
}

impl Names {
    /// What stands in the place of a text; the text before names are numbered.
    pub(super) fn name(&mut self, kind: NameKind, text: &str) -> String {
        if text.is_empty() {
            return String::new();
        }
        let names = self.of.entry(kind).or_default();
        if let Some(name) = names.get(text) {
            return name.clone();
        }
        // What is new in the second round is a fault of its writer: it gets a name that tells nothing.
        let number = names.len() + 1;
        let name = if self.is_numbered { kind.made_up(number, number) } else { text.to_owned() };
        names.insert(text.to_owned(), name.clone());
        name
    }

    /// Numbers what has been collected.
    pub(super) fn numbered(mut self) -> Self {
        for (kind, names) in &mut self.of {
            let all = names.len();
            for (at, name) in names.values_mut().enumerate() {
                *name = kind.made_up(at + 1, all);
            }
        }
        self.is_numbered = true;
        self
    }

    /// What stands in the place of a text of any kind; `None`: nothing is called so.
    pub(super) fn known(&self, text: &str) -> Option<&str> {
        self.of.values().find_map(|names| names.get(text)).map(String::as_str)
    }

    /// The texts of each kind with what stands in their place.
    #[must_use]
    pub const fn by_kind(&self) -> &BTreeMap<NameKind, BTreeMap<String, String>> {
        &self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_names_sort_as_their_originals() {
        let mut names = Names::default();
        let texts: Vec<String> = (0..12).map(|at| format!("GPU-{:x}", 0xa0 - at)).collect();
        for text in &texts {
            names.name(NameKind::Device, text);
        }
        let mut names = names.numbered();
        let mut sorted = texts.clone();
        sorted.sort();
        let renamed: Vec<String> = sorted.iter().map(|text| names.name(NameKind::Device, text)).collect();
        assert!(
            renamed.is_sorted() && renamed.first().is_some_and(|first| first == "device-01"),
            "{renamed:?}"
        );
        assert_eq!(names.known(&texts[0]), Some("device-12"));
        assert_eq!(names.name(NameKind::Pod, ""), "");
    }
}
