//! Events of the runtime to the guard, and its answers back.

use std::time::{Duration, Instant};

use cgroup_cpuset::{Files, Kernel};
use nri_plugin::messages::LinuxResources;
use nri_plugin::{
    ContainerEvent, Cpus, Creation, Event, Events, Handler, MemoryNodes, NodeState, Notice, Refusal,
    RuntimeInfo, RuntimeNri, Updates,
};

use crate::records::Shared;

/// The plugin that the runtime sees.
pub(crate) struct GuardHandler<'a, F = Kernel>(pub(crate) &'a Shared<F>);

/// Until when work may last: a quarter of the time that is left is kept for the answer.
fn until(due: Option<Instant>) -> Option<Instant> {
    let now = Instant::now();
    due.map(|due| now + due.saturating_duration_since(now) * 3 / 4)
}

impl<F: Files> Handler for GuardHandler<'_, F> {
    fn events(&self) -> Events {
        Event::CreateContainer
            | Event::StartContainer
            | Event::UpdateContainer
            | Event::PostUpdateContainer
            | Event::StopContainer
            | Event::RemoveContainer
    }

    fn configured(&mut self, runtime: &RuntimeInfo) -> Result<(), Refusal> {
        tracing::info!("connected with {}", shown(runtime));
        Ok(())
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        self.0.with(|guard| guard.synchronize(&node.pods, &node.containers));
        // The cgroups are looked at by the other thread: no container of the node starts or stops meanwhile.
        self.0.wake();
        Ok(Updates::new())
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        let given = self.0.with(|guard| guard.create(event.pod, event.container, until(event.due)));
        if let Some(cpus) = given.cpus {
            answer.adjust.cpus(&Cpus::try_from(cpus)?);
        }
        if let Some(nodes) = given.mems {
            answer.adjust.mems(&MemoryNodes::try_from(nodes)?);
        }
        self.0.wake();
        Ok(())
    }

    fn start_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.0.with(|guard| guard.start(event.pod, event.container, until(event.due)));
        self.0.wake();
        Ok(())
    }

    fn update_container(
        &mut self,
        event: ContainerEvent<'_>,
        resources: Option<&LinuxResources>,
        _: &mut Updates,
    ) -> Result<(), Refusal> {
        let text = resources.and_then(|resources| resources.cpu.as_ref()).map(|cpu| cpu.cpus.as_str());
        // What cannot be read is the runtime's to refuse.
        let cpus = text.and_then(|text| text.parse().ok()).filter(|cpus: &cpuset::CpuSet| !cpus.is_empty());
        self.0.with(|guard| guard.update(&event.container.id, cpus));
        Ok(())
    }

    fn post_update_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.0.with(|guard| guard.updated(&event.container.id));
        self.0.wake();
        Ok(())
    }

    fn stop_container(&mut self, event: ContainerEvent<'_>, _: &mut Updates) -> Result<(), Refusal> {
        self.0.with(|guard| guard.gone(&event.container.id));
        Ok(())
    }

    fn remove_container(&mut self, event: ContainerEvent<'_>) -> Result<(), Refusal> {
        self.0.with(|guard| guard.gone(&event.container.id));
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        let seconds = |time: &Duration| time.as_secs_f64();
        match notice {
            Notice::Synchronized(runtime) => self.0.with(|guard| guard.connected(Ok(shown(runtime)))),
            Notice::NotConnected { error, next } => {
                let why = format!("the runtime's NRI socket cannot be connected to: {error}");
                tracing::debug!("{why}; next attempt in {} s", seconds(next));
                self.0.with(|guard| guard.connected(Err(why)));
            }
            Notice::Disconnected { reason, next } => {
                let next = next.as_ref().map(|next| format!("; next attempt in {} s", seconds(next)));
                tracing::info!("the connection has ended: {reason}{}", next.unwrap_or_default());
                self.0.with(|guard| guard.connected(Err(reason.to_string())));
            }
            Notice::Late { request, took } => {
                tracing::warn!("the answer to {request} took {} s, and was thrown away", seconds(took));
            }
            _ => {}
        }
        self.0.wake();
    }
}

/// A runtime for people.
fn shown(runtime: &RuntimeInfo) -> String {
    format!("{} {}, NRI {}", runtime.name, runtime.version, nri_of(runtime))
}

/// A runtime's version of NRI, as far as it is known.
pub(crate) fn nri_of(runtime: &RuntimeInfo) -> String {
    match runtime.nri {
        RuntimeNri::Reported(version) | RuntimeNri::Inferred(version) => version.to_string(),
        RuntimeNri::Unknown { at_least } => format!("{at_least} or later"),
        RuntimeNri::Unnumbered => "0.12 or later".to_owned(),
    }
}
