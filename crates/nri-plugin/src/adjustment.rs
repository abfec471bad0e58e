//! How a container is changed while it is created: the fields that containerd 2.4 applies, and no others.
//!
//! A field that came with a later version of NRI than the runtime has is dropped by the runtime in silence.
//! [`Adjustment`] keeps the version that it needs, and an answer with a field that the runtime certainly lacks
//! becomes an error.

use std::num::{NonZeroI64, NonZeroU64};

use crate::lists::{Cpus, MemoryNodes};
use crate::messages::{
    CdiDevice, ContainerAdjustment, Hooks, HugepageLimit, KeyValue, LinuxContainerAdjustment, LinuxCpu,
    LinuxDevice, LinuxDeviceCgroup, LinuxIoPriority, LinuxMemory, LinuxMemoryPolicy, LinuxNamespace,
    LinuxNetDevice, LinuxPids, LinuxRdt, LinuxResources, LinuxScheduler, LinuxSeccomp, Mount, OptionalInt,
    OptionalInt64, OptionalString, OptionalUInt64, PosixRlimit,
};
use crate::version::{NriVersion, RuntimeNri};

/// A name that cannot be set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NameError {
    /// It is empty.
    #[error("the name is empty")]
    Empty,
    /// It begins with a dash, by which NRI marks what is removed.
    #[error("{0:?} begins with a dash, which removes an entry")]
    Dash(String),
}

/// A field that the runtime does not know, so that it would drop it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the adjustment sets {field}, which needs NRI {since}; this runtime has an older one")]
pub struct UnknownField {
    /// The field, as the protocol calls it.
    pub field: &'static str,
    /// The version that introduced it.
    pub since: NriVersion,
}

/// What a creation changes of its container.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Adjustment {
    message: ContainerAdjustment,
    /// Fields that not every runtime knows.
    recent: Vec<UnknownField>,
}

/// Introduced with the first version of NRI that has resources.
const SINCE_8: NriVersion = NriVersion::new(0, 8, 0);
const SINCE_10: NriVersion = NriVersion::new(0, 10, 0);
const SINCE_11: NriVersion = NriVersion::new(0, 11, 0);
const SINCE_12: NriVersion = NriVersion::new(0, 12, 0);

