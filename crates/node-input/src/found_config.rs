//! The configuration of a node's kubelet as it was found: a file's text, drop-ins over it, and flags over both.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use node_config::{FlagError, KubeletConfiguration, KubeletFlags};
use node_output::manifest_error;
use topology_manifest::{KubeletConfigRead, Source, read_kubelet_drop_ins};

use crate::base_choice::Reading;
use crate::configuration;
use crate::read_configuration::ReadConfiguration;

/// A configuration that has been found, and what it is called.
#[derive(Clone, Debug)]
pub struct FoundConfig {
    name: String,
    /// The file and the drop-ins over it, in order, with their paths.
    texts: Vec<(String, Vec<u8>)>,
    /// Whether all texts are drop-ins over no file.
    is_without_file: bool,
    flags: Option<Box<KubeletFlags>>,
}

impl FoundConfig {
    /// A single text, called `name`.
    #[must_use]
    pub fn new(name: String, text: Vec<u8>) -> Self {
        Self { texts: vec![(name.clone(), text)], name, is_without_file: false, flags: None }
    }

    /// Texts with the flags of the kubelet that has read them.
    pub(crate) fn of_flags(name: String, texts: Vec<(String, Vec<u8>)>, flags: KubeletFlags) -> Self {
        Self { name, texts, is_without_file: flags.config().is_none(), flags: Some(Box::new(flags)) }
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text without drop-ins and flags; empty where there is no file.
    pub(crate) fn text(&self) -> &[u8] {
        let file = self.texts.first().filter(|_| !self.is_without_file);
        file.map(|(_, text)| text.as_slice()).unwrap_or_default()
    }

    /// What a kubelet makes of it on a machine with so many CPUs.
    ///
    /// # Errors
    /// A text is no configuration, or a flag keeps the kubelet from starting.
    pub(crate) fn read(&self, cpus: usize, reading: Reading<'_>) -> anyhow::Result<ReadConfiguration> {
        let Reading { rules, base, .. } = reading;
        let mut read = match self.texts.as_slice() {
            [] => {
                let config = KubeletConfiguration::without_file(rules);
                configuration::of_read(
                    &self.name,
                    KubeletConfigRead { config, ..Default::default() },
                    cpus,
                    base,
                )
            }
            [(name, text)] if !self.is_without_file => configuration::from_text(name, text, cpus, reading)?,
            texts => {
                let sources = texts.iter().map(|(name, text)| Source::from_bytes(name, text));
                let sources = sources.collect::<Result<Vec<_>, _>>().map_err(manifest_error)?;
                let (file, drop_ins) = match sources.as_slice() {
                    [file, drop_ins @ ..] if !self.is_without_file => (Some(file), drop_ins),
                    drop_ins => (None, drop_ins),
                };
                let read = read_kubelet_drop_ins(file, drop_ins, rules).map_err(manifest_error)?;
                configuration::of_read(&self.name, read, cpus, base)
            }
        };
        read.name.clone_from(&self.name);
        if let Some(flags) = &self.flags {
            read.config = match flags.over(read.config) {
                Err(FlagError::NoPods) => {
                    bail!("the kubelet of {} refuses every pod: its command line has --max-pods=0", self.name)
                }
                config => config.with_context(|| {
                    format!("the kubelet does not start with its command line over {}", self.name)
                })?,
            };
            match flags.pod_manifest_path() {
                Some("") => read.static_pods = None,
                Some(path) => read.static_pods = Some(PathBuf::from(path)),
                None => {}
            }
            read.flags = Some(flags.clone());
        }
        Ok(read)
    }
}
