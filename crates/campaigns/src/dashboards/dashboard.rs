//! A dashboard of Grafana: its panels, and what they ask.

use std::path::Path;

use anyhow::{Context as _, bail};
use fs_err as fs;
use serde_json::Value;

/// A panel of a dashboard.
pub(super) struct Panel {
    pub(super) title: String,
    /// Column, row, width and height in a grid of 24 columns.
    pub(super) place: [f64; 4],
    pub(super) unit: String,
    pub(super) is_stacked: bool,
    pub(super) is_number: bool,
    /// From which value on it has which colour, ascending; the first is the colour below all others.
    pub(super) steps: Vec<(f64, String)>,
    /// Words in the place of values.
    pub(super) words: Vec<(String, String)>,
    /// What stands where there is nothing.
    pub(super) nothing: String,
    /// Queries and what their series are called.
    pub(super) queries: Vec<(String, String)>,
}

pub(super) struct Dashboard {
    pub(super) title: String,
    pub(super) panels: Vec<Panel>,
}

impl Dashboard {
    /// With all nodes chosen.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)?;
        let whole: Value =
            serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut panels = Vec::new();
        for panel in whole["panels"].as_array().context("the dashboard has no panels")? {
            let place = ["x", "y", "w", "h"].map(|name| panel["gridPos"][name].as_f64());
            let [Some(x), Some(y), Some(w), Some(h)] = place else { bail!("a panel has no place: {panel}") };
            let targets = panel["targets"].as_array().context("a panel has no targets")?;
            let defaults = &panel["fieldConfig"]["defaults"];
            panels.push(Panel {
                title: text(&panel["title"]),
                place: [x, y, w, h],
                unit: text(&defaults["unit"]),
                is_stacked: defaults["custom"]["stacking"]["mode"] == "normal",
                is_number: panel["type"] == "stat",
                steps: steps(&defaults["thresholds"]),
                words: words(&defaults["mappings"]),
                nothing: defaults["noValue"].as_str().unwrap_or("no data").to_owned(),
                queries: targets
                    .iter()
                    .map(|target| {
                        (text(&target["expr"]).replace("$node", ".*"), text(&target["legendFormat"]))
                    })
                    .collect(),
            });
        }
        Ok(Self { title: text(&whole["title"]), panels })
    }
}

impl Panel {
    /// The colour that the panel gives a value.
    pub(super) fn colour(&self, value: f64) -> &str {
        let reached = self.steps.iter().rev().find(|(from, _)| value >= *from);
        reached.map_or("text", |(_, colour)| colour)
    }
}

fn steps(thresholds: &Value) -> Vec<(f64, String)> {
    let steps = thresholds["steps"].as_array().into_iter().flatten();
    let step = |step: &Value| {
        let colour = step["color"].as_str()?.to_owned();
        Some((step["value"].as_f64().unwrap_or(f64::NEG_INFINITY), colour))
    };
    steps.filter_map(step).collect()
}

fn words(mappings: &Value) -> Vec<(String, String)> {
    let options =
        mappings.as_array().into_iter().flatten().filter_map(|mapping| mapping["options"].as_object());
    let word = |(value, word): (&String, &Value)| Some((value.clone(), word["text"].as_str()?.to_owned()));
    options.flatten().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use workspace_tools::workspace::root;

    use super::Dashboard;

    #[test]
    fn panels_have_colours_where_values_are_good_or_bad_and_say_what_nothing_means() {
        let dashboard = Dashboard::read(&root().join("deploy/grafana/topolet-nodes.json"));
        let dashboard = dashboard.unwrap_or_else(|error| panic!("{error:#}"));
        let panel = |title: &str| {
            let found = dashboard.panels.iter().find(|panel| panel.title == title);
            found.unwrap_or_else(|| panic!("there is no panel {title}"))
        };
        let state = panel("State files");
        assert_eq!([state.colour(0.0), state.colour(1.0)], ["green", "red"]);
        assert_eq!(state.words[0], ("0".to_owned(), "current".to_owned()));
        let fragmentation = panel("Fragmentation of free CPUs");
        assert_eq!([0.2, 0.6, 0.9].map(|value| fragmentation.colour(value)), ["green", "orange", "red"]);
        let charts = dashboard.panels.iter().filter(|panel| !panel.is_number);
        assert!(charts.into_iter().all(|panel| panel.nothing != "no data"));
    }
}
