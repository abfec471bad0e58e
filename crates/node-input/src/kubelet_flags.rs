//! Flags that are given for a kubelet: over a configuration, or in its place.

use std::path::Path;

use anyhow::{Context as _, bail};
use config_advice::Severity;
use node_config::{FlagError, GateError, KubeletConfiguration, KubeletFlags, Rules};
use node_output::manifest_error;
use terminal_text::nearest;
use topology_manifest::{
    ArgumentsOf, ConfigKind, KubeletArgument, KubeletArguments, KubeletConfigRead, Source, Warning,
    is_kubelet_arguments, read_kubelet_arguments,
};

use crate::files;

/// Flags with which a kubelet does not start, or does nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FlagRefusal {
    argument: KubeletArgument,
    /// With its dashes.
    flag: String,
    text: String,
    instead: Option<String>,
    pub(crate) severity: Severity,
    /// What else is refused: a kubelet names the first alone.
    also: Vec<Self>,
}

impl FlagRefusal {
    /// What is wrong, at its place.
    pub(crate) fn warning(&self) -> Warning {
        self.argument.refused(&self.flag, self.text.clone(), self.instead.clone())
    }

    /// All that is refused, each at its place, in the order in which a kubelet comes to it.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Self> {
        [self].into_iter().chain(&self.also)
    }

    /// Why no kubelet starts with it, in its words; `None`: it starts, and does nothing.
    pub(crate) fn stops(self) -> Option<String> {
        (self.severity == Severity::Refused).then_some(self.text)
    }

    /// The same as an error that says that no kubelet starts with it.
    pub(crate) fn error(&self) -> anyhow::Error {
        let mut text = match self.severity {
            Severity::Refused => format!("the kubelet does not start: {}", self.text),
            _ => self.text.clone(),
        };
        if !self.also.is_empty() {
            let also: Vec<&str> = self.also.iter().map(|also| also.text.as_str()).collect();
            text.push_str(&format!("; and then: {}", also.join("; ")));
        }
        let warning = self.argument.refused(&self.flag, text, self.instead.clone());
        manifest_error(warning.as_error().clone()).into()
    }

    fn of(error: &FlagError, arguments: &[KubeletArgument], rules: Rules) -> Option<Self> {
        let words: Vec<&str> = arguments.iter().map(KubeletArgument::text).collect();
        let argument = arguments.get(at_fault(error, &words).unwrap_or_default())?.clone();
        let flag = match error {
            FlagError::Command(word) => word.clone(),
            _ => error.flag().map_or_else(|| argument.text().to_owned(), |flag| format!("--{flag}")),
        };
        let severity = if *error == FlagError::NoPods { Severity::Harmful } else { Severity::Refused };
        let text = error.text(rules.flag_texts).replace('\n', " ");
        Some(Self { flag, text, instead: instead(error, rules), severity, argument, also: Vec::new() })
    }
}

/// What is right in the place of what is wrong, after `expected`.
fn instead(error: &FlagError, rules: Rules) -> Option<String> {
    let FlagError::Unknown(flag) = error else { return None };
    if let Some(release) = KubeletFlags::removed_by(flag) {
        return Some(format!("no such flag: kubelet {release} removed it"));
    }
    if KubeletFlags::is_of_windows(flag) {
        return Some("no such flag: only kubelets on Windows have it".to_owned());
    }
    let names: Vec<&str> = KubeletFlags::names().collect();
    let meant = nearest(flag, &names).map(|meant| format!("--{meant}"));
    Some(meant.unwrap_or_else(|| format!("a flag of kubelet {}", rules.version.release())))
}

