//! A daemon in a separate folder, and its clients.

#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

#[path = "../../../../device-plugin/tests/all/support/plugin.rs"]
pub mod plugin;

use std::fs;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Nothing takes so long that works.
const PATIENCE: Duration = Duration::from_mins(1);

pub const MACHINE: &str = "xeon-2s-96cpu-sriov";

/// A folder that is gone when the test is.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("topolet-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits until something is so.
pub fn until<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn command(machine: &str, root: &Path, config: &str, more: &[&str]) -> Command {
    serve(&["--machine", machine, "--config", config], root, more)
}

/// The command of a daemon. It lets the cgroups of this host alone, whatever it has, unless others are named.
fn serve(how: &[&str], root: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_topolet"));
    command.arg("serve").args(how).arg("--root").arg(root).args(more);
    if !more.contains(&"--cgroup-root") {
        command.args(["--cgroup-root", "off"]);
    }
    command
}

/// A daemon that serves; killed when it is dropped.
pub struct Daemon {
    child: Child,
    pub socket: PathBuf,
    /// The lines of its log so far.
    log: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Daemon {
    /// The table of pods without their ages, which change.
    pub fn pods(&self) -> String {
        let table = self.prints(&["get", "pods"]);
        let without = table.lines().map(|line| match line.rsplit_once(char::is_whitespace) {
            Some((rest, _)) if line != "no pods" => format!("{}\n", rest.trim_end()),
            _ => format!("{line}\n"),
        });
        without.collect()
    }

    /// Starts it on the machine of the tests, and waits until it is ready.
    pub fn start(root: &Path, more: &[&str]) -> Self {
        Self::spawn(MACHINE, root, "pinned", more).ready()
    }

    /// The same with another configuration.
    pub fn with_config(root: &Path, config: &str) -> Self {
        Self::spawn(MACHINE, root, config, &[]).ready()
    }

    /// The same with more options.
    pub fn with_options(root: &Path, config: &str, more: &[&str]) -> Self {
        Self::spawn(MACHINE, root, config, more).ready()
    }

    /// With another configuration and its socket elsewhere.
    pub fn start_with(root: &Path, config: &Path, socket: &Path) -> Self {
        let more = ["--socket", socket.to_str().unwrap()];
        Self::spawn(MACHINE, root, config.to_str().unwrap(), &more).at(socket).ready()
    }

    /// One that only looks, without `--config`.
    pub fn observe(root: &Path, more: &[&str]) -> Self {
        Self::observe_on(MACHINE, root, more)
    }

    /// The same on another machine.
    pub fn observe_on(machine: &str, root: &Path, more: &[&str]) -> Self {
        Self::spawned(&mut serve(&["--observe", "--machine", machine], root, more), root)
    }

    /// The same on a host without certificates of authorities.
    pub fn observe_without_authorities(root: &Path, more: &[&str]) -> Self {
        let mut command = serve(&["--observe", "--machine", MACHINE], root, more);
        Self::spawned(command.env("SSL_CERT_FILE", "/dev/null").env("SSL_CERT_DIR", "/nowhere"), root)
    }

    /// The same on another machine.
    pub fn on_machine(machine: &str, root: &Path) -> Self {
        Self::spawn(machine, root, "pinned", &[]).ready()
    }

    /// The same with a socket elsewhere.
    pub fn start_at(socket: &Path, root: &Path, more: &[&str]) -> Self {
        Self::spawn(MACHINE, root, "pinned", more).at(socket).ready()
    }

    /// The same started with that umask, in octal.
    pub fn with_umask(umask: &str, root: &Path, more: &[&str]) -> Self {
        let topolet = command(MACHINE, root, "pinned", more);
        let mut shell = Command::new("sh");
        shell.args(["-c", "umask $0 && exec \"$@\"", umask]).arg(topolet.get_program());
        Self::spawned(shell.args(topolet.get_args()), root).ready()
    }

    /// The same with something in its environment.
    pub fn start_with_env(root: &Path, name: &str, value: &str) -> Self {
        Self::spawned(command(MACHINE, root, "pinned", &[]).env(name, value), root).ready()
    }

    /// One that may have so many files open.
    pub fn with_open_files(root: &Path, most: u32) -> Self {
        let plain = command(MACHINE, root, "pinned", &[]);
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -n $0 && exec \"$@\"", &most.to_string()]);
        limited.arg(plain.get_program()).args(plain.get_args());
        Self::spawned(&mut limited, root).ready()
    }

    /// One with a manifests folder, which need not be as it should: it lives, and may not be ready.
    pub fn watching(root: &Path, manifests: &Path) -> Self {
        let daemon = Self::spawn(MACHINE, root, "pinned", &["--manifests", manifests.to_str().unwrap()]);
        until("a daemon that lives", || {
            daemon.try_get("/healthz").filter(|reply| reply.status == 200).map(drop)
        });
        daemon
    }

    pub fn ready(self) -> Self {
        let mut daemon = self;
        until("a daemon that is ready", || {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ends instead: {ended:?} {:?}", daemon.log());
            let reply = daemon.try_get("/readyz")?;
            (reply.status == 200).then_some(())
        });
        daemon
    }

    pub fn spawn(machine: &str, root: &Path, config: &str, more: &[&str]) -> Self {
        Self::spawned(&mut command(machine, root, config, more), root)
    }

    /// One that a shell starts, say; it need not be ready.
    pub fn from_command(command: &mut Command, root: &Path) -> Self {
        Self::spawned(command, root)
    }

    fn spawned(command: &mut Command, root: &Path) -> Self {
        let socket = root.join("topolet.sock");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = std::sync::Arc::<std::sync::Mutex<Vec<String>>>::default();
        let (lines, into) = (BufReader::new(child.stderr.take().unwrap()).lines(), log.clone());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                into.lock().unwrap().push(line);
            }
        });
        Self { child, socket, log }
    }

    /// One whose standard error goes elsewhere, and waits until it is ready.
    pub fn logging_to(root: &Path, log: Stdio) -> Self {
        let child = command(MACHINE, root, "pinned", &[]).stderr(log).spawn().unwrap();
        Self { child, socket: root.join("topolet.sock"), log: std::sync::Arc::default() }.ready()
    }

    pub fn at(mut self, socket: &Path) -> Self {
        self.socket = socket.to_path_buf();
        self
    }

    /// Of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Kills it where it stands.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop, and waits; whether it did so well.
    pub fn terminate(mut self) -> bool {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        self.child.wait().unwrap().success()
    }

    /// A command of topolet for it.
    pub fn topolet(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_topolet"))
            .args(arguments)
            .env("TOPOLET_SOCKET", &self.socket)
            .env("LC_ALL", "C.UTF-8")
            .output()
            .unwrap()
    }

    /// What such a command prints.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let output = self.topolet(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() != Some(1), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn try_get(&self, path: &str) -> Option<Reply> {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    pub fn get(&self, path: &str) -> Reply {
        self.try_get(path).unwrap()
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        self.try_ask(method, path, body).unwrap()
    }

    pub fn try_ask(&self, method: &str, path: &str, body: &str) -> Option<Reply> {
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// The same with fields of a head, each ending in a line feed.
    pub fn ask_with(&self, method: &str, path: &str, fields: &str, body: &str) -> Reply {
        let fields = fields.replace('\n', "\r\n");
        let length = body.len();
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
        ))
        .unwrap()
    }

    /// Bytes as they are; the answer, if there is one.
    pub fn send(&self, text: &str) -> Option<Reply> {
        let stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        exchanged(stream, text)
    }

    /// Where it listens on TCP, by its log.
    pub fn tcp_address(&self) -> String {
        until("an address", || {
            let log = self.log();
            let line = log.iter().find(|line| line.contains("listening on TCP"))?;
            line.split("address=").nth(1)?.split_whitespace().next().map(str::to_owned)
        })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends bytes as they are to a server on TCP; the answer, if there is one.
pub fn over_tcp(server: impl ToSocketAddrs, text: &str) -> Option<Reply> {
    let stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    exchanged(stream, text)
}

fn exchanged(mut stream: impl Read + Write, text: &str) -> Option<Reply> {
    // It may stop reading before the end.
    let _ = stream.write_all(text.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Reply::of(&answer)
}

pub struct Reply {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Reply {
    pub fn of(answer: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(answer);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Self { status, head: head.to_owned(), body: body.to_owned() })
    }

    /// A field of the head; empty if it is not there.
    pub fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields
            .into_iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value.trim())
    }

    /// The body as JSON, of the kind that is expected.
    pub fn json(&self, kind: &str) -> serde_json::Value {
        assert_eq!(self.field("content-type"), "application/json", "{}", self.body);
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(document["kind"], kind, "{document}");
        document
    }

    pub fn message(&self) -> String {
        let said: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        said["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// A Guaranteed pod as YAML.
pub fn pod(name: &str, limits: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: app\n    image: x\n    resources: {{limits: {{{limits}}}}}\n"
    )
}
