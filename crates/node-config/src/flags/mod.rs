//! The command line of a kubelet, as far as it decides what its resource managers do.

mod error;
mod labels;
mod settings;
mod table;
mod removed;
mod values;
mod csv;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;

use kubelet_release::FlagTable;

pub use csv::CsvError;
pub use error::{DurationFault, FlagError, FlagFault};

use self::settings::Settings;
use self::table::{Deciding, Flag, Form, Sets};
use crate::{FeatureGates, KubeletConfiguration, Release};

/// The command line of a kubelet, as far as it decides.
///
/// A kubelet reads its command line twice ([`NewKubeletCommand`]): for the paths of its files, and once more over the
/// configuration of these files, so that a flag wins over a file. The rules are those of the kubelet's code:
///
/// - A flag that holds a map, a list or amounts of memory replaces what the file has, as a whole, even by nothing:
///   `--eviction-hard=` leaves no threshold, and `mergeDefaultEvictionSettings` adds none to a flag. `--feature-gates`
///   alone is merged with the file, gate by gate.
/// - Of a flag with one value, the last one counts. The values of a flag with a map, a list or amounts of memory add
///   up.
/// - `--cpu-manager-policy-options` takes one option, in which a comma is part of the value; it has to be repeated.
///   `--topology-manager-policy-options` and all other maps take several, separated by commas.
/// - An empty value replaces the file's, too, after defaults were filled in: `--topology-manager-scope=` is an
///   unknown scope, where the same in a file means the default. `--reserved-memory=` alone changes nothing.
/// - Underscores in the name of a flag are dashes. A switch such as `--cgroups-per-qos` takes a value only after an
///   equals sign. `--` ends the flags.
/// - Without `--config` there are no hard eviction thresholds ([`KubeletConfiguration::without_file`]).
///
/// In the second reading the switches `--enable-load-reader`, `--log-cadvisor-usage` and `--storage-driver-secure` of
/// cAdvisor take the next argument as their value, so that a flag behind them is lost.
///
/// The flags of releases 1.34 to 1.37 that decide are the same. `--experimental-allocatable-ignore-eviction`, which
/// no file has, is one of them: pods can then have what hard eviction thresholds would keep.
///
/// A kubelet does not start with a flag that it does not know ([`parse_of`](Self::parse_of)). [`parse`](Self::parse) skips
/// such a flag, for it may be one of a distribution: [`unknown`](Self::unknown) has its name. The next argument is its value,
/// unless the flag has an equals sign or the argument begins with a dash; this is how pflag, the kubelet's parser,
/// skips flags where a program allows that. Values of flags that do not decide are not looked at, and none is kept.
///
/// [`NewKubeletCommand`]: https://github.com/kubernetes/kubernetes/blob/v1.36.3/cmd/kubelet/app/server.go
///
/// ```
/// use node_config::{KubeletConfiguration, KubeletFlags};
///
/// let flags = KubeletFlags::parse(["--config", "/etc/kubelet.yaml", "--cpu_manager_policy=static", "--v=2"])?;
/// assert_eq!(flags.config(), Some("/etc/kubelet.yaml"));
///
/// let file = KubeletConfiguration { max_pods: Some(250), ..KubeletConfiguration::default() };
/// let config = flags.over(file)?;
/// assert_eq!((config.cpu_policy(), config.pod_limit()), ("static", 250));
/// # Ok::<(), node_config::FlagError>(())
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KubeletFlags {
    settings: Settings,
    /// `--feature-gates` in the first reading.
    initial_gates: BTreeMap<String, bool>,
    /// Names of flags that set fields of the configuration, in order of their first use.
    overriding: Vec<&'static str>,
    unknown: BTreeSet<String>,
}

/// The kubelet reads its command line twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// For all flags. Those that set fields of the configuration count if there are no files.
    Paths,
    /// For flags that set fields, over the configuration of the files.
    OverFiles,
}

/// What becomes of a flag that is not known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unknown {
    /// It is skipped.
    Skipped,
    /// The kubelet with these flags does not start.
    Refused(FlagTable),
}

/// A path or name for which an empty text is an unwritten one.
fn written(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}

impl KubeletFlags {
    /// Reads the arguments after the program's name, or after `kubelet` of a program that has several commands.
    ///
    /// # Errors
    /// The first argument, from the left, with which the kubelet does not start: a flag that decides and has
    /// no value or a wrong one, or dashes without a name. If all flags can be read, the first word that is neither a
    /// flag nor a value.
    pub fn parse<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<Self, FlagError> {
        Self::parse_with(Unknown::Skipped, &arguments.into_iter().collect::<Vec<_>>())
    }

