//! Compares what topolet predicted of another release with what that release did.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::compare::{self, Difference};
use super::facts::ROOT;
use super::processes::Processes;
use super::wish::PodWish;
use crate::machine::json;

/// What `topolet upgrade check` printed.
pub(crate) struct UpgradePrediction(pub(crate) Value);

impl UpgradePrediction {
    /// The prediction in a few words.
    pub(crate) fn summary(&self) -> String {
        let pods = self.pods();
        let same = pods.iter().filter(|pod| pod["change"] == "same").count();
        format!("{same} of {} pods the same", pods.len())
    }

    /// Makes a wrong answer of a right one: with it the comparison has to fail.
    pub(crate) fn falsify(&mut self) {
        self.0["files"] = json!([{"file": "cpu_manager_state", "to": "V0"}]);
    }

    /// Compares each pod that ran before, once the other release runs.
    pub(crate) fn differences(
        &self,
        processes: &Processes,
        ran: &[PodWish],
    ) -> anyhow::Result<Vec<Difference>> {
        let mut differences = Vec::new();
        for wish in ran {
            let actual = processes.wait_for(&wish.name)?;
            let predicted = self.of(&wish.name)?;
            differences.extend(compare::verdict(&predicted, &actual));
            if actual.is_running() {
                differences.extend(compare::placement(&predicted, wish, processes.devices())?);
            }
        }
        Ok(differences)
    }

    /// Compares the formats of the state files, once the other release has written them.
    pub(crate) fn forms(&self) -> anyhow::Result<Vec<Difference>> {
        let mut differences = Vec::new();
        let shown = json(&["state", "show", "--state", ROOT, "-o", "json"])?;
        for change in self.0["files"].as_array().into_iter().flatten() {
            let files = shown["files"].as_array().into_iter().flatten();
            let contents = files.filter(|file| file["file"] == change["file"]).map(|file| &file["contents"]);
            let contents = contents.filter_map(Value::as_str).collect::<String>();
            let form = contents.split_once("format ").map_or("", |(_, rest)| rest);
            let actual = form.split(',').next().unwrap_or_default();
            let predicted = change["to"].as_str().unwrap_or_default();
            let what = format!("form of {}", change["file"].as_str().unwrap_or_default());
            differences.extend(Difference::of(&what, &predicted, &actual));
        }
        Ok(differences)
    }

    fn pods(&self) -> &[Value] {
        self.0["pods"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The prediction for one pod, in the shape of a decision of `topolet admit`.
    fn of(&self, pod: &str) -> anyhow::Result<Value> {
        let name = format!("default/{pod}-node1");
        let found = self.pods().iter().find(|own| own["pod"] == *name);
        let verdict = &found.with_context(|| format!("nothing is said of {name}: {}", self.0))?["to"];
        Ok(match verdict["refused"].as_object() {
            Some(refused) => json!({"admitted": false, "refusal": refused}),
            None => json!({"admitted": true, "containers": verdict["admitted"]["containers"]}),
        })
    }
}
