//! The arguments of a kubelet in the texts that people have of them.
//!
//! - What `/proc/PID/cmdline` holds: words with NUL bytes behind them.
//! - A command line as a shell takes it or `ps` prints it; also flags alone, on one line or on several.
//! - Files of variables, such as `kubeadm-flags.env` and `/etc/default/kubelet`: `KUBELET_EXTRA_ARGS=--max-pods=20`.
//! - Units and drop-ins of systemd: `Environment=` and `ExecStart=`.
//!
//! - OpenShift's `node-sizing.env`, with amounts for the system.
//!
//! Several texts make one command line, as they do on a node: an `ExecStart=` names the variables that others set. Without
//! one the words of all variables count, those of an `EXTRA` variable last, as in kubeadm's unit. Each argument keeps its
//! place, so that an error of the kubelet can name it.

mod words;
mod lines;
mod unit;
mod command;
mod programs;
mod kubelet_commands;
mod open_places;
mod script;
mod k3s_install;
mod node_sizing;

use core::ops::Range;

pub use self::command::ArgumentsOf;
pub(crate) use self::command::k3s_flag;
use self::command::{Command, command, has_program, is_wrapped};
pub(crate) use self::kubelet_commands::{KubeletConf, changing_line, is_of_configuration, may_change};
use self::lines::{is_name, is_setting, settings};
pub(crate) use self::open_places::{is_open, open_line};
pub(crate) use self::script::FREE_FLAGS;
pub use self::script::{is_bootstrap_script, read_bootstrap_script};
use self::unit::{Unit, is_unit};
use self::words::{Letters, Placed, Variable, Word, first_line};
use crate::{ManifestError, Problem, Source, Warning};

/// An argument of a kubelet's command line, and where it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KubeletArgument {
    text: String,
    /// An error there, of which only the place counts.
    place: ManifestError,
}

impl KubeletArgument {
    pub(crate) fn new(source: &Source<'_>, text: String, span: &Range<usize>) -> Self {
        Self { text, place: ManifestError::at(source, "", span, Problem::Empty) }
    }

    /// That a template or a shell fills it in; `expected` is what to give in its place.
    pub(crate) fn template(&self, expected: &'static str) -> ManifestError {
        let name = self.text.split('=').next().unwrap_or_default();
        self.place.clone().about(name, Problem::Template { expected })
    }

    /// The argument as the kubelet gets it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// That the kubelet does not start with it, in its words; `flag` is the name with dashes, and `instead` what to do.
    #[must_use]
    pub fn refused(&self, flag: &str, text: String, instead: Option<String>) -> Warning {
        Warning(self.place.clone().about(flag, Problem::Flag { text, instead }))
    }
}

/// A command line of a kubelet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KubeletArguments {
    /// What follows the program's name.
    pub arguments: Vec<KubeletArgument>,
    /// Whether that is all.
    pub of: ArgumentsOf,
    /// What of it is not in the texts, each as a sentence to be shown.
    pub missing: Vec<String>,
}

/// Whether a text is a command line of a kubelet in one of these forms, and no document.
#[must_use]
pub fn is_kubelet_arguments(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_flag =
        |line: &str| line.strip_prefix("--").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    text.contains('\0')
        || is_unit(text)
        || first_line(text).is_some_and(|line| is_flag(line) || is_setting(line))
        // `ps` prints a line with names first, and a script has one with its interpreter.
        || lines.iter().take(2).any(|line| has_program(line))
        // A key of a document has a colon and a blank behind it.
        || script_command(&lines)
            .is_some_and(|line| has_program(&line) || is_wrapped(&line) && !line.contains(": "))
}

/// The first command of a script, with the lines into which backslashes continue it.
fn script_command(lines: &[&str]) -> Option<String> {
    let mut command = lines.iter().skip_while(|line| line.starts_with('#'));
    let mut whole = String::new();
    for line in command.by_ref() {
        let Some(part) = line.strip_suffix('\\') else {
            whole.push_str(line);
            break;
        };
        whole.push_str(part);
        whole.push(' ');
    }
    (!whole.is_empty()).then_some(whole)
}

