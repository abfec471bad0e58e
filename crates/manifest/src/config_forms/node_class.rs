//! Karpenter's `EC2NodeClass` and node groups of eksctl: which image their nodes have, and the user data that are laid over what
//! these make.

use super::kind::ConfigKind;
use super::node_groups::group_lists;
use super::{EKSCTL, KARPENTER, kind_of};
use crate::ManifestError;
use crate::node::Field;

/// The image of a node, which decides how user data are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFamily {
    /// Amazon Linux 2023: `nodeadm` reads a `NodeConfig` in them, and lays that of Karpenter over it.
    AmazonLinux2023,
    /// Bottlerocket: they are settings; Karpenter overrides some of them.
    Bottlerocket,
    /// Another one, or none is named: a script reads them.
    Other,
}

/// What an `EC2NodeClass`, or a node group of eksctl, says beside the kubelet's fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeClass {
    /// The image.
    pub family: ImageFamily,
    /// The text that is merged with what its maker writes; of Bottlerocket settings in TOML or JSON.
    pub user_data: Option<String>,
    /// Where that stands in the object, such as `spec.userData`.
    pub place: &'static str,
    /// The one instance type of its nodes.
    pub instance: Option<String>,
}

impl NodeClass {
    /// Of the object `document`; `None`: it has none.
    pub(crate) fn of(document: &Field<'_>) -> Result<Option<Self>, ManifestError> {
        match kind_of(document) {
            ConfigKind::Part(KARPENTER) => Self::of_karpenter(document).map(Some),
            ConfigKind::Part(EKSCTL) => Self::of_eksctl(document).map(Some),
            _ => Ok(None),
        }
    }

    fn of_karpenter(document: &Field<'_>) -> Result<Self, ManifestError> {
        let place = "spec.userData";
        let Some(spec) = document.get("spec")? else {
            return Ok(Self { family: ImageFamily::Other, user_data: None, place, instance: None });
        };
        let named = spec.get("amiFamily")?.map(|family| family.text("the family of an image")).transpose()?;
        let mut family = named.map_or(ImageFamily::Other, family_of);
        if let Some(terms) = spec.get("amiSelectorTerms")?.filter(|_| named.is_none()) {
            for term in terms.items()? {
                if let Some(alias) = term.get("alias")? {
                    family = family_of(alias.text("an alias such as al2023@latest")?);
                }
            }
        }
        let user_data = spec.get("userData")?.map(|text| text.text("user data")).transpose()?;
        Ok(Self { family, user_data: user_data.map(str::to_owned), place, instance: None })
    }

    /// Of the one node group that a document has.
    fn of_eksctl(document: &Field<'_>) -> Result<Self, ManifestError> {
        const INSTANCE: &str = "an instance type such as m5.large";
        let mut made = Self {
            family: ImageFamily::AmazonLinux2023,
            user_data: None,
            place: "overrideBootstrapCommand",
            instance: None,
        };
        let groups = group_lists(document).first().map(|list| document.get(list));
        let Some(groups) = groups.transpose()?.flatten() else { return Ok(made) };
        let Some(group) = groups.items()?.into_iter().next() else { return Ok(made) };
        if let Some(family) = group.get("amiFamily")? {
            made.family = family_of(family.text("the family of an image")?);
        }
        let command = group.get("overrideBootstrapCommand")?;
        made.user_data = command.map(|text| text.text("a command").map(str::to_owned)).transpose()?;
        if let Some(settings) = group.descend(&["bottlerocket", "settings"])? {
            made.user_data = Some(format!("{{\"settings\":{}}}", settings.node.to_json()));
            made.place = "bottlerocket.settings";
        }
        made.instance =
            group.get("instanceType")?.map(|own| own.text(INSTANCE)).transpose()?.map(str::to_owned);
        for path in SEVERAL {
            let Some(types) = group.descend(path)? else { continue };
            let types = types.items()?;
            made.instance = match types.as_slice() {
                [one] => Some(one.text(INSTANCE)?.to_owned()),
                _ => None,
            };
        }
        Ok(made)
    }
}

/// Where a node group of eksctl has several instance types.
const SEVERAL: [&[&str]; 2] = [&["instanceTypes"], &["instancesDistribution", "instanceTypes"]];

/// The instance types of the one node group of eksctl that a document has, to be compared.
pub(super) fn instance_types(document: &Field<'_>) -> Vec<String> {
    let group = |list: &&str| document.get(list).ok().flatten()?.items().ok()?.into_iter().next();
    let groups = group_lists(document);
    let Some(group) = groups.first().and_then(group) else { return Vec::new() };
    let places = SEVERAL.into_iter().chain([&["instanceType"][..]]);
    let types = places.filter_map(|path| group.descend(path).ok().flatten());
    types.map(|types| types.node.to_json()).collect()
}

/// `AL2023`, or `al2023@latest`.
fn family_of(name: &str) -> ImageFamily {
    match name.split('@').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "al2023" | "amazonlinux2023" => ImageFamily::AmazonLinux2023,
        "bottlerocket" => ImageFamily::Bottlerocket,
        _ => ImageFamily::Other,
    }
}
