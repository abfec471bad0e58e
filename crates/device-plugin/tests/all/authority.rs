//! Requests are rewritten such that nothing but `:authority` changes, however they are cut into frames.

use crate::support;

use std::io::Write as _;
use std::os::unix::net::UnixStream;

use crate::rewriting::{check, rewritten};
use crate::support::frames::{
    Answer, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, GOAWAY, HEADERS, PREFACE, RST_STREAM,
    SETTINGS, answer,
};
use crate::support::{Folder, Node};
use loona_hpack::{Decoder, Encoder};
use proptest::prelude::*;

const PADDED: u8 = 8;
const PRIORITY: u8 = 32;
/// The field that was put into the table last, by its index there.
const NEAREST: u8 = 0xbe;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn encoded(encoder: &mut Encoder<'_>, fields: &Fields) -> Vec<u8> {
    encoder.encode(fields.iter().map(|(name, value)| (name.as_slice(), value.as_slice())))
}

fn call(authority: &str) -> Fields {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/v1beta1.Registration/Register"),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    fields.map(|(name, value)| (name.into(), value.into())).into()
}

/// The header blocks of a connection, in order, each read by itself.
fn blocks(bytes: &[u8]) -> Vec<Fields> {
    let mut rest = bytes.strip_prefix(PREFACE).unwrap();
    let (mut block, mut all) = (Vec::new(), Vec::new());
    while let Some(frame) = Frame::read(&mut rest) {
        match frame.kind {
            HEADERS => {
                assert_eq!(frame.flags & PADDED, 0);
                let priority = if frame.flags & PRIORITY == 0 { 0 } else { 5 };
                block = frame.payload[priority..].to_vec();
            }
            CONTINUATION => block.extend(frame.payload),
            _ => continue,
        }
        if frame.flags & END_HEADERS != 0 {
            all.push(Decoder::new().decode(&block).unwrap());
        }
    }
    all
}

/// How a block is cut into frames.
#[derive(Clone, Debug)]
struct Cut {
    at: Vec<usize>,
    padding: Option<u8>,
    priority: bool,
    /// A new size of the table, sent first.
    size: Option<usize>,
}

fn cut() -> impl Strategy<Value = Cut> {
    let at = prop::collection::vec(0_usize..40, 0..4);
    let size = prop::option::of(prop::sample::select(vec![0, 64, 100, 4096]));
    (at, any::<Option<u8>>(), any::<bool>(), size).prop_map(|(at, padding, priority, size)| Cut {
        at,
        padding,
        priority,
        size,
    })
}

fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let names = [":authority", ":path", "te", "grpc-timeout", "x-one", "x-two"].map(str::as_bytes);
    let value = prop_oneof!["[a-z/%:.]{0,30}", "[a-z]{120,300}"];
    (prop::sample::select(names.map(<[u8]>::to_vec).to_vec()), value.prop_map(String::into_bytes))
}

/// A block as frames.
fn frames(block: &[u8], cut: &Cut) -> Vec<Frame> {
    let mut first = Vec::new();
    let mut flags = 0;
    if let Some(padding) = cut.padding {
        flags |= PADDED;
        first.push(padding);
    }
    if cut.priority {
        flags |= PRIORITY;
        first.extend([0, 0, 0, 0, 15]);
    }
    let mut rest = block;
    let mut parts = Vec::new();
    for at in &cut.at {
        let part;
        (part, rest) = rest.split_at((*at).min(rest.len()));
        parts.push(part);
    }
    parts.push(rest);
    first.extend(parts[0]);
    first.extend(std::iter::repeat_n(0, usize::from(cut.padding.unwrap_or(0))));
    let mut all = vec![Frame::new(HEADERS, flags, 1, first)];
    all.extend(parts[1..].iter().map(|part| Frame::new(CONTINUATION, 0, 1, *part)));
    all.last_mut().unwrap().flags |= END_HEADERS;
    all
}