/// The command line that texts make together.
///
/// # Errors
/// A quote without its end, two command lines, or no flag at all.
pub fn read_kubelet_arguments(sources: &[Source<'_>]) -> Result<KubeletArguments, ManifestError> {
    let mut parts = Parts::default();
    for (at, source) in sources.iter().enumerate() {
        parts.read(at, source)?;
    }
    // NUL bytes are not to be shown.
    let texts: Vec<String> = sources.iter().map(|source| source.text.replace('\0', " ")).collect();
    let shown = sources.iter().zip(&texts).map(|(source, text)| Source { name: source.name, text });
    // A file in which a package leaves the kubelet's variable empty sets no flag.
    let has_variable = parts.variables.iter().any(|(name, ..)| is_of_kubelet(name));
    let read = parts.joined(&shown.collect::<Vec<_>>());
    if (has_variable || !read.missing.is_empty()) && read.arguments.is_empty() {
        return Ok(read);
    }
    if let (true, [source, ..]) = (read.arguments.is_empty() && read.of == ArgumentsOf::SomeFlags, sources) {
        let expected = "flags of a kubelet, such as KUBELET_EXTRA_ARGS=\"--max-pods=20\"";
        let found = "no flag of a kubelet".to_owned();
        return Err(ManifestError::at(source, "", &(0..0), Problem::Unexpected { found, expected }));
    }
    Ok(read)
}

/// What texts say of a command line.
#[derive(Default)]
struct Parts {
    /// Variables with their values; a later one takes the place of an earlier one of its name.
    variables: Vec<Variable>,
    /// Words of `ExecStart=`, or of a command line.
    command: Option<(usize, Command)>,
    /// Flags without a program.
    flags: Vec<Placed>,
    /// Files of variables that a unit names.
    files: Vec<String>,
}

impl Parts {
    fn read(&mut self, at: usize, source: &Source<'_>) -> Result<(), ManifestError> {
        let text = source.text;
        let unclosed = |span: Range<usize>| {
            let problem =
                Problem::Unexpected { found: "a quote without its end".to_owned(), expected: "a quote" };
            ManifestError::at(source, "", &span, problem)
        };
        if is_unit(text) {
            let Unit { variables, files, command } = Unit::read(text).map_err(unclosed)?;
            for (name, value) in variables {
                self.set(name, at, value);
            }
            self.files.extend(files);
            if let Some(command) = command {
                if let Some(error) = command.other_program(source) {
                    return Err(error);
                }
                self.command = Some((at, command));
            }
            return Ok(());
        }
        if !text.contains('\0') && first_line(text).is_some_and(is_setting) {
            for (name, value) in settings(text).map_err(unclosed)? {
                self.set(name, at, value);
            }
            return Ok(());
        }
        let read = command(text).map_err(unclosed)?;
        if let Some(error) = read.other_program(source).filter(|_| read.is_wrapped()) {
            return Err(error);
        }
        if read.of == ArgumentsOf::SomeFlags {
            self.flags.extend(read.words.into_iter().map(|word| (at, word)));
        } else if let Some((_, other)) = &self.command {
            let expected = "the command line of one kubelet";
            let found = format!("a second command line, beside {:?}", other.shown());
            let span = read.words.first().map_or(0..0, Word::span);
            return Err(ManifestError::at(source, "", &span, Problem::Unexpected { found, expected }));
        } else {
            self.command = Some((at, read));
        }
        Ok(())
    }

    fn set(&mut self, name: String, at: usize, value: Letters) {
        self.variables.retain(|(other, ..)| *other != name);
        self.variables.push((name, at, value));
    }

    fn joined(mut self, sources: &[Source<'_>]) -> KubeletArguments {
        let mut read = KubeletArguments::default();
        let mut words: Vec<Placed> = Vec::new();
        if let Some((at, command)) = self.command.take() {
            read.of = command.of;
            let used = self.expanded(at, command.words, &mut words, &mut read.missing);
            let unused =
                self.variables.iter().filter(|(name, ..)| is_of_kubelet(name) && !used.contains(name));
            read.missing
                .extend(unused.map(|(name, ..)| format!("no ExecStart uses {name}: its flags do not count")));
        } else {
            self.variables.sort_by_key(|(name, ..)| name.contains("EXTRA"));
            for (name, at, value) in &self.variables {
                let own = words::split_letters(value);
                let has_flags = own.first().is_some_and(|word| word.text().starts_with('-'));
                if has_flags || is_of_kubelet(name) {
                    words.extend(own.into_iter().map(|word| (*at, word)));
                }
            }
        }
        if words.is_empty() && read.of == ArgumentsOf::SomeFlags {
            let sizing = node_sizing::of(&self.variables);
            words.extend(sizing.flag);
            read.missing.extend(sizing.missing);
        }
        words.append(&mut self.flags);
        let argument =
            |(at, word): Placed| Some(KubeletArgument::new(sources.get(at)?, word.text(), &word.span()));
        read.arguments = words.into_iter().filter_map(argument).collect();
        read
    }

    /// Adds the words of a command with the variables in them replaced; what are used, by their names.
    fn expanded(
        &self,
        at: usize,
        command: Vec<Word>,
        words: &mut Vec<Placed>,
        missing: &mut Vec<String>,
    ) -> Vec<String> {
        let mut used = Vec::new();
        for word in command {
            let text = word.text();
            let Some(name) = text.strip_prefix('$').filter(|name| is_name(name)) else {
                words.push((at, self.with_values(&word, &mut used, missing)));
                continue;
            };
            used.push(name.to_owned());
            match self.variables.iter().find(|(other, ..)| other == name) {
                Some((_, at, value)) => {
                    words.extend(words::split_letters(value).into_iter().map(|word| (*at, word)));
                }
                None => missing.push(format!("{text} is not set in what is given")),
            }
        }
        if !missing.is_empty() && !self.files.is_empty() {
            missing.push(format!("files that set variables, and are not given: {}", self.files.join(", ")));
        }
        used
    }
}

impl Parts {
    /// A word with the values of `${NAME}` in it.
    fn with_values(&self, word: &Word, used: &mut Vec<String>, missing: &mut Vec<String>) -> Word {
        let written = word.text();
        let (mut text, mut rest) = (String::new(), written.as_str());
        while let Some((before, (name, after))) =
            rest.split_once("${").and_then(|(before, after)| Some((before, after.split_once('}')?)))
        {
            text.push_str(before);
            match self.variables.iter().find(|(other, ..)| other == name) {
                Some((_, _, value)) => text.extend(value.iter().map(|(_, letter)| *letter)),
                None => missing.push(format!("${{{name}}} is not set in what is given")),
            }
            used.push(name.to_owned());
            rest = after;
        }
        if text.is_empty() && rest == written { word.clone() } else { word.with_text(&(text + rest)) }
    }
}

/// Whether a variable has flags by its name, such as `KUBELET_EXTRA_ARGS`.
fn is_of_kubelet(name: &str) -> bool {
    name.contains("KUBELET") && ["ARG", "OPT", "FLAG"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: &[&str]) -> (String, ArgumentsOf, Vec<String>) {
        let sources: Vec<_> = texts.iter().map(|text| Source { name: "flags", text }).collect();
        let read = read_kubelet_arguments(&sources).unwrap_or_else(|error| panic!("{error}"));
        let words: Vec<&str> = read.arguments.iter().map(KubeletArgument::text).collect();
        (words.join("|"), read.of, read.missing)
    }

    #[track_caller]
    fn check(text: &str, of: ArgumentsOf, expected: &str) {
        assert!(is_kubelet_arguments(text), "{text}");
        let (words, found, missing) = read(&[text]);
        assert_eq!((words.as_str(), found, missing), (expected, of, Vec::new()), "{text}");
    }

    #[test]
    fn command_lines_are_read_in_every_form() {
        use ArgumentsOf::{K3s, Kubelet, SomeFlags};
        check("/usr/bin/kubelet\0--max-pods=20\0--v\x002\0", Kubelet, "--max-pods=20|--v|2");
        check("k3s\0server\0--kubelet-arg=max-pods=20\0--kubelet-arg\0v+=2\0", K3s, "--max-pods=20|--v=2");
        check(
            "/usr/bin/kubelet --v=2 \\\n  --eviction-hard='a<1,b<2'\n",
            Kubelet,
            "--v=2|--eviction-hard=a<1,b<2",
        );
        check("USER PID COMMAND\nroot 1 /bin/kubelet --v=2\n", Kubelet, "--v=2");
        check(
            "--v=2 --kube-reserved=\"cpu=1\"\n# no\n--max-pods 3\n",
            SomeFlags,
            "--v=2|--kube-reserved=cpu=1|--max-pods|3",
        );
        check("KUBELET_KUBEADM_ARGS=\"--v=2 --x=y\"\n", SomeFlags, "--v=2|--x=y");
        check("# c\nHTTP_PROXY=http://a\nexport KUBELET_EXTRA_ARGS='--v=2'\n", SomeFlags, "--v=2");
        check("KUBELET_EXTRA_ARGS=--a=\"b c\" --d\n", SomeFlags, "--a=b c|--d");
        check("KUBELET_EXTRA_ARGS=\"--a=\\\"b c\\\"\"\n", SomeFlags, "--a=b c");
        check("KUBELET_EXTRA_ARGS=max-pods=3\nKUBELET_ARGS=--v=2\n", SomeFlags, "--v=2|max-pods=3");
        check(
            "[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--v=2 --x\" 'OTHER=1'\nExecStart=\nExecStart=-/usr/bin/kubelet --a \\\n  $KUBELET_EXTRA_ARGS\n",
            Kubelet,
            "--a|--v=2|--x",
        );
        check("[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--v=2\"\n", SomeFlags, "--v=2");
        check("# of the package\nKUBELET_EXTRA_ARGS=\n", SomeFlags, "");
        check(
            "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n",
            SomeFlags,
            "--system-reserved=cpu=500m,memory=1Gi,ephemeral-storage=1Gi",
        );
        check(
            "#!/bin/sh\n\n/opt/bin/kubelet \\\n  --v=2 \\\n  --max-pods=3\n  # --x \\\n",
            Kubelet,
            "--v=2|--max-pods=3",
        );
    }

    #[test]
    fn amounts_that_a_node_works_out_are_not_known() {
        let (words, _, missing) = read(&["NODE_SIZING_ENABLED=true\nSYSTEM_RESERVED_MEMORY=1Gi\n"]);
        assert_eq!(words, "");
        assert!(missing.concat().contains("by its size"), "{missing:?}");
    }

    #[test]
    fn documents_are_no_command_lines() {
        for text in [
            "kind: KubeletConfiguration\n",
            "---\nkind: KubeletConfiguration\n",
            "{\"kind\": \"KubeletConfiguration\"}",
            "[settings.kubernetes]\nmax-pods = 3\n",
            "- a\n- b\n",
            "# ExecStart=/usr/bin/kubelet --v=2\nmaxPods: 3\n",
            "",
        ] {
            assert!(!is_kubelet_arguments(text), "{text}");
        }
    }

    #[test]
    fn texts_make_one_command_line() {
        let unit = "[Service]\nEnvironment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n\
                    EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n\
                    ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n";
        let (words, of, missing) = read(&[
            unit,
            "KUBELET_KUBEADM_ARGS=--v=2\n",
            "KUBELET_EXTRA_ARGS=--max-pods=3\nKUBELET_OTHER_ARGS=--x\n",
        ]);
        assert_eq!(words, "--config=/var/lib/kubelet/config.yaml|--v=2|--max-pods=3");
        assert_eq!((of, missing.len()), (ArgumentsOf::Kubelet, 1), "{missing:?}");
        let (_, _, missing) = read(&[unit]);
        assert_eq!(missing.len(), 3, "{missing:?}");
    }

    #[test]
    fn an_argument_has_its_place() {
        let text = "# c\nKUBELET_EXTRA_ARGS=\"--v=2 --max-pods=ten\"\n";
        let read = read_kubelet_arguments(&[Source { name: "flags.env", text }]);
        let refused = read.map(|read| read.arguments[1].refused("--max-pods", "no".to_owned(), None));
        let error = refused.map(|refused| refused.as_error().to_string()).map_err(|error| error.to_string());
        assert_eq!(error.as_deref(), Ok("flags.env:2:27: --max-pods: no"));
    }

    #[test]
    fn what_is_no_flag_or_has_no_end_is_refused() {
        for (text, expected) in [
            ("HTTP_PROXY=http://a\n", "no flag of a kubelet"),
            ("KUBELET_EXTRA_ARGS=\"--v=2\n", "a quote without its end"),
            ("--v='2\n", "a quote without its end"),
        ] {
            let error = read_kubelet_arguments(&[Source { name: "flags.env", text }])
                .map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|error| error.contains(expected)), "{error:?}");
        }
        let line = Source { name: "a", text: "kubelet --v=2" };
        let error = read_kubelet_arguments(&[line, line]).map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("a second command line")));
    }
}
