//! The service by which plugins make themselves known: `v1beta1.Registration`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use device_manager::check_request;
use tonic::{Request, Response, Status};

use crate::plugins::Plugins;
use crate::proto::deviceplugin::registration_server::Registration;
use crate::proto::deviceplugin::{Empty, RegisterRequest};

/// The service of one folder.
pub(crate) struct Registrar {
    pub(crate) folder: PathBuf,
    pub(crate) plugins: Arc<Plugins>,
}

#[tonic::async_trait]
impl Registration for Registrar {
    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<Empty>, Status> {
        let RegisterRequest { version, endpoint, resource_name, .. } = request.into_inner();
        self.plugins.metrics.count_registration(&resource_name);
        let socket = joined(&self.folder, &endpoint);
        let plugins = Arc::clone(&self.plugins);
        // It is carried through though the caller may not wait: half a registration is worse than either.
        let registered = tokio::spawn(async move {
            let why = match check_request(&version, &resource_name) {
                Ok(resource) => match plugins.connect(resource, socket.clone()).await {
                    Ok(()) => return Ok(Response::new(Empty {})),
                    Err(error) => error.to_string(),
                },
                Err(error) => error.to_string(),
            };
            plugins.not_registered(&resource_name, &socket, &why);
            Err(Status::unknown(why))
        });
        registered.await.unwrap_or_else(|_| Err(Status::internal("the registration was interrupted")))
    }
}

/// The path of a plugin's socket, as Go joins paths: cleaned, an absolute name being below the folder too.
fn joined(folder: &Path, name: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.components().chain(Path::new(name).components()) {
        match part {
            Component::RootDir if !path.as_os_str().is_empty() => {}
            Component::CurDir | Component::Prefix(_) => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_joined_as_go_joins_them() {
        let rows = [
            ("x.sock", "/plugins/x.sock"),
            ("./a//b/", "/plugins/a/b"),
            ("/tmp/x.sock", "/plugins/tmp/x.sock"),
            ("../x.sock", "/x.sock"),
            ("../../../x.sock", "/x.sock"),
            ("", "/plugins"),
        ];
        for (name, expected) in rows {
            assert_eq!(joined(Path::new("/plugins"), name), Path::new(expected), "{name:?}");
        }
    }
}
