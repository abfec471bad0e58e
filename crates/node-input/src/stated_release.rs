//! The release of the kubelet that a configuration's file states, beside the one whose rules apply.

use std::path::Path;

use node_config::Version;
use topology_manifest::{Source, StatedRelease, stated_releases};

use crate::base_choice::Reading;
use crate::kubelet_version::{KubeletVersion, NamedBy};

/// What a file states: the first release, and whether others are stated, too.
struct Stated {
    place: StatedRelease,
    version: KubeletVersion,
    /// The first of another release.
    other: Option<StatedRelease>,
}

impl Stated {
    fn of(source: &Source<'_>) -> Option<Self> {
        let known = stated_releases(source).into_iter().filter_map(|place| {
            let version = KubeletVersion::of_configuration(&place.version)?;
            Some((place, version))
        });
        let mut known = known.peekable();
        let (place, version) = known.next()?;
        let is_other = |(_, own): &(StatedRelease, KubeletVersion)| !own.is_of_release(version);
        let other = known.find(is_other).map(|(place, _)| place);
        Some(Self { place, version, other })
    }
}

/// The release that the file of a configuration states; `None`: none, several, or the file can be read only once.
pub(crate) fn stated_by(path: &str) -> Option<KubeletVersion> {
    let path = Path::new(path);
    let text = if path.is_file() { crate::files::read(path).ok()? } else { return None };
    let stated = Stated::of(&Source::from_bytes("", &text).ok()?)?;
    stated.other.is_none().then_some(stated.version)
}

/// What is to be known of the release that a file states, as text to be shown; `None`: it states none, or the one that is known
/// otherwise.
pub(crate) fn notice(source: &Source<'_>, reading: Reading<'_>) -> Option<String> {
    let Stated { place, version, other } = Stated::of(source)?;
    let StatedRelease { version: written, field, line } = &place;
    let head = format!("{}:{line}: {field} is {written}", source.name);
    let applied = reading.rules.version;
    if let Some(StatedRelease { version: written, field, line }) = other {
        let is_named = reading.named_by != NamedBy::Nobody;
        return (!is_named).then(|| {
            format!("{head}, and {field} in line {line} {written}: the rules of kubelet {applied} apply. --kubelet names the node's")
        });
    }
    match reading.named_by {
        // The same rules would apply without it.
        NamedBy::Configuration if applied == Version::default() => None,
        NamedBy::Configuration => {
            let unknown = version.doubt(&head).map(|doubt| doubt.text);
            Some(unknown.unwrap_or_else(|| format!("{head}: the rules of kubelet {applied} apply")))
        }
        _ if version.is_of_release_of(applied) => None,
        NamedBy::Nobody => Some(format!(
            "{head}, and the rules of kubelet {applied} apply: --kubelet {written} takes those of the file"
        )),
        named_by => Some(format!("{head}, and the kubelet is {applied}, {named_by}: its rules apply")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, given: Option<&str>) -> Option<String> {
        let source = Source { name: "own.yaml", text };
        let given =
            given.map(|given| given.parse::<KubeletVersion>().unwrap_or_else(|error| panic!("{error}")));
        let version =
            given.or_else(|| Stated::of(&source).filter(|one| one.other.is_none()).map(|one| one.version));
        let version = version.unwrap_or(KubeletVersion::DEFAULT);
        let reading = Reading { named_by: version.named_by(), ..Reading::from(version.rules()) };
        notice(&source, reading)
    }

    #[test]
    fn the_release_that_a_file_states_is_named_with_its_place() {
        for (text, expected) in [
            (
                "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.2\n",
                "own.yaml:3: kubernetesVersion is v1.34.2: the rules of kubelet 1.34.",
            ),
            (
                "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: stable-1.35\n",
                "kubernetesVersion is 1.35: the rules of kubelet 1.35.",
            ),
            (
                "machine: {kubelet: {image: 'ghcr.io/siderolabs/kubelet:v1.35.1@sha256:00'}}\n",
                "machine.kubelet.image is v1.35.1: the rules of kubelet 1.35.",
            ),
            (
                "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubernetesVersion: 1.34.0}\n",
                "spec.kubernetesVersion is 1.34.0: the rules of kubelet 1.34.",
            ),
            (
                "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlane\nspec: {version: v1.34.1+rke2r1}\n",
                "spec.version is v1.34.1+rke2r1: the rules of kubelet 1.34.",
            ),
            (
                "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nmetadata: {name: a, version: 1.34}\n",
                "metadata.version is 1.34: the rules of kubelet 1.34.",
            ),
            (
                "{\"kubeletConfig\": {\"cpuManagerPolicy\": \"static\"}, \"orchestratorVersion\": \"1.35.0\"}",
                "orchestratorVersion is 1.35.0: the rules of kubelet 1.35.",
            ),
            (
                "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec: {amiSelectorTerms: [{name: bottlerocket-aws-k8s-1.35-x86_64-v1.50.0-*}]}\n",
                "spec.amiSelectorTerms[0].name is 1.35: the rules of kubelet 1.35.",
            ),
            (
                "apiVersion: core.gardener.cloud/v1beta1\nkind: Shoot\nspec: {kubernetes: {version: 1.21.3}}\n",
                "1.21.3: the rules of kubelet 1.21 are not known, the nearest known release is 1.34: its rules apply",
            ),
        ] {
            let said = said(text, None).unwrap_or_default();
            assert!(said.contains(expected), "{text}: {said}");
        }
        let none =
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: latest\n";
        assert_eq!(said(none, None), None);
        assert_eq!(said(&none.replace("latest", "v1.36.2"), None), None);
    }

    #[test]
    fn a_release_that_differs_from_the_given_one_or_another_place_is_named() {
        let text = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nspec: {kubernetesVersion: 1.34.0}\n";
        let other = said(text, Some("1.36.3")).unwrap_or_default();
        assert_eq!(
            other,
            "own.yaml:3: spec.kubernetesVersion is 1.34.0, and the kubelet is 1.36.3, as given: its rules apply"
        );
        assert_eq!(said(text, Some("1.34")), None);
        let two = format!(
            "{text}---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.35.1\n"
        );
        let both = said(&two, None).unwrap_or_default();
        assert!(
            both.contains("1.34.0, and kubernetesVersion in line 7 v1.35.1: the rules of kubelet 1.36"),
            "{both}"
        );
        assert_eq!(said(&two, Some("1.35")), None);
    }
}
