//! Registration of plugins: what is checked, and whose connection is closed when a stream ends.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use pod_spec::ResourceName;
use thiserror::Error;

use crate::question::RpcError;

/// The one version of the plugin API.
pub const API_VERSION: &str = "v1beta1";

/// Why a `Register` call is refused. The texts are the kubelet's; they reach the plugin with the code `Unknown`.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// Another version of the API.
    #[error("requested API version {} is not supported by kubelet. Supported version is [\"{API_VERSION}\"]", Quoted(.0))]
    Version(String),
    /// No name of an extended resource.
    #[error("the ResourceName {} is invalid", Quoted(.0))]
    Name(String),
    /// The plugin does not say what it wants to be asked.
    #[error("failed to get device plugin options: {0}")]
    Options(#[source] RpcError),
    /// A plugin is connected by the same socket.
    #[error("device plugin already connected: {0}")]
    AlreadyConnected(String),
}

/// Why a plugin that was found as a socket is refused. The texts are the kubelet's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// It does not speak this version of the API.
    #[error("manager version, {API_VERSION}, is not among plugin supported versions [{}]", .0.join(" "))]
    Versions(Vec<String>),
    /// No name of an extended resource.
    #[error("invalid name of device plugin socket: {0}")]
    Name(#[source] RegisterError),
}

/// Checks what a plugin says when it calls the kubelet. The call is counted before it is checked, under whatever
/// name it came, in `kubelet_device_plugin_registration_total`.
pub fn check_request(version: &str, resource: &str) -> Result<ResourceName, RegisterError> {
    if version != API_VERSION {
        return Err(RegisterError::Version(version.into()));
    }
    check_name(resource)
}

/// Checks what a plugin says when the kubelet has found its socket: it may speak several versions.
pub fn check_announced(versions: &[&str], resource: &str) -> Result<ResourceName, ValidateError> {
    if !versions.contains(&API_VERSION) {
        return Err(ValidateError::Versions(versions.iter().copied().map(String::from).collect()));
    }
    check_name(resource).map_err(ValidateError::Name)
}

fn check_name(resource: &str) -> Result<ResourceName, RegisterError> {
    if is_extended_resource(resource) {
        Ok(ResourceName::new(resource))
    } else {
        Err(RegisterError::Name(resource.into()))
    }
}

/// Whether `name` is the name of an extended resource, as pods ask for devices: `vendor.io/gpu`.
///
/// A lower-case DNS name, a slash, and 1 to 63 letters, digits, `-`, `_` or `.`, which begin and end with a letter
/// or digit. The first part leaves room for a prefix `requests.` (quota counts under that name), does not begin
/// with it, and nowhere is there a `kubernetes.io/`.
#[must_use]
pub fn is_extended_resource(name: &str) -> bool {
    const PREFIX: &str = "requests.";
    const MAX_DNS_NAME: usize = 253;
    const MAX_LAST_PART: usize = 63;
    let Some((dns, last)) = name.split_once('/') else { return false };
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        label.bytes().all(inner) && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_last_part = |part: &str| {
        let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        ends(part.as_bytes().first()) && ends(part.as_bytes().last()) && part.bytes().all(inner)
    };
    !name.contains("kubernetes.io/")
        && !name.starts_with(PREFIX)
        && dns.len() + PREFIX.len() <= MAX_DNS_NAME
        && dns.split('.').all(is_label)
        && last.len() <= MAX_LAST_PART
        && is_last_part(last)
}

/// One connection to a plugin, numbered by the caller.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub u64);

/// Which connection stands for a resource: the one that was registered last.
///
/// As in the kubelet, an older one is not closed here. When its stream ends, it is the *newer* one that is closed, and
/// all devices turn unhealthy; while it lasts, its lists still count. How long it lasts is a matter of
/// [`ReplacedPlugins`](crate::ReplacedPlugins).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Connections(BTreeMap<ResourceName, ConnectionId>);

impl Connections {
    /// A plugin is being connected for `resource`.
    pub fn connecting(&mut self, resource: &ResourceName, connection: ConnectionId) {
        self.0.insert(resource.clone(), connection);
    }

    /// It could not be connected, or did not answer with its options. If an older connection goes on working,
    /// its end is no longer noticed.
    pub fn failed(&mut self, resource: &ResourceName) {
        self.0.remove(resource);
    }

    /// A stream for `resource` has ended, or the plugin's socket has vanished. Returns the connection to be closed;
    /// then the resource is to be disconnected ([`Inventory::disconnect`](crate::Inventory::disconnect)). `None`:
    /// nothing is to be done.
    pub fn gone(&mut self, resource: &ResourceName) -> Option<ConnectionId> {
        self.0.remove(resource)
    }

    /// The connection that stands for a resource.
    #[must_use]
    pub fn current(&self, resource: &ResourceName) -> Option<ConnectionId> {
        self.0.get(resource).copied()
    }

    /// The resources with a connection, by name.
    pub fn resources(&self) -> impl Iterator<Item = &ResourceName> {
        self.0.keys()
    }
}

/// Text in quotes as Go writes it with `%q`.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => write!(f, "\\{letter}")?,
                '\u{7}' => f.write_str("\\a")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{b}' => f.write_str("\\v")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..='\u{1f}' | '\u{7f}' => write!(f, "\\x{:02x}", u32::from(letter))?,
                '\'' | ' '..='~' => write!(f, "{letter}")?,
                _ if letter.escape_debug().len() == 1 => write!(f, "{letter}")?,
                '\0'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(letter))?,
                _ => write!(f, "\\U{:08x}", u32::from(letter))?,
            }
        }
        f.write_str("\"")
    }
}
