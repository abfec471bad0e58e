//! Files, commands, units and folders of patches by which an object configures the kubelet beside the fields that are read.
//!
//! What they do to it is not worked out. An object with one of them is refused where the kubelet depends on it.

use super::kind::{ConfigKind, PATCHED, names};
use super::machine_config::{data_of, is_kubelets_file};
use super::{kind_of, machines};
use crate::kubelet_arguments::{
    KubeletConf, changing_line, is_of_configuration, is_open, may_change, open_line,
};
use crate::node::{Field, Value};
use crate::problem::CONFIGZ;
use crate::template::rendered_by;
use crate::warning::Warning;
use crate::{ManifestError, Problem};

/// Keys below which objects have texts that a node writes to its disk or runs.
///
/// Of Cluster API's providers for kubeadm, RKE2 and EKS (`KubeadmConfigSpec`, `RKE2ConfigSpec`, `EKSConfigSpec` and
/// `NodeadmConfigSpec` in their `api` folders), of kops (`ClusterSpec` and `InstanceGroupSpec` in `pkg/apis/kops`), of eksctl
/// (`NodeGroupBase` in `pkg/apis/eksctl.io/v1alpha5/types.go`), of Talos `machine.files`, and of Ignition `files` and `units`.
const TEXTS: [&str; 18] = [
    "additionalConfig",
    "additionalUserData",
    "boostrapCommandOverride",
    "bootCommands",
    "bootstrapCommandOverride",
    "fileAssets",
    "files",
    "hooks",
    "postBootstrapCommands",
    "postKubeadmCommands",
    "postNodeadmCommands",
    "postRKE2Commands",
    "preBootstrapCommands",
    "preKubeadmCommands",
    "preNodeadmCommands",
    "preRKE2Commands",
    "units",
    "write_files",
];

/// The refusal of an object that configures the kubelet beside its fields; `None`: it does not, or what does is in the fields.
pub(super) fn refused(document: &Field<'_>) -> Option<ManifestError> {
    refused_texts(document).or_else(|| machines::refused(document)).or_else(|| {
        let what = "kubeadm lays the files of this folder over the kubelet's configuration".to_owned();
        let instead = "an object with these files in it, or the configuration that a node runs with: `kubectl get --raw /api/v1/nodes/NODE/proxy/configz`";
        Some(patches(document)?.fail(Problem::OtherForm { what, instead }))
    })
}

/// The same of files, commands and units alone.
pub(super) fn refused_texts(document: &Field<'_>) -> Option<ManifestError> {
    let (_, version) = names(document);
    let is_openshift =
        version.starts_with(super::OPENSHIFT_GROUP) || document.node.value.get("variant").is_some();
    let conf = if is_openshift { KubeletConf::Configuration } else { KubeletConf::Credentials };
    texts(document, conf)
}

/// The refusal of a document in a form of a kubelet's configuration that configures it beside its fields; `None`: it does not.
pub(crate) fn refused_form(document: &Field<'_>) -> Option<ManifestError> {
    is_form(document).then(|| refused(document)).flatten()
}

/// The same of a document beside the kubelet's own configuration, and that a folder of patches is not read.
pub(super) fn refused_beside(document: &Field<'_>, unread: &mut Vec<Warning>) -> Option<ManifestError> {
    if !is_form(document) {
        return None;
    }
    if let Some(folder) = patches(document) {
        const EXPECTED: &str = "these files, or the configuration that a node runs with";
        let name = folder.text("a folder").unwrap_or_default();
        let what = format!("kubeadm lays the files kubeletconfiguration* of {name} over this configuration");
        unread.push(Warning(folder.fail(Problem::Useless { what, expected: EXPECTED })));
    }
    refused_texts(document)
}

fn is_form(document: &Field<'_>) -> bool {
    !matches!(kind_of(document), ConfigKind::Kubelet | ConfigKind::PerformanceProfile)
}

/// The refusal of the first member of lists of texts that may change the kubelet's configuration.
fn texts(field: &Field<'_>, conf: KubeletConf) -> Option<ManifestError> {
    match &field.node.value {
        Value::Map(_) => field.entries().ok()?.into_iter().find_map(|entry| {
            if !TEXTS.contains(&entry.key) {
                return texts(&entry.value, conf);
            }
            let items = entry.value.items().unwrap_or_else(|_| vec![entry.value.clone()]);
            items.iter().find_map(|item| of_item(item, conf))
        }),
        Value::List(_) => field.items().ok()?.iter().find_map(|item| texts(item, conf)),
        _ => None,
    }
}

