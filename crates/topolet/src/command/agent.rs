//! Commands for a running `topolet serve`, in kubectl's words: `get pods`, `describe pod`, `apply -f`, `delete pod`.

mod events;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use node_input::{manifest_files, manifests_in, shown_name};
use node_output::http::UNKNOWN_FIELD;
use node_output::{Format, quoted_error};
use pod_spec::PodRules;
use serde::Deserialize;
use terminal_text::Page;
use topology_manifest::UnknownFields;

use self::events::GetEvents;
use crate::answer::{self, shape, shape_of, show};
use crate::arguments::{OutputArguments, SocketArguments};
use crate::client::{self, Reply, Sent};
use crate::examples;
use crate::outcome::Outcome;
use crate::pod_words::{checked, named};
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    #[command(subcommand)]
    what: Listed,
}

#[derive(Subcommand, Debug)]
enum Listed {
    /// Pods, whether they run, were refused or wait.
    #[command(visible_alias = "pod")]
    #[command(after_help = examples::GET_PODS)]
    Pods(GetPods),
    /// What each container holds, as the state files have it.
    #[command(after_help = examples::GET_STATE)]
    State(GetPlain),
    /// The machine that is decided on.
    #[command(after_help = examples::GET_MACHINE)]
    Machine(GetPlain),
    /// The last decisions with their reasons.
    #[command(after_help = examples::GET_DECISIONS)]
    Decisions(GetPlain),
    /// What has happened on the node since the daemon started: pods admitted and refused, and what is wrong.
    #[command(visible_alias = "event")]
    #[command(after_help = examples::GET_EVENTS)]
    Events(GetEvents),
}

#[derive(Args, Debug)]
struct GetPods {
    /// Only these: names, NAMESPACE/NAME, or UIDs.
    names: Vec<String>,
    /// Of one namespace only.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Of all namespaces, as without --namespace.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Goes on and prints each pod that changes, until it is stopped.
    #[arg(short, long)]
    watch: bool,
    /// How to print.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: PodsFormat,
    #[command(flatten)]
    socket: SocketArguments,
}

/// How pods are listed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum PodsFormat {
    /// For people.
    Table,
    /// For people, with the UIDs, and what each container holds.
    Wide,
    /// NAMESPACE/NAME of each, as other commands take them.
    Name,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}

impl PodsFormat {
    const fn document(self) -> Format {
        match self {
            Self::Table | Self::Wide => Format::Table,
            Self::Name | Self::Json => Format::Json,
            Self::Yaml => Format::Yaml,
        }
    }
}

