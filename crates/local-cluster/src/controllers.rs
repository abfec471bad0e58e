//! kube-controller-manager.

use std::process::Command;
use std::time::Duration;

use crate::processes::Process;
use crate::{Cluster, Program, User};

/// The user to which the API server grants the rights of the controller manager. Each controller uses a service account, which
/// the API server grants the controller's rights.
const CONTROLLERS: User<'static> = User { name: "system:kube-controller-manager", groups: &[] };

impl Cluster {
    /// Starts the controllers, and waits until namespace `default` accepts pods.
    pub(crate) fn start_controllers(&mut self) -> anyhow::Result<()> {
        let kubeconfig = self.kubeconfig_of(CONTROLLERS, Duration::from_hours(24))?;
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        let mut command = Command::new(self.programs.checked(Program::ControllerManager)?);
        command
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--service-account-private-key-file", &path("accounts.key")])
            .args(["--root-ca-file", &path("ca.pem")])
            .args(["--use-service-account-credentials", "--leader-elect=false", "--secure-port=0"]);
        self.controllers = Some(Process::start("kube-controller-manager", &command, self.folder.path())?);
        self.until("a namespace has its service account", |cluster| {
            cluster.kubectl(&["get", "serviceaccount", "default"])
        })
    }
}
