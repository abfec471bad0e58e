//! As much of a kubelet as forwarding a port takes: the API server hands the connection of a client on to it, and it
//! connects that to a port of the pod. Here it is a port of loopback.
//!
//! A client speaks `v4.channel.k8s.io` over WebSocket: the first byte of a message is its channel. Channel 0 has the data
//! of the first port and channel 1 what goes wrong with it, and each begins with the port's number.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::certificates::Signed;
use crate::tls;

const PROTOCOL: &str = "v4.channel.k8s.io";
/// The channels of the first port.
const DATA: u8 = 0;
const ERROR: u8 = 1;
/// How long a client may take to close its connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// A kubelet that forwards ports of pods, and does nothing else. It goes on until the program ends.
#[derive(Clone, Copy, Debug)]
pub struct ForwardingKubelet {
    port: u16,
}

impl ForwardingKubelet {
    /// Where it listens on loopback, as `status.daemonEndpoints.kubeletEndpoint` of a Node object names it.
    #[must_use]
    pub const fn port(self) -> u16 {
        self.port
    }

    /// Starts one with a certificate that the API server trusts. Connections are made to `forwarded`, whatever pod and
    /// port are asked for.
    pub(crate) fn start(signed: &Signed, forwarded: SocketAddr) -> anyhow::Result<Self> {
        let port = tls::serve(signed, move |stream| forward(stream, forwarded))?;
        Ok(Self { port })
    }
}

async fn forward(client: impl AsyncRead + AsyncWrite + Unpin, forwarded: SocketAddr) -> anyhow::Result<()> {
    let mut asked = None;
    #[expect(clippy::result_large_err, reason = "the type is the library's")]
    let choose = |request: &Request, mut response: Response| {
        asked = port(request.uri().query().unwrap_or_default());
        response.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
        Ok(response)
    };
    let socket = tokio_tungstenite::accept_hdr_async(client, choose).await?;
    let asked = asked.context("no port is asked for")?;
    let (mut to_client, mut from_client) = socket.split();
    for channel in [DATA, ERROR] {
        let [low, high] = asked.to_le_bytes();
        to_client.send(Message::binary(vec![channel, low, high])).await?;
    }
    let (mut from_pod, mut to_pod) = match TcpStream::connect(forwarded).await {
        Ok(pod) => pod.into_split(),
        Err(error) => {
            let text = format!("error forwarding port {asked}: {error}");
            to_client.send(Message::binary([&[ERROR], text.as_bytes()].concat())).await?;
            to_client.close().await?;
            // What the client has sent meanwhile is read: otherwise the connection would be reset, and the text lost.
            let rest = async { while let Some(Ok(_)) = from_client.next().await {} };
            // A client that does not close is left.
            let _ = timeout(PATIENCE, rest).await;
            return Ok(());
        }
    };
    let there = async {
        while let Some(message) = from_client.next().await {
            match message?.into_data().split_first() {
                Some((&DATA, data)) => to_pod.write_all(data).await?,
                _ => break,
            }
        }
        anyhow::Ok(())
    };
    let back = async {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let read = from_pod.read(&mut buffer).await?;
            if read == 0 {
                return anyhow::Ok(to_client.close().await?);
            }
            to_client.send(Message::binary([&[DATA], &buffer[..read]].concat())).await?;
        }
    };
    tokio::pin!(there, back);
    tokio::select! {
        // The client has no more to say, and waits for the rest of the answer.
        sent = &mut there => { sent?; back.await }
        answered = &mut back => answered,
    }
}

/// The first port that the API server asks for.
fn port(query: &str) -> Option<u16> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == "port").and_then(|(_, ports)| ports.parse().ok())
}
