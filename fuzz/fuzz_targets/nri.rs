//! What a container runtime sends to an NRI plugin: frames cut anywhere give the same messages, and whatever a
//! request has in it, it is answered or refused, and the answer is read as it was written.
//!
//! The first byte is the length of the pieces that are read. `cargo xtask fuzz nri`.
#![no_main]

use nri_plugin::messages::ValidateContainerAdjustmentRequest;
use nri_plugin::wire::{Connection, Decoder, Kind, Message, WireError, encode};
use nri_plugin::{
    ContainerEvent, Creation, Dispatcher, Event, Events, FailurePolicy, Handler, NodeState, Refusal, ResourceUpdate,
    Updates, Verdict,
};
use prost::Message as _;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, bytes)) = bytes.split_first() else { return };
    let read = messages(bytes, bytes.len().max(1));
    assert_eq!(read, messages(bytes, usize::from(piece) + 1));
    let mut dispatcher = Dispatcher::new(FailurePolicy::default());
    let mut handler = Echo;
    let configured = dispatcher.answer(&mut handler, "Configure", &[], None);
    assert!(configured.is_ok(), "{configured:?}");
    for Message { connection, stream, kind, body } in read.0 {
        if (connection, kind) != (Connection::Plugin, Kind::Request) {
            continue;
        }
        let Ok(request) = Request::decode(&*body) else { continue };
        let Ok(answer) = dispatcher.answer(&mut handler, &request.method, &request.payload, None) else { continue };
        let Ok(written) = encode(Connection::Plugin, stream, Kind::Response, &answer) else { continue };
        let (again, end) = messages(&written, written.len());
        assert_eq!((again.len(), end), (1, Ok(())));
        assert_eq!(again[0].body, answer);
    }
});

/// The messages in bytes that are read in pieces, and how they end.
fn messages(bytes: &[u8], piece: usize) -> (Vec<Message>, Result<(), WireError>) {
    let mut decoder = Decoder::new();
    let mut messages = Vec::new();
    for mut piece in bytes.chunks(piece) {
        loop {
            match decoder.next(&mut piece) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Err(error)),
            }
        }
    }
    (messages, Ok(()))
}

/// The envelope of a request.
#[derive(Clone, PartialEq, prost::Message)]
struct Request {
    #[prost(string, tag = "2")]
    method: String,
    #[prost(bytes = "vec", tag = "3")]
    payload: Vec<u8>,
}

/// Gives back what it is given.
struct Echo;

impl Handler for Echo {
    fn events(&self) -> Events {
        Event::ALL.into_iter().fold(Event::CreateContainer.into(), |events: Events, event| events | event)
    }

    fn synchronize(&mut self, node: NodeState) -> Result<Updates, Refusal> {
        let updates = node.containers.iter().map(|container| {
            let update = ResourceUpdate::new().unified("name", container.name.clone());
            (container.into(), update)
        });
        Ok(updates.collect())
    }

    fn create_container(&mut self, event: ContainerEvent<'_>, answer: &mut Creation) -> Result<(), Refusal> {
        for (key, value) in &event.container.annotations {
            answer.adjust.annotation(key, value)?;
        }
        if let Ok(cpus) = event.container.cpus().parse() {
            answer.adjust.cpus(&cpus);
        }
        Ok(())
    }

    fn validate(&mut self, request: &ValidateContainerAdjustmentRequest) -> Result<Verdict, Refusal> {
        let container = request.container.clone().unwrap_or_default();
        Ok(request.owner_of_cpus(&container.id).map_or(Verdict::Accept, |owner| Verdict::Reject(owner.to_owned())))
    }
}