proptest! {
    #[test]
    fn nothing_but_the_authority_changes(
        blocks_sent in prop::collection::vec((prop::collection::vec(field(), 1..8), cut()), 1..6),
        piece in 1_usize..200,
    ) {
        let mut encoder = Encoder::new();
        let mut bytes = PREFACE.to_vec();
        for (fields, cut) in &blocks_sent {
            let mut block = Vec::new();
            if let Some(size) = cut.size {
                encoder.set_max_table_size(size);
                loona_hpack::encoder::encode_integer_into(size, 5, 0x20, &mut block).unwrap();
            }
            block.extend(encoded(&mut encoder, fields));
            bytes.extend(frames(&block, cut).iter().flat_map(Frame::bytes));
            bytes.extend(Frame::new(DATA, 0, 1, *b"data").bytes());
        }
        let expected: Vec<Fields> = blocks_sent
            .iter()
            .map(|(fields, _)| {
                let here = |(name, value): &(Vec<u8>, Vec<u8>)| {
                    (name.clone(), if name == b":authority" { b"localhost".to_vec() } else { value.clone() })
                };
                fields.iter().map(here).collect()
            })
            .collect();
        prop_assert_eq!(blocks(&rewritten(&bytes, piece)), expected);
        check(&bytes);
    }

    #[test]
    fn any_bytes_are_rewritten_within_bounds(
        mut kinds in prop::collection::vec((0_u8..12, any::<u8>(), 0_u32..4, prop::collection::vec(any::<u8>(), 0..60)), 0..20),
    ) {
        let frames = kinds.drain(..).map(|(kind, flags, stream, payload)| Frame::new(kind, flags, stream, payload));
        let bytes: Vec<u8> = PREFACE.iter().copied().chain(frames.flat_map(|frame| frame.bytes())).collect();
        check(&bytes);
    }
}

#[test]
fn frames_without_headers_pass_as_they_are() {
    let mut bytes = PREFACE.to_vec();
    for kind in (0..=255).filter(|kind| ![HEADERS, CONTINUATION].contains(kind)) {
        bytes.extend(Frame::new(kind, 0xff, 7, vec![kind; usize::from(kind)]).bytes());
    }
    for piece in [1, 2, 9, 100, usize::MAX] {
        assert_eq!(rewritten(&bytes, piece), bytes);
    }
}

#[test]
fn a_bomb_of_indexes_does_not_grow() {
    // A field of almost the whole table, then a block that names it 16,000 times, in many frames.
    let mut bytes = PREFACE.to_vec();
    let large = Encoder::new().encode([(&b"x-large"[..], &[b'a'; 4000][..])]);
    bytes.extend(Frame::new(HEADERS, END_HEADERS, 1, large).bytes());
    for _ in 0..50 {
        bytes.extend(Frame::new(HEADERS, END_HEADERS, 1, vec![NEAREST; 16_000]).bytes());
    }
    check(&bytes);
    let grown = rewritten(&bytes, usize::MAX).len();
    assert!(grown < 51 * 60_000, "{grown}");
}

/// What the server says to frames that come behind its own settings.
fn said(node: &Folder, frames: &[Frame], of: u32) -> Answer {
    let mut stream = UnixStream::connect(node.kubelet_socket()).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    let bytes: Vec<u8> = PREFACE
        .iter()
        .copied()
        .chain(Frame::new(SETTINGS, 0, 0, []).bytes())
        .chain(frames.iter().flat_map(Frame::bytes))
        .collect();
    // A server that has found a fault may have hung up.
    let _ = stream.write_all(&bytes);
    answer(&mut stream, of)
}

/// A `Register` call whose version is refused.
fn body() -> Vec<u8> {
    vec![0, 0, 0, 0, 3, 10, 1, b'x']
}

const REFUSED: &str = "requested%20API%20version%20%22x%22%20is%20not%20supported%20by%20kubelet.%20Supported%20version%20is%20[%22v1beta1%22]";

#[test]
fn a_server_reads_continuations_padding_table_sizes_and_trailers() {
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let call = call("/var/lib/kubelet/device-plugins/kubelet.sock");
    let text = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()], text].concat();
    let into_table = |(name, value): &(Vec<u8>, Vec<u8>)| [vec![0x40], text(name), text(value)].concat();
    let first: Vec<u8> = call.iter().flat_map(into_table).collect();
    // The same call again: a change of the table's size, and indexes into it, the last field being the nearest.
    let mut again = vec![0x3f, 0xc9, 0x07];

    again.extend((NEAREST..NEAREST + u8::try_from(call.len()).unwrap()).rev());
    let mut encoder = Encoder::new();
    let trailers = encoded(&mut encoder, &vec![(b"x-trailer".to_vec(), b"1".to_vec())]);
    let whole = Cut { at: vec![], padding: None, priority: false, size: None };
    let in_parts = Cut { at: vec![1, 0, 20], padding: Some(200), priority: true, size: None };
    let on = |stream, frames: Vec<Frame>| frames.into_iter().map(move |frame| Frame { stream, ..frame });
    let mut sent: Vec<Frame> = on(1, frames(&first, &in_parts)).collect();
    sent.push(Frame::new(DATA, END_STREAM, 1, body()));
    sent.extend(on(3, frames(&again, &whole)));
    sent.push(Frame::new(DATA, 0, 3, body()));
    sent.push(Frame::new(HEADERS, END_HEADERS | END_STREAM, 3, trailers));
    for stream in [1, 3] {
        let answer = said(&folder, &sent, stream);
        assert_eq!(answer.field("grpc-message"), Some(REFUSED), "{answer:?}");
    }
}

