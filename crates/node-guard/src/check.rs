//! Whether a node is fit for the guard, before it is relied on: what the runtime's configuration, its NRI socket, its pods and the
//! kubelet's files say. Nothing is changed; at the socket it is a plugin for the moment of one synchronization.

mod configuration;
mod connection;

use std::time::{Duration, SystemTime};

use cgroup_cpuset::{CgroupDriver, Cgroups, Kernel};

use crate::finding::{Finding, Mark};
use crate::pinning_plugins::{PINNING_PLUGINS, file_of, is_pod_of, launched};
use crate::place::Place;
use crate::request::Requested;
use crate::state_view::{StateFiles, StateView};
use connection::{Answered, ask};

/// How long the runtime may take to synchronize.
const WAIT: Duration = Duration::from_secs(10);

/// All that was found, in the order in which it is looked at.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Looks at a node.
    #[must_use]
    pub fn of(place: &Place) -> Self {
        let mut findings = Self::default();
        findings.cgroups(place);
        let view = findings.kubelet(place);
        let answered = ask(&place.socket, WAIT);
        findings.0.extend(configuration::findings(
            &place.root,
            answered.as_ref().ok().map(|it| it.version.as_str()),
        ));
        match &answered {
            Ok(answered) => findings.runtime(answered),
            Err(why) => findings.add(Mark::Wrong, format!("{}: {why}", place.socket.display())),
        }
        findings.plugins(place, &view, answered.ok().as_ref());
        findings
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Whether the guard does not work here.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        self.0.iter().any(|finding| finding.mark == Mark::Wrong)
    }

    fn add(&mut self, mark: Mark, text: impl Into<String>) {
        self.0.push(Finding { mark, text: text.into() });
    }

    fn cgroups(&mut self, place: &Place) {
        let found = match &place.cgroups {
            None => Cgroups::live(),
            Some(root) => Cgroups::on(Kernel, root),
        };
        match found {
            Ok(cgroups) => {
                self.add(Mark::Right, format!("{}: cgroup v2 with cpusets", cgroups.root().display()));
            }
            Err(error) => self.add(Mark::Wrong, error.to_string()),
        }
    }

    fn kubelet(&mut self, place: &Place) -> StateView {
        let booted = kubelet_process::boot_time(&place.proc()).unwrap_or(SystemTime::UNIX_EPOCH);
        let view = StateFiles::new(&place.kubelet, booted).read();
        let mark = match &view {
            StateView::Fresh(_) => Mark::Right,
            StateView::NotStatic(_) => Mark::Look,
            _ => Mark::Wrong,
        };
        let text = match &view {
            StateView::Fresh(node) => format!(
                "{}: the kubelet's CPU manager is static, with {} exclusive containers and shared CPUs {}",
                place.kubelet.display(),
                node.exclusive.values().map(std::collections::BTreeMap::len).sum::<usize>(),
                node.shared
            ),
            other => other.to_string(),
        };
        self.add(mark, text);
        view
    }

    fn runtime(&mut self, answered: &Answered) {
        let Answered { name, version, nri, follows_policy, .. } = answered;
        self.add(Mark::Right, format!("{name} {version} answers, with NRI {nri}"));
        if !follows_policy {
            self.add(
                Mark::Look,
                "this version of NRI goes on without a plugin that is late: the first container for which the guard has no \
                 time starts as it would without it, and the condition GuardConnected says so",
            );
        }
        let requests = answered.containers();
        let left_alone = requests.iter().filter(|request| request.not_guarded.is_some()).count();
        let of_systemd = |request: &&Requested| {
            request.not_guarded.is_none() && matches!(request.cgroup, Some((_, CgroupDriver::Systemd)))
        };
        let by_systemd = requests.iter().filter(of_systemd).count();
        let noun = if requests.len() == 1 { "container" } else { "containers" };
        self.add(
            Mark::Right,
            format!(
                "{} {noun} of the runtime; left alone, since they are of static pods or of no kubelet: {left_alone}",
                requests.len()
            ),
        );
        if by_systemd > 0 {
            self.add(
                Mark::Wrong,
                format!(
                    "systemd makes cgroups of containers ({by_systemd}), where a write lasts until it reloads: the \
                     guard only reports there, and narrows them with --write-systemd"
                ),
            );
        }
    }

    /// Who else sets CPUs.
    fn plugins(&mut self, place: &Place, view: &StateView, answered: Option<&Answered>) {
        let known: Vec<String> = PINNING_PLUGINS
            .into_iter()
            .filter_map(|plugin| {
                let pod =
                    || answered?.pods().find(|pod| is_pod_of(plugin, pod)).map(|pod| format!("pod {pod}"));
                Some(format!("{plugin} ({})", file_of(&place.root, plugin).or_else(pod)?))
            })
            .collect();
        let names = known.join(" and ");
        if known.len() > 1 {
            let text = format!(
                "{names} set CPUs of containers: with two plugins on one field the runtime fails the request; run one"
            );
            self.add(Mark::Wrong, text);
        }
        let is_static = matches!(view, StateView::Fresh(_));
        match (known.is_empty(), is_static) {
            (true, _) => self.add(Mark::Right, "no other NRI plugin is known to set CPUs of containers"),
            (false, true) => self.add(
                Mark::Wrong,
                format!("{names} sets CPUs of containers beside a static CPU manager, and neither knows of the other"),
            ),
            (false, false) => self.add(Mark::Look, format!("{names} sets CPUs of containers, and the kubelet does not")),
        }
        let mut others = launched(&place.root);
        others.sort();
        if !others.is_empty() {
            let text = format!(
                "the runtime starts plugins too ({}): what they set is not known until they do",
                others.join(", ")
            );
            self.add(Mark::Look, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use kubelet_checkpoint::cpu::{CpuFormat, CpuState};

    use super::*;

    fn node() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let root = folder.path().to_owned();
        let state = CpuState {
            policy: "static".into(),
            shared: "0-3".parse().unwrap_or_default(),
            ..CpuState::default()
        };
        for (file, text) in [
            ("kubelet/cpu_manager_state", state.encode(CpuFormat::V2)),
            ("cgroup/cgroup.controllers", "cpuset cpu".to_owned()),
            ("proc/stat", "btime 1\n".to_owned()),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap_or(&path)).unwrap_or_else(|error| panic!("{error}"));
            fs::write(path, text).unwrap_or_else(|error| panic!("{error}"));
        }
        let place = Place {
            kubelet: root.join("kubelet"),
            cgroups: Some(root.join("cgroup")),
            socket: root.join("nri.sock"),
            root,
        };
        (folder, place)
    }

    fn texts(place: &Place) -> Vec<String> {
        let folder = format!("{}/", place.root.display());
        Findings::of(place).iter().map(|finding| finding.to_string().replace(&folder, "")).collect()
    }

    #[test]
    fn a_node_without_a_runtime_is_told_what_it_has() {
        let (_folder, place) = node();
        assert_eq!(
            texts(&place),
            [
                "✔ cgroup: cgroup v2 with cpusets",
                "✔ kubelet: the kubelet's CPU manager is static, with 0 exclusive containers and shared CPUs 0-3",
                "? no configuration of containerd or CRI-O was found: whether NRI is on is not known",
                "✘ nri.sock: there is no such socket: the runtime does not run, or NRI is off",
                "✔ no other NRI plugin is known to set CPUs of containers",
            ]
        );
        assert!(Findings::of(&place).is_wrong());
    }

    #[test]
    fn plugins_that_pin_are_named() {
        let (_folder, place) = node();
        let plugins = place.root.join("opt/nri/plugins");
        assert!(fs::create_dir_all(&plugins).is_ok());
        for name in ["10-topology-aware", "20-balloons"] {
            assert!(fs::write(plugins.join(name), "").is_ok());
        }
        let texts = texts(&place);
        let both = "nri-resource-policy-topology-aware (/opt/nri/plugins/10-topology-aware) and \
                    nri-resource-policy-balloons (/opt/nri/plugins/20-balloons)";
        assert!(texts.contains(&format!(
            "✘ {both} set CPUs of containers: with two plugins on one field the runtime fails the request; run one"
        )));
        assert!(texts.contains(&format!(
            "✘ {both} sets CPUs of containers beside a static CPU manager, and neither knows of the other"
        )));
    }
}
