//! What another release of the kubelet does otherwise: the document and the text.

use release_upgrade::Upgrade;
use serde::Serialize;
use terminal_text::Page;

/// A check, as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UpgradeCheck<'a> {
    machine: &'a str,
    /// What the configuration is called; `configuration` has what changes of it.
    configuration_name: &'a str,
    /// How the old release was found out.
    from_named: String,
    /// What is not known, and not looked at therefore.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(flatten)]
    upgrade: Upgrade,
}

impl<'a> UpgradeCheck<'a> {
    /// Of a machine and a configuration, both by name; `from_named` says how the old release was found out.
    #[must_use]
    pub const fn new(
        machine: &'a str,
        configuration_name: &'a str,
        from_named: String,
        notes: Vec<String>,
        upgrade: Upgrade,
    ) -> Self {
        Self { machine, configuration_name, from_named, notes, upgrade }
    }

    /// For a person, ending in a newline.
    #[must_use]
    pub fn text(&self, page: Page) -> String {
        let Self { machine, configuration_name: configuration, from_named, notes, upgrade } = self;
        let dot = page.dot();
        let mut text = format!(
            "{machine} {dot} configuration {configuration} {dot} {} {from_named}\n",
            upgrade.from.release()
        );
        text.extend(notes.iter().map(|note| format!("! {note}\n")));
        text.push_str(&upgrade.to_string());
        page.filled(&text)
    }
}