    /// The same of a kubelet with these flags, which does not start with others.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and [`FlagError::Unknown`], [`FlagError::UnknownLetter`] or [`FlagError::Labels`].
    pub fn parse_of<'a>(
        table: FlagTable,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, FlagError> {
        let flags = Self::parse_with(Unknown::Refused(table), &arguments.into_iter().collect::<Vec<_>>())?;
        let foreign = &flags.settings.foreign_labels;
        if foreign.is_empty() { Ok(flags) } else { Err(FlagError::Labels(foreign.iter().cloned().collect())) }
    }

    fn parse_with(unknown: Unknown, arguments: &[&str]) -> Result<Self, FlagError> {
        let (mut flags, command) = Self::pass(Pass::Paths, unknown, arguments)?;
        if let Some(word) = command {
            return Err(FlagError::Command(word.to_owned()));
        }
        if flags.settings.root_dir.as_ref().is_some_and(String::is_empty) {
            return Err(FlagError::NoRootDirectory);
        }
        flags.initial_gates = flags.settings.feature_gates.clone().unwrap_or_default();
        if flags.config().is_some() || flags.config_dir().is_some() {
            let (over, _) = Self::pass(Pass::OverFiles, unknown, arguments)?;
            flags.overriding = over.overriding;
            flags.settings = over.settings.with_paths(flags.settings);
        }
        Ok(flags)
    }

