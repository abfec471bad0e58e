//! What the command line itself names: options that are typed, and not those of a default or of an environment variable.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The typed options of a command, by the names of their fields. It is the first field of a command's arguments: the
/// fields before it take theirs out of what was parsed.
#[derive(Debug)]
pub(crate) struct Typed(BTreeSet<String>);

impl Typed {
    /// The first of these options, each a field and its name on the command line, that is typed.
    pub(crate) fn first(&self, options: &[(&str, &'static str)]) -> Option<&'static str> {
        options.iter().find(|(field, _)| self.0.contains(*field)).map(|(_, option)| *option)
    }

    /// Whether an option is typed.
    pub(crate) fn has(&self, field: &str) -> bool {
        self.0.contains(field)
    }
}

impl FromArgMatches for Typed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let ids = matches.ids().map(clap::Id::as_str);
        let is_typed = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Ok(Self(ids.filter(is_typed).map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Typed {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
