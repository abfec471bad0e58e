//! A command line: which of its words are the kubelet's.

use core::ops::Range;

use super::programs::{BEFORE, WRAPPERS};
use super::words::{Comments, Word, letters, split};
use crate::{ManifestError, Problem, Source};

/// How much of a command line texts have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ArgumentsOf {
    /// Flags without a program: others may stand before and behind them.
    #[default]
    SomeFlags,
    /// All that a kubelet is started with.
    Kubelet,
    /// All that `k3s server` or `rke2 agent` gives its kubelet with `--kubelet-arg`.
    K3s,
}

/// A command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Command {
    pub(super) of: ArgumentsOf,
    /// What the kubelet gets.
    pub(super) words: Vec<Word>,
}

impl Command {
    /// Whether the flags of a kubelet are within the words of another program.
    pub(super) fn is_wrapped(&self) -> bool {
        let texts: Vec<String> = self.words.iter().map(Word::text).collect();
        self.of == ArgumentsOf::SomeFlags && is_wrapped(&texts.join(" "))
    }

    /// That the program is none of a kubelet, at its word; `None`: it is, or a variable names it.
    pub(super) fn other_program(&self, source: &Source<'_>) -> Option<ManifestError> {
        let texts: Vec<String> = self.words.iter().map(Word::text).collect();
        let at = first_program(&texts.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (word, text) = (self.words.get(at)?, texts.get(at)?);
        if self.of != ArgumentsOf::SomeFlags || text.starts_with('$') {
            return None;
        }
        // What systemd has before a program.
        let name = file_name(text).trim_start_matches(['-', '@', ':', '+', '!']);
        let what = format!("the program is {name}, a wrapper around the kubelet");
        let problem = Problem::OtherForm { what, instead: COMMAND_LINE };
        Some(ManifestError::at(source, "", &word.span(), problem))
    }

    /// Its first words, to be shown.
    pub(super) fn shown(&self) -> String {
        self.words.iter().take(3).map(Word::text).collect::<Vec<_>>().join(" ")
    }
}

const COMMAND_LINE: &str = "the command line of the kubelet that runs: `tr '\\0' ' ' < /proc/PID/cmdline`";

/// Shells, which run another program with `-c`.
const SHELLS: [&str; 5] = ["ash", "bash", "dash", "sh", "zsh"];

/// Whether a line runs a kubelet within another program: a shell, or one that takes its command behind options.
pub(super) fn is_wrapped(line: &str) -> bool {
    let is_between = |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"');
    let words: Vec<&str> = line.split(is_between).filter(|word| !word.is_empty()).collect();
    let Some(at) = first_program(&words) else { return false };
    let name = words.get(at).copied().map(file_name).unwrap_or_default();
    let is_shell = SHELLS.contains(&name) && words.get(at + 1) == Some(&"-c");
    let is_kubelet = |word: &&str| matches!(file_name(word), "kubelet" | "hyperkube");
    (is_shell || WRAPPERS.contains(&name)) && words.iter().skip(at + 1).any(is_kubelet)
}

/// The place of the first word that is a program and stands before no other one.
fn first_program(words: &[&str]) -> Option<usize> {
    words.iter().position(|word| !BEFORE.contains(word))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Whether a line starts a kubelet.
pub(super) fn has_program(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_flag = |word: Option<&&str>| word.is_some_and(|word| word.starts_with('-'));
    // What `ps` and prompts have before it is no key of a document.
    !line.contains(": ")
        && !line.starts_with(['#', ';', '-', '{', '['])
        && program(&words).is_some_and(|(_, behind)| is_flag(words.get(behind)))
}

/// The command line in a text: words with NUL bytes behind them, or those of a shell. Of several lines of which one starts a
/// kubelet, that one.
///
/// # Errors
/// A quote that does not end: its bytes.
pub(super) fn command(text: &str) -> Result<Command, Range<usize>> {
    if text.contains('\0') {
        let mut at = 0;
        let words = text.trim_end_matches(['\0', '\n']).split('\0').map(|word| {
            let start = at;
            at += word.len() + 1;
            Word::of(letters(text, start..start + word.len()))
        });
        return Ok(of_words(words.collect()));
    }
    let mut at = 0;
    let mut starts = text.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line)
    });
    let is_start = |(begin, line): &(usize, &str)| {
        let goes_on = line.trim_end().ends_with('\\');
        has_program(line) || goes_on && has_program(&continued(text.get(*begin..).unwrap_or_default()))
    };
    let Some((begin, _)) = starts.find(is_start) else {
        return Ok(of_words(split(&letters(text, 0..text.len()), Comments::Skipped)?));
    };
    let rest = text.get(begin..).unwrap_or_default();
    // Its line and those into which a backslash continues it.
    let mut end = begin;
    for line in rest.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    Ok(of_words(split(&letters(text, begin..end), Comments::Skipped)?))
}

/// The first line of a text with those into which backslashes continue it.
fn continued(text: &str) -> String {
    let mut whole = String::new();
    for line in text.lines().map(str::trim) {
        let Some(part) = line.strip_suffix('\\') else { return whole + line };
        whole.push_str(part);
        whole.push(' ');
    }
    whole
}

/// The same of words.
pub(super) fn of_words(words: Vec<Word>) -> Command {
    let texts: Vec<String> = words.iter().map(Word::text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let Some((of, behind)) = program(&texts) else {
        return Command { of: ArgumentsOf::SomeFlags, words };
    };
    let own = words.into_iter().skip(behind);
    let words = match of {
        ArgumentsOf::K3s => of_k3s(own.collect()),
        ArgumentsOf::SomeFlags | ArgumentsOf::Kubelet => own.collect(),
    };
    Command { of, words }
}

/// The program, and the number of words up to its arguments. Flags alone have none before their first dash.
fn program(words: &[&str]) -> Option<(ArgumentsOf, usize)> {
    let before = words.iter().position(|word| word.starts_with("--")).unwrap_or(words.len());
    let at = words.iter().take(before).position(|word| {
        matches!(file_name(word), "kubelet" | "hyperkube" | "k3s" | "rke2")
            || file_name(word).starts_with("kubelet-")
    })?;
    let next = words.get(at + 1).copied();
    match file_name(words.get(at)?) {
        "hyperkube" => (next == Some("kubelet")).then_some((ArgumentsOf::Kubelet, at + 2)),
        "k3s" | "rke2" => matches!(next, Some("server" | "agent")).then_some((ArgumentsOf::K3s, at + 2)),
        _ => Some((ArgumentsOf::Kubelet, at + 1)),
    }
}

/// The values of `--kubelet-arg` as flags.
pub(super) fn of_k3s(words: Vec<Word>) -> Vec<Word> {
    const FLAG: &str = "--kubelet-arg";
    let mut flags = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.text();
        match text.strip_prefix(FLAG) {
            Some("") => flags.extend(words.next().map(|value| value.with_text(&k3s_flag(&value.text())))),
            Some(rest) if rest.starts_with('=') => {
                flags.push(word.with_text(&k3s_flag(rest.trim_start_matches('='))));
            }
            _ => {}
        }
    }
    flags
}

/// The flag that k3s makes of a `kubelet-arg`: `max-pods=3` becomes `--max-pods=3`. A name that ends in `+` or `-` adds to the
/// value that k3s would give.
pub(crate) fn k3s_flag(argument: &str) -> String {
    let (name, value) = argument.split_once('=').unwrap_or((argument, "true"));
    format!("--{}={value}", name.trim_start_matches("--").trim_end_matches(['+', '-']))
}
