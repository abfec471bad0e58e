//! The files that a scenario names: where they are, or that it may name none.

use std::path::PathBuf;

use anyhow::{anyhow, bail};
use node_input::DeviceText;

/// Built-in scenarios by name, as texts that read nothing of this host.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("edge", include_str!("../scenarios/edge.yaml")),
    ("schedulers", include_str!("../scenarios/schedulers.yaml")),
    ("training", include_str!("../scenarios/training.yaml")),
];

/// The device files of built-in scenarios, by the names that the scenarios give them.
const DEVICES: &[(&str, &str)] = &[
    ("edge-devices.yaml", include_str!("../scenarios/edge-devices.yaml")),
    ("epyc-2s-8gpu-8nic.yaml", include_str!("../scenarios/epyc-2s-8gpu-8nic.yaml")),
];

/// Where the files of a scenario are.
pub(crate) enum Files {
    /// Below a folder: that of the scenario.
    In(PathBuf),
    /// In this program alone: the scenario is a text from elsewhere, and must read nothing of this host.
    BuiltIn,
}

impl Files {
    /// The machine of this name as `--machine` takes it: a built-in name, or a path.
    pub(crate) fn machine(&self, name: &str) -> anyhow::Result<String> {
        if matches!(self, Self::BuiltIn) && !machine_fixtures::names().any(|known| known == name) {
            bail!("a scenario that is pasted has built-in machines only, and none is called {name}");
        }
        self.word_or_path(name)
    }

    /// The configuration of this name as `--config` takes it: a word, or a path.
    pub(crate) fn config(&self, name: &str) -> anyhow::Result<String> {
        self.word_or_path(name)
    }

    fn word_or_path(&self, name: &str) -> anyhow::Result<String> {
        if name.contains(['/', '.']) {
            Ok(self.path(name)?.display().to_string())
        } else {
            Ok(name.to_owned())
        }
    }

    /// A path of the scenario, which is relative to the folder of its file.
    pub(crate) fn path(&self, path: &str) -> anyhow::Result<PathBuf> {
        match self {
            Self::In(folder) => Ok(folder.join(path)),
            Self::BuiltIn => Err(anyhow!(
                "a scenario that is pasted reads no files, such as {path}: topolet simulate does"
            )),
        }
    }

    /// The text of a device file that a scenario names.
    pub(crate) fn devices(&self, path: &str) -> anyhow::Result<DeviceText> {
        let built_in = || DEVICES.iter().find(|(name, _)| path.rsplit('/').next() == Some(*name));
        match (self, built_in()) {
            (Self::BuiltIn, Some((name, text))) => {
                Ok(DeviceText { name: (*name).to_owned(), text: text.as_bytes().to_vec() })
            }
            _ => DeviceText::read(&self.path(path)?),
        }
    }
}
