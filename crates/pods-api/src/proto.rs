//! The messages and the service, from the protobuf files in `proto`.

#[rustfmt::skip]
#[expect(unused_qualifications, unreachable_pub, clippy::pedantic, reason = "generated")]
#[path = "generated/pods_v1alpha1.rs"]
pub(crate) mod pods;
#[rustfmt::skip]
#[expect(unreachable_pub, clippy::pedantic, reason = "generated")]
#[path = "generated/core_v1_pod.rs"]
pub(crate) mod core;
