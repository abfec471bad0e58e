//! Commands for a running `topolet serve`, in kubectl's words: `get pods`, `describe pod`, `apply -f`, `delete pod`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use node_daemon::{OUTCOME, PARTIAL, SOME_REFUSED};
use node_input::shown_name;
use node_output::Format;

use crate::arguments::OutputArguments;
use crate::client::{self, Reply, Sent};
use crate::outcome::Outcome;
use crate::render::{Glyphs, Screen};

/// Which daemon.
#[derive(Args, Debug)]
pub(crate) struct SocketArguments {
    /// Where the daemon listens.
    #[arg(
        long,
        value_name = "PATH",
        env = "TOPOLET_SOCKET",
        default_value = "/var/lib/topolet/topolet.sock",
        value_hint = ValueHint::FilePath
    )]
    socket: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    #[command(subcommand)]
    what: Listed,
}

#[derive(Subcommand, Debug)]
enum Listed {
    /// Pods, whether they run, were refused or wait.
    #[command(visible_alias = "pod")]
    Pods(GetPods),
    /// What each container holds, as the state files have it.
    State(GetPlain),
    /// The machine that is decided on.
    Machine(GetPlain),
    /// The last decisions with their reasons.
    Decisions(GetPlain),
}

#[derive(Args, Debug)]
struct GetPods {
    /// Of one namespace only.
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    socket: SocketArguments,
    #[command(flatten)]
    output: OutputArguments,
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
    Pod(OnePod),
}

/// Which pod.
#[derive(Args, Debug)]
struct PodArguments {
    /// Its name, or NAMESPACE/NAME.
    name: String,
    /// Its namespace; `default` if nothing else is said.
    #[arg(short, long)]
    namespace: Option<String>,
}

impl PodArguments {
    /// Its namespace and name.
    fn named(&self) -> anyhow::Result<(&str, &str)> {
        let (namespace, name) = match (self.name.split_once('/'), self.namespace.as_deref()) {
            (None, namespace) => (namespace.unwrap_or("default"), self.name.as_str()),
            (Some((own, _)), Some(other)) if own != other => {
                anyhow::bail!("{} is in namespace {own}, and -n says {other}", self.name)
            }
            (Some(own), _) => own,
        };
        Ok((checked(namespace)?, checked(name)?))
    }
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
    /// Pods as YAML or JSON; `-` reads standard input.
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Tells what would be decided, and decides nothing.
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
pub(crate) struct DeleteArguments {
    #[command(subcommand)]
    what: Deleted,
}

#[derive(Subcommand, Debug)]
enum Deleted {
    /// A pod; what it held is free.
    Pod(DeletePod),
}

#[derive(Args, Debug)]
struct DeletePod {
    #[command(flatten)]
    pod: PodArguments,
    #[command(flatten)]
    socket: SocketArguments,
}

pub(super) fn get(arguments: &GetArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let (socket, path, output) = match &arguments.what {
        Listed::Pods(GetPods { namespace, socket, output }) => {
            let only = namespace.as_deref().map(checked).transpose()?;
            let only = only.map(|name| format!("&namespace={name}")).unwrap_or_default();
            (socket, format!("/v1/pods?{}{only}", shape(output, screen)), output)
        }
        Listed::State(GetPlain { socket, output }) => {
            (socket, format!("/v1/state?{}", shape(output, screen)), output)
        }
        Listed::Machine(GetPlain { socket, output }) => {
            (socket, format!("/v1/machine?{}", shape(output, screen)), output)
        }
        Listed::Decisions(GetPlain { socket, output }) => {
            (socket, format!("/v1/decisions?{}", shape(output, screen)), output)
        }
    };
    let reply = client::send(&socket.socket, "GET", &path, Sent::default())?.good()?;
    show(&reply, output.output, screen)
}

pub(super) fn describe(arguments: &DescribeArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let Described::Pod(OnePod { pod, socket, output }) = &arguments.what;
    let (namespace, name) = pod.named()?;
    let path = format!("/v1/pods/{namespace}/{name}?{}", shape(output, screen));
    let reply = client::send(&socket.socket, "GET", &path, Sent::default())?.good()?;
    show(&reply, output.output, screen)
}

/// A file that cannot be applied does not keep the next from it, as with kubectl.
pub(super) fn apply(arguments: &ApplyArguments, screen: Screen) -> Outcome {
    let mut outcome = Outcome::Done;
    for file in &arguments.files {
        let applied = apply_file(arguments, file, screen).unwrap_or_else(|error| {
            screen.error(&error);
            Outcome::Partial
        });
        outcome = outcome.max(applied);
    }
    outcome
}

fn apply_file(arguments: &ApplyArguments, file: &Path, screen: Screen) -> anyhow::Result<Outcome> {
    let route = if arguments.dry_run { "explain" } else { "pods" };
    let bytes = node_input::read(file)?;
    let name = shown_name(file);
    let lenient = if arguments.lenient { "&fieldValidation=Warn" } else { "" };
    let path = format!("/v1/{route}?{}{lenient}", shape(&arguments.output, screen));
    let body = Sent { name: Some(&name), bytes: &bytes };
    let reply = client::send(&arguments.socket.socket, "POST", &path, body)?.good()?;
    show(&reply, arguments.output.output, screen)
}

pub(super) fn delete(arguments: &DeleteArguments, screen: Screen) -> anyhow::Result<Outcome> {
    let Deleted::Pod(DeletePod { pod, socket }) = &arguments.what;
    let (namespace, name) = pod.named()?;
    let path = format!("/v1/pods/{namespace}/{name}");
    client::send(&socket.socket, "DELETE", &path, Sent::default())?.good()?;
    screen.show(&format!("pod {namespace}/{name} deleted\n"))?;
    Ok(Outcome::Done)
}

/// How the answer is to be written.
fn shape(output: &OutputArguments, screen: Screen) -> String {
    let format = match output.output {
        Format::Table => "table",
        Format::Json => "json",
        Format::Yaml => "yaml",
    };
    let glyphs = match screen.page.glyphs {
        Glyphs::Unicode => "unicode",
        Glyphs::Ascii => "ascii",
    };
    let width = screen.page.width.map_or_else(String::new, |width| format!("&width={}", width.max(40)));
    format!("output={format}&glyphs={glyphs}{width}")
}

/// A name without what would need escapes in a path: names of pods and namespaces have nothing of it.
fn checked(name: &str) -> anyhow::Result<&str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    if !name.is_empty() && name.bytes().all(is_plain) {
        return Ok(name);
    }
    anyhow::bail!("names of pods and namespaces have letters, digits, '-' and '.' only")
}

fn show(reply: &Reply, format: Format, screen: Screen) -> anyhow::Result<Outcome> {
    match format {
        Format::Table => screen.show(&reply.body)?,
        Format::Json | Format::Yaml => screen.print(&reply.body)?,
    }
    Ok(match reply.field(OUTCOME) {
        Some(SOME_REFUSED) => Outcome::SomeRefused,
        Some(PARTIAL) => Outcome::Partial,
        _ => Outcome::Done,
    })
}
