//! For which kinds of pods nodes keep room: those that a configuration gives, or those that run when the service starts and come
//! after that.

use pod_spec::{Container, Pod, QosClass, ResourceList, Role};
use scheduler_extender::View;
use scheduler_extender::topology_admission::Ledger;
use scheduler_extender::topology_admission::node_config::MixUnit;

/// More pods than these are not learnt from the first states of nodes: of two thousand pods, the first count less than an eighth.
const FIRST: usize = 2000;

/// What is learnt from the pods that run already.
#[derive(Debug, Default)]
pub(crate) struct FirstPods(usize);

impl FirstPods {
    /// The pods of a node of which nothing was known before.
    pub(crate) fn learn(&mut self, view: &mut View, ledger: &Ledger) {
        for pod in ledger.pods().take(FIRST.saturating_sub(self.0)) {
            self.0 += 1;
            view.learn(pod);
        }
    }
}

/// The units of a mix as pods of one container, which nodes count as units of whole CPUs, bytes and devices.
pub(crate) fn pods(mix: &[MixUnit]) -> impl Iterator<Item = (Pod, u32)> {
    mix.iter().map(|unit| {
        let amounts: ResourceList =
            unit.requests.iter().map(|(name, amount)| (name.as_str().into(), amount.clone())).collect();
        let container =
            Container { name: "unit".into(), role: Role::App, requests: amounts.clone(), limits: amounts };
        let pod = Pod::new("", "", vec![container]);
        (Pod { status_qos: Some(QosClass::Guaranteed), ..pod }, unit.count)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cluster_node::SystemClock;
    use pod_spec::{PodLevelResources, PodUid};

    use super::*;
    use crate::outlook::{Outlook, Patience, WaitsFor};

    fn pod(uid: &str, cpus: &str) -> Arc<Pod> {
        let limits: ResourceList = [("cpu", cpus), ("memory", "1Gi")]
            .map(|(name, amount)| {
                (name.into(), amount.parse().unwrap_or_else(|error| panic!("{amount}: {error}")))
            })
            .into();
        let container =
            Container { name: "app".into(), role: Role::App, requests: ResourceList::new(), limits };
        let pod = Pod::new("default", uid, vec![container]).with_defaults(PodLevelResources::Count);
        Arc::new(Pod { uid: PodUid::new(uid), ..pod })
    }

    #[test]
    fn each_pod_of_the_api_server_counts_once() {
        let outlook = Outlook::new(Arc::new(SystemClock), Patience::USUAL);
        let (waiting, bound) = (pod("waiting", "4"), pod("bound", "2"));
        for _ in 0..3 {
            outlook.unbound(Arc::clone(&waiting), WaitsFor::Node);
        }
        outlook.bound(Arc::clone(&waiting), "a");
        outlook.bound(bound, "a");
        let weights: Vec<f64> = outlook.lock().view.mix().into_iter().map(|(_, weight, _)| weight).collect();
        assert_eq!(weights, [1.0, 1.0]);
    }

    #[test]
    fn a_given_mix_stays_as_it_is() {
        let outlook = Outlook::new(Arc::new(SystemClock), Patience::USUAL);
        let four = "4".parse().unwrap_or_else(|error| panic!("{error}"));
        let mix = [MixUnit { count: 3, requests: [("cpu".to_owned(), four)].into() }];
        outlook.lock().view.pin_mix(pods(&mix));
        outlook.unbound(pod("other", "2"), WaitsFor::Node);
        let mut open = outlook.lock();
        let mix = open.view.mix();
        assert_eq!(mix.len(), 1);
        assert!((mix[0].1 - 3.0).abs() < f64::EPSILON);
        assert_eq!(mix[0].0.qos_class(PodLevelResources::Count), QosClass::Guaranteed);
    }
}
