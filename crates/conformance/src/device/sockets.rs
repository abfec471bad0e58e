//! Cases that are about the sockets themselves, and which of the others are played over sockets too.

mod found;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use device_plugin::proto::deviceplugin::RegisterRequest;
use device_plugin::{
    Folders, PodResources, PodResourcesQuery, PodResourcesSnapshot, Server, ServerEvent, Setup, Times,
};
use kubelet_checkpoint::device::DeviceState;
use kubelet_checkpoint::store::{StateFile, Store};
use kubelet_release::{PluginsPerResource, Rules};
use nix::sys::stat::{Mode, umask};
use serde_json::{Value, json};
use topology_admission::Compat;

use super::wire::{Folder, refused, register};
use crate::case::{Case, Outcome, text};
use crate::corpus::Corpus;

pub(super) use found::watch;

/// One case in so many is played over sockets too.
const ONE_IN: u64 = 4;

/// Whether a case is also played over sockets: some of those about plugins that come and go, or pod resources.
pub(crate) fn plays(case: &Case) -> bool {
    matches!(case.kind.as_str(), "register" | "podres" | "restart" | "several")
        && !is_one_of_several_called(case)
        && !is_called_by_hand(&case.input)
        && spread(&case.id).is_multiple_of(ONE_IN)
}

/// Whether one of several plugins for a resource is called in another way than by its own socket: the process registers
/// once more, or is taken away by name.
fn is_one_of_several_called(case: &Case) -> bool {
    let steps = case.input["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    Rules::of(case.release).plugins_per_resource == PluginsPerResource::Several
        && steps.iter().any(|step| step["op"] == "deregister" || step["again"].as_bool() == Some(true))
}

/// Whether a plugin that had called was taken away as one that had been found. The kubelet's own code was called
/// for it when the case was recorded; no socket can say it.
fn is_called_by_hand(input: &Value) -> bool {
    let steps = input["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |step: &&Value, op: &str, resource: &Value| step["op"] == op && step["resource"] == *resource;
    steps.iter().filter(|step| step["op"] == "deregister").any(|lost| {
        let resource = &lost["resource"];
        steps.iter().filter(|step| is(step, "register", resource)).any(|step| step["via"] != "watcher")
    })
}

/// The same number for the same name, and any for another (FNV-1a).
fn spread(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

struct Nothing;

impl PodResources for Nothing {
    fn snapshot(&self, _: PodResourcesQuery) -> Arc<PodResourcesSnapshot> {
        Arc::default()
    }
}

fn started(setup: &Setup, tell: impl Fn(ServerEvent) + Send + Sync + 'static) -> Result<Server, String> {
    Server::start(setup, Arc::new(Nothing), tell).map_err(|error| error.to_string())
}

/// Single measurements.
pub(super) fn fact(_: &Corpus, case: &Case) -> Outcome {
    let what = text(&case.input["what"]);
    let got = if what.contains("umask 022") {
        modes()
    } else if what.contains("not absolute") {
        let folders = Folders { device_plugins: "relative".into(), ..Folders::of_kubelet(Path::new("/")) };
        started(&Setup::new(folders), drop).map_or_else(|error| Ok(json!(error)), |_| Ok(Value::Null))
    } else if what.contains("nobody serves") {
        nobody()
    } else {
        return Outcome::Skipped;
    };
    case.compare(got.unwrap_or_else(|error| json!({ "failed": error })))
}

/// How the folder, the socket and the state file are made where there is nothing yet.
fn modes() -> Result<Value, String> {
    let root = Folder::new()?;
    let folders = Folders::below(&root.0);
    let before = umask(Mode::from_bits_truncate(0o022));
    let made = started(&Setup::new(folders.clone()), drop).and_then(|server| {
        let store = Store::open(&root.0).map_err(|error| error.to_string())?;
        let written = store.write(StateFile::Device, DeviceState::default().encode().as_bytes());
        written.map_err(|error| error.to_string())?;
        Ok(server)
    });
    umask(before);
    let _server = made?;
    let shown = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path).map_err(|error| error.to_string())?;
        let mode = metadata.permissions().mode();
        // Go writes a capital S for a socket.
        let kind = match mode >> 12 {
            0o14 => 'S',
            0o4 => 'd',
            _ => '-',
        };
        let letters = "rwxrwxrwx".chars().enumerate();
        let bits = letters.map(|(at, letter)| if mode & (0o400 >> at) == 0 { '-' } else { letter });
        Ok::<_, String>(json!(std::iter::once(kind).chain(bits).collect::<String>()))
    };
    Ok(json!({
        "directory": shown(&folders.device_plugins)?,
        "kubelet.sock": shown(&folders.device_plugins.join("kubelet.sock"))?,
        "kubelet_internal_checkpoint": shown(&root.0.join(StateFile::Device.path()))?,
    }))
}

/// The error for a plugin that names a socket without a server, and after how many seconds it comes. Time
/// passes faster here: the error must not come early, and the kubelet's time is read from the default.
fn nobody() -> Result<Value, String> {
    const FASTER: u32 = 20;
    let root = Folder::new()?;
    let folders = Folders::below(&root.0);
    let whole = Times::default();
    let times = Times { dial: whole.dial / FASTER, ..whole };
    let _server = started(
        &Setup { times, replaced: Compat::KUBELET.replaced_plugins, ..Setup::new(folders.clone()) },
        drop,
    )?;
    let request = RegisterRequest {
        version: "v1beta1".to_owned(),
        endpoint: "nobody.sock".to_owned(),
        resource_name: "vendor.io/gpu".to_owned(),
        options: None,
    };
    let began = Instant::now();
    let (code, message) =
        register(&folders.device_plugins.join("kubelet.sock"), request)?.err().unwrap_or_default();
    let mut said = refused(code, &message);
    said["seconds"] = if began.elapsed() < times.dial { Value::Null } else { json!(whole.dial.as_secs()) };
    Ok(said)
}
