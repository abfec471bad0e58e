//! What tells nothing of whose node it is: amounts, lists of CPUs, durations, addresses on the PCI bus, and public words.
//!
//! Texts are read word by word, and only words that are known here or are numbers pass. A name that has a made-up one is replaced;
//! every other word becomes `…`.

use k8s_quantity::Quantity;
use kubelet_release::Release;
use node_config::{FeatureGates, Rules};

use super::names::{NameKind, Names};
use super::words::{DEVICES, DOMAINS, KEYS, REASONS, VALUES, WORDS};

/// What stands in the place of words that are left out.
pub(super) const LEFT_OUT: &str = "…";

/// Namespaces that every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Whether a value is an amount, a list of CPUs, a duration, a percentage, a version, or a public word.
pub(super) fn is_plain(text: &str) -> bool {
    VALUES.contains(&text) || is_numeric(text)
}

/// A number with a unit, a range or a list of numbers. Twenty digits are more than any amount of bytes has.
fn is_numeric(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || digits > 20 && !is_list(text) {
        return false;
    }
    is_list(text)
        || text.strip_suffix('%').unwrap_or(text).parse::<f64>().is_ok_and(f64::is_finite)
        || text.parse::<Quantity>().is_ok()
        || is_duration(text)
        || is_version(text)
}

/// `0-3,8`, whose ids have at most five digits.
pub(super) fn is_list(text: &str) -> bool {
    !text.is_empty()
        && text
            .split([',', '-'])
            .all(|id| (1..=5).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `1h30m`.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while !rest.is_empty() {
        let number = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let unit = number.trim_start_matches(|letter: char| "hmsnuµ".contains(letter));
        if number.len() == rest.len() || unit.len() == number.len() {
            return false;
        }
        rest = unit;
    }
    !text.is_empty()
}

/// `v1.36.3`, with the mark of a distribution behind it.
pub(super) fn is_version(text: &str) -> bool {
    let Some(numbers) = text.strip_prefix('v') else { return false };
    let (numbers, mark) = numbers.split_at(numbers.find(['-', '+']).unwrap_or(numbers.len()));
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_number =
        |part: &&str| (1..=3).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_number) && is_mark(mark)
}

fn is_mark(mark: &str) -> bool {
    let known = ["+k3s", "+rke2r", "-gke.", "+k0s"].iter().find_map(|known| mark.strip_prefix(known));
    let eks = mark
        .strip_prefix("-eks-")
        .is_some_and(|id| id.len() == 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    mark.is_empty()
        || eks
        || known.is_some_and(|number| {
            (1..=8).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// `0000:18:01.0`, an address on the PCI bus: a place in the machine, by which devices are found there.
pub(super) fn is_pci_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let is_hex = |part: &&str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    lengths == [4, 2, 2, 1] && parts.iter().all(is_hex) && text.as_bytes().get(10) == Some(&b'.')
}

/// Whether Kubernetes has a feature gate of that name, in any release that is known.
pub(super) fn is_gate(name: &str) -> bool {
    Release::ALL.into_iter().any(|release| FeatureGates::knows(Rules::of(release).gates, name))
}

impl Names {
    /// A name of a resource: that of a public vendor as it is, another one made up.
    pub(super) fn resource(&mut self, name: &str) -> String {
        let Some((domain, of)) = name.split_once('/') else {
            let is_own = is_plain(name) || name.strip_prefix("hugepages-").is_some_and(is_plain);
            return if is_own { name.to_owned() } else { self.name(NameKind::Resource, name) };
        };
        // What a cluster's owner calls the devices of a vendor is the owner's word.
        let is_public = DOMAINS.contains(&domain) && of.split(['_', '-', '.']).all(is_device_word);
        if is_public { name.to_owned() } else { self.name(NameKind::Resource, name) }
    }

    /// A device: its place on the PCI bus as it is, another name made up.
    pub(super) fn device(&mut self, id: &str) -> String {
        if is_pci_address(id) { id.to_owned() } else { self.name(NameKind::Device, id) }
    }

    /// A namespace; those of every cluster as they are.
    pub(super) fn namespace(&mut self, name: &str) -> String {
        if NAMESPACES.contains(&name) { name.to_owned() } else { self.name(NameKind::Namespace, name) }
    }

    /// The key of a label or taint.
    pub(super) fn label_key(&mut self, key: &str) -> String {
        if KEYS.contains(&key) { key.to_owned() } else { self.name(NameKind::LabelKey, key) }
    }

    /// The value of a label or taint.
    pub(super) fn label_value(&mut self, key: &str, value: &str) -> String {
        let is_number = value.len() <= 6 && value.parse::<u32>().is_ok();
        match key {
            "kubernetes.io/hostname" | "metadata.name" => self.name(NameKind::Node, value),
            _ if is_number || value.is_empty() || VALUES.contains(&value) => value.to_owned(),
            _ => self.name(NameKind::LabelValue, value),
        }
    }

    /// A scalar of a configuration: what is plain, else a made-up text.
    pub(super) fn scalar(&mut self, text: &str) -> String {
        if is_plain(text) { text.to_owned() } else { self.name(NameKind::Text, text) }
    }

    /// A value of a flag: scalars between marks.
    pub(super) fn scalars(&mut self, text: &str) -> String {
        if is_plain(text) {
            return text.to_owned();
        }
        let mut all = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find([',', '=', ':', ';', '<']).unwrap_or(rest.len()));
            let is_name = word.contains('/') || word.starts_with("hugepages-");
            all.push_str(&if is_plain(word) || is_gate(word) {
                word.to_owned()
            } else if is_name {
                self.resource(word)
            } else {
                self.name(NameKind::Text, word)
            });
            let mark = after.chars().next().map_or(0, char::len_utf8);
            let (mark, after) = after.split_at(mark);
            all.push_str(mark);
            rest = after;
        }
        all
    }

    /// A sentence: words of kubelets' messages and numbers as they are, names by their made-up ones, and all else left out.
    pub(super) fn sentence(&mut self, text: &str) -> String {
        let words: Vec<String> = text.split_whitespace().map(|word| self.word(word)).collect();
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            // One mark stands for all words in a row that are left out.
            if word != LEFT_OUT || kept.last().is_none_or(|last| last != LEFT_OUT) {
                kept.push(word);
            }
        }
        kept.join(" ")
    }

    fn word(&mut self, word: &str) -> String {
        const MARKS: &[char] =
            &['"', '\'', '(', ')', '[', ']', '{', '}', ',', ';', ':', '.', '`', '\\', '<', '>'];
        let core = word.trim_matches(MARKS);
        let (start, end) =
            (word.find(core).unwrap_or_default(), word.find(core).unwrap_or_default() + core.len());
        let (before, after) = (word.get(..start).unwrap_or_default(), word.get(end..).unwrap_or_default());
        let other = self.core(core);
        if other == LEFT_OUT { other } else { format!("{before}{other}{after}") }
    }

    fn core(&mut self, core: &str) -> String {
        if core.is_empty() || is_word(core) || is_plain(core) || is_pci_address(core) {
            return core.to_owned();
        }
        if let Some(name) = self.known(core) {
            return name.to_owned();
        }
        // `NAMESPACE/NAME`, `key=value`, `resource:`.
        for mark in ['/', '=', ':'] {
            if let Some((one, other)) = core.split_once(mark) {
                let is_of = |part: &str| is_word(part) || is_plain(part) || self.known(part).is_some();
                if is_of(one) && is_of(other) {
                    return format!("{}{mark}{}", self.core(one), self.core(other));
                }
            }
        }
        match core.split_once('/') {
            Some((domain, of))
                if DOMAINS.contains(&domain) && of.split(['_', '-', '.']).all(is_device_word) =>
            {
                core.to_owned()
            }
            _ => LEFT_OUT.to_owned(),
        }
    }
}

