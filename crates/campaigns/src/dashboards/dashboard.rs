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
