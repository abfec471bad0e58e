//! `#cloud-config`: the files of the kubelet, k3s or RKE2 that cloud-init writes, and the flags in the commands that it runs.
//!
//! A file decides by its path or by what is in it (cloudinit.readthedocs.io, "Write Files" and "Runcmd"). Commands are a script;
//! one that may change the kubelet otherwise is refused, as in other objects.

use crate::config_forms::{
    ConfigKind, KUBEADM_GROUP, WrittenFile, command, filled_in, is_configuration, is_of_k3s, kind_of,
    lay_options, refused_item,
};
use crate::kubelet_arguments::{
    ArgumentsOf, KubeletArgument, is_kubelet_arguments, read_bootstrap_script, read_kubelet_arguments,
};
use crate::node::{Field, Node};
use crate::problem::CONFIGZ;
use crate::yaml::{RepeatedKey, configuration, documents};
use crate::{ManifestError, Problem, Source};

/// Who writes the files.
pub(crate) const CLOUD_INIT: &str = "cloud-init";

/// What a node gets of its kubelet.
pub(crate) struct CloudConfig {
    /// The one file with a configuration of it, behind as many lines as it stands behind.
    pub(crate) configuration: Option<String>,
    /// k3s or RKE2, where one of these starts the kubelet.
    pub(crate) kind: Option<ConfigKind>,
    pub(crate) flags: Vec<KubeletArgument>,
}

/// What is read of a text that begins with `#cloud-config`; of another one nothing.
///
/// # Errors
/// A file or a command that may change the kubelet and cannot be read, two configurations of it, or no YAML.
pub(crate) fn cloud_config(source: &Source<'_>) -> Result<Option<CloudConfig>, ManifestError> {
    if source.text.lines().next().is_none_or(|line| line.trim_end() != "#cloud-config") {
        return Ok(None);
    }
    let nodes = documents(source, RepeatedKey::LastCounts)?;
    let [document] = nodes.as_slice() else { return Ok(None) };
    let document = Field::document(source, document);
    let mut found = Found::default();
    for file in document.get("write_files")?.map_or(Ok(Vec::new()), |files| files.items())? {
        found.add(file)?;
    }
    let commands = script(&document)?;
    found.made(source, &commands).map(Some)
}

/// The files that matter, each with the item that has it.
#[derive(Default)]
struct Found<'a> {
    /// Of k3s and RKE2, by their paths.
    options: Vec<(&'a str, String, Field<'a>)>,
    configuration: Option<(&'a str, String, Field<'a>)>,
    /// With arguments of a kubelet.
    arguments: Vec<(String, Field<'a>)>,
}

impl<'a> Found<'a> {
    fn add(&mut self, item: Field<'a>) -> Result<(), ManifestError> {
        let other = |what: String, instead| Err(item.fail(Problem::OtherForm { what, instead }));
        let file = WrittenFile::of(&item);
        let Some(WrittenFile { path, text }) = &file else {
            return refused_item(&item).map_or(Ok(()), Err);
        };
        let is_options = is_of_k3s(path);
        let Some(text) = text else {
            if is_options {
                return other(
                    format!("{path} configures the kubelet, and its content cannot be read here"),
                    CONFIGZ,
                );
            }
            return refused_item(&item).map_or(Ok(()), Err);
        };
        if is_options {
            self.options.push((path, text.clone(), item));
        } else if is_kubelets(path) && is_kubelet_arguments(text) {
            self.arguments.push((text.clone(), item));
        } else if is_text_of_configuration(text) {
            if self.configuration.is_some() {
                return other("found another configuration".to_owned(), "one configuration: split the file");
            }
            self.configuration = Some((path, text.clone(), item));
        } else if let Some(error) = refused_item(&item) {
            return Err(error);
        }
        Ok(())
    }

