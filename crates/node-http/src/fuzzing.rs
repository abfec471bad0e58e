//! Many and slow clients of several users, in memory and on a clock that jumps.
//!
//! The input is a schedule: the number of open files, how long the owner takes and what the clients do in the end, then
//! steps. Clients connect, send parts of requests, read or do not, close one side or both, and time passes. The
//! connections are those of [`Seats`]; only the sockets, the clock and the owner are simulated. The clients of
//! root are few, so that root always has a place left.

mod client;
#[cfg(test)]
mod schedules;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bounded_http::{BODY, HEAD, Peer, READING, SILENT, Seats, Service, Token, WAIT, Workshop};
use crossbeam::channel::{Receiver, bounded};
use node_agent::Answer;
use node_view::{MESSAGES, Message, OwnerReply};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
use tokio::time::{Instant, sleep, timeout};

use self::client::{BUFFERS, Client, TEXTS, asks, pod};
use super::routes::{node, routes, service};
use super::small::{EXPLAINED, control, view};

const TOKEN: &str = "0123456789abcdef0123";
/// Open files that the program may have; a few make all shares small.
const FILES: [usize; 4] = [4096, 1024, 64, 16];
/// Steps of a schedule, at most.
const STEPS: usize = 256;
/// Clients of a schedule, at most.
const CLIENTS: usize = 600;
/// Clients of root, at most: its smallest shares have room for one more.
const OF_ROOT: usize = 2;
/// How long an answer may take that nothing keeps waiting.
const PROMPT: Duration = Duration::from_secs(1);
/// How often the owner looks for requests.
const TICK: Duration = Duration::from_millis(250);

/// What all inputs have in common.
struct Daemon {
    service: Service,
    workshop: Arc<Workshop>,
    asked: Mutex<Receiver<Message>>,
    token: Token,
}

impl Daemon {
    fn start() -> Self {
        let (owner, asked) = bounded(MESSAGES);
        let node = node(view(), Some(control(owner)), EXPLAINED);
        let token = Token::new(TOKEN).unwrap_or_else(|error| panic!("{error}"));
        Self {
            workshop: node.workshop.clone(),
            service: service(routes(node)),
            asked: Mutex::new(asked),
            token,
        }
    }

    /// An owner that answers every request after a delay.
    async fn own(&self, delay: Duration) {
        loop {
            while let Ok(message) = self.asked.lock().try_recv() {
                if let Message::Ask(_, answer) = message {
                    tokio::spawn(async move {
                        sleep(delay).await;
                        // The client may have gone.
                        let _ = answer.send(OwnerReply::Answer(Answer::Done));
                    });
                }
            }
            sleep(TICK).await;
        }
    }
}

/// Root and the daemon's health are answered whatever the clients do, and every place is free again when the deadlines
/// of silent clients have passed.
#[cfg_attr(not(feature = "fuzzing"), expect(unreachable_pub, reason = "without fuzzing only tests call it"))]
pub fn clients(bytes: &[u8]) {
    static DAEMON: OnceLock<Daemon> = OnceLock::new();
    let daemon = DAEMON.get_or_init(Daemon::start);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    let mut input = Input(bytes);
    let (files, delay, end) = (input.next(), input.next(), input.next());
    let delay = Duration::from_millis(u64::from(delay).pow(2));
    let mut schedule =
        Schedule { daemon, seats: Seats::new(pick(&FILES, files)), delay, clients: Vec::new(), of_root: 0 };
    runtime.unwrap_or_else(|error| panic!("{error}")).block_on(async {
        let seats = schedule.seats.clone();
        tokio::select! {
            () = schedule.run(&mut input, End::of(end)) => {}
            () = seats.keep_sweeping() => {}
            () = daemon.own(delay) => {}
        }
    });
}

/// What the clients do after the last step.
#[derive(Clone, Copy)]
enum End {
    /// They close their connections.
    Leave,
    /// They neither send nor read any more: deadlines alone end their connections.
    Silence,
}

impl End {
    const fn of(byte: u8) -> Self {
        if byte.is_multiple_of(2) { Self::Leave } else { Self::Silence }
    }
}

/// Bytes that decide; zeros when they are used up.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn next(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

fn pick<T: Copy>(list: &[T], byte: u8) -> T {
    list[usize::from(byte) % list.len()]
}

/// The clients of one input, and the daemon.
struct Schedule<'d> {
    daemon: &'d Daemon,
    seats: Seats,
    /// How long the owner takes.
    delay: Duration,
    clients: Vec<Client>,
    of_root: usize,
}

