//! What plugins answer, and how much of it is kept: a state file that cannot be written any more would refuse all pods.

use device_manager::{
    Budget, DeviceId, Question, Replies, Reply, RpcCode, RpcError, size_of_answer, size_of_answer_to,
};
use topology_admission::Ledger;

/// What gRPC calls a lack of room.
const RESOURCE_EXHAUSTED: RpcCode = RpcCode(8);

/// The reply, or a failed call if there is no room for it beside what pods hold, and what the one that waits has been
/// given already.
pub(super) fn within_budget(ledger: &Ledger, given: &Replies, question: &Question, reply: Reply) -> Reply {
    let (Question::Allocate { resource, devices }, Reply::Allocated(answer)) = (question, &reply) else {
        return reply;
    };
    let mut budget = Budget::default();
    for (_, _, resource, held) in ledger.devices().iter() {
        let devices = held.by_node().flat_map(|(_, ids)| ids).map(DeviceId::as_str);
        budget.count(resource, size_of_answer(devices, &held.reply.0));
    }
    for (asked, told) in given.iter() {
        if let (Question::Allocate { resource, devices }, Reply::Allocated(answer)) = (asked, told) {
            budget.count(resource, size_of_answer_to(devices, &answer.0));
        }
    }
    let size = size_of_answer_to(devices, &answer.0);
    let all = budget.of(resource).saturating_add(size);
    match budget.set(resource, all) {
        Ok(()) => reply,
        Err(why) => Reply::Failed(RpcError {
            code: RESOURCE_EXHAUSTED,
            message: format!("what plugin {resource} answered for all containers takes {why}"),
        }),
    }
}