    fn made(mut self, source: &Source<'_>, commands: &str) -> Result<CloudConfig, ManifestError> {
        self.options.sort_by_key(|(path, ..)| *path);
        let mut flags = Vec::new();
        let mut kind = None;
        for (path, text, item) in &self.options {
            let text = at_its_lines(item, text);
            let own = Source { name: source.name, text: &text };
            for node in &configuration(&own)?.nodes {
                let options = Field::document(&own, node);
                options.entries()?;
                lay_options(&options, &mut flags)?;
                let is_rke2 = path.starts_with("/etc/rancher/rke2/") || kind_of(&options) == ConfigKind::Rke2;
                kind = Some(if is_rke2 { ConfigKind::Rke2 } else { ConfigKind::K3s });
            }
        }
        filled_in(&flags, source.text)?;
        let texts: Vec<String> = self.arguments.iter().map(|(text, item)| at_its_lines(item, text)).collect();
        let sources: Vec<_> = texts.iter().map(|text| Source { name: source.name, text }).collect();
        if !sources.is_empty() {
            flags.extend(read_kubelet_arguments(&sources)?.arguments);
        }
        let of_commands = read_bootstrap_script(&Source { name: source.name, text: commands })?;
        flags.extend(of_commands.arguments);
        kind = kind.or((of_commands.of == ArgumentsOf::K3s).then_some(ConfigKind::K3s));
        if let (Some((path, _, item)), Some(_)) = (&self.configuration, kind) {
            let named = format!("--config={path}");
            if !flags.iter().any(|flag| flag.text() == named) && !path.contains(DROP_INS_OF_K3S) {
                let what = format!("no flag of k3s names {path}, which is a configuration of a kubelet");
                return Err(item.fail(Problem::OtherForm { what, instead: CONFIGZ }));
            }
            flags.retain(|flag| flag.text() != named);
        }
        let configuration = self.configuration.map(|(_, text, item)| at_its_lines(&item, &text));
        Ok(CloudConfig { configuration, kind, flags })
    }
}

/// Where k3s and RKE2 have their kubelet read drop-ins, below their own folders.
const DROP_INS_OF_K3S: &str = "/agent/etc/kubelet.conf.d/";

/// Whether a path is one that a kubelet, or its unit, reads arguments from.
fn is_kubelets(path: &str) -> bool {
    path.contains("kubelet") || path.ends_with("/kubeadm-flags.env")
}

/// Whether a text has a configuration of the kubelet, or a document of kubeadm with its flags.
fn is_text_of_configuration(text: &str) -> bool {
    let source = Source { name: "", text };
    let is_one = |node: &Node| {
        let document = Field::document(&source, node);
        let version = document.get("apiVersion").ok().flatten().and_then(|field| field.text("").ok());
        document.is_mapping()
            && (is_configuration(&document) || version.is_some_and(|own| own.starts_with(KUBEADM_GROUP)))
    };
    text.contains("kind:")
        && documents(&source, RepeatedKey::LastCounts).is_ok_and(|nodes| nodes.iter().any(is_one))
}

/// A text of an item behind as many line ends as the item stands behind, and its own first line.
fn at_its_lines(item: &Field<'_>, text: &str) -> String {
    let block = item.node.value.get("content").map_or(0, |content| content.span.start);
    let before = item.source.text.get(..block).unwrap_or_default().matches('\n').count();
    // The text of a block begins in the line behind its mark.
    let first = text.lines().next().unwrap_or_default();
    let line = item.source.text.lines().nth(before).unwrap_or_default();
    let is_block = !line.contains(first) || first.is_empty();
    format!("{}{text}", "\n".repeat(before + usize::from(is_block)))
}

/// The commands that cloud-init runs, as one script with each at its line.
fn script(document: &Field<'_>) -> Result<String, ManifestError> {
    let mut script = String::new();
    for key in ["bootcmd", "runcmd"] {
        for item in document.get(key)?.map_or(Ok(Vec::new()), |items| items.items())? {
            let Some(text) = command(&item.node.value) else { continue };
            let line = item.place().position.line;
            let lines = script.matches('\n').count() + 1;
            script.push_str(&"\n".repeat(line.saturating_sub(lines)));
            script.push_str(text.trim_end());
            script.push('\n');
        }
    }
    Ok(script)
}
