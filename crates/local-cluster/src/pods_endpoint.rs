//! As much of a kubelet as its HTTPS endpoint `/pods` takes: a list that a test writes, for those who have the token.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::certificates::Authority;
use crate::tls;

/// The endpoint. Clients do not know the signer of its certificate, as with most kubelets. It goes on until the
/// program ends.
#[derive(Clone)]
pub struct PodsEndpoint {
    port: u16,
    listed: Arc<Mutex<String>>,
}

impl fmt::Debug for PodsEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PodsEndpoint").field("port", &self.port).finish_non_exhaustive()
    }
}

impl PodsEndpoint {
    /// Starts one that lists no pods to who has the token, and nothing to others.
    ///
    /// # Errors
    /// No certificate can be made, or no port can be had.
    pub fn start(token: &str) -> anyhow::Result<Self> {
        let signed = Authority::new()?.server(Duration::from_hours(1))?;
        let listed = Arc::<Mutex<String>>::default();
        let (shown, expected) = (listed.clone(), format!("authorization: bearer {}", token.to_lowercase()));
        let port = tls::serve(&signed, move |stream| {
            let items = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
            answer(stream, items, expected.clone())
        })?;
        Ok(Self { port, listed })
    }

    /// `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// These are the pods from now on: objects as JSON, with commas between.
    pub fn lists(&self, pods: &str) {
        pods.clone_into(&mut self.listed.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One request, and the end of the connection.
async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    items: String,
    expected: String,
) -> anyhow::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut line, mut is_known, mut asked) = (String::new(), false, None);
    while stream.read_line(&mut line).await? > 2 {
        asked = asked.or_else(|| line.split(' ').nth(1).map(str::to_owned));
        is_known |= line.trim_end().to_lowercase() == expected;
        line.clear();
    }
    let (status, body) = match asked.as_deref() {
        Some("/pods") if is_known => {
            ("200 OK", format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{items}]}}"#))
        }
        Some("/pods") => ("401 Unauthorized", "Unauthorized".to_owned()),
        _ => ("404 Not Found", "404 page not found".to_owned()),
    };
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}
