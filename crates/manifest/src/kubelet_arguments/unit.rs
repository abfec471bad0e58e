//! Units and drop-ins of systemd, of which `[Service]` says how a kubelet is started.

use core::ops::Range;

use super::command::{Command, of_words};
use super::lines::is_name;
use super::words::{Comments, Letters, Word, first_line, letters, split};

/// What a unit says of a command line.
#[derive(Default)]
pub(super) struct Unit {
    /// `Environment=`
    pub(super) variables: Vec<(String, Letters)>,
    /// `EnvironmentFile=`, without the dash that lets it be missing.
    pub(super) files: Vec<String>,
    /// The last `ExecStart=`.
    pub(super) command: Option<Command>,
}

/// Whether a text is a unit or a part of one: a section, and a line that starts a program or sets variables.
pub(super) fn is_unit(text: &str) -> bool {
    first_line(text).is_some_and(|line| matches!(line, "[Service]" | "[Unit]" | "[Install]"))
        && text.lines().any(|line| line.starts_with("ExecStart=") || line.starts_with("Environment"))
}

impl Unit {
    /// # Errors
    /// A quote that does not end: its bytes.
    pub(super) fn read(text: &str) -> Result<Self, Range<usize>> {
        let mut unit = Self::default();
        let mut is_service = false;
        for line in lines(text) {
            let written: String = line.iter().map(|(_, letter)| *letter).collect();
            if written.starts_with('[') {
                is_service = written.trim_end() == "[Service]";
            } else if let Some((key, _)) = written.split_once('=').filter(|_| is_service) {
                let value = line.get(key.chars().count() + 1..).unwrap_or_default();
                unit.assign(key.trim_end(), value)?;
            }
        }
        Ok(unit)
    }

    fn assign(&mut self, key: &str, value: &[(usize, char)]) -> Result<(), Range<usize>> {
        let words = split(value, Comments::None)?;
        match key {
            // Without a value they take back what was written before.
            "Environment" if words.is_empty() => self.variables.clear(),
            "EnvironmentFile" if words.is_empty() => self.files.clear(),
            "ExecStart" if words.is_empty() => self.command = None,
            "Environment" => self.variables.extend(words.iter().filter_map(variable)),
            "EnvironmentFile" => {
                let path = |word: &Word| word.text().trim_start_matches('-').to_owned();
                self.files.extend(words.iter().map(path));
            }
            "ExecStart" => self.command = Some(of_words(words)),
            _ => {}
        }
        Ok(())
    }
}

/// `NAME=VALUE`.
fn variable(word: &Word) -> Option<(String, Letters)> {
    let text = word.text();
    let (name, _) = text.split_once('=').filter(|(name, _)| is_name(name))?;
    Some((name.to_owned(), word.behind(name.len() + 1)))
}

/// The lines of a unit: those that end in a backslash go on in the next one that is no comment, as in `config_parse` of
/// `src/shared/conf-parser.c` in systemd/systemd.
fn lines(text: &str) -> Vec<Letters> {
    let mut lines: Vec<Letters> = Vec::new();
    let mut goes_on = false;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        let end = start + line.trim_end_matches(['\n', '\r']).len();
        let own = letters(text, start..end);
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push((start, '\n'));
                last.extend(own);
            }
            None => lines.push(own),
        }
        goes_on = text.get(start..end).is_some_and(|line| line.ends_with('\\'));
    }
    lines
}
