//! Failed calls, in the words of grpc-go: those that the kubelet's texts quote.

use std::error::Error as _;

use device_manager::{RpcCode, RpcError};
use tonic::{Code, Status};

/// The error of a failed call, in grpc-go's words.
pub(crate) fn rpc_error(status: &Status) -> RpcError {
    if let Some((found, limit)) = too_large(status) {
        let message = format!("grpc: received message larger than max ({found} vs. {limit})");
        return error(Code::ResourceExhausted, message);
    }
    // Only what was not sent by the plugin has a source: then the connection has failed.
    if status.source().is_some() {
        return error(Code::Unavailable, "error reading from server: EOF");
    }
    error(status.code(), status.message())
}

/// The call was not answered in time.
pub(crate) fn out_of_time() -> RpcError {
    error(Code::DeadlineExceeded, "context deadline exceeded")
}

/// The connection has been closed from this side.
pub(crate) fn closing() -> RpcError {
    error(Code::Cancelled, "grpc: the client connection is closing")
}

fn error(code: Code, message: impl Into<String>) -> RpcError {
    RpcError { code: RpcCode(u32::try_from(i32::from(code)).unwrap_or_default()), message: message.into() }
}

/// The size of a message that was refused for it, and the limit. tonic says both in its text only.
fn too_large(status: &Status) -> Option<(&str, &str)> {
    if status.code() != Code::OutOfRange {
        return None;
    }
    let sizes = status.message().strip_prefix("Error, decoded message length too large: found ")?;
    sizes.strip_suffix(" bytes")?.split_once(" bytes, the limit is: ")
}