/// Where the argument is that is wrong: the one with the value that is, else the last one of its flag.
fn at_fault(error: &FlagError, words: &[&str]) -> Option<usize> {
    let named = |word: &str| {
        let text = word.strip_prefix("--")?;
        Some(text.split('=').next().unwrap_or_default().replace('_', "-"))
    };
    let is_it = |word: &str| match error {
        FlagError::Command(text) | FlagError::Syntax(text) => word == text,
        FlagError::UnknownLetter { letters, .. } => word.starts_with('-') && word.ends_with(letters.as_str()),
        error => error.flag().is_some_and(|flag| Some(flag.replace('_', "-")) == named(word)),
    };
    let has_value = |at: &usize| match error {
        FlagError::Value { value, .. } => value_of(words, *at) == Some(value),
        FlagError::Gates(_) | FlagError::Labels(_) => wrong_entries(error, words, *at).next().is_some(),
        _ => true,
    };
    let of_flag = || (0..words.len()).filter(|at| words.get(*at).is_some_and(|word| is_it(word)));
    of_flag().find(has_value).or_else(|| of_flag().next_back())
}

/// What follows the equals sign of an argument, else the next argument.
fn value_of<'a>(words: &[&'a str], at: usize) -> Option<&'a str> {
    match words.get(at)?.split_once('=') {
        Some((_, value)) => Some(value),
        None => words.get(at + 1).copied(),
    }
}

/// The entries in the value of an argument that are wrong: gates and labels.
fn wrong_entries<'a>(error: &'a FlagError, words: &[&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    let value = value_of(words, at).filter(|_| matches!(error, FlagError::Gates(_) | FlagError::Labels(_)));
    value.into_iter().flat_map(|value| value.split(',')).filter(|entry| {
        let name = entry.split('=').next().unwrap_or_default().trim();
        match error {
            FlagError::Gates(faults) => faults.iter().any(|fault| match fault {
                GateError::Unknown(gate) | GateError::Locked { name: gate, .. } => gate == name,
                GateError::Dependency { name: gate, missing } => *gate == name || missing.contains(&name),
            }),
            FlagError::Labels(labels) => labels.iter().any(|label| label == name),
            _ => false,
        }
    })
}

/// Takes out of a command line what is wrong: entries of a value where others are right, else an argument with its value; `None`: it
/// is not there. Returns what was taken out.
fn leave_out(error: &FlagError, words: &mut Vec<String>) -> Option<String> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let at = at_fault(error, &texts)?;
    let (flag, has_own) = texts[at].split_once('=').map_or((texts[at], false), |(flag, _)| (flag, true));
    let wrong: Vec<&str> = wrong_entries(error, &texts, at).collect();
    let entries = value_of(&texts, at).into_iter().flat_map(|value| value.split(','));
    let right: Vec<&str> = entries.filter(|entry| !wrong.contains(entry)).collect();
    if !wrong.is_empty() && !right.is_empty() {
        let (left_out, right) = (format!("{flag}={}", wrong.join(",")), right.join(","));
        let (at, kept) = if has_own { (at, format!("{flag}={right}")) } else { (at + 1, right) };
        words[at] = kept;
        return Some(left_out);
    }
    let takes_next = match error {
        FlagError::Command(_) | FlagError::Syntax(_) | FlagError::UnknownLetter { .. } => false,
        // As pflag skips flags where a program allows that.
        FlagError::Unknown(_) => texts.get(at + 1).is_some_and(|next| !next.starts_with('-')),
        _ => at + 1 < texts.len(),
    };
    let last = if takes_next && !has_own { at + 1 } else { at };
    Some(words.drain(at..=last).collect::<Vec<_>>().join(" "))
}

/// Stands for the folder of drop-ins of a kubelet whose flags name no files.
pub(crate) const SOME_FOLDER: &str = ".";

/// What flags make of a configuration.
pub(crate) struct OverConfiguration {
    pub(crate) config: KubeletConfiguration,
    /// `None`: what is wrong with them could not be left out.
    pub(crate) flags: Option<Box<KubeletFlags>>,
    pub(crate) refusal: Option<FlagRefusal>,
    /// The arguments without those.
    pub(crate) kept: Vec<String>,
    /// The arguments, and entries of them, with which the kubelet does not start.
    pub(crate) left_out: Vec<String>,
}

