//! Rules as JSON, and the values that they stand for.

use std::collections::BTreeMap;

use nri_plugin::{Adjustment, ContainerId, OnConflict, Refusal, ResourceUpdate, Updates};
use serde_json::Value;

/// What is done for which request.
pub(crate) struct Rules {
    all: Value,
    /// How often each action was taken.
    seen: BTreeMap<(String, String), u64>,
}

impl Rules {
    /// # Errors
    /// The text is no JSON.
    pub(crate) fn of(text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { all: serde_json::from_str(text)?, seen: BTreeMap::new() })
    }

    /// The requests that have rules.
    pub(crate) fn requests(&self) -> impl Iterator<Item = &str> {
        self.all.as_object().into_iter().flatten().map(|(request, _)| request.as_str())
    }

    /// The action for the first of these names that has one, else for `*`; and whether it is one of the first `times`
    /// requests.
    pub(crate) fn next(&mut self, request: &str, names: &[&str]) -> (Action, bool) {
        let found = names.iter().chain(&["*"]).find(|name| self.all[request][**name].is_object());
        let Some(name) = found else { return (Action(Value::Null), true) };
        let action = Action(self.all[request][*name].clone());
        let seen = self.seen.entry((request.to_owned(), (*name).to_owned())).or_default();
        *seen += 1;
        let counts = action.number("times") == 0 || *seen <= action.number("times");
        (action, counts)
    }
}

/// What is done for one request.
pub(crate) struct Action(Value);

impl Action {
    /// A number; 0 where there is none.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.0[name].as_u64().unwrap_or_default()
    }

    /// Whether something is true.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.0[name] == true
    }

    /// A text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0[name].as_str()
    }

    /// The updates of other containers.
    ///
    /// # Errors
    /// They are none that NRI passes on.
    pub(crate) fn updates(&self) -> Result<Updates, Refusal> {
        updates(&self.0["update"])
    }

    /// The updates to be sent after the event. Evictions cannot be sent: the call is made without them.
    ///
    /// # Errors
    /// They are none that NRI passes on.
    pub(crate) fn unsolicited(&self) -> Result<Option<Updates>, Refusal> {
        let asks = self.0["unsolicited"].is_array() || self.0["unsolicited_evict"].is_array();
        asks.then(|| updates(&self.0["unsolicited"])).transpose()
    }

    /// Changes an adjustment.
    ///
    /// # Errors
    /// It is none that these rules know.
    pub(crate) fn adjust(&self, adjust: &mut Adjustment) -> Result<(), Refusal> {
        for (field, value) in entries(&self.0["adjust"]) {
            match field.as_str() {
                "annotations" => {
                    for (key, value) in entries(value) {
                        match key.strip_prefix('-') {
                            Some(key) => adjust.remove_annotation(key)?,
                            None => adjust.annotation(key, text(value)?)?,
                        }
                    }
                }
                "env" => {
                    for entry in value.as_array().into_iter().flatten() {
                        adjust.env(text(&entry["key"])?, text(&entry["value"])?)?;
                    }
                }
                "linux" => {
                    let cpu = &value["resources"]["cpu"];
                    for (field, value) in entries(cpu) {
                        match field.as_str() {
                            "cpus" => adjust.cpus(&text(value)?.parse()?),
                            "mems" => adjust.mems(&text(value)?.parse()?),
                            _ => return Err(unknown(field)),
                        }
                    }
                    let resources = &value["resources"];
                    for (field, value) in entries(&resources["unified"]) {
                        adjust.unified(field, text(value)?)?;
                    }
                    if let Some(limit) = resources["memory"]["limit"]["value"].as_str() {
                        adjust.memory_limit(limit.parse()?);
                    }
                    for limit in resources["hugepageLimits"].as_array().into_iter().flatten() {
                        adjust.hugepage_limit(text(&limit["pageSize"])?, text(&limit["limit"])?.parse()?);
                    }
                }
                _ => return Err(unknown(field)),
            }
        }
        Ok(())
    }
}

fn updates(list: &Value) -> Result<Updates, Refusal> {
    let mut updates = Updates::new();
    for update in list.as_array().into_iter().flatten() {
        let id = text(&update["containerId"])?;
        if updates.get(id).is_some() {
            return Err(Refusal::new(format!("container {id} is updated twice")));
        }
        let mut change = ResourceUpdate::new();
        for (field, value) in entries(&update["linux"]["resources"]["cpu"]) {
            change = match field.as_str() {
                "cpus" => change.cpus(text(value)?.parse()?),
                "mems" => change.mems(text(value)?.parse()?),
                _ => return Err(unknown(field)),
            };
        }
        if update["ignoreFailure"] == true {
            change = change.on_conflict(OnConflict::DropUpdate);
        }
        updates.set(ContainerId::new(id), change);
    }
    Ok(updates)
}

fn entries(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().into_iter().flatten()
}

fn text(value: &Value) -> Result<&str, Refusal> {
    value.as_str().ok_or_else(|| Refusal::new(format!("the rules have {value} in place of a text")))
}

fn unknown(field: &str) -> Refusal {
    Refusal::new(format!("the rules have the field {field}, which is not known"))
}