/// The refusal of a command, a file or a unit.
fn of_item(item: &Field<'_>, conf: KubeletConf) -> Option<ManifestError> {
    let template = || Some(item.fail(Problem::Template { expected: rendered_by(item.source.text) }));
    let other = |what: String| Some(item.fail(Problem::OtherForm { what, instead: CONFIGZ }));
    let of_script = |script: &str| {
        if open_line(script).is_some() {
            return template();
        }
        changing_line(script, conf).and_then(|line| other(may_change(line)))
    };
    if !item.is_mapping() {
        return of_script(&command(&item.node.value)?);
    }
    let path = text(item, "path").unwrap_or_default();
    let unit = text(item, "name").unwrap_or_default();
    if is_open(path) || path.starts_with("${") {
        return template();
    }
    if item.node.value.get("contents").is_some() && is_kubelets_file(path) {
        return None;
    }
    let texts = Texts::of(item);
    let is_kubelets =
        is_of_configuration(path, conf) && !is_of_k3s(path) || path.is_empty() && unit == "kubelet.service";
    let has_content = !path.is_empty() || texts.has_any();
    if is_kubelets && has_content && !texts.are_orders_alone() {
        let name = if path.is_empty() { unit } else { path };
        return other(format!("{name} configures the kubelet, and its content is not read here"));
    }
    let is_run = path.is_empty() || is_script(path, item);
    if texts.are_unreadable && is_run {
        return other(format!(
            "{path} is a script or a unit that cannot be read here: it is compressed, or not in this file"
        ));
    }
    texts.all.iter().find_map(|text| {
        if is_run {
            return of_script(text);
        }
        // What is one place in a file that is not run becomes its content, and that of no file of the kubelet.
        changing_line(text, conf).and_then(|line| other(may_change(line)))
    })
}

/// A file that an object has a node write.
pub(crate) struct WrittenFile<'a> {
    pub(crate) path: &'a str,
    /// `None`: it is compressed, added to another one, or not in the object.
    pub(crate) text: Option<String>,
}

impl<'a> WrittenFile<'a> {
    /// `None`: the item is no file with a path.
    pub(crate) fn of(item: &Field<'a>) -> Option<Self> {
        let path = text(item, "path")?;
        let Texts { all, are_unreadable } = Texts::of(item);
        let is_added = item.node.value.get("append").is_some_and(|own| own.value == Value::Bool(true));
        Some(Self { path, text: (!are_unreadable && !is_added).then(|| all.concat()) })
    }
}

/// The refusal of a command or a file by which a node may configure its kubelet.
pub(crate) fn refused_item(item: &Field<'_>) -> Option<ManifestError> {
    of_item(item, KubeletConf::Credentials)
}

/// Whether a path is one that k3s or RKE2 reads options from.
pub(crate) fn is_of_k3s(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    ["/etc/rancher/k3s/", "/etc/rancher/rke2/"].iter().any(|folder| {
        let name = path.strip_prefix(folder).unwrap_or_default();
        let is_yaml = matches!(name.rsplit('.').next(), Some("yaml" | "yml"));
        name == "config.yaml" || name.starts_with("config.yaml.d/") && is_yaml
    })
}

