//! The kubelet's messages and services, from the protobuf files in `proto`.

#[rustfmt::skip]
#[expect(missing_docs, unused_qualifications, clippy::pedantic, reason = "generated")]
#[path = "generated/deviceplugin_v1beta1.rs"]
pub mod deviceplugin;
#[rustfmt::skip]
#[expect(missing_docs, unused_qualifications, clippy::pedantic, reason = "generated")]
#[path = "generated/pluginregistration_v1.rs"]
pub mod pluginregistration;
#[rustfmt::skip]
#[expect(missing_docs, unused_qualifications, clippy::pedantic, reason = "generated")]
#[path = "generated/podresources_v1.rs"]
pub mod podresources;
#[rustfmt::skip]
#[expect(missing_docs, unused_qualifications, clippy::pedantic, reason = "generated")]
#[path = "generated/podresources_v1alpha1.rs"]
pub mod podresources_v1alpha1;
