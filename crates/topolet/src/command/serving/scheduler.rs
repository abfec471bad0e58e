//! `topolet scheduler`: an extender of kube-scheduler.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};
use node_daemon::cluster_node::Access;
use node_daemon::in_small_pages;
use node_input::OptionsSource;
use scheduler_service::{Asking, ClaimRule, Setup, TlsFiles};

use crate::log_arguments::LogArguments;
use crate::outcome::Outcome;
use crate::screen::Screen;

#[derive(Args, Debug)]
pub(crate) struct SchedulerArguments {
    /// How the API server is reached. It needs to list and watch pods, nodes, `nodestates` of `topolet.dev`,
    /// `noderesourcetopologies` of `topology.node.k8s.io`, and of `resource.k8s.io` what decides on claims: `resourceslices`,
    /// `deviceclasses`, `resourceclaims`, `resourceclaimtemplates` and `devicetaintrules`; and to create and patch `events` of
    /// `events.k8s.io`.
    #[arg(long, value_name = "FILE", required_unless_present = "in_cluster", value_hint = ValueHint::FilePath)]
    kubeconfig: Option<PathBuf>,
    /// The same, as the service account of the pod that this runs in.
    #[arg(long, conflicts_with = "kubeconfig")]
    in_cluster: bool,
    /// Where kube-scheduler asks, as `extenders: [{urlPrefix: https://ADDRESS:PORT}]` of its configuration says. With plain HTTP
    /// it is a loopback address.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:10270")]
    address: SocketAddr,
    /// The certificate of this server, in PEM: `caFile` of kube-scheduler's `tlsConfig` holds its authority. --tls-cert, --tls-key and
    /// --client-ca are read again when they change.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "client_ca"], value_hint = ValueHint::FilePath)]
    tls_cert: Option<PathBuf>,
    /// Its private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    tls_key: Option<PathBuf>,
    /// The authorities that have signed kube-scheduler's client certificate, which `certFile` of its `tlsConfig` names. Without a
    /// client certificate only `/metrics`, `/healthz` and `/readyz` are answered.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = ValueHint::FilePath)]
    client_ca: Option<PathBuf>,
    /// A common name, DNS name or URI of client certificates that may ask; can be repeated. Without it every certificate of the
    /// authorities may, so that they have to be authorities that sign nothing else.
    #[arg(long, value_name = "NAME", requires = "tls_cert")]
    client_name: Vec<String>,
    /// Accepts plain HTTP from every user of this host. This is also the default without TLS options; in both cases the
    /// log, `/readyz` and a metric warn.
    #[arg(long, conflicts_with = "tls_cert")]
    insecure_http: bool,
    /// How many threads decide on nodes.
    #[arg(long, value_name = "COUNT", default_value = "2")]
    threads: NonZeroUsize,
    /// Time limit of an answer, in milliseconds; the answer names the nodes that were not checked in time. Less than the
    /// extender's `httpTimeout`.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    within: u64,
    /// What becomes of a node where devices of a pod's resource claims will lie on other NUMA nodes than its CPUs and memory:
    /// `prefer` scores it less, `require` leaves it out. A pod with the annotation `topolet.dev/align-claims: required` requires it
    /// in any case.
    #[arg(long, value_name = "RULE", default_value = "prefer", value_parser = claim_rules())]
    align_claims: ClaimRule,
    /// The score of the best node: kube-scheduler adds score × `weight` × 10 of its configuration to what its plugins give, 0 to 100
    /// each. 100 with a `weight` of 1 counts as much as 10 with a `weight` of 10, in finer steps.
    #[arg(long, value_name = "SCORE", default_value_t = 10, value_parser = clap::value_parser!(u16).range(10..=1000))]
    best_score: u16,
    /// For which units nodes keep room: `placement.mix` of this `TopoletConfiguration`. Without it the kinds of pods that come.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    mix: Option<PathBuf>,
    #[command(flatten)]
    log: LogArguments,
}

fn claim_rules() -> impl TypedValueParser<Value = ClaimRule> {
    PossibleValuesParser::new(["prefer", "require"])
        .map(|rule| if rule == "require" { ClaimRule::Require } else { ClaimRule::Prefer })
}

pub(super) fn run(arguments: &SchedulerArguments, screen: Screen) -> anyhow::Result<Outcome> {
    in_small_pages();
    let log = arguments.log.start()?;
    let setup = Setup {
        access: arguments.kubeconfig.clone().map_or(Access::InCluster, Access::Kubeconfig),
        address: arguments.address,
        asking: arguments.asking(),
        threads: arguments.threads,
        within: Duration::from_millis(arguments.within),
        claims: arguments.align_claims,
        best_score: arguments.best_score,
        mix: arguments.mix.clone().map_or(Ok(Vec::new()), |path| OptionsSource::File(path).mix())?,
    };
    match scheduler_service::run(&setup) {
        Ok(()) => Ok(Outcome::Done),
        Err(error) => {
            log.end_with(move || screen.error(&error));
            Ok(Outcome::Failed)
        }
    }
}

/// Where the commands that the log names put certificates.
const FOLDER: &str = "/etc/topolet/scheduler";
/// The script that makes them: as the Debian package installs it, and in the repository.
const SCRIPTS: [&str; 2] =
    ["/usr/share/topolet/scheduler/certificates.sh", "deploy/scheduler/certificates.sh"];

impl SchedulerArguments {
    fn asking(&self) -> Asking {
        match (&self.tls_cert, &self.tls_key, &self.client_ca) {
            (Some(certificate), Some(key), Some(client_ca)) => {
                let (certificate, key, client_ca) = (certificate.clone(), key.clone(), client_ca.clone());
                let files = TlsFiles { certificate, key, client_ca };
                Asking::Certified { files, names: self.client_name.clone() }
            }
            // Without any of these options a deployment goes on as before, and `--insecure-http` says that this is known.
            _ => Asking::InsecureHttp { instead: self.instead() },
        }
    }

    /// The two commands that end plain HTTP.
    fn instead(&self) -> Vec<String> {
        let access = self.kubeconfig.as_ref().map_or("--in-cluster".to_owned(), |path| {
            let path = path.to_string_lossy();
            format!("--kubeconfig '{}'", path.replace('\'', r"'\''"))
        });
        let address = self.address;
        let [installed, in_repository] = SCRIPTS;
        let script = if Path::new(installed).exists() {
            format!("`sh {installed} {FOLDER}`")
        } else {
            let repository = env!("CARGO_PKG_REPOSITORY");
            format!("`sh certificates.sh {FOLDER}`: {repository}/blob/main/{in_repository} is that script")
        };
        vec![
            script,
            format!(
                "`topolet scheduler {access} --address {address} --tls-cert {FOLDER}/tls.crt --tls-key {FOLDER}/tls.key \
                 --client-ca {FOLDER}/ca.crt --client-name system:kube-scheduler`"
            ),
        ]
    }
}
