//! First flights of real clients, recorded on a unix socket: all of them are answered, and without the rewriting of
//! `:authority` most are not.

use crate::support;
use std::path::Path;

use crate::support::frames::{Answer, Frame, PREFACE, RST_STREAM, exchange};
use crate::support::{Folder, Node};
use device_plugin::proto::deviceplugin::registration_server::{Registration, RegistrationServer};
use device_plugin::proto::deviceplugin::{Empty, RegisterRequest};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status};

/// A recorded flight.
struct Flight {
    client: String,
    authority: String,
    path: String,
    bytes: Vec<u8>,
}

fn flights() -> Vec<Flight> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kubelet/device/wire.jsonl");
    std::fs::read_to_string(recorded).unwrap().lines().filter_map(flight).collect()
}

fn flight(line: &str) -> Option<Flight> {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let hex = line["hex"].as_str().filter(|hex| !hex.is_empty())?;
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let field = |name: &str| {
        let frames = line["frames"].as_array().into_iter().flatten();
        let mut fields = frames.flat_map(|frame| frame["headers"].as_array().into_iter().flatten());
        text(fields.find(|field| field[0] == *name).map_or(&serde_json::Value::Null, |field| &field[1]))
    };
    Some(Flight {
        client: format!("{} {}", text(&line["client"]), text(&line["what"])),
        authority: field(":authority"),
        path: field(":path"),
        bytes: before_giving_up(&(0..hex.len()).step_by(2).map(byte).collect::<Vec<_>>()),
    })
}

/// A flight up to where the client gave up, since no plugin answered while it was recorded.
fn before_giving_up(bytes: &[u8]) -> Vec<u8> {
    let mut rest = &bytes[PREFACE.len()..];
    let frames = std::iter::from_fn(|| Frame::read(&mut rest));
    let sent = frames.take_while(|frame| frame.kind != RST_STREAM);
    [PREFACE.to_vec(), sent.flat_map(|frame| frame.bytes()).collect()].concat()
}

#[test]
fn every_recorded_first_flight_is_answered() {
    let folder = Folder::new();
    let _node = Node::start(&folder);
    let mut answered = 0;
    for Flight { client, authority, path, bytes } in flights() {
        let answer = exchange(&folder.kubelet_socket(), &bytes);
        let (code, text) = match path.as_str() {
            // No server listens at the socket that it names.
            "/v1beta1.Registration/Register" => {
                ("2", Some("failed%20to%20dial%20device%20plugin:%20context%20deadline%20exceeded"))
            }
            // What the kubelet asks of a plugin.
            _ => ("12", None),
        };
        assert_eq!(answer.field("grpc-status"), Some(code), "{client} {authority}: {answer:?}");
        if let Some(text) = text {
            assert_eq!(answer.field("grpc-message"), Some(text), "{client} {authority}");
        }
        answered += 1;
    }
    println!("{answered} flights answered");
    assert_eq!(answered, 21);
}

/// The same service, as it would be served without this crate.
struct Refusing;

#[tonic::async_trait]
impl Registration for Refusing {
    async fn register(&self, _: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        Err(Status::unknown("reached"))
    }
}

#[test]
fn without_the_rewriting_only_localhost_is_answered() {
    const PROTOCOL_ERROR: u32 = 1;
    let folder = Folder::new();
    let socket = folder.path().join("plain.sock");
    let runtime = support::plugin::runtime();
    let listener = {
        let _inside = runtime.enter();
        UnixListenerStream::new(tokio::net::UnixListener::bind(&socket).unwrap())
    };
    let server = tonic::transport::Server::builder().add_service(RegistrationServer::new(Refusing));
    runtime.spawn(server.serve_with_incoming(listener));
    let (mut answered, mut reset) = (0, 0);
    for Flight { client, authority, bytes, .. } in flights() {
        let answer = exchange(&socket, &bytes);
        if authority == "localhost" {
            assert!(answer.field("grpc-status").is_some(), "{client}: {answer:?}");
            answered += 1;
        } else {
            assert_eq!(answer, Answer::Reset(PROTOCOL_ERROR), "{client}: {authority}");
            reset += 1;
        }
    }
    println!("{answered} answered, {reset} reset");
    assert!(answered > 0 && reset > 0);
}
