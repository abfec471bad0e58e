//! What may come next on a command line of `kubectl topolet`, in the form in which kubectl reads it from an executable
//! that is called `kubectl_complete-topolet`: a candidate a line, and a colon with what the shell does.

use clap::Args;
use node_daemon::cluster_node::{Cluster, ClusterError};

use super::cluster::{ClusterArguments, PlaceArguments};
use crate::outcome::Outcome;
use crate::screen::Screen;

/// The shell proposes these and no files.
const NO_FILES: &str = ":4\n";
/// The shell proposes what it would without us.
const AS_USUAL: &str = ":0\n";

#[derive(Args, Debug)]
pub(crate) struct CompleteArguments {
    /// The words after `kubectl topolet`; the last may be a part of one.
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<String>,
}

/// Options that take a value, with what may be one.
const OPTIONS: [(&str, &[&str]); 8] = [
    ("--kubeconfig", &[]),
    ("--agent", &[]),
    ("--context", &[]),
    ("--namespace", &[]),
    ("-n", &[]),
    ("--output", &["table", "json", "yaml"]),
    ("-o", &["table", "json", "yaml"]),
    ("--color", &["auto", "always", "never"]),
];

/// A command line that is being typed.
#[derive(PartialEq, Eq, Debug)]
struct Line<'a> {
    /// Words that are no options.
    words: Vec<&'a str>,
    /// Options with their values.
    options: Vec<(&'a str, &'a str)>,
    /// The option whose value is being written.
    open: Option<&'a str>,
    /// What there is of the last word.
    last: &'a str,
}

impl<'a> Line<'a> {
    fn new(words: &'a [String]) -> Self {
        let (last, before) =
            words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let mut line = Self { words: Vec::new(), options: Vec::new(), open: None, last };
        for word in before.iter().map(String::as_str) {
            if let Some(option) = line.open.take() {
                line.options.push((option, word));
            } else if let Some((option, value)) = word.split_once('=').filter(|_| word.starts_with('-')) {
                line.options.push((option, value));
            } else if OPTIONS.iter().any(|(option, _)| *option == word) {
                line.open = Some(word);
            } else if !word.starts_with('-') {
                line.words.push(word);
            }
        }
        line
    }

    /// The value of an option by its names.
    fn value(&self, names: &[&str]) -> Option<&'a str> {
        self.options.iter().rev().find(|(option, _)| names.contains(option)).map(|(_, value)| *value)
    }

    fn cluster(&self) -> ClusterArguments {
        ClusterArguments {
            place: PlaceArguments {
                kubeconfig: self.value(&["--kubeconfig"]).map(Into::into),
                context: self.value(&["--context"]).map(str::to_owned),
            },
            namespace: self.value(&["--namespace", "-n"]).map(str::to_owned),
            agent: None,
        }
    }

    /// What may come; `None`: what the shell thinks of.
    fn candidates(&self, names: impl Fn(Named, &ClusterArguments) -> Vec<String>) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        if let Some(open) = self.open {
            let (_, values) = OPTIONS.iter().find(|(option, _)| *option == open)?;
            let is_file = matches!(open, "--kubeconfig" | "--agent");
            return (!is_file).then(|| words(values));
        }
        if self.last.starts_with('-') {
            let long = OPTIONS.iter().map(|(option, _)| *option).filter(|option| option.starts_with("--"));
            return Some(long.chain(["--help"]).map(str::to_owned).collect());
        }
        Some(match self.words.as_slice() {
            [] => words(&["explain", "node", "nodes"]),
            ["explain"] => names(Named::Pods, &self.cluster()),
            ["node"] | ["nodes", ..] => names(Named::Nodes, &self.cluster()),
            _ => Vec::new(),
        })
    }
}

/// Whose names may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Named {
    Pods,
    Nodes,
}

pub(super) fn run(arguments: &CompleteArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let line = Line::new(&arguments.words);
    // The user is typing: what cannot be listed is left out, and no message is printed.
    let candidates = line.candidates(|named, cluster| names(named, cluster).unwrap_or_default());
    let text = match candidates {
        None => AS_USUAL.to_owned(),
        Some(all) => {
            let fitting = all.iter().filter(|candidate| candidate.starts_with(line.last));
            let lines: String = fitting.map(|candidate| format!("{candidate}\n")).collect();
            lines + NO_FILES
        }
    };
    screen.print(&text)?;
    Ok(Outcome::Done)
}

fn names(named: Named, given: &ClusterArguments) -> anyhow::Result<Vec<String>> {
    let cluster: Cluster = given.connect()?;
    let names: Result<_, ClusterError> = match named {
        Named::Pods => cluster.pod_names(given.namespace.as_deref().unwrap_or(cluster.default_namespace())),
        Named::Nodes => cluster.node_names(),
    };
    Ok(names?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: Option<&[&str]>) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let line = Line::new(&words);
        let names = |named, cluster: &ClusterArguments| {
            let namespace = cluster.namespace.clone().unwrap_or_default();
            vec![format!("{named:?} of {namespace}")]
        };
        let found = line.candidates(names);
        let found: Option<Vec<&str>> = found.as_ref().map(|all| all.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected, "{words:?}");
    }

    #[test]
    fn the_next_word_is_known_by_those_before_it() {
        check(&[""], Some(&["explain", "node", "nodes"]));
        check(&[], Some(&["explain", "node", "nodes"]));
        check(&["nodes", "worker-1", ""], Some(&["Nodes of "]));
        check(&["explain", "w"], Some(&["Pods of "]));
        check(&["explain", "-n", "shop", ""], Some(&["Pods of shop"]));
        check(&["--namespace=shop", "explain", ""], Some(&["Pods of shop"]));
        check(&["node", ""], Some(&["Nodes of "]));
        check(&["node", "worker-1", ""], Some(&[]));
        check(&["node", "worker-1", "-o", "j"], Some(&["table", "json", "yaml"]));
        check(&["explain", "--kubeconfig", ""], None);
        let options =
            ["--kubeconfig", "--agent", "--context", "--namespace", "--output", "--color", "--help"];
        check(&["explain", "--"], Some(&options));
    }
}
