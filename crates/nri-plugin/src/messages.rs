//! The protocol's messages, generated from the protobuf files in `proto`, and what is asked of them most.

#[rustfmt::skip]
#[expect(missing_docs, clippy::pedantic, reason = "generated")]
#[path = "generated/nri_v1alpha1.rs"]
mod nri;
#[rustfmt::skip]
#[expect(unreachable_pub, reason = "generated")]
#[path = "generated/ttrpc.rs"]
pub(crate) mod ttrpc;

pub use nri::*;

impl Container {
    /// What the runtime sets for it, where the request or a plugin before set anything.
    pub fn resources(&self) -> Option<&LinuxResources> {
        self.linux.as_ref()?.resources.as_ref()
    }

    /// Its CPUs as a list such as `0-3,8`; empty where none are set.
    pub fn cpus(&self) -> &str {
        self.resources().and_then(|resources| resources.cpu.as_ref()).map_or("", |cpu| &cpu.cpus)
    }

    /// Its NUMA nodes as a list such as `0-1`; empty where none are set.
    pub fn mems(&self) -> &str {
        self.resources().and_then(|resources| resources.cpu.as_ref()).map_or("", |cpu| &cpu.mems)
    }

    /// Its cgroup, as the runtime writes it: a path, or `SLICE:PREFIX:NAME` for systemd.
    pub fn cgroups_path(&self) -> &str {
        self.linux.as_ref().map_or("", |linux| &linux.cgroups_path)
    }
}

impl ValidateContainerAdjustmentRequest {
    /// Which plugin, as `INDEX-NAME`, sets the CPUs of a container with this answer.
    pub fn owner_of_cpus(&self, container: &str) -> Option<&str> {
        /// The number of this field in the protocol.
        const CPUS: i32 = 21;
        let owners = self.owners.as_ref()?.owners.get(container)?;
        owners.simple.get(&CPUS).map(String::as_str)
    }
}