/// A command: a text, or a list of its words.
pub(crate) fn command(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::List(items) => {
            let words = items.iter().filter_map(|item| command(&item.value));
            Some(words.collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn text<'a>(item: &Field<'a>, key: &str) -> Option<&'a str> {
    match &item.node.value.get(key)?.value {
        Value::Text(text) => Some(text.as_str()),
        _ => None,
    }
}

/// Whether a node runs a file by its path or its mode, or reads it as a unit.
fn is_script(path: &str, item: &Field<'_>) -> bool {
    let mode = ["permissions", "mode"].iter().find_map(|key| item.node.value.get(key));
    let is_run = match mode.map(|mode| &mode.value) {
        // The digits of a mode in octal, of which the odd ones are for running it.
        Some(Value::Text(mode)) => mode.bytes().any(|digit| matches!(digit, b'1' | b'3' | b'5' | b'7')),
        // Ignition has it in decimal, Butane and cloud-init in octal.
        Some(Value::Number(mode)) => {
            let octal = mode.strip_prefix("0o").or_else(|| mode.strip_prefix('0'));
            let mode = octal.map_or_else(|| mode.parse(), |digits| u32::from_str_radix(digits, 8));
            mode.is_ok_and(|mode| mode & 0o111 != 0)
        }
        _ => false,
    };
    let path = path.to_ascii_lowercase();
    let is_of_path = [".sh", ".service", ".py", ".bash"].iter().any(|end| path.ends_with(end))
        || ["/bin/", "/sbin/", "/systemd/", "/cloud/", "/cron", "/profile.d/", "/rc."]
            .iter()
            .any(|part| path.contains(part));
    is_run || is_of_path
}

/// The texts of a file or a unit.
struct Texts {
    all: Vec<String>,
    are_unreadable: bool,
}

impl Texts {
    fn of(item: &Field<'_>) -> Self {
        const AROUND: [&str; 9] =
            ["before", "encoding", "group", "mode", "name", "owner", "path", "permissions", "user"];
        let mut texts = Self { all: Vec::new(), are_unreadable: false };
        let encoding = text(item, "encoding").unwrap_or_default();
        let compression =
            item.node.value.get("contents").and_then(|contents| contents.value.get("compression"));
        let is_plain = compression.is_none_or(|kind| {
            matches!(&kind.value, Value::Null) || matches!(&kind.value, Value::Text(kind) if kind.is_empty())
        });
        let contents = item.node.value.get("contents");
        let is_elsewhere = item.node.value.get("contentFrom").is_some()
            || contents.is_some_and(|contents| contents.value.get("local").is_some());
        let Value::Map(entries) = &item.node.value else { return texts };
        if encoding.starts_with("gz") || !is_plain || is_elsewhere {
            texts.are_unreadable = true;
            return texts;
        }
        for entry in entries.iter().filter(|entry| !AROUND.contains(&entry.key.as_str())) {
            match &entry.value.value {
                Value::Text(content) if entry.key == "content" && ["base64", "b64"].contains(&encoding) => {
                    let content: String = content.split_ascii_whitespace().collect();
                    texts.add(&format!("data:;base64,{content}"));
                }
                value => texts.collect(value),
            }
        }
        texts
    }

    fn collect(&mut self, value: &Value) {
        match value {
            Value::Text(text) => self.add(text),
            Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Text(_))) => {
                self.all.extend(command(value));
            }
            Value::List(items) => items.iter().for_each(|item| self.collect(&item.value)),
            Value::Map(entries) => entries.iter().for_each(|entry| self.collect(&entry.value.value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds a text; of a URL it is what it holds.
    fn add(&mut self, text: &str) {
        let is_remote = ["http://", "https://", "s3://", "gs://", "tftp://", "arn:"]
            .iter()
            .any(|start| text.starts_with(start));
        if text.starts_with("data:") {
            match data_of(text) {
                Some(data) => self.all.push(data),
                None => self.are_unreadable = true,
            }
        } else if is_remote && !text.contains(char::is_whitespace) {
            self.are_unreadable = true;
        } else {
            self.all.push(text.to_owned());
        }
    }

    /// Whether there is a content at all: a unit may be enabled alone.
    fn has_any(&self) -> bool {
        self.are_unreadable || self.all.iter().any(|text| !text.trim().is_empty())
    }

    /// Whether the texts are parts of units that order the unit among others, and set nothing.
    fn are_orders_alone(&self) -> bool {
        const KEYS: [&str; 12] = [
            "After",
            "Before",
            "BindsTo",
            "Conflicts",
            "Description",
            "Documentation",
            "PartOf",
            "RequiredBy",
            "Requires",
            "Requisite",
            "WantedBy",
            "Wants",
        ];
        let is_order = |line: &str| {
            let line = line.trim();
            let key = line.split_once('=').map_or("", |(key, _)| key.trim());
            line.is_empty()
                || line.starts_with(['#', ';'])
                || matches!(line, "[Unit]" | "[Install]")
                || KEYS.contains(&key)
        };
        let mut units = self.all.iter().filter(|text| text.contains('\n') || text.contains('[')).peekable();
        !self.are_unreadable && units.peek().is_some() && units.all(|text| text.lines().all(is_order))
    }
}

/// The folder of patches that kubeadm lays over the kubelet's configuration, where the object does not write the files in it.
fn patches<'a>(document: &Field<'a>) -> Option<Field<'a>> {
    let folder = folder_of_patches(document)?;
    let name = folder.text("a folder").unwrap_or_default().trim_end_matches('/');
    let has_kubelets = document.node.value.get(PATCHED).is_some();
    (!has_kubelets && !has_file_below(&document.node.value, name)).then_some(folder)
}

fn folder_of_patches<'a>(field: &Field<'a>) -> Option<Field<'a>> {
    match &field.node.value {
        Value::Map(_) => field.entries().ok()?.into_iter().find_map(|entry| {
            let folder = entry.value.is_mapping().then(|| entry.value.get("directory").ok().flatten());
            folder.flatten().filter(|_| entry.key == "patches").or_else(|| folder_of_patches(&entry.value))
        }),
        Value::List(_) => field.items().ok()?.iter().find_map(folder_of_patches),
        _ => None,
    }
}

fn has_file_below(value: &Value, folder: &str) -> bool {
    match value {
        Value::Map(entries) => entries.iter().any(|entry| match &entry.value.value {
            Value::Text(path) => {
                entry.key == "path" && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
            }
            value => has_file_below(value, folder),
        }),
        Value::List(items) => items.iter().any(|item| has_file_below(&item.value, folder)),
        _ => false,
    }
}
