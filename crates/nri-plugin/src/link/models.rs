//! A connection as it is, in thousands of orders in which its reader, its handler and those who call may run. What is
//! written goes to a list, and a stand-in for the runtime answers calls.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::{Mutex, mpsc};
use shuttle::thread;
use shuttle::{Config, Runner};

use super::{Answered, CallError, Link, Open, Output};
use crate::messages::ttrpc;
use crate::wire::{Connection, Decoder, Kind, Message};

/// What the runtime reads, message by message.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Read>>);

#[derive(Default)]
struct Read {
    decoder: Decoder,
    messages: Vec<Message>,
    is_closed: bool,
}

impl Output for Written {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        // In two parts, between which another thread may run: a message that is written beside another would tear it.
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        for mut part in [first, rest] {
            let mut read = self.0.lock().unwrap();
            if read.is_closed {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            while let Some(message) = read.decoder.next(&mut part).unwrap() {
                read.messages.push(message);
            }
            drop(read);
            thread::yield_now();
        }
        Ok(())
    }

    fn close(&mut self) {
        self.0.lock().unwrap().is_closed = true;
    }
}

impl Written {
    fn messages(&self, connection: Connection) -> Vec<Message> {
        let read = self.0.lock().unwrap();
        read.messages.iter().filter(|message| message.connection == connection).cloned().collect()
    }
}

fn connection() -> (Arc<Link<Written>>, Written) {
    let written = Written::default();
    (Arc::new(Link::new(written.clone())), written)
}

fn request(due: Option<Instant>) -> Open {
    Open { method: "CreateContainer".to_owned(), began: Instant::now(), due }
}

fn call(method: &str) -> ttrpc::Request {
    ttrpc::Request { method: method.to_owned(), ..ttrpc::Request::default() }
}

/// The reader begins requests and lets deadlines pass while the handler answers: each has one answer, of whichever
/// came first.
fn an_answer_meets_its_deadline() {
    let (link, written) = connection();
    let (requests, queue) = mpsc::channel();
    let handler = thread::spawn({
        let link = link.clone();
        move || {
            let mut answered = BTreeMap::new();
            for stream in queue {
                answered.insert(stream, link.answer(stream, Ok(vec![7; 5000])));
            }
            answered
        }
    });
    let now = Instant::now();
    for stream in [1, 3, 5] {
        assert!(link.begin(stream, request((stream != 3).then_some(now))));
        requests.send(stream).unwrap();
        link.expire(now, |_| "late".to_owned());
    }
    assert!(!link.begin(3, request(None)), "a stream is used once");
    drop(requests);
    let answered = handler.join().unwrap();
    let mut of_stream: BTreeMap<u32, Vec<bool>> = BTreeMap::new();
    for message in written.messages(Connection::Plugin) {
        assert_eq!(message.kind, Kind::Response);
        let response = ttrpc::Response::decode(&*message.body).unwrap();
        of_stream.entry(message.stream).or_default().push(response.status.is_none());
    }
    assert_eq!(of_stream[&1], [answered[&1] == Answered::Sent]);
    assert_eq!(of_stream[&3].iter().filter(|is_good| **is_good).count(), 1, "the answer");
    assert_eq!(of_stream[&3].len(), 2, "and the refusal of the second request");
    assert_eq!(of_stream[&5], [answered[&5] == Answered::Sent]);
    assert_eq!(link.next_due(), None);
}

/// Two threads call while a request is answered and the runtime answers, or ends the connection: no call waits for
/// ever, streams grow, and each call has its own answer.
fn calls_meet_the_end() {
    let (link, written) = connection();
    assert!(link.begin(1, request(None)));
    let calling = ["a", "b"].map(|name| {
        let link = link.clone();
        thread::spawn(move || (name, link.call(&call(name), Duration::from_hours(1))))
    });
    let runtime = thread::spawn({
        let (link, written) = (link.clone(), written.clone());
        move || {
            let mut answered = 0;
            // A call that comes later finds the connection ended.
            for _ in 0..6 {
                for message in written.messages(Connection::Runtime).into_iter().skip(answered) {
                    answered += 1;
                    let request = ttrpc::Request::decode(&*message.body).unwrap();
                    let payload = request.method.into_bytes();
                    link.complete(message.stream, &ttrpc::Response { status: None, payload }.encode_to_vec());
                }
                thread::yield_now();
            }
            link.end();
        }
    });
    link.answer(1, Ok(vec![7; 5000]));
    for thread in calling {
        let (name, result) = thread.join().unwrap();
        match result {
            Ok(payload) => assert_eq!(payload, name.as_bytes()),
            Err(error) => assert_eq!(error, CallError::Closed),
        }
    }
    runtime.join().unwrap();
    let streams: Vec<u32> =
        written.messages(Connection::Runtime).iter().map(|message| message.stream).collect();
    assert!(streams.is_sorted() && streams.iter().all(|stream| stream % 2 == 1), "{streams:?}");
    assert!(super::lock(&link.table).calls.is_empty());
    assert_eq!(link.call(&call("later"), Duration::from_hours(1)), Err(CallError::Closed));
}

/// The same orders are played in every run.
const SEED: u64 = 1;

fn play(model: fn(), orders: usize) {
    Runner::new(RandomScheduler::new_from_seed(SEED, orders), Config::default()).run(model);
    Runner::new(PctScheduler::new_from_seed(SEED, 3, orders / 2), Config::default()).run(model);
}

#[test]
fn a_request_has_one_answer() {
    play(an_answer_meets_its_deadline, 2000);
}

#[test]
fn a_call_ends_with_its_answer_or_the_connection() {
    play(calls_meet_the_end, 2000);
}
