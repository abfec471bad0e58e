//! How fast a daemon admits, lists and how much it needs: `cargo bench -p topolet --bench serve`. State is durable on
//! tmpfs where there is one (`/dev/shm`); the client takes its share of the CPUs that both have.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on fails")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ADMISSIONS: u32 = 600;

/// A connection that is kept.
struct Connection(BufReader<UnixStream>);

impl Connection {
    fn open(socket: &Path) -> Option<Self> {
        UnixStream::connect(socket).ok().map(|stream| Self(BufReader::new(stream)))
    }

    /// The body of the answer and how long it took.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> (String, Duration) {
        let began = Instant::now();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            self.0.read_line(&mut line).unwrap();
            if line == "\r\n" {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (String::from_utf8(body).unwrap(), began.elapsed())
    }
}

/// A daemon that is killed in the end, and its folder.
struct Daemon(Child, PathBuf);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = fs::remove_dir_all(&self.1);
    }
}

fn pod(name: &str, limits: &str) -> String {
    format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\"}},\"spec\":{{\"containers\":\
         [{{\"name\":\"app\",\"image\":\"i\",\"resources\":{{\"limits\":{{{limits}}}}}}}]}}}}"
    )
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A value of `/proc/PID/FILE`, in kilobytes.
fn proc(daemon: &Daemon, file: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/{file}", daemon.0.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

/// User and system time so far, in ticks.
fn ticks(daemon: &Daemon) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/stat", daemon.0.id())).unwrap();
    let after = text.rsplit_once(") ").unwrap().1;
    after.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn main() {
    let shm = Path::new("/dev/shm");
    let base = if shm.is_dir() { shm.to_path_buf() } else { std::env::temp_dir() };
    let root = base.join(format!("topolet-bench-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_topolet"))
        .args(["serve", "--machine", "turin-9755-nps4-l3numa-32node", "--config", "pinned", "--root"])
        .arg(&root)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = Daemon(child, root.clone());
    let socket = root.join("topolet.sock");
    let mut connection = loop {
        if let Some(connection) = Connection::open(&socket) {
            break connection;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    while !connection.ask("GET", "/readyz", "").0.contains("\"ok\"") {}

    let mut times = Vec::new();
    let began = Instant::now();
    for at in 0..ADMISSIONS {
        let name = format!("p{at}");
        let limits = "\"cpu\":\"4\",\"memory\":\"1Gi\"";
        let (reply, took) = connection.ask("POST", "/v1/pods", &pod(&name, limits));
        assert!(reply.contains("\"admitted\": true"), "{reply}");
        times.push(took);
        // Forty run at a time.
        if let Some(old) = at.checked_sub(40) {
            connection.ask("DELETE", &format!("/v1/pods/default/p{old}"), "");
        }
    }
    let all = began.elapsed();
    let per_second = f64::from(ADMISSIONS) / times.iter().sum::<Duration>().as_secs_f64();
    println!(
        "admission, state durable in {}: median {:?}, {per_second:.0} a second",
        base.display(),
        median(times)
    );
    println!(
        "admission and deletion together: {:.0} a second",
        2.0 * f64::from(ADMISSIONS) / all.as_secs_f64()
    );

    for at in 0..160 {
        connection.ask("POST", "/v1/pods", &pod(&format!("s{at}"), ""));
    }
    let rss = proc(&daemon, "status", "VmRSS:");
    println!("resident memory with 200 pods: {rss} KiB");
    for at in 160..460 {
        connection.ask("POST", "/v1/pods", &pod(&format!("s{at}"), ""));
    }
    let lists = (0..50).map(|_| connection.ask("GET", "/v1/pods?output=table", "").1).collect();
    println!("list of 500 pods: median {:?}", median(lists));
    let before = ticks(&daemon);
    std::thread::sleep(Duration::from_secs(20));
    println!("idle for 20 s: {} ticks of 10 ms", ticks(&daemon) - before);
}
