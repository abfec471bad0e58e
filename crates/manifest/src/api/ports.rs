//! Ports of containers.

use std::collections::BTreeSet;

use super::{Complaint, Findings};
use crate::ManifestError;
use crate::constraints::integer;
use crate::node::Field;

/// What of a port is checked.
pub(super) struct Port<'a> {
    place: Field<'a>,
    container: i32,
    host: i32,
    protocol: &'a str,
    address: &'a str,
}

impl<'a> Port<'a> {
    /// The ports of a container.
    pub(super) fn read_all(container: &Field<'a>) -> Result<Vec<Self>, ManifestError> {
        let list = container.get("ports")?.map_or(Ok(Vec::new()), |list| list.items())?;
        list.into_iter().map(Self::read).collect()
    }

    fn read(place: Field<'a>) -> Result<Self, ManifestError> {
        let number = |key| {
            let field = place.get(key)?;
            field.map_or(Ok(0), |port| integer::<i32>(&port, "a port number, 1 to 65535"))
        };
        let text = |key| place.get(key)?.map_or(Ok(""), |field| field.text("a text"));
        let (container, host) = (number("containerPort")?, number("hostPort")?);
        let protocol = Some(text("protocol")?).filter(|name| !name.is_empty()).unwrap_or("TCP");
        let address = text("hostIP")?;
        Ok(Self { place, container, host, protocol, address })
    }

    /// On the node's own network a pod's ports are the node's.
    pub(super) fn on_host_network(&mut self) {
        if self.host == 0 {
            self.host = self.container;
        }
    }

    /// Alone.
    pub(super) fn check(&self, found: &mut Findings) -> Result<(), ManifestError> {
        const RANGE: &str = "must be between 1 and 65535, inclusive";
        let is_port = |number| (1..=65_535).contains(&number);
        if self.container == 0 {
            found.add(&self.place.child_or_self("containerPort")?, Complaint::REQUIRED);
        } else if !is_port(self.container) {
            let place = self.place.child_or_self("containerPort")?;
            found.add(&place, Complaint::invalid_number(self.container, RANGE));
        }
        if self.host != 0 && !is_port(self.host) {
            let place = self.place.child_or_self("hostPort")?;
            found.add(&place, Complaint::invalid_number(self.host, RANGE));
        }
        if !["SCTP", "TCP", "UDP"].contains(&self.protocol) {
            let complaint = Complaint::not_supported(self.protocol, &["SCTP", "TCP", "UDP"]);
            found.add(&self.place.child_or_self("protocol")?, complaint);
        }
        Ok(())
    }

    /// With the node's own network the two numbers cannot differ.
    pub(super) fn check_match(&self, found: &mut Findings) -> Result<(), ManifestError> {
        if self.host != 0 && self.host != self.container {
            let must = "must match `containerPort` when `hostNetwork` is true";
            let place = self.place.child_or_self("hostPort")?;
            found.add(&place, Complaint::invalid_number(self.host, must));
        }
        Ok(())
    }

    /// Beside others: `taken` has those before. `path` is that of the ports.
    pub(super) fn check_unique(
        &self,
        at: usize,
        path: &str,
        taken: &mut BTreeSet<String>,
        found: &mut Findings,
    ) -> Result<(), ManifestError> {
        let name = format!("{}/{}/{}", self.protocol, self.address, self.host);
        if self.host != 0 && !taken.insert(name.clone()) {
            let place = self.place.child_or_self("hostPort")?;
            found.add(&place.at_path(format!("{path}[{at}].hostPort")), Complaint::Duplicate(name));
        }
        Ok(())
    }
}
