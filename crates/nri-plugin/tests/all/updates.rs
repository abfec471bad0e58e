//! Updates that no event asks for.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use nri_plugin::messages::{ContainerUpdate, UpdateContainersRequest, UpdateContainersResponse};
use nri_plugin::{ContainerId, Plugin, ResourceUpdate, Times, UpdateError, Updates};
use prost::Message as _;

use crate::support::handler::{Running, plugin};
use crate::support::runtime::{Listening, Response, Status, event};

/// What the runtime has failed with, or why nothing is known.
type Sent = Result<Vec<String>, UpdateError>;

/// A plugin whose second thread sends each update that comes, and hands back what became of it.
fn updating(plugin: &Plugin) -> (Running, Sender<Updates>, Receiver<Sent>) {
    let (sender, asked) = channel::<Updates>();
    let (results, result) = channel();
    let running = Running::with(plugin, move |updater| {
        for updates in asked {
            let sent = updater.send(updates);
            let sent = sent.map(|failed| failed.iter().map(|id| id.as_str().to_owned()).collect());
            results.send(sent).unwrap();
        }
    });
    (running, sender, result)
}

fn one() -> Updates {
    Updates::from_iter([(ContainerId::new("c1"), ResourceUpdate::new().cpus("0-1".parse().unwrap()))])
}

#[test]
fn updates_are_answered_beside_events() {
    let listening = Listening::new();
    let (running, sender, result) = updating(&plugin().socket(&listening.socket));
    sender.send(one()).unwrap();
    assert_eq!(result.recv().unwrap(), Err(UpdateError::NotConnected));
    let mut runtime = listening.accept();
    runtime.configure("v0.12.3");
    sender.send(one()).unwrap();
    assert_eq!(result.recv().unwrap(), Err(UpdateError::NotConnected), "it is not synchronized yet");
    runtime.call("Synchronize", &nri_plugin::messages::SynchronizeRequest::default()).unwrap();
    running.until("synchronized with \"0.12.3\"");

    sender.send(one()).unwrap();
    let failed = UpdateContainersResponse {
        failed: vec![ContainerUpdate { container_id: "c1".to_owned(), ..ContainerUpdate::default() }],
    };
    let request = runtime.asked(|_| Response { status: None, payload: failed.encode_to_vec() });
    assert_eq!(request.method, "UpdateContainers");
    let update = UpdateContainersRequest::decode(&*request.payload).unwrap().update.remove(0);
    assert_eq!(update.linux.unwrap().resources.unwrap().cpu.unwrap().cpus, "0-1");
    assert_eq!(result.recv().unwrap(), Ok(vec!["c1".to_owned()]));

    sender.send(one()).unwrap();
    let message = "NRI update of some containers failed".to_owned();
    runtime.asked(|_| Response { status: Some(Status { code: 2, message }), payload: Vec::new() });
    let Err(UpdateError::Refused(status)) = result.recv().unwrap() else { panic!("it was refused") };
    assert_eq!(status.message, "NRI update of some containers failed");

    assert!(runtime.call("CreateContainer", &event("c2")).is_ok());
    sender.send(one()).unwrap();
    runtime.receive().unwrap();
    drop(runtime);
    assert_eq!(result.recv().unwrap(), Err(UpdateError::Closed));
    drop(sender);
    running.error();
}

#[test]
fn an_answer_that_does_not_come_is_not_waited_for() {
    let listening = Listening::new();
    let times = Times { update: Duration::from_millis(100), ..Times::default() };
    let (running, sender, result) = updating(&plugin().socket(&listening.socket).times(times));
    let mut runtime = listening.accept();
    runtime.synchronize("v0.12.3");
    running.until("synchronized with \"0.12.3\"");
    sender.send(one()).unwrap();
    let late = runtime.receive().unwrap();
    assert_eq!(result.recv().unwrap(), Err(UpdateError::NotInTime(Duration::from_millis(100))));
    // The late answer belongs to no call, and the next call has its own.
    runtime.send(2, late.stream, 2, &[]);
    sender.send(one()).unwrap();
    runtime.asked(|_| Response::default());
    assert_eq!(result.recv().unwrap(), Ok(Vec::new()));
    drop((sender, runtime));
    running.error();
}
