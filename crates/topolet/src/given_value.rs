//! What to write in place of what a command line has: another value of an option, or an option before a file.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error of a command line, with what to give in place of a value that is no number or no address; any other stays.
pub(crate) fn plain(error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::ValueValidation {
        return error;
    }
    let Some(cause) = error.source().map(ToString::to_string) else { return error };
    let Some(expected) = terminal_text::expected_value(&cause) else { return error };
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    clap::Error::raw(error.kind(), text.replacen(&format!(": {cause}"), &format!(": {expected}"), 1))
}

/// The options that what lies at a path was probably given for, best first; and whether such a thing lies there.
type Reading = (&'static [&'static str], fn(&Path) -> bool);

const READ: [Reading; 3] = [
    (&["filename", "config", "machine"], Path::is_file),
    (&["state", "root", "machine"], |path| path.join("cpu_manager_state").is_file()),
    (&["machine", "state", "root"], Path::is_dir),
];

/// The error of a command line in which a file or a folder stands by itself, with the option that reads it; any other stays.
pub(crate) fn with_option(
    mut error: clap::Error,
    command: &clap::Command,
    words: &[OsString],
) -> clap::Error {
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::WrongNumberOfValues) {
        return error;
    }
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let alone = words.windows(2).filter(|pair| !pair.iter().any(is_option)).map(|pair| Path::new(&pair[1]));
    let (mut of, mut called) = (command, "topolet".to_owned());
    for word in words.iter().skip(1) {
        let Some(next) = of.find_subcommand(word) else { break };
        called = format!("{called} {}", next.get_name());
        of = next;
    }
    let has = |name: &&&str| of.get_arguments().any(|option| option.get_long() == Some(**name));
    let mut found = alone.filter_map(|path| {
        let (names, _) = READ.iter().find(|(_, is_it)| is_it(path))?;
        Some((path, *names.iter().find(has)?))
    });
    if let Some((path, option)) = found.next_back() {
        let said = format!("it is read as '{called} --{option} {}'", path.display());
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![said.into()]));
    }
    error
}