#[test]
fn garbage_closes_its_own_connection_and_no_other() {
    const PROTOCOL_ERROR: u32 = 1;
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let block = encoded(&mut Encoder::new(), &call("x"));
    let begun = Frame::new(HEADERS, 0, 1, block.clone());
    let rows = [
        (
            "an index that is in no table",
            vec![Frame::new(HEADERS, END_HEADERS, 1, [0xff, 0x7f])],
            PROTOCOL_ERROR,
        ),
        (
            "a text that ends early",
            vec![Frame::new(HEADERS, END_HEADERS, 1, [0x40, 0x7f, 1])],
            PROTOCOL_ERROR,
        ),
        (
            "a table that is too large",
            vec![Frame::new(HEADERS, END_HEADERS, 1, [0x3f, 0xff, 0xff, 1])],
            PROTOCOL_ERROR,
        ),
        ("data within a header block", vec![begun.clone(), Frame::new(DATA, 0, 1, [])], PROTOCOL_ERROR),
        (
            "a block of another stream",
            vec![begun, Frame::new(CONTINUATION, END_HEADERS, 3, [])],
            PROTOCOL_ERROR,
        ),
        ("a continuation of nothing", vec![Frame::new(CONTINUATION, END_HEADERS, 1, [])], PROTOCOL_ERROR),
        (
            "more padding than frame",
            vec![Frame::new(HEADERS, END_HEADERS | PADDED, 1, [9, 0])],
            PROTOCOL_ERROR,
        ),
        (
            "no padding where it is said",
            vec![Frame::new(HEADERS, END_HEADERS | PADDED, 1, [])],
            PROTOCOL_ERROR,
        ),
    ];
    for (what, frames, code) in rows {
        assert_eq!(said(&folder, &frames, 1), Answer::CloseSignal(code), "{what}");
    }
    let endless: Vec<Frame> = std::iter::once(Frame::new(HEADERS, 0, 1, block))
        .chain((0..10_000).map(|_| Frame::new(CONTINUATION, 0, 1, [0; 100])))
        .collect();
    let answer = said(&folder, &endless, 1);
    assert!(matches!(answer, Answer::CloseSignal(_) | Answer::Nothing), "a block without end: {answer:?}");
    let mut call = frames(
        &encoded(&mut Encoder::new(), &call("/a path")),
        &Cut { at: vec![], padding: None, priority: false, size: None },
    );
    call.push(Frame::new(DATA, END_STREAM, 1, body()));
    assert_eq!(said(&folder, &call, 1).field("grpc-message"), Some(REFUSED), "others are undisturbed");
}

#[test]
fn ten_thousand_streams_are_refused_but_for_a_hundred() {
    const REFUSED_STREAM: u32 = 7;
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let mut stream = UnixStream::connect(folder.kubelet_socket()).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let mut encoder = Encoder::new();
        let mut bytes = PREFACE.to_vec();
        bytes.extend(Frame::new(SETTINGS, 0, 0, []).bytes());
        for at in 0..10_000_u32 {
            // Each waits for a message that never comes.
            let block = encoded(&mut encoder, &call("/path"));
            bytes.extend(Frame::new(HEADERS, END_HEADERS, 2 * at + 1, block).bytes());
        }
        bytes.extend(Frame::new(6, 0, 0, [7; 8]).bytes());
        let _ = writing.write_all(&bytes);
    });
    let (mut refused, mut is_closed) = (0, false);
    while let Some(frame) = Frame::read(&mut stream) {
        match frame.kind {
            RST_STREAM => {
                assert_eq!(frame.payload, REFUSED_STREAM.to_be_bytes());
                refused += 1;
            }
            GOAWAY => is_closed = true,
            // The answer to the ping behind them all.
            6 if frame.flags == 1 => break,
            _ => {}
        }
    }
    println!("{refused} refused, closed: {is_closed}");
    assert!(is_closed || refused == 9_900, "{refused} refused");
    // While they are open, others are served.
    let mut call = frames(
        &encoded(&mut Encoder::new(), &call("/a path")),
        &Cut { at: vec![], padding: None, priority: false, size: None },
    );
    call.push(Frame::new(DATA, END_STREAM, 1, body()));
    assert_eq!(said(&folder, &call, 1).field("grpc-message"), Some(REFUSED));
    writer.join().unwrap();
}