impl Adjustment {
    /// Changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.message == ContainerAdjustment::default()
    }

    /// As the protocol has it.
    pub const fn message(&self) -> &ContainerAdjustment {
        &self.message
    }

    fn linux(&mut self) -> &mut LinuxContainerAdjustment {
        self.message.linux.get_or_insert_default()
    }

    fn resources(&mut self) -> &mut LinuxResources {
        self.linux().resources.get_or_insert_default()
    }

    fn cpu(&mut self) -> &mut LinuxCpu {
        self.resources().cpu.get_or_insert_default()
    }

    fn needs(&mut self, field: &'static str, since: NriVersion) {
        let needed = UnknownField { field, since };
        if !self.recent.contains(&needed) {
            self.recent.push(needed);
        }
    }

    /// The CPUs that the container may use.
    pub fn cpus(&mut self, cpus: &Cpus) {
        self.cpu().cpus = cpus.to_string();
    }

    /// The NUMA nodes that its memory may lie on.
    pub fn mems(&mut self, nodes: &MemoryNodes) {
        self.cpu().mems = nodes.to_string();
    }

    /// Its weight: 1,024 shares for one CPU.
    pub fn shares(&mut self, shares: NonZeroU64) {
        self.cpu().shares = Some(OptionalUInt64 { value: shares.get() });
    }

    /// Microseconds of CPU time a period; negative: no limit.
    pub fn quota(&mut self, quota: NonZeroI64) {
        self.cpu().quota = Some(OptionalInt64 { value: quota.get() });
    }

    /// The period of the quota, in microseconds.
    pub fn period(&mut self, period: NonZeroU64) {
        self.cpu().period = Some(OptionalUInt64 { value: period.get() });
    }

    /// Microseconds of time for its real-time threads in each of so many microseconds.
    pub fn realtime(&mut self, runtime: i64, period: u64) {
        let cpu = self.cpu();
        cpu.realtime_runtime = Some(OptionalInt64 { value: runtime });
        cpu.realtime_period = Some(OptionalUInt64 { value: period });
    }

    /// Bytes of memory; negative: no limit. containerd sets the limit of swap to the same, and applies no other field
    /// of memory.
    pub fn memory_limit(&mut self, bytes: NonZeroI64) {
        let limit = Some(OptionalInt64 { value: bytes.get() });
        self.resources().memory = Some(LinuxMemory { limit, ..LinuxMemory::default() });
    }

    /// Bytes of huge pages of a size such as `2MB`.
    pub fn hugepage_limit(&mut self, size: &str, bytes: u64) {
        let limits = &mut self.resources().hugepage_limits;
        limits.retain(|limit| limit.page_size != size);
        limits.push(HugepageLimit { page_size: size.to_owned(), limit: bytes });
    }

    /// A file of cgroup v2 and what is written to it, such as `cpuset.cpus.partition`.
    ///
    /// # Errors
    /// The name is empty or begins with a dash.
    pub fn unified(&mut self, file: &str, value: &str) -> Result<(), NameError> {
        let file = name(file)?;
        self.resources().unified.insert(file, value.to_owned());
        Ok(())
    }

    /// How many processes and threads it may have, since NRI 0.8.
    pub fn pids_limit(&mut self, limit: i64) {
        self.needs("pids", SINCE_8);
        self.resources().pids = Some(LinuxPids { limit });
    }

    /// A rule for devices of its cgroup.
    pub fn device_rule(&mut self, rule: LinuxDeviceCgroup) {
        self.resources().devices.push(rule);
    }

    /// Its class of block I/O, where the runtime is configured for it.
    pub fn blockio_class(&mut self, class: &str) {
        self.resources().blockio_class = Some(OptionalString { value: class.to_owned() });
    }

    /// Its class of RDT, where the runtime is configured for it.
    pub fn rdt_class(&mut self, class: &str) {
        self.resources().rdt_class = Some(OptionalString { value: class.to_owned() });
    }

    /// Its group of RDT and the schemata of that, since NRI 0.11.
    pub fn rdt(&mut self, rdt: LinuxRdt) {
        self.needs("rdt", SINCE_11);
        self.linux().rdt = Some(rdt);
    }

    /// How readily the kernel kills it when memory runs out, from -1,000 to 1,000, since NRI 0.8.
    pub fn oom_score_adj(&mut self, value: i16) {
        self.needs("oom_score_adj", SINCE_8);
        self.linux().oom_score_adj = Some(OptionalInt { value: value.into() });
    }

    /// Its I/O priority, since NRI 0.10.
    pub fn io_priority(&mut self, priority: LinuxIoPriority) {
        self.needs("io_priority", SINCE_10);
        self.linux().io_priority = Some(priority);
    }

    /// Its seccomp policy, since NRI 0.10.
    pub fn seccomp_policy(&mut self, policy: LinuxSeccomp) {
        self.needs("seccomp_policy", SINCE_10);
        self.linux().seccomp_policy = Some(policy);
    }

    /// The namespace of a type such as `network`, since NRI 0.10.
    ///
    /// # Errors
    /// The type is empty or begins with a dash.
    pub fn namespace(&mut self, namespace: LinuxNamespace) -> Result<(), NameError> {
        name(&namespace.r#type)?;
        self.needs("namespaces", SINCE_10);
        self.linux().namespaces.push(namespace);
        Ok(())
    }

    /// Its scheduling policy, since NRI 0.11; needs a runc that knows it.
    pub fn scheduler(&mut self, scheduler: LinuxScheduler) {
        self.needs("scheduler", SINCE_11);
        self.linux().scheduler = Some(scheduler);
    }

    /// Its memory policy, since NRI 0.12; needs a runc that knows it.
    pub fn memory_policy(&mut self, policy: LinuxMemoryPolicy) {
        self.needs("memory_policy", SINCE_12);
        self.linux().memory_policy = Some(policy);
    }

    /// Its cgroup.
    pub fn cgroups_path(&mut self, path: &str) {
        path.clone_into(&mut self.linux().cgroups_path);
    }

    /// Its command line, since NRI 0.10. Another plugin's is replaced.
    pub fn args(&mut self, args: impl IntoIterator<Item = String>) {
        self.needs("args", SINCE_10);
        // An empty string in front takes it from another plugin.
        self.message.args = std::iter::once(String::new()).chain(args).collect();
    }

    /// A device of CDI by its full name, since NRI 0.8.
    ///
    /// # Errors
    /// The name is empty or begins with a dash.
    pub fn cdi_device(&mut self, device: &str) -> Result<(), NameError> {
        let device = CdiDevice { name: name(device)? };
        self.needs("CDI_devices", SINCE_8);
        self.message.cdi_devices.push(device);
        Ok(())
    }

    /// Hooks, beside those that are there.
    pub fn hooks(&mut self, hooks: Hooks) {
        let all = self.message.hooks.get_or_insert_default();
        all.prestart.extend(hooks.prestart);
        all.create_runtime.extend(hooks.create_runtime);
        all.create_container.extend(hooks.create_container);
        all.start_container.extend(hooks.start_container);
        all.poststart.extend(hooks.poststart);
        all.poststop.extend(hooks.poststop);
    }

    /// A limit of its processes, such as `RLIMIT_NOFILE`.
    pub fn rlimit(&mut self, limit: PosixRlimit) {
        self.message.rlimits.retain(|other| other.r#type != limit.r#type);
        self.message.rlimits.push(limit);
    }

    /// A variable of its environment. [`remove_env`](Self::remove_env) first takes it from a plugin before.
    ///
    /// # Errors
    /// The name is empty or begins with a dash.
    pub fn env(&mut self, key: &str, value: &str) -> Result<(), NameError> {
        let entry = KeyValue { key: name(key)?, value: value.to_owned() };
        self.message.env.retain(|other| other.key != key);
        self.message.env.push(entry);
        Ok(())
    }

    /// Removes a variable of its environment.
    ///
    /// # Errors
    /// The name is empty or begins with a dash.
    pub fn remove_env(&mut self, key: &str) -> Result<(), NameError> {
        let key = removed(key)?;
        self.message.env.push(KeyValue { key, value: String::new() });
        Ok(())
    }

    /// A mount. [`remove_mount`](Self::remove_mount) first takes its place from a plugin before.
    ///
    /// # Errors
    /// The destination is empty or begins with a dash.
    pub fn mount(&mut self, mount: Mount) -> Result<(), NameError> {
        name(&mount.destination)?;
        self.message.mounts.retain(|other| other.destination != mount.destination);
        self.message.mounts.push(mount);
        Ok(())
    }

    /// Removes the mount at a destination.
    ///
    /// # Errors
    /// The destination is empty or begins with a dash.
    pub fn remove_mount(&mut self, destination: &str) -> Result<(), NameError> {
        let destination = removed(destination)?;
        self.message.mounts.push(Mount { destination, ..Mount::default() });
        Ok(())
    }

    /// A device. [`remove_device`](Self::remove_device) first takes its path from a plugin before.
    ///
    /// # Errors
    /// The path is empty or begins with a dash.
    pub fn device(&mut self, device: LinuxDevice) -> Result<(), NameError> {
        name(&device.path)?;
        let devices = &mut self.linux().devices;
        devices.retain(|other| other.path != device.path);
        devices.push(device);
        Ok(())
    }

    /// Removes the device at a path.
    ///
    /// # Errors
    /// The path is empty or begins with a dash.
    pub fn remove_device(&mut self, path: &str) -> Result<(), NameError> {
        let path = removed(path)?;
        self.linux().devices.push(LinuxDevice { path, ..LinuxDevice::default() });
        Ok(())
    }

    /// An annotation. [`remove_annotation`](Self::remove_annotation) takes it from a plugin before.
    ///
    /// # Errors
    /// The key is empty or begins with a dash.
    pub fn annotation(&mut self, key: &str, value: &str) -> Result<(), NameError> {
        self.message.annotations.insert(name(key)?, value.to_owned());
        Ok(())
    }

    /// Removes an annotation.
    ///
    /// # Errors
    /// The key is empty or begins with a dash.
    pub fn remove_annotation(&mut self, key: &str) -> Result<(), NameError> {
        self.message.annotations.insert(removed(key)?, String::new());
        Ok(())
    }

    /// A kernel parameter of its namespaces, since NRI 0.11.
    ///
    /// # Errors
    /// The name is empty or begins with a dash.
    pub fn sysctl(&mut self, parameter: &str, value: &str) -> Result<(), NameError> {
        let parameter = name(parameter)?;
        self.needs("sysctl", SINCE_11);
        self.linux().sysctl.insert(parameter, value.to_owned());
        Ok(())
    }

    /// Moves a network device of the host into it, since NRI 0.11; needs a runc that knows it.
    ///
    /// # Errors
    /// The name on the host is empty or begins with a dash.
    pub fn net_device(&mut self, on_host: &str, device: LinuxNetDevice) -> Result<(), NameError> {
        let on_host = name(on_host)?;
        self.needs("net_devices", SINCE_11);
        self.linux().net_devices.insert(on_host, device);
        Ok(())
    }

    /// As the protocol has it, for a runtime; `None` if it changes nothing.
    ///
    /// # Errors
    /// It sets a field that this runtime certainly does not know.
    pub(crate) fn into_message(self, nri: RuntimeNri) -> Result<Option<ContainerAdjustment>, UnknownField> {
        match self.recent.iter().find(|field| nri.lacks(field.since)) {
            Some(field) => Err(field.clone()),
            None if self.is_empty() => Ok(None),
            None => Ok(Some(self.message)),
        }
    }
}

/// A name that sets something.
fn name(text: &str) -> Result<String, NameError> {
    match text.as_bytes() {
        [] => Err(NameError::Empty),
        [b'-', ..] => Err(NameError::Dash(text.to_owned())),
        _ => Ok(text.to_owned()),
    }
}

/// The name that removes what a name sets.
fn removed(text: &str) -> Result<String, NameError> {
    Ok(format!("-{}", name(text)?))
}

#[cfg(test)]
mod tests {
    use super::{Adjustment, NameError};
    use crate::messages::LinuxMemoryPolicy;
    use crate::version::{NriVersion, RuntimeNri};

    #[test]
    fn a_removal_is_no_name() {
        let mut adjustment = Adjustment::new();
        assert_eq!(adjustment.annotation("-who", "a"), Err(NameError::Dash("-who".to_owned())));
        assert_eq!(adjustment.env("", "a"), Err(NameError::Empty));
        assert!(adjustment.is_empty());
        adjustment.remove_annotation("who").unwrap();
        adjustment.annotation("who", "b").unwrap();
        let entries = [("-who", ""), ("who", "b")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(adjustment.message().annotations, entries.into());
    }

    #[test]
    fn a_field_that_the_runtime_drops_is_an_error() {
        let mut adjustment = Adjustment::new();
        adjustment.cpus(&"0-3".parse().unwrap());
        let reported = |minor| RuntimeNri::Reported(NriVersion::new(0, minor, 3));
        assert!(adjustment.clone().into_message(RuntimeNri::Inferred(NriVersion::new(0, 2, 0))).is_ok());
        adjustment.memory_policy(LinuxMemoryPolicy::default());
        assert!(adjustment.clone().into_message(reported(12)).is_ok());
        assert!(
            adjustment.clone().into_message(RuntimeNri::Unnumbered).is_ok(),
            "what is not known is not refused"
        );
        let older = RuntimeNri::Unknown { at_least: NriVersion::new(0, 8, 0) };
        let error = adjustment.clone().into_message(older).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the adjustment sets memory_policy, which needs NRI 0.12.0; this runtime has an older one"
        );
        assert!(adjustment.into_message(reported(11)).is_err());
    }
}
