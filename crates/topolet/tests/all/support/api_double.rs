//! An API server that is a thread here, with objects of `resource.k8s.io`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::daemon::Folder;

/// An API server that answers by path: a status and a body. What is not listed is not there.
#[derive(Clone, Default)]
pub(crate) struct Double {
    answers: Arc<Mutex<BTreeMap<String, (u16, String)>>>,
}

impl Double {
    /// One that has these objects of `resource.k8s.io`, in this version.
    pub(crate) fn of(version: &str, kinds: &[(&str, &str, Vec<Value>)]) -> Self {
        let api_version = format!("resource.k8s.io/{version}");
        let names = [json!({"version": version, "groupVersion": api_version})];
        let group =
            json!({"kind": "APIGroup", "apiVersion": "v1", "name": "resource.k8s.io", "versions": names});
        let resources = kinds.iter().map(|(resource, kind, _)| {
            json!({"name": resource, "kind": kind, "namespaced": false, "singularName": "", "verbs": ["list"]})
        });
        let resources = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version,
            "resources": resources.collect::<Vec<_>>()});
        let double = Self::default();
        double.set("", 200, &group);
        double.set(&format!("/{version}"), 200, &resources);
        for (resource, kind, items) in kinds {
            let list = json!({"kind": format!("{kind}List"), "apiVersion": api_version, "metadata": {}, "items": items});
            double.set(&format!("/{version}/{resource}"), 200, &list);
        }
        double
    }

    /// Answers so from now on, below the path of the group.
    pub(crate) fn set(&self, path: &str, status: u16, body: &Value) {
        let path = format!("/apis/resource.k8s.io{path}");
        self.answers.lock().unwrap().insert(path, (status, body.to_string()));
    }

    pub(crate) fn forbidding(self, path: &str) -> Self {
        let message = format!("User \"person\" cannot list {path}");
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
            "reason": "Forbidden", "code": 403});
        self.set(path, 403, &status);
        self
    }

    /// Starts it, and gives a kubeconfig of it.
    pub(crate) fn start(self, folder: &Folder) -> PathBuf {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| self.answer(stream)));
        let path = folder.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]\n\
             users: [{{name: u, user: {{}}}}]\ncontexts: [{{name: x, context: {{cluster: c, user: u}}}}]\ncurrent-context: x\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
        let path = first.split([' ', '?']).nth(1).unwrap_or_default();
        let none =
            (404, json!({"kind": "Status", "status": "Failure", "code": 404, "message": "no"}).to_string());
        let (status, body) = self.answers.lock().unwrap().get(path).cloned().unwrap_or(none);
        // The client may have gone.
        let _ = write!(
            stream,
            "HTTP/1.1 {status} Any\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
    }
}
