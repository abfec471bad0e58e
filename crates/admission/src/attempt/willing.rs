//! Assumed answers of device plugins, for attempts that do not call them.

use device_manager::{AllocateReply, DeviceIds, Endpoint, Inventory, Question, Reply};

/// Whether there are plugins that may have to be asked on the way.
pub(crate) fn are_asked(inventory: &Inventory) -> bool {
    let is_asked = |resource| matches!(inventory.endpoint(resource), Some(Endpoint::Plugin { .. }));
    inventory.registered().any(is_asked)
}

/// What a plugin answers that prefers no device and refuses none.
pub(crate) fn willing_reply(question: &Question) -> Reply {
    match question {
        Question::Preferred { .. } => Reply::Preferred(DeviceIds::new()),
        Question::Allocate { .. } => Reply::Allocated(AllocateReply::default()),
        Question::PreStart { .. } => Reply::Started,
    }
}
