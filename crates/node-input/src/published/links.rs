//! The links of a node, as it publishes them.

use std::collections::BTreeMap;

use anyhow::{Context as _, anyhow};
use device_manager::{DeviceId, Links};
use node_config::DeviceLinks;
use serde::{Deserialize, Serialize};
use topology_model::{KubeletView, Link, LinkKind, PciAddress};

/// What of links the options do not say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PublishedLinks {
    links: Vec<PublishedLink>,
    /// PCI addresses of devices whose ids do not say them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    addresses: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PublishedLink {
    /// `PCI switch`.
    kind: String,
    name: String,
    /// PCI addresses.
    devices: Vec<String>,
}

impl PublishedLinks {
    pub(super) fn of(links: &Links) -> Self {
        let addresses = links.addresses().iter();
        Self {
            links: links.iter().map(PublishedLink::of).collect(),
            addresses: addresses.map(|(id, address)| (id.to_string(), address.to_string())).collect(),
        }
    }

    pub(super) fn read(&self, options: &DeviceLinks, view: &KubeletView) -> anyhow::Result<Links> {
        let links = self.links.iter().map(PublishedLink::read).collect::<anyhow::Result<Vec<_>>>()?;
        let addresses = self.addresses.iter().map(|(id, text)| Ok((DeviceId::new(id), address(text)?)));
        let addresses = addresses.collect::<anyhow::Result<BTreeMap<_, _>>>()?;
        Ok(crate::links::linked(options, links, addresses, view))
    }
}

impl PublishedLink {
    fn of(link: &Link) -> Self {
        Self {
            kind: link.kind.name().to_owned(),
            name: link.name.clone(),
            devices: link.members.iter().map(ToString::to_string).collect(),
        }
    }

    fn read(&self) -> anyhow::Result<Link> {
        let kind =
            LinkKind::from_name(&self.kind).ok_or_else(|| anyhow!("there is no link {:?}", self.kind))?;
        let members = self.devices.iter().map(|text| address(text)).collect::<anyhow::Result<_>>()?;
        Ok(Link { kind, name: self.name.clone(), members })
    }
}

fn address(text: &str) -> anyhow::Result<PciAddress> {
    text.parse().with_context(|| format!("{text:?}"))
}
