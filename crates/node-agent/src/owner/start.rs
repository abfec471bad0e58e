//! Containers that are about to start: plugins that require `PreStartContainer` are called first.

use std::collections::BTreeSet;
use std::path::PathBuf;

use cpu_manager::ContainerId;
use device_manager::{Endpoint, Life, PluginError, Question, Reply, StartError};
use pod_spec::ContainerKey;

use super::Owner;
use super::change::Change;
use super::pending::PendingStart;
use crate::effect::{Answer, Effect, RequestError};
use crate::event::Ticket;

impl Owner {
    pub(super) fn ask_to_start(
        &mut self,
        ticket: Ticket,
        container: ContainerKey,
        id: ContainerId,
        cgroup: Option<PathBuf>,
    ) {
        if self.is_late(&container) {
            self.deferred.start(ticket, container, id, cgroup);
            return;
        }
        let is_known = self.pods.get(&container.pod).is_some_and(|record| record.running.contains_key(&id));
        let questions = if is_known { Ok(BTreeSet::new()) } else { self.questions(&container) };
        match questions {
            Err(error) => {
                let answer = Answer::Failed(RequestError::Start(error));
                self.effects.push(Effect::Answer(ticket, answer));
            }
            Ok(unanswered) => {
                self.effects.extend(unanswered.iter().cloned().map(Effect::Ask));
                self.go_on(PendingStart { ticket, container, id, cgroup, unanswered });
            }
        }
    }

    /// The `PreStartContainer` calls for a container. A plugin that has not come back since a restart is not
    /// called; one that has gone while this ran is an error, as in the kubelet.
    fn questions(&self, container: &ContainerKey) -> Result<BTreeSet<Question>, StartError> {
        let held = self.ledger.devices().of_container(&container.pod, &container.container);
        let mut questions = BTreeSet::new();
        for (resource, held) in held {
            let endpoint = self.ledger.inventory().endpoint(resource);
            if let Some(Endpoint::Plugin { options: Some(options), life }) = endpoint
                && options.pre_start
            {
                if let Life::Stopped(_) = life {
                    return Err(StartError::PreStart(PluginError::Stopped(resource.clone())));
                }
                let devices = held.devices();
                questions.insert(Question::PreStart { resource: resource.clone(), devices });
            }
        }
        Ok(questions)
    }

    /// A plugin has answered what is asked before a start.
    pub(super) fn told_of_start(&mut self, question: &Question, reply: &Reply) {
        for mut starting in std::mem::take(&mut self.starting) {
            let is_its_own = starting.unanswered.remove(question);
            match reply {
                Reply::Failed(error) if is_its_own => {
                    let error = StartError::PreStart(error.clone().into());
                    let answer = Answer::Failed(RequestError::Start(error));
                    self.effects.push(Effect::Answer(starting.ticket, answer));
                }
                _ => self.go_on(starting),
            }
        }
    }

    /// Starts it if nothing is left to wait for.
    fn go_on(&mut self, starting: PendingStart) {
        if starting.unanswered.is_empty() {
            let PendingStart { ticket, container, id, cgroup, .. } = starting;
            self.changes.push_back(Change::Started { ticket, container, id, cgroup });
        } else {
            self.starting.push(starting);
        }
    }
}