/// Whether it is a word, with a number or not, in the names that vendors and their plugins give resources.
fn is_device_word(word: &str) -> bool {
    let bare = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    DEVICES.contains(&word) || DEVICES.contains(&bare) || is_profile(word)
}

/// `1g`, `10gb`, `8`: a share of a card, or a number in a name.
fn is_profile(word: &str) -> bool {
    let number = word.trim_end_matches("gb").trim_end_matches(['g', 'c']);
    number.len() <= 3 && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it is a word of kubelets' messages.
fn is_word(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    !word.is_empty() && (WORDS.contains(&lower.as_str()) || REASONS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_public_words_pass_and_all_else_does_not() {
        for plain in [
            "4",
            "2500m",
            "1.5Gi",
            "10%",
            "0-3,8,64-67",
            "1h30m0s",
            "v1.36.3",
            "v1.33.5-eks-1a2b3c4",
            "static",
            "",
        ] {
            assert!(is_plain(plain), "{plain}");
        }
        for other in [
            "10.0.0.5",
            "10.0.0.5/24",
            "fd00::1",
            "3c:ec:ef:12:34:56",
            "acme",
            "s3cr3t",
            "deadbeef01",
            "v1.36.3-acme",
            "sk-live-0123456789",
            "123456789012345678901",
            "inf",
            "user@acme.example",
            "-",
            "5x",
        ] {
            assert!(!is_plain(other), "{other}");
        }
        assert!(is_pci_address("0000:3b:02.1") && !is_pci_address("3c:ec:ef:12:34:56"));
        assert!(is_gate("PodLevelResourceManagers") && !is_gate("AcmeGate"));
    }

    #[test]
    fn resources_of_public_vendors_keep_their_names() {
        let mut names = Names::default();
        for name in [
            "cpu",
            "hugepages-1Gi",
            "nvidia.com/gpu",
            "nvidia.com/mig-1g.10gb",
            "intel.com/sriov_netdevice",
            "openshift.io/mlnx0",
        ] {
            assert_eq!(names.resource(name), name);
        }
        for name in ["acme.example/vf", "intel.com/acme_5g_uplink", "acmegpu", "openshift.io/acme"] {
            names.resource(name);
        }
        let mut names = names.numbered();
        assert_eq!(names.resource("acme.example/vf"), "vendor.example/resource-1");
        assert_eq!(names.resource("openshift.io/acme"), "vendor.example/resource-4");
    }

    #[test]
    fn of_a_sentence_words_of_kubelets_and_made_up_names_remain() {
        let mut names = Names::default();
        names.name(NameKind::Pod, "acme-upf-0");
        names.namespace("acme");
        let mut names = names.numbered();
        for (text, expected) in [
            (
                "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 4, which is unexpected",
                "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 4, which is unexpected",
            ),
            ("pod acme/acme-upf-0 token=ghp_0123 of 10.0.0.5 failed", "pod namespace-1/pod-1 … of … failed"),
            (
                "Resources cannot be allocated with Topology locality",
                "Resources cannot be allocated with Topology locality",
            ),
            ("mail ops@acme.example about hunter2", "…"),
        ] {
            assert_eq!(names.sentence(text), expected);
        }
    }
}