/// Flags over the configuration of files. Those with which the kubelet does not start are left out.
pub(crate) fn over(config: KubeletConfiguration, arguments: &[KubeletArgument]) -> OverConfiguration {
    let rules = config.rules;
    // The kubelet reads its flags over its files.
    let folder = format!("--config-dir={SOME_FOLDER}");
    let mut kept: Vec<String> = arguments.iter().map(|argument| argument.text().to_owned()).collect();
    let (mut refusal, mut left_out): (Option<FlagRefusal>, Vec<String>) = (None, Vec::new());
    loop {
        let words = [folder.as_str()].into_iter().chain(kept.iter().map(String::as_str));
        let put_over = |flags: KubeletFlags| Ok((flags.over(config.clone())?, flags));
        let error = match KubeletFlags::parse_of(rules.flags, words).and_then(put_over) {
            Ok((config, flags)) => {
                return OverConfiguration { config, flags: Some(Box::new(flags)), refusal, kept, left_out };
            }
            Err(error) => error,
        };
        let next = FlagRefusal::of(&error, arguments, rules);
        match &mut refusal {
            None => refusal = next,
            Some(first) => first.also.extend(next),
        }
        match leave_out(&error, &mut kept) {
            Some(text) => left_out.push(text),
            None => return OverConfiguration { config, flags: None, refusal, kept, left_out },
        }
    }
}

/// Flags in the place of a configuration, and what is read beneath them.
pub(crate) fn alone(read: &KubeletArguments, rules: Rules) -> KubeletConfigRead {
    let words = read.arguments.iter().map(KubeletArgument::text);
    let names_files = KubeletFlags::parse(words)
        .is_ok_and(|flags| flags.config().is_some() || flags.config_dir().is_some());
    let (kind, config) = match read.of {
        ArgumentsOf::Kubelet if !names_files => {
            (ConfigKind::Kubelet, KubeletConfiguration::without_file(rules))
        }
        ArgumentsOf::K3s => (ConfigKind::K3s, KubeletConfiguration { rules, ..Default::default() }),
        ArgumentsOf::Kubelet | ArgumentsOf::SomeFlags => {
            (ConfigKind::Flags, KubeletConfiguration { rules, ..Default::default() })
        }
    };
    KubeletConfigRead { kind, config, flags: read.arguments.clone(), ..KubeletConfigRead::default() }
}

/// The command line that arguments `--kubelet-flags` make together: files, or flags themselves.
pub(crate) fn given(arguments: &[String]) -> anyhow::Result<KubeletArguments> {
    let texts = arguments.iter().map(|argument| text_of(argument)).collect::<anyhow::Result<Vec<_>>>()?;
    let sources = texts.iter().map(|(name, text)| Source::from_bytes(name, text));
    let sources = sources.collect::<Result<Vec<_>, _>>().map_err(manifest_error)?;
    Ok(read_kubelet_arguments(&sources).map_err(manifest_error)?)
}

/// A text with its name.
fn text_of(argument: &str) -> anyhow::Result<(String, Vec<u8>)> {
    const NAME: &str = "--kubelet-flags";
    let path = Path::new(argument);
    if argument == "-" || path.exists() {
        return Ok((files::name(path), files::read(path)?));
    }
    if is_kubelet_arguments(argument) {
        return Ok((NAME.to_owned(), argument.as_bytes().to_vec()));
    }
    if argument.starts_with('-') || argument.contains([' ', '=']) {
        bail!(
            "{NAME}: {argument:?} is no flag of a kubelet: write them as \"--max-pods=20 --v=2\", or name a file with them"
        );
    }
    let read = files::read(path);
    Ok((argument.to_owned(), read.with_context(|| format!("{NAME}: no file and no flags: {argument}"))?))
}

#[cfg(test)]
mod tests {
    use node_config::Release;

    use std::collections::BTreeMap;

    use super::*;

    fn refusal(text: &str, release: Release) -> Option<(String, Option<String>)> {
        let read = read_kubelet_arguments(&[Source { name: "flags.env", text }]);
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        let config = KubeletConfiguration { rules: Rules::of(release), ..KubeletConfiguration::default() };
        let refusal = over(config, &read.arguments).refusal?;
        Some((refusal.warning().as_error().to_string(), refusal.instead))
    }

