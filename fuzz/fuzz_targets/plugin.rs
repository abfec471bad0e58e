//! Messages of device plugins: whatever is in a list of devices and in an answer to `Allocate`, a pod that asks for
//! them is decided on, and what is stored of it is read back.
//!
//! The bytes are a number of devices that the pod asks for, the length of a `ListAndWatchResponse` in two, that, and a
//! `ContainerAllocateResponse`. `cargo xtask fuzz plugin`.
#![no_main]

use device_manager::{AllocateReply, PluginOptions, Reply};
use device_plugin::proto;
use node_agent::{Effect, Event, Owner, PluginEvent, Request, Ticket};
use node_state::PodList;
use pod_spec::ResourceName;
use prost::Message as _;

#[path = "../../crates/node-agent/tests/all/common/mod.rs"]
mod common;
#[allow(dead_code, reason = "the crate uses the rest of it")]
#[path = "../../crates/device-plugin/src/convert.rs"]
mod convert;
#[path = "../../crates/node-agent/tests/all/starting/mod.rs"]
mod starting;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&[wanted, high, low], rest)) = bytes.split_first_chunk::<3>() else { return };
    let length = usize::from(u16::from_be_bytes([high, low]));
    let (list, reply) = rest.split_at(length.min(rest.len()));
    let Ok(list) = proto::deviceplugin::ListAndWatchResponse::decode(list) else { return };
    let reply = AllocateReply(reply.into());
    let _ = convert::container_setup(&reply);

    let node = common::node();
    let mut disk = starting::Disk::new();
    let ledger = node.empty_ledger().with_inventory(device_manager::Inventory::new(node.nodes().clone()));
    let mut owner = Owner::new(node.clone(), &ledger, []);
    let resource = ResourceName::new("example.com/vf");
    let mut events = vec![
        Event::Request(Ticket(0), Request::Admit(common::pod("a", 1, u32::from(wanted)))),
        Event::Plugin(PluginEvent::Listed(resource.clone(), convert::devices(list))),
        Event::Plugin(PluginEvent::Registered(resource, PluginOptions::default())),
    ];
    while let Some(event) = events.pop() {
        owner.handle(device_manager::Moment::default(), event);
        for effect in starting::drive(&mut owner, &mut disk) {
            if let Effect::Ask(question) = effect {
                events.push(Event::Replied(question, Reply::Allocated(reply.clone())));
            }
        }
    }
    starting::start(&disk, &node, &PodList::Recorded);
});
