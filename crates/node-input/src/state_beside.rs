//! The node's state files beside a configuration that is checked, and beside the one that is proposed.

use config_advice::{Change, Severity};
use node_config::KubeletConfiguration;
use node_output::{ConfigFinding, JudgedBy};
use node_state::{RefusedAgain, Restart, RestartOutcome};

use crate::judged::JudgedNode;
use crate::machine::LoadedMachine;
use crate::node::LoadedNode;
use crate::removed_files::Removed;
use crate::residents::Residents;
use crate::sources::{ResidentsSource, RulesSource};

/// What the node's state files are to a configuration, and to the one that is proposed.
pub(crate) struct StateBeside {
    /// Which files, and which pods they are about.
    pub(crate) beside: String,
    now: Started,
    /// With what is proposed; `None`: a kubelet does not start with that on the machine.
    later: Option<Started>,
    /// What of what runs is not known, as text to be shown.
    notes: Vec<String>,
    /// That files which keep the kubelet from starting with the proposal are deleted by then, as text to be shown.
    removed_later: Option<String>,
}

/// What a start of the kubelet from the files comes to: why it does not start, or what becomes of the pods.
type Started = Result<Restart, String>;

impl StateBeside {
    /// `None`: the machine has no state, or a kubelet does not get so far with the configuration.
    pub(crate) fn look(
        machine: &LoadedMachine,
        rules: &RulesSource,
        given: &ResidentsSource,
        config: &KubeletConfiguration,
        proposal: &KubeletConfiguration,
    ) -> anyhow::Result<Option<Self>> {
        let Some(resident) = given.of_node(machine.packed.as_deref())? else { return Ok(None) };
        let with = |config: &KubeletConfiguration| -> Option<(Started, Vec<String>, Option<String>)> {
            let change = |own: &mut KubeletConfiguration| own.clone_from(config);
            let node = LoadedNode::starting(machine, rules, change).ok()?;
            let removed = node.removed_of(&resident.folder);
            let (gone, kept): (Option<Removed>, Option<Removed>) = match removed {
                Some(removed) if removed.is_with_configuration() => (Some(removed), None),
                removed => (None, removed),
            };
            let gone = gone.map(|removed| removed.sentence());
            let residents = match Residents::new(&node, given, &resident) {
                Ok(residents) => residents,
                Err(error) => {
                    let text = error.root_cause().to_string();
                    let mut why = text.lines().next().unwrap_or_default().to_owned();
                    if let Some(removed) = kept {
                        why.push_str(&format!("; {}", removed.sentence()));
                    }
                    return Some((Err(why), Vec::new(), None));
                }
            };
            if let Some(why) = node.pods_files_refused(&resident.folder) {
                return Some((Err(why), residents.notes, None));
            }
            let by = JudgedBy::Configured(node.line.clone());
            let restart = JudgedNode { node, by, notices: Vec::new() }.next_restart(&resident);
            Some((Ok(restart), residents.notes, gone))
        };
        let Some((now, notes, removed_now)) = with(config) else { return Ok(None) };
        let (later, removed_later) = match with(proposal) {
            Some((started, _, removed)) => (Some(started), removed.filter(|_| removed_now.is_none())),
            None => (None, None),
        };
        let pods = resident.folder.holders().map_or(0, |holders| holders.len());
        let named =
            resident.names_from.as_ref().map(|place| format!(", named by {place}")).unwrap_or_default();
        let pods = if pods == 1 { "1 pod holds".to_owned() } else { format!("{pods} pods hold") };
        let again = match &now {
            Ok(restart) if restart.outcome == RestartOutcome::AdmitsAll => {
                "; a restart with this configuration keeps that, and admits every pod that runs again"
            }
            _ => "",
        };
        Ok(Some(Self {
            beside: format!("{pods} something by {}{named}{again}", resident.from),
            now,
            later,
            notes,
            removed_later,
        }))
    }

    /// What a start with the configuration does to what runs.
    fn findings(&self) -> Vec<ConfigFinding> {
        match &self.now {
            Err(why) => {
                // The line says that the kubelet does not start.
                let why = why.strip_prefix("the kubelet would not start from this state: ").unwrap_or(why);
                let text = format!("{why}; `topolet state check` says more");
                vec![ConfigFinding::of_state(Severity::Refused, text, None)]
            }
            Ok(restart) => {
                let refused = restart.refused.iter().map(|again| {
                    let RefusedAgain { pod, reason, cause, help, .. } = again;
                    let text = format!("the next restart refuses {pod}, which runs ({reason}): {cause}");
                    ConfigFinding::of_state(Severity::Harmful, text, Some(help))
                });
                refused.collect()
            }
        }
    }

    /// Adds [`Self::findings`]: what keeps the kubelet from starting behind the first `refused`, which do too.
    pub(crate) fn add_to(&self, findings: &mut Vec<ConfigFinding>, refused: usize) {
        let at = if self.now.is_err() { refused } else { findings.len() };
        findings.splice(at..at, self.findings());
    }

    pub(crate) fn notes(&self, changes: &[Change]) -> Vec<String> {
        let not_known = self.now.as_ref().ok().and_then(|restart| restart.not_known.as_ref());
        let not_known =
            not_known.map(|why| format!("what a restart does to all that runs is not known: {why}"));
        let later = match (&self.now, &self.later) {
            (Ok(_), Some(Err(why))) => Some(format!(
                "with what is proposed {why}: drain the node first, and remove the state files before the kubelet starts again"
            )),
            (Ok(now), Some(Ok(later))) if later.refused.len() > now.refused.len() => Some(format!(
                "with what is proposed the next restart refuses {} of the pods that run: drain the node first",
                later.refused.len()
            )),
            _ => None,
        };
        let removed = self
            .removed_later
            .as_ref()
            .map(|why| format!("with what is proposed, {why}: drain the node first"));
        let later = later.or(removed).filter(|_| !changes.is_empty());
        self.notes.iter().cloned().chain(not_known).chain(later).collect()
    }
}