    #[test]
    fn a_flag_that_a_release_removed_keeps_its_kubelet_from_starting() {
        let text = "KUBELET_KUBEADM_ARGS=\"--max-pods=20 --pod-infra-container-image=pause\"\n";
        assert_eq!(refusal(text, Release::V1_34), None);
        let Some((error, _)) = refusal(text, Release::V1_35) else { panic!("not refused") };
        let expected =
            "flags.env:1:37: --pod-infra-container-image: unknown flag: --pod-infra-container-image";
        assert!(error.starts_with(expected), "{error}");
        assert!(error.ends_with("expected no such flag: kubelet 1.35 removed it"), "{error}");
        for (flag, why) in [
            ("--container-runtime=remote", "kubelet 1.27 removed it"),
            ("--network-plugin=cni", "kubelet 1.24 removed it"),
            ("--docker_root=/a", "kubelet 1.24 removed it"),
            ("--logtostderr=true", "kubelet 1.26 removed it"),
            ("--windows-service", "only kubelets on Windows have it"),
        ] {
            let said = refusal(flag, Release::V1_36).and_then(|(_, instead)| instead).unwrap_or_default();
            assert_eq!(said, format!("no such flag: {why}"), "{flag}");
        }
        let cadvisor = "--storage-driver-db=a";
        assert_eq!(refusal(cadvisor, Release::V1_36), None);
        assert!(refusal(cadvisor, Release::V1_37).is_some());
    }

    #[test]
    fn what_is_wrong_is_named_at_its_place() {
        for (text, expected) in [
            (
                "--max-pods=20\n--max-pods=ten\n--max-pods=3",
                "flags.env:2:1: --max-pods: invalid argument \"ten\"",
            ),
            ("--max-podz=20", "flags.env:1:1: --max-podz: unknown flag: --max-podz, expected --max-pods"),
            ("--v=2 x", "flags.env:1:7: x: unknown command x"),
            (
                "--v=2 --max-pods=0",
                "flags.env:1:7: --max-pods: --max-pods=0: a kubelet refuses every pod with it",
            ),
            (
                "--node-labels=node-role.kubernetes.io/worker=",
                "flags.env:1:1: --node-labels: unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: \
                 [node-role.kubernetes.io/worker] --node-labels in",
            ),
        ] {
            let Some((error, _)) = refusal(text, Release::V1_36) else { panic!("{text}") };
            assert!(error.starts_with(expected), "{error}");
        }
    }

    /// A kubelet names the first; who mends a command line has to know all.
    #[test]
    fn every_refused_flag_is_named() {
        let text =
            "KUBELET_EXTRA_ARGS=--max-podz=20 --feature-gates=MemoryManager=true --cpu-manager=true --v=2\n";
        let read = read_kubelet_arguments(&[Source { name: "kubelet.env", text }]);
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        let rules = Rules::of(Release::V1_36);
        let made = over(KubeletConfiguration { rules, ..KubeletConfiguration::default() }, &read.arguments);
        let Some(refusal) = made.refusal else { panic!("not refused") };
        let flags: Vec<&str> = refusal.all().map(|one| one.flag.as_str()).collect();
        assert_eq!(flags, ["--max-podz", "--cpu-manager", "--feature-gates"]);
        let error = format!("{:#}", refusal.error());
        assert!(
            error.contains("unknown flag: --max-podz; and then: unknown flag: --cpu-manager; "),
            "{error}"
        );
    }

