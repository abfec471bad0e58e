//! How bodies come in: whole, within bytes and time, or not at all.
//!
//! A refused body is read for a while and thrown away: many clients write all of it before they read, and a connection that is
//! closed before takes the answer from them.

use std::time::Duration;

use axum::body::{Bytes, HttpBody as _};
use hyper::body::Incoming;
use tokio::time::timeout;

use crate::places::{BODY, Full};
use crate::refused::Refused;

/// So many bytes of a refused body are read.
const DRAINED: usize = 128 << 20;
/// For so long.
const DRAINING: Duration = Duration::from_secs(5);

/// The whole body of `most` bytes at most. `grow` hears how long it is so far.
///
/// # Errors
/// Why it is not there; `None`: there is no room for it.
pub(crate) async fn arrived(
    mut body: Incoming,
    most: usize,
    expects: bool,
    grow: impl Fn(usize) -> Result<(), Full>,
) -> Result<Bytes, Option<Refused>> {
    let length = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if length > most {
        drain(body, expects);
        return Err(Some(Refused::TooLarge(most)));
    }
    let mut whole = Vec::new();
    let coming = async {
        while let Some(part) = next(&mut body).await {
            let part = part.ok_or(Some(Refused::BrokeOff))?;
            if part.len() > most - whole.len() {
                return Err(Some(Refused::TooLarge(most)));
            }
            grow(whole.len() + part.len()).map_err(|_| None)?;
            whole.extend_from_slice(&part);
        }
        Ok(())
    };
    match timeout(BODY, coming).await {
        Ok(Ok(())) => Ok(whole.into()),
        Ok(Err(why)) => {
            // It has been asked for by now.
            drain(body, false);
            Err(why)
        }
        Err(_) => Err(Some(Refused::Late)),
    }
}

/// Reads and forgets a body, unless its client waits to be asked for it.
pub(crate) fn drain(mut body: Incoming, expects: bool) {
    if expects || body.is_end_stream() {
        return;
    }
    tokio::spawn(timeout(DRAINING, async move {
        let mut drained = 0;
        while let Some(Some(part)) = next(&mut body).await {
            drained += part.len();
            if drained > DRAINED {
                break;
            }
        }
    }));
}

/// The next bytes. `None`: it is over; `Some(None)`: it has broken off.
async fn next(body: &mut Incoming) -> Option<Option<Bytes>> {
    loop {
        let frame =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await?;
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => return Some(Some(data)),
            // Trailers.
            Ok(Err(_)) => {}
            Err(_) => return Some(None),
        }
    }
}
