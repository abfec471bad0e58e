//! Why a kubelet did not admit a pod, compared with the decision here.

use alloc::format;
use alloc::string::{String, ToString as _};

use serde::Serialize;

use crate::conclusion::Conclusion;

/// What the kubelet puts before the message of a pod that it does not admit; earlier releases put the second.
const REJECTED: [&str; 2] = ["Pod was rejected: ", "Pod "];

/// The kubelet's reasons for not admitting a pod which decisions here have too. `OutOf` and a resource is another.
const DECIDED: [&str; 12] = [
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
    "SMTAlignmentError",
    "EmptyPodSharedPoolError",
    "PodOSSelectorNodeLabelDoesNotMatch",
    "PodOSNotSupported",
    "SupplementalGroupsPolicyNotSupported",
    "PodLevelResourcesNotSupported",
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "TaintToleration",
];

/// Reasons of a kubelet that depend on what is not decided here.
const OTHERS: [&str; 9] = [
    "AppArmor",
    "InvalidNodeInfo",
    "InitContainerRestartPolicyForbidden",
    "NodeShutdown",
    "PodFeatureUnsupported",
    "SysctlForbidden",
    "UnexpectedPredicateFailureType",
    "UnknownReason",
    "VolumeAttachmentLimitExceeded",
];

/// Why a kubelet did not admit a pod, by the pod's status.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KubeletRefusal {
    /// One word.
    pub reason: String,
    /// The same for people, without `Pod was rejected: `.
    pub message: String,
}

/// What a decision here is beside a kubelet's refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    /// The same reason and message.
    Same,
    /// The same reason, with another message.
    SameReason,
    /// A refusal for another reason.
    AnotherReason,
    /// The pod is not refused, and the kubelet's reason is one that decisions here have too.
    NotRefused,
    /// The pod is not refused, and what the kubelet looked at for its reason is not looked at here.
    NotLookedAt,
}

impl KubeletRefusal {
    /// Of a pod whose status has phase `Failed`, this reason and this message; `None`: it was admitted and failed later.
    #[must_use]
    pub fn of_status(reason: &str, message: &str) -> Option<Self> {
        let was_rejected = message.starts_with(REJECTED[0]);
        let is_refused = was_rejected || is_decided(reason) || OTHERS.contains(&reason);
        let stripped = REJECTED.iter().find_map(|prefix| message.strip_prefix(prefix));
        is_refused.then(|| Self { reason: reason.into(), message: stripped.unwrap_or(message).into() })
    }

    /// Whether the pod is refused here too, for the same reason.
    #[must_use]
    pub fn agrees(&self, here: &Conclusion) -> bool {
        matches!(self.beside(here), Beside::Same | Beside::SameReason)
    }

    /// What it is beside the decision here, as a clause that begins with `refused it:`.
    #[must_use]
    pub fn compared(&self, here: &Conclusion) -> String {
        let Self { reason, message } = self;
        let beside = match self.beside(here) {
            Beside::Same => ", the same reason",
            Beside::SameReason => ", the same reason in other words",
            Beside::AnotherReason => "; another reason than here",
            Beside::NotRefused if self.is_of_plugin() => {
                "; that is a device plugin that failed a call (Allocate, GetPreferredAllocation or PreStartContainer), and no shortage: \
                 look at the log of the plugin's pod on that node at that time, and at the device (`dmesg`); here the pod is not refused"
            }
            Beside::NotRefused => {
                "; here it is not refused: its node, what ran there or its configuration was another than is given here"
            }
            Beside::NotLookedAt => "; that is not looked at here",
        };
        let colon = if message.is_empty() { "" } else { ": " };
        format!("refused it: {reason}{colon}{message}{beside}")
    }

    /// Whether a call of a device plugin failed: the kubelet puts the error of gRPC into its message.
    fn is_of_plugin(&self) -> bool {
        self.reason == "UnexpectedAdmissionError" && self.message.contains("rpc error: code = ")
    }

    fn beside(&self, here: &Conclusion) -> Beside {
        match here {
            Conclusion::Refused(refusal) if refusal.reason.to_string() != self.reason => {
                Beside::AnotherReason
            }
            Conclusion::Refused(refusal) if refusal.message == self.message => Beside::Same,
            Conclusion::Refused(_) => Beside::SameReason,
            Conclusion::Fated(fated) => self.beside(&fated.then),
            _ if is_decided(&self.reason) => Beside::NotRefused,
            _ => Beside::NotLookedAt,
        }
    }
}

fn is_decided(reason: &str) -> bool {
    DECIDED.contains(&reason) || reason.starts_with("OutOf")
}

/// Why the kubelet did not admit a pod, compared with the decision here.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "KubeletSaid"))]
pub(crate) struct KubeletSaid<'a> {
    #[serde(flatten)]
    refusal: &'a KubeletRefusal,
    /// Whether the decision here is a refusal for the same reason.
    agrees: bool,
    /// What it is beside the decision here, as a sentence.
    text: String,
}

impl KubeletRefusal {
    pub(crate) fn beside_decision(&self, here: &Conclusion) -> KubeletSaid<'_> {
        let text = format!("the kubelet {}", self.compared(here));
        KubeletSaid { refusal: self, agrees: self.agrees(here), text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `Allocate` of a plugin whose process is gone fails.
    #[test]
    fn a_failed_call_of_a_plugin_is_told_from_a_shortage() {
        let failed = "Allocate failed due to rpc error: code = Unavailable desc = error reading from server: EOF, which is unexpected";
        let short = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 4, which is unexpected";
        for (message, is_of_plugin) in [(failed, true), (short, false)] {
            let refusal =
                KubeletRefusal { reason: "UnexpectedAdmissionError".into(), message: message.into() };
            assert_eq!(refusal.is_of_plugin(), is_of_plugin, "{message}");
        }
    }

    #[test]
    fn refusals_are_told_from_failures() {
        for (reason, message, expected) in [
            ("TopologyAffinityError", "Pod was rejected: Resources cannot", Some("Resources cannot")),
            ("UnexpectedAdmissionError", "Pod Allocate failed due to", Some("Allocate failed due to")),
            (
                "OutOfcpu",
                "Pod Node didn't have enough resource: cpu",
                Some("Node didn't have enough resource: cpu"),
            ),
            ("InvalidNodeInfo", "Pod was rejected: Node info", Some("Node info")),
            ("SMTAlignmentError", "", Some("")),
            // At admission, and of a pod that ran.
            (
                "Evicted",
                "Pod was rejected: The node had condition: [MemoryPressure].",
                Some("The node had condition: [MemoryPressure]."),
            ),
            ("Evicted", "The node was low on resource: memory.", None),
            ("Terminated", "Pod was terminated in response to imminent node shutdown.", None),
            ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", None),
            ("", "", None),
        ] {
            let found = KubeletRefusal::of_status(reason, message);
            assert_eq!(found.as_ref().map(|refusal| refusal.message.as_str()), expected, "{reason}");
            assert!(found.is_none_or(|refusal| refusal.reason == reason));
        }
    }
}