#[derive(Args, Debug)]
struct GetPlain {
    #[command(flatten)]
    socket: SocketArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
pub(crate) struct DescribeArguments {
    #[command(subcommand)]
    what: Described,
}

#[derive(Subcommand, Debug)]
enum Described {
    /// A pod: what it holds and why.
    #[command(after_help = examples::DESCRIBE_POD)]
    Pod(OnePod),
}

/// Which pod.
#[derive(Args, Debug)]
struct PodArguments {
    /// Its name, or NAMESPACE/NAME. Without a namespace the pod of that name in `default`, else the only one there is.
    name: String,
    /// Its namespace.
    #[arg(short, long)]
    namespace: Option<String>,
}

/// A pod of the daemon.
#[derive(Deserialize)]
struct KnownPod {
    namespace: String,
    name: String,
    uid: String,
}

/// All pods of the daemon.
fn known(socket: &SocketArguments) -> anyhow::Result<Vec<KnownPod>> {
    #[derive(Deserialize)]
    struct Pods {
        pods: Vec<KnownPod>,
    }
    let path = "/v1/pods?output=json";
    let reply = client::send(&socket.socket, "GET", path, Sent::default())?.good()?;
    let pods: Pods = serde_json::from_str(&reply.body).context("the daemon's list of pods cannot be read")?;
    Ok(pods.pods)
}

/// The pod that a word means: in the given namespace, else in `default`, else the only one of that name or UID.
fn found(word: &str, namespace: Option<&str>, socket: &SocketArguments) -> anyhow::Result<(String, String)> {
    let (namespace, name) = named(word, namespace)?;
    if let Some(namespace) = namespace {
        return Ok((namespace.to_owned(), name.to_owned()));
    }
    let mut pods = known(socket)?;
    pods.retain(|pod| pod.name == name || pod.uid == name);
    let own = pods.iter().position(|pod| pod.namespace == "default" && pod.name == name);
    let at = match (own, pods.len()) {
        (Some(own), _) => own,
        (None, 1) => 0,
        (None, 0) => bail!("no pod is called {name}"),
        (None, _) => {
            let all: Vec<String> = pods.iter().map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
            bail!("{} pods are called {name}: {}", all.len(), all.join(", "))
        }
    };
    let KnownPod { namespace, name, .. } = pods.swap_remove(at);
    Ok((namespace, name))
}

#[derive(Args, Debug)]
struct OnePod {
    #[command(flatten)]
    pod: PodArguments,
    #[command(flatten)]
    socket: SocketArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
pub(crate) struct ApplyArguments {
    /// Pods as YAML or JSON, or a folder with such files; `-` reads standard input. Can be given more than once.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Says what would be decided, and admits nothing.
    #[arg(long)]
    dry_run: bool,
    /// Ignores fields that pods of Kubernetes v1.36.3 do not have, with a warning. Without it such a field refuses its
    /// object, as kubectl's validation does.
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    socket: SocketArguments,
    #[command(flatten)]
    output: OutputArguments,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct DeleteArguments {
    #[command(subcommand)]
    what: Option<Deleted>,
    /// The pods of a manifest, or of a folder of manifests; `-` reads standard input. Can be given more than once.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    socket: SocketArguments,
}

#[derive(Subcommand, Debug)]
enum Deleted {
    /// Pods; what they held is free.
    #[command(visible_alias = "pods")]
    #[command(after_help = examples::DELETE)]
    Pod(DeletePods),
}

#[derive(Args, Debug)]
struct DeletePods {
    /// Their names, or NAMESPACE/NAME; without a namespace those of `default`.
    #[arg(required = true)]
    names: Vec<String>,
    /// Their namespace.
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    socket: SocketArguments,
}

pub(super) fn get(arguments: &GetArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (GetPlain { socket, output }, path) = match &arguments.what {
        Listed::Pods(pods) => return get_pods(pods, screen),
        Listed::Events(events) => return events::get(events, screen),
        Listed::State(plain) => (plain, "/v1/state"),
        Listed::Machine(plain) => (plain, "/v1/machine"),
        Listed::Decisions(plain) => (plain, "/v1/decisions"),
    };
    answer::get(&socket.socket, path, output, screen)
}

fn get_pods(arguments: &GetPods, screen: Screen) -> anyhow::Result<Outcome> {
    let GetPods { names, namespace, watch, output, socket, .. } = arguments;
    // Lines that change are found where each pod has one.
    let page = if *watch { Page::endless(screen.page.glyphs) } else { screen.page };
    let mut path = format!("/v1/pods?{}", shape_of(output.document(), page));
    if let Some(namespace) = namespace {
        path.push_str(&format!("&namespace={}", checked(namespace)?));
    }
    if !names.is_empty() {
        let checked: Vec<&str> = names
            .iter()
            .map(|word| named(word, namespace.as_deref()).map(|_| word.as_str()))
            .collect::<anyhow::Result<_>>()?;
        path.push_str(&format!("&names={}", checked.join(",")));
    }
    if *output == PodsFormat::Wide {
        path.push_str("&wide=true");
    }
    let list = || client::send(&socket.socket, "GET", &path, Sent::default())?.good();
    let reply = list()?;
    if *output == PodsFormat::Name {
        #[derive(Deserialize)]
        struct Pods {
            pods: Vec<KnownPod>,
        }
        let pods: Pods =
            serde_json::from_str(&reply.body).context("the daemon's list of pods cannot be read")?;
        let lines = pods.pods.iter().map(|pod| format!("{}/{}\n", pod.namespace, pod.name));
        screen.print(&lines.collect::<String>())?;
        return Ok(Outcome::Done);
    }
    let outcome = show(&reply, output.document(), screen)?;
    if *watch {
        ensure!(output.document() == Format::Table, "--watch prints tables: leave -o out");
        return watched(reply.body, list);
    }
    Ok(outcome)
}

/// Where the column of ages is in a table.
fn ages(table: &str) -> Option<Range<usize>> {
    let head = table.lines().next()?;
    let (before, rest) = head.split_once(" AGE")?;
    let start = before.chars().count() + 1;
    let end = rest.find(|letter: char| !letter.is_whitespace());
    Some(start..end.map_or(usize::MAX, |gap| start + "AGE".len() + gap))
}

/// How often a daemon is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Prints the lines that change, until standard output is closed.
fn watched(first: String, list: impl Fn() -> anyhow::Result<Reply>) -> anyhow::Result<Outcome> {
    // Columns may become wider, and pods older, which is no change.
    let words = |age: Option<Range<usize>>, line: &str| {
        let letters = line.chars().enumerate();
        let kept = letters.filter(|(at, _)| age.as_ref().is_none_or(|age| !age.contains(at)));
        let kept: String = kept.map(|(_, letter)| letter).collect();
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let key = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join("/");
    let mut before = first;
    loop {
        std::thread::sleep(LOOK);
        let now = list()?.body;
        let (age, age_before) = (ages(&now), ages(&before));
        let known: BTreeSet<String> = before.lines().map(|line| words(age_before.clone(), line)).collect();
        let is_new = |line: &&str| !known.contains(&words(age.clone(), line));
        let mut lines: Vec<String> = now.lines().filter(is_new).map(str::to_owned).collect();
        let there: BTreeSet<String> = now.lines().map(key).collect();
        let is_pod = |line: &&str| !line.starts_with("NAMESPACE") && line.split_whitespace().count() > 2;
        let gone = before.lines().filter(is_pod).map(key).filter(|pod| !there.contains(pod));
        lines.extend(gone.map(|pod| format!("{pod} is gone")));
        for line in lines.iter().filter(|line| !line.starts_with("NAMESPACE")) {
            if writeln!(std::io::stdout(), "{line}").is_err() {
                return Ok(Outcome::Done);
            }
        }
        before = now;
    }
}

pub(super) fn describe(arguments: &DescribeArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let Described::Pod(OnePod { pod, socket, output }) = &arguments.what;
    let (namespace, name) = found(&pod.name, pod.namespace.as_deref(), socket)?;
    answer::get(&socket.socket, &format!("/v1/pods/{namespace}/{name}"), output, screen)
}

/// A file that cannot be applied does not keep the next from it, as with kubectl.
pub(super) fn apply(arguments: &ApplyArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    for file in &manifest_files(&arguments.files)? {
        let applied = apply_file(arguments, file, screen).unwrap_or_else(|error| {
            screen.error(&error);
            Outcome::Partial
        });
        outcome = outcome.max(applied);
    }
    Ok(outcome)
}

fn apply_file(arguments: &ApplyArguments, file: &Path, screen: Screen) -> anyhow::Result<Outcome> {
    let route = if arguments.dry_run { "explain" } else { "pods" };
    let bytes = node_input::read(file)?;
    let name = shown_name(file);
    let lenient = if arguments.lenient { "&fieldValidation=Warn" } else { "" };
    let path = format!("/v1/{route}?{}{lenient}", shape(&arguments.output, screen));
    let body = Sent { name: Some(&name), bytes: &bytes };
    let reply = client::send(&arguments.socket.socket, "POST", &path, body)?;
    let is_unknown = reply.reason().is_some_and(|reason| reason == UNKNOWN_FIELD);
    let reply = reply.good().map_err(|error| if is_unknown { with_way_out(&error) } else { error })?;
    show(&reply, arguments.output.output, screen)
}

/// The daemon's error with the option that reads the file all the same. The daemon names none: its answer is one of HTTP.
fn with_way_out(error: &anyhow::Error) -> anyhow::Error {
    quoted_error(format!("{error:#}\n--lenient ignores unknown fields")).into()
}

pub(super) fn delete(arguments: &DeleteArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let mut pods = Vec::new();
    let socket = match &arguments.what {
        Some(Deleted::Pod(DeletePods { names, namespace, socket })) => {
            for word in names {
                let (namespace, name) = named(word, namespace.as_deref())?;
                pods.push((namespace.unwrap_or("default").to_owned(), name.to_owned()));
            }
            socket
        }
        None => {
            let mut without = Vec::new();
            for file in &manifest_files(&arguments.files)? {
                let read = manifests_in(file, PodRules::default(), UnknownFields::Report)?;
                match read.skipped.as_slice() {
                    [alone] if read.pods.is_empty() => without.push(alone.to_string()),
                    _ if read.pods.is_empty() => without.push(format!("{} has no pods", shown_name(file))),
                    _ => {}
                }
                pods.extend(read.pods.into_iter().map(|pod| (pod.namespace, pod.name)));
            }
            ensure!(!pods.is_empty(), "{}", without.join("; "));
            &arguments.socket
        }
    };
    let mut outcome = Outcome::Done;
    for (namespace, name) in &pods {
        match delete_pod(namespace, name, socket) {
            Ok(()) => screen.show(&format!("pod {namespace}/{name} deleted\n"))?,
            // The next one is deleted all the same, as with kubectl.
            Err(error) => {
                screen.error(&error);
                outcome = Outcome::Partial;
            }
        }
    }
    Ok(outcome)
}

fn delete_pod(namespace: &str, name: &str, socket: &SocketArguments) -> anyhow::Result<()> {
    let path = format!("/v1/pods/{namespace}/{name}");
    client::send(&socket.socket, "DELETE", &path, Sent::default())?.good()?;
    Ok(())
}
