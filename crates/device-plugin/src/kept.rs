//! A socket that is made again when it vanishes, or something else is in its place: whoever removed it, plugins and
//! clients find it by its path.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

/// How often the path is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What has become of a socket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It was gone, and has been made again.
    Remade,
    /// It is gone, and cannot be made again; tried every second. Told once for each text.
    Gone(String),
}

/// Makes the socket again, when nothing that answers is at its path.
type Make = Box<dyn FnMut() -> io::Result<StdListener> + Send>;
/// Hears of it.
type Tell = Box<dyn FnMut(Fate) + Send>;

/// A listener whose socket stays at its path.
pub struct KeptListener {
    path: PathBuf,
    listener: UnixListener,
    identity: Option<Identity>,
    make: Make,
    tell: Tell,
    /// Why it could not be made last.
    told: Option<String>,
}

impl std::fmt::Debug for KeptListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptListener").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Which socket it is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// `None`: no socket is there.
    fn of(path: &Path) -> Option<Self> {
        let about = path.symlink_metadata().ok()?;
        about.file_type().is_socket().then(|| Self { device: about.dev(), inode: about.ino() })
    }
}

impl KeptListener {
    /// Keeps the socket that `make` makes at `path`. `make` is called again whenever it is gone, from the task that
    /// accepts, and `tell` with what came of it; neither may wait. To be called inside a runtime.
    ///
    /// # Errors
    /// The socket cannot be made, or the runtime does not take it.
    pub fn new(
        path: &Path,
        mut make: impl FnMut() -> io::Result<StdListener> + Send + 'static,
        tell: impl FnMut(Fate) + Send + 'static,
    ) -> io::Result<Self> {
        let listener = listener(make()?)?;
        let identity = Identity::of(path);
        let (make, tell) = (Box::new(make), Box::new(tell));
        Ok(Self { path: path.to_path_buf(), listener, identity, make, tell, told: None })
    }

    /// The next connection. A call that is given up loses none.
    ///
    /// # Errors
    /// As the operating system has them.
    pub async fn accept(&mut self) -> io::Result<UnixStream> {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => return accepted.map(|(stream, _)| stream),
                () = tokio::time::sleep(LOOK) => self.look(),
            }
        }
    }

    fn look(&mut self) {
        if self.identity.is_some() && Identity::of(&self.path) == self.identity {
            return;
        }
        match (self.make)().and_then(listener) {
            Ok(made) => {
                self.listener = made;
                self.identity = Identity::of(&self.path);
                self.told = None;
                (self.tell)(Fate::Remade);
            }
            Err(error) => {
                let why = error.to_string();
                if self.told.as_ref() != Some(&why) {
                    self.told = Some(why.clone());
                    (self.tell)(Fate::Gone(why));
                }
            }
        }
    }
}

fn listener(made: StdListener) -> io::Result<UnixListener> {
    made.set_nonblocking(true)?;
    UnixListener::from_std(made)
}
