//! Why a kubelet does not start with a configuration, or why that is not known.

use anyhow::anyhow;
use node_config::KubeletConfiguration;
use topology_admission::{Node, StartError, StartFault};
use topology_model::KubeletView;

use crate::machine::LoadedMachine;

/// A kubelet does not start on a machine with a configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the kubelet would not start with configuration {config} on {machine}: {error}{way_out}")]
pub struct StartFailed {
    /// What the configuration is called.
    pub config: String,
    /// What the machine is called.
    pub machine: String,
    /// The kubelet's error.
    pub error: String,
    /// What can be asked instead, as the end of the sentence.
    pub way_out: &'static str,
}

/// A kubelet refuses a configuration before it looks at the machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("configuration {config} is refused by the kubelet:\n  {}", .faults.join("\n  "))]
pub struct ConfigurationRefused {
    /// What the configuration is called.
    pub config: String,
    /// The kubelet's errors.
    pub faults: Vec<String>,
}

pub(crate) fn refuse_invalid(config: &KubeletConfiguration, name: &str) -> Result<(), ConfigurationRefused> {
    let faults: Vec<String> = config.validate().iter().map(ToString::to_string).collect();
    if faults.is_empty() {
        return Ok(());
    }
    Err(ConfigurationRefused { config: name.to_owned(), faults })
}

/// Why a kubelet does not start on a machine with the configuration that is called `name`, or why that is not known.
/// `may_reserve_more` says what would make a reservation known.
pub(crate) fn start_error(
    error: &StartError,
    may_reserve_more: Option<&str>,
    name: &str,
    machine: &LoadedMachine,
    view: &KubeletView,
    config: &KubeletConfiguration,
) -> anyhow::Error {
    if let Some(why) = machine.start_depends_on_distances(error) {
        return anyhow!("not known: {why}");
    }
    match may_reserve_more.filter(|_| is_of_reservation(error)) {
        Some(way_out) => start_not_known(error, name, way_out),
        None => start_failed(error, name, &machine.name, view, config),
    }
}

/// Whether a kubelet might start if more were reserved.
fn is_of_reservation(error: &StartError) -> bool {
    let is_it = |fault: &StartFault| {
        matches!(
            fault,
            StartFault::CpuReservation(_) | StartFault::Memory(memory_manager::ConfigError::OtherSum(_))
        )
    };
    error.faults().iter().any(is_it)
}

fn start_not_known(error: &StartError, config: &str, way_out: &str) -> anyhow::Error {
    let lacks_cpus = error.faults().iter().any(|fault| matches!(fault, StartFault::CpuReservation(_)));
    let what = if lacks_cpus { "too few CPUs are" } else { "another sum of memory is" };
    let config = config.strip_suffix(" over base unknown").unwrap_or(config);
    anyhow!(
        "not known: whether the kubelet starts, since {what} reserved by {config} alone ({error}); {way_out}"
    )
}

pub(crate) fn start_failed(
    error: &StartError,
    config: &str,
    machine: &str,
    view: &KubeletView,
    of_config: &KubeletConfiguration,
) -> anyhow::Error {
    let starts = Node::start(view, of_config).is_ok();
    let way_out = if starts { "; topolet itself would start: --for topolet decides as it does" } else { "" };
    let (config, machine) = (config.to_owned(), machine.to_owned());
    StartFailed { config, machine, error: error.to_string(), way_out }.into()
}