    /// The gate is gone in 1.36, and no release has the flag.
    #[test]
    fn the_rest_of_a_command_line_with_a_refused_argument_is_read() {
        const REST: &str = "--topology-manager-policy=single-numa-node --memory-manager-policy=Static --system-reserved=cpu=400m";
        let read = |text: &str| {
            let read = read_kubelet_arguments(&[Source { name: "flags.env", text }]);
            let read = read.unwrap_or_else(|error| panic!("{error}"));
            let rules = Rules::of(Release::V1_36);
            over(KubeletConfiguration { rules, ..KubeletConfiguration::default() }, &read.arguments)
        };
        let rest = read(REST);
        for (wrong, left_out, kept) in [
            ("--feature-gates=MemoryManager=true", "--feature-gates=MemoryManager=true", None),
            ("--feature-gates MemoryManager=true", "--feature-gates MemoryManager=true", None),
            ("--cpu-manager=true", "--cpu-manager=true", None),
            ("--cpu-manager true", "--cpu-manager true", None),
            ("--max-pods=ten", "--max-pods=ten", None),
            ("--max-pods ten", "--max-pods ten", None),
            (
                "--feature-gates=KubeletPodResourcesGet=true,MemoryManager=true",
                "--feature-gates=MemoryManager=true",
                Some("--feature-gates=KubeletPodResourcesGet=true"),
            ),
            (
                "--node-labels=a=b,node-role.kubernetes.io/worker=",
                "--node-labels=node-role.kubernetes.io/worker=",
                Some("--node-labels=a=b"),
            ),
        ] {
            for text in [format!("{wrong} {REST}"), format!("{REST} {wrong}")] {
                let made = read(&text);
                assert_eq!(made.left_out, [left_out], "{text}");
                assert!(made.refusal.is_some(), "{text}");
                let gates = KubeletConfiguration { feature_gates: BTreeMap::default(), ..made.config };
                assert_eq!(gates, rest.config, "{text}");
                let others = made.kept.iter().filter(|word| !rest.kept.contains(word));
                assert_eq!(others.map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(kept), "{text}");
                let again = read(&made.kept.join(" "));
                assert_eq!((again.refusal, again.left_out), (None, Vec::new()), "{text}");
            }
        }
    }

    /// No file can say what the flag does: thresholds that keep nothing from pods.
    #[test]
    fn a_flag_that_no_file_has_is_named_where_its_configuration_is_printed() {
        let printed = |text: &str| {
            let read =
                crate::configuration_of_text("flags.env", text.as_bytes(), 96, crate::Reading::default());
            read.and_then(|read| read.written_out()).unwrap_or_else(|error| panic!("{text}: {error:#}"))
        };
        let text = "KUBELET_EXTRA_ARGS=--max-pods=20 --experimental-allocatable-ignore-eviction";
        let named =
            "--experimental-allocatable-ignore-eviction decides; the kubelet evicts by its thresholds";
        assert!(printed(text).contains(named), "{}", printed(text));
        assert!(!printed(&format!("{text}=false")).contains(named));
    }

    #[test]
    fn files_that_the_flags_of_a_form_name_are_not_given() {
        let notices = |text: &str| {
            let read =
                crate::configuration_of_text("own.yaml", text.as_bytes(), 96, crate::Reading::default());
            let read = read.unwrap_or_else(|error| panic!("{text}: {error:#}"));
            format!("{:?}", read.notices().collect::<Vec<_>>())
        };
        let kubeadm = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {kubeletExtraArgs: {config-dir: /a}}\n\
                       ---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        for (text, named) in [
            ("token: a\nkubelet-arg: [config=/a, max-pods=55]\n", "--config names /a, which is not given"),
            (
                "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {flags: [--config=/b, --config-dir=/a]}}\n",
                "--config-dir names /a, which is not given",
            ),
            (kubeadm, "--config-dir names /a, which is not given"),
            (
                "k3s server --kubelet-arg=config=/a --kubelet-arg=v=2\n",
                "--config names /a, which is not given",
            ),
            ("/usr/bin/kubelet --config=/a --v=2\n", "/a, which lies beneath the flags, is not known"),
        ] {
            let shown = notices(text);
            assert_eq!(shown.matches(named).count(), 1, "{shown}");
        }
        assert!(!notices("token: a\nkubelet-arg: [max-pods=55]\n").contains("not given"));
        assert!(!notices(kubeadm).contains("not looked at"));
    }
}