impl Schedule<'_> {
    async fn run(&mut self, input: &mut Input<'_>, end: End) {
        for _ in 0..STEPS {
            if input.0.is_empty() {
                break;
            }
            match input.next() % 9 {
                0 => self.connect(input).await,
                1 => {
                    let text = pick(&TEXTS, input.next());
                    self.some(input).for_each(|client| client.say(text().as_bytes()));
                }
                2 => {
                    let length = usize::from(input.next());
                    let text = input.take(length);
                    self.some(input).for_each(|client| client.say(text));
                }
                3 => {
                    let count = some_bytes(input.next());
                    self.some(input).for_each(|client| client.send(count));
                }
                4 => self.some(input).for_each(Client::read),
                5 => self.some(input).for_each(Client::shut),
                6 => self.some(input).for_each(Client::leave),
                7 => sleep(Duration::from_millis(u64::from(input.next()).pow(2))).await,
                _ => self.look(input.next()).await,
            }
            tokio::task::yield_now().await;
        }
        for which in 0..PROBES {
            self.look(which).await;
        }
        self.end(end).await;
    }

    /// Clients next to each other.
    fn some(&mut self, input: &mut Input<'_>) -> impl Iterator<Item = &mut Client> {
        let (from, count) = (usize::from(input.next()), usize::from(input.next() % 64) + 1);
        let from = from * 3 % self.clients.len().max(1);
        self.clients.iter_mut().skip(from).take(count)
    }

    /// Clients of one user connect, with the beginning of a request.
    async fn connect(&mut self, input: &mut Input<'_>) {
        let (who, count) = (input.next(), usize::from(input.next() % 48) + 1);
        let (text, sent) = (pick(&TEXTS, input.next()), some_bytes(input.next()));
        let buffer = pick(&BUFFERS, who / 4);
        for _ in 0..count.min(CLIENTS - self.clients.len()) {
            let peer = match who % 4 {
                0 if self.of_root < OF_ROOT => {
                    self.of_root += 1;
                    Peer::Unix { user: 0 }
                }
                0 | 1 => Peer::Unix { user: 61_001 },
                2 => Peer::Unix { user: 61_002 + u32::from(who / 16) },
                _ => self.tcp(),
            };
            let (mut client, stream) = Client::new(buffer);
            client.say(text().as_bytes());
            client.send(sent);
            self.clients.push(client);
            self.seats.start(stream, peer, &self.daemon.service).await;
        }
    }

    fn tcp(&self) -> Peer {
        Peer::Tcp { token: Some(self.daemon.token.clone()) }
    }

    /// One of those asks who never have to wait for others.
    async fn look(&self, which: u8) {
        let root = Peer::Unix { user: 0 };
        let token = format!("Authorization: Bearer {TOKEN}\r\n");
        let changed = self.delay + TICK + PROMPT;
        let (peer, text, within) = match which % PROBES {
            0 => (root, asks("GET", "/v1/pods", "", ""), PROMPT),
            1 => (root, asks("POST", "/v1/explain", "", &pod()), PROMPT),
            2 => (root, asks("POST", "/v1/pods", "", &pod()), changed),
            3 => (root, asks("DELETE", "/v1/pods/default/a", "", ""), changed),
            4 => (Peer::Unix { user: 61_001 }, asks("GET", "/healthz", "", ""), PROMPT),
            5 => (self.tcp(), asks("GET", "/healthz", "", ""), PROMPT),
            // Clients with the token have a share together.
            _ if self.clients.iter().any(|client| client.has_said(TOKEN)) => return,
            _ => (self.tcp(), asks("GET", "/v1/pods", &token, ""), PROMPT),
        };
        let status = self.ask(peer, &text, within).await;
        assert!((200..500).contains(&status), "{status} to {text}");
    }

    /// The status of the answer to a request on a new connection.
    async fn ask(&self, peer: Peer, text: &str, within: Duration) -> u16 {
        let (mut client, stream) = duplex(64 * 1024);
        client.write_all(text.as_bytes()).await.unwrap_or_else(|error| panic!("{error}"));
        self.seats.start(stream, peer, &self.daemon.service).await;
        let mut answer = Vec::new();
        let read = timeout(within, client.read_to_end(&mut answer)).await;
        assert!(matches!(read, Ok(Ok(_))), "{read:?} after {within:?}: {text}");
        let answer = String::from_utf8_lossy(&answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.unwrap_or_else(|| panic!("{answer:?} is no answer to {text}"))
    }

    /// All places come free.
    async fn end(&mut self, end: End) {
        match end {
            End::Leave => self.clients.iter_mut().for_each(Client::leave),
            End::Silence => {}
        }
        // Each request waits for a place, for its body, for the owner, and for its client to read the answer.
        let requests = self.clients.iter().map(Client::requests).max().unwrap_or_default() + 1;
        let bound = HEAD + SILENT + (WAIT + BODY + self.delay + TICK + READING) * requests;
        let began = Instant::now();
        while !self.seats.are_free() || !self.daemon.workshop.is_free() {
            assert!(
                began.elapsed() <= bound + PROMPT,
                "places are taken {bound:?} later: connections free: {}, work free: {}",
                self.seats.are_free(),
                self.daemon.workshop.is_free()
            );
            sleep(PROMPT).await;
        }
    }
}

/// Different questions of [`Schedule::look`].
const PROBES: u8 = 7;

/// None, some, or all bytes.
fn some_bytes(byte: u8) -> usize {
    if byte == u8::MAX { usize::MAX } else { usize::from(byte) * 2 }
}
