//! Where requests come in: the unix socket and TCP, with the token of its file.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use bounded_http::{Listeners, Open, OptionNames, ShortToken, Token, UnixSocket};
use kept_socket::SocketChange;
use kubelet_checkpoint::store::OtherFile;
use node_view::NodeConditions;

/// The options that give another socket.
const OPTIONS: OptionNames = OptionNames { path: "--socket", group: "--socket-group" };

/// Read permission of others than the owner and its group.
const OTHERS_READ: u32 = 0o004;

/// Listens at the path, and at the address if there is one. `conditions` say whether the socket is served.
pub fn listen(
    path: &Path,
    open: Open,
    tcp: Option<(SocketAddr, Option<Token>)>,
    conditions: Arc<NodeConditions>,
) -> anyhow::Result<Listeners> {
    let socket = UnixSocket { path: path.to_path_buf(), open, options: OPTIONS };
    Ok(Listeners::open(socket, tcp, report_changes(path, conditions))?)
}

/// The token in the first line of a file.
pub fn read_token(path: &Path) -> anyhow::Result<Token> {
    let shown = path.display();
    // `-` is standard input; the read below reports other errors.
    let about = fs::metadata(path).ok();
    if about.as_ref().and_then(OtherFile::of) == Some(OtherFile::CharacterDevice) {
        bail!("token file {shown} is a character device: expected a regular file or a pipe");
    }
    if about.is_some_and(|about| about.is_file() && about.mode() & OTHERS_READ != 0) {
        tracing::warn!("token file {shown} can be read by every user of this host: `chmod o-r {shown}`");
    }
    let text = node_input::read(path).with_context(|| format!("failed to read token file {shown}"))?;
    let text = String::from_utf8(text).with_context(|| format!("token file {shown} is not UTF-8"))?;
    let text = text.lines().next().unwrap_or_default().trim();
    if text.chars().any(char::is_control) {
        bail!("token file {shown}: its first line has control characters, which no request can send");
    }
    match Token::new(text) {
        Ok(token) => Ok(token),
        Err(ShortToken) => bail!("token file {shown}: its first line has fewer than 16 characters"),
    }
}

/// Logs changes of the socket, and sets its condition.
fn report_changes(path: &Path, conditions: Arc<NodeConditions>) -> impl FnMut(SocketChange) + Send + use<> {
    let path = path.to_path_buf();
    move |change| match change {
        SocketChange::Remade => {
            conditions.socket(&path, None);
            let socket = path.display();
            tracing::warn!(%socket, "another process removed or replaced the socket; it has been made again");
        }
        SocketChange::Back => {
            conditions.socket(&path, None);
            tracing::warn!(socket = %path.display(), "the socket is at its path again");
        }
        SocketChange::Gone(why) => {
            conditions.socket(&path, Some(&why));
            tracing::error!(
                socket = %path.display(), why,
                "the socket was removed or replaced and cannot be made again; tried every second"
            );
        }
    }
}
