//! Karpenter's `EC2NodeClass`: which image its nodes have, and the user data that it lays over what Karpenter makes.

use crate::ManifestError;
use crate::node::Field;

/// The image of a node, which decides how user data are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageFamily {
    /// Amazon Linux 2023: `nodeadm` reads a `NodeConfig` in them, and lays it over that of Karpenter.
    AmazonLinux2023,
    /// Bottlerocket: they are settings, over which Karpenter lays some of its own.
    Bottlerocket,
    /// Another one, or none is named: a script reads them.
    Other,
}

/// What an `EC2NodeClass` says beside the kubelet's fields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeClass {
    /// The image.
    pub family: ImageFamily,
    /// The text of `spec.userData`.
    pub user_data: Option<String>,
}

impl NodeClass {
    /// Of the object `document`.
    pub(crate) fn of(document: &Field<'_>) -> Result<Self, ManifestError> {
        let Some(spec) = document.get("spec")? else {
            return Ok(Self { family: ImageFamily::Other, user_data: None });
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
        Ok(Self { family, user_data: user_data.map(str::to_owned) })
    }
}

/// `AL2023`, or `al2023@latest`.
fn family_of(name: &str) -> ImageFamily {
    match name.split('@').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "al2023" => ImageFamily::AmazonLinux2023,
        "bottlerocket" => ImageFamily::Bottlerocket,
        _ => ImageFamily::Other,
    }
}
