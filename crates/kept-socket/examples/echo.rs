//! Serves a socket that sends back what comes in: `cargo run --example echo -- /tmp/echo.sock`. Remove the file while
//! it runs, and connect again a second later.

use std::io;
use std::path::{Path, PathBuf};

use kept_socket::{BoundSocket, KeptListener, ListeningSocket, SocketChange, is_served};

fn make(path: &Path) -> io::Result<ListeningSocket> {
    if path.exists() && !is_served(path)? {
        std::fs::remove_file(path)?;
    }
    BoundSocket::bind(path)?.listen(16)
}

#[expect(clippy::print_stdout, reason = "an example shows what happens")]
fn tell(fate: &SocketChange) {
    match fate {
        SocketChange::Remade => println!("the socket was removed and has been made again"),
        SocketChange::Back => println!("the socket is back"),
        SocketChange::Gone(why) => println!("the socket is gone: {why}"),
    }
}

fn main() -> io::Result<()> {
    let path: PathBuf = std::env::args_os().nth(1).unwrap_or_else(|| "/tmp/echo.sock".into()).into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let again = path.clone();
        let mut listener = KeptListener::new(make(&path)?, move || make(&again), |fate| tell(&fate))?;
        loop {
            let mut stream = listener.accept().await?;
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                tokio::io::copy(&mut read, &mut write).await
            });
        }
    })
}