    /// Reads the arguments once, up to the first that is wrong, and finds the first word that no flag takes.
    fn pass<'a>(
        pass: Pass,
        unknown: Unknown,
        arguments: &[&'a str],
    ) -> Result<(Self, Option<&'a str>), FlagError> {
        let mut flags = Self::default();
        let mut arguments = arguments.iter().copied().peekable();
        let mut command = None;
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                command = command.or_else(|| arguments.next());
                break;
            } else if let Some(long) = argument.strip_prefix("--") {
                flags.long(pass, unknown, long, &mut arguments)?;
            } else if let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                flags.short(unknown, letters, &mut arguments)?;
            } else {
                command = command.or(Some(argument));
            }
        }
        Ok((flags, command))
    }

    /// A flag with two dashes; `long` is what follows them.
    fn long<'a>(
        &mut self,
        pass: Pass,
        unknown: Unknown,
        long: &str,
        arguments: &mut Peekable<impl Iterator<Item = &'a str>>,
    ) -> Result<(), FlagError> {
        if long.starts_with(['-', '=']) {
            return Err(FlagError::Syntax(alloc::format!("--{long}")));
        }
        let (as_written, value) =
            long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let name = as_written.replace('_', "-");
        let no_value = || FlagError::NoValue(as_written.to_owned());
        if let Unknown::Refused(table) = unknown
            && !table::has(table, &name)
        {
            return Err(FlagError::Unknown(as_written.to_owned()));
        }
        match (table::find(&name), value) {
            (Some(Flag::Deciding(flag)), value) => {
                let value = match (value, flag.form) {
                    (Some(value), _) => value,
                    (None, Form::Valued) => arguments.next().ok_or_else(no_value)?,
                    (None, Form::Switch | Form::SwitchOnce) => "true",
                };
                self.set(flag, value)
            }
            (Some(Flag::Other(form)), None) => {
                match (form, pass) {
                    (Form::Valued, _) => {
                        arguments.next();
                    }
                    (Form::SwitchOnce, Pass::OverFiles) => {
                        arguments.next().ok_or_else(no_value)?;
                    }
                    (Form::Switch, _) | (Form::SwitchOnce, Pass::Paths) => {}
                }
                Ok(())
            }
            (Some(Flag::Other(_)), Some(_)) => Ok(()),
            (None, value) => {
                self.unknown.insert(alloc::format!("--{name}"));
                if value.is_none() {
                    arguments.next_if(|next| !next.starts_with('-'));
                }
                Ok(())
            }
        }
    }

    /// Flags with one dash. The kubelet has `-v LEVEL` and `-h`, and neither decides.
    fn short<'a>(
        &mut self,
        unknown: Unknown,
        letters: &str,
        arguments: &mut Peekable<impl Iterator<Item = &'a str>>,
    ) -> Result<(), FlagError> {
        // pflag skips what Go's test programs are started with.
        if letters.starts_with("test.") {
            return Ok(());
        }
        let Some((at, letter)) = letters.char_indices().find(|(_, letter)| *letter != 'h') else {
            return Ok(());
        };
        let after = letters.get(at + letter.len_utf8()..).unwrap_or_default();
        match letter {
            'v' if after.is_empty() => {
                arguments.next();
            }
            // The value follows the letter.
            'v' => {}
            // The value of `-h`.
            '=' if letters.starts_with('h') && !after.is_empty() => {}
            _ if unknown != Unknown::Skipped => {
                let letters = letters.get(at..).unwrap_or_default().to_owned();
                return Err(FlagError::UnknownLetter { letter, letters });
            }
            _ => {
                self.unknown.insert(alloc::format!("-{letter}"));
                if !after.contains('=') {
                    arguments.next_if(|next| !next.starts_with('-'));
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, flag: &'static Deciding, value: &str) -> Result<(), FlagError> {
        let wrong = |fault| FlagError::Value { flag: flag.name, value: value.to_owned(), fault };
        (flag.set)(&mut self.settings, value).map_err(wrong)?;
        if flag.sets == Sets::Field && !self.overriding.contains(&flag.name) {
            self.overriding.push(flag.name);
        }
        Ok(())
    }

    /// `--config`: the path of the configuration file, which may be relative to the kubelet's working folder.
    #[must_use]
    pub fn config(&self) -> Option<&str> {
        written(self.settings.config.as_ref())
    }

    /// `--config-dir`: the path of the folder with drop-ins, which may be relative to the kubelet's working folder.
    #[must_use]
    pub fn config_dir(&self) -> Option<&str> {
        written(self.settings.config_dir.as_ref())
    }

    /// `--root-dir`: the path of the kubelet's folder; `/var/lib/kubelet` if the flag is not there.
    #[must_use]
    pub fn root_dir(&self) -> Option<&str> {
        self.settings.root_dir.as_deref()
    }

    /// `--hostname-override`: what the node is called in place of the host's name.
    #[must_use]
    pub fn hostname_override(&self) -> Option<&str> {
        written(self.settings.hostname_override.as_ref())
    }

    /// `--pod-manifest-path`: a file with a static pod, or a folder of such files. It wins over `staticPodPath` of
    /// the file, also where it is empty: there are no static pods then.
    #[must_use]
    pub fn pod_manifest_path(&self) -> Option<&str> {
        self.settings.pod_manifest_path.as_deref()
    }

    /// Whether `--experimental-allocatable-ignore-eviction` is on: what hard evictions keep is not taken from what pods can
    /// have, and the kubelet evicts by its thresholds all the same.
    #[must_use]
    pub fn ignores_evictions(&self) -> bool {
        self.settings.ignore_eviction == Some(true)
    }

    /// The names of flags that decide and win over the configuration file, without dashes, in order of their first
    /// use.
    pub fn overriding(&self) -> impl Iterator<Item = &str> {
        self.overriding.iter().copied()
    }

    /// The flag, without dashes, that sets this field of `KubeletConfiguration` over every file; `None`: none does.
    #[must_use]
    pub fn over_field(&self, field: &str) -> Option<&str> {
        let is_same = |flag: &&str| match *flag {
            "reserved-cpus" => field == "reservedSystemCPUs",
            "pod-manifest-path" => field == "staticPodPath",
            flag => flag.replace('-', "") == field.to_ascii_lowercase(),
        };
        self.overriding().find(is_same)
    }

    /// The flags that no kubelet of releases 1.34 to 1.37 has, with their dashes, in order of names.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(String::as_str)
    }

    /// The release that removed a flag, without its dashes, such as `1.27`; `None`: the newest one has it, or none had it.
    #[must_use]
    pub fn removed_by(flag: &str) -> Option<String> {
        let name = flag.replace('_', "-");
        if let Some(minor) = removed::removed_by(&name) {
            return Some(alloc::format!("1.{minor}"));
        }
        let last = table::releases(name).last()?;
        Release::ALL.into_iter().find(|release| *release > last).map(|release| release.to_string())
    }

    /// Whether only kubelets on Windows have a flag, without its dashes.
    #[must_use]
    pub fn is_of_windows(flag: &str) -> bool {
        removed::is_of_windows(&flag.replace('_', "-"))
    }

    /// The names of all flags of these releases, without dashes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        table::names()
    }

    /// The configuration of the files with the flags over it. `config` is what `--config` and `--config-dir` name, or
    /// [`KubeletConfiguration::without_file`].
    ///
    /// Hard eviction thresholds are left out where they do not count for what pods can have.
    ///
    /// # Errors
    /// A value with which the kubelet does not start although it could read it, or [`FlagError::NoPods`].
    pub fn over(&self, mut config: KubeletConfiguration) -> Result<KubeletConfiguration, FlagError> {
        FeatureGates::check(config.rules.gates, &self.initial_gates).map_err(FlagError::Gates)?;
        self.settings.check()?;
        self.settings.put_over(&mut config);
        Ok(config)
    }
}
