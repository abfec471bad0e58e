//! Every deliberate difference from the kubelet, one field each. The type of a field belongs to the crate that
//! honours it.

use cpu_manager::{BusySibling, FullNode, PodBubble};
use device_manager::{BlockedDevices, PluginMessages, PluginTime, ReplacedPlugins};
use memory_manager::{Readmission, UnevenGroup, WrappedTables};
use node_config::{DecidedBy, NodeCountCheck};
use topology_policy::DistanceIndex;

/// What becomes of that which a refused pod had been given before it was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RefusedPod {
    /// It stays booked until the next collection of dead pods, as in the kubelet.
    KeepBooked,
    /// A refused pod holds nothing.
    #[default]
    HoldNothing,
}

/// What becomes of searches that the kubelet never ends, ends after hours, or dies of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Searches {
    /// They are a part of the answer. Nothing is searched so here either: who asks for a node's answer finds what happens in
    /// its place by counting (crate `kubelet-fates`).
    AsTheKubelet,
    /// There are none: every answer is exact and comes at once.
    #[default]
    Exact,
}

/// Where this is the kubelet's equal, and where it is better. The default is the product.
///
/// A field whose matter a later release of the kubelet mends names that release. The sources of the others are the same
/// in 1.36.3 and in 1.37.1, so [`Compat::KUBELET`] is right for both. What the releases decide otherwise on purpose is no
/// field here but a [`Rule`](node_config::Rule).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compat {
    /// Whether the kubelet's limit on NUMA nodes is checked.
    pub node_limit: NodeCountCheck,
    /// What a refused pod leaves behind.
    pub refused_pod: RefusedPod,
    /// Whether a CPU that is not free may be handed out on machines whose cores are not alike.
    pub busy_sibling: BusySibling,
    /// What becomes of the CPUs of a pod that is served as a whole and fails, or is served again.
    pub pod_bubble: PodBubble,
    /// Whether a node of which containers hold every CPU can start again.
    pub full_node: FullNode,
    /// What becomes of devices that had been chosen when an allocation failed.
    pub blocked_devices: BlockedDevices,
    /// How long a device plugin may take to answer.
    pub plugin_time: PluginTime,
    /// How large a message of a device plugin may be.
    pub plugin_messages: PluginMessages,
    /// What happens to the connection of a device plugin that is replaced.
    ///
    /// Mended in 1.37, where the device manager keeps connections by resource and socket: a second one on a connected
    /// socket is refused, so that they no longer pile up. Plugins on other sockets stay connected on purpose
    /// ([`PluginsPerResource`](node_config::PluginsPerResource)).
    pub replaced_plugins: ReplacedPlugins,
    /// What a node is worth of which more memory is reserved, or bound in huge pages, than it has.
    pub wrapped_tables: WrappedTables,
    /// What is done when a pod that is booked as a whole is admitted again.
    pub readmission: Readmission,
    /// Whether a node can start again whose memory is bound over NUMA nodes that do not list the same sizes of huge pages.
    pub uneven_group: UnevenGroup,
    /// How a distance is found in its row.
    pub distance_index: DistanceIndex,
    /// What becomes of searches that the kubelet never ends, ends after hours, or dies of.
    pub searches: Searches,
}

impl Compat {
    /// The kubelet's behaviour in every field.
    pub const KUBELET: Self = Self {
        node_limit: NodeCountCheck::Kubelet,
        refused_pod: RefusedPod::KeepBooked,
        busy_sibling: BusySibling::HandOut,
        pod_bubble: PodBubble::Lose,
        full_node: FullNode::Refuse,
        blocked_devices: BlockedDevices::UntilPodGoes,
        plugin_time: PluginTime::Unlimited,
        plugin_messages: PluginMessages::UpTo4MiB,
        replaced_plugins: ReplacedPlugins::KeepOpen,
        wrapped_tables: WrappedTables::Wrap,
        readmission: Readmission::BookAgain,
        uneven_group: UnevenGroup::Crash,
        distance_index: DistanceIndex::ByNodeId,
        searches: Searches::AsTheKubelet,
    };

    /// Whether a kubelet decides: one that starts, or one that has started.
    #[must_use]
    pub fn is_kubelet(self) -> bool {
        self == Self { full_node: self.full_node, uneven_group: self.uneven_group, ..Self::KUBELET }
    }
}

impl From<DecidedBy> for Compat {
    /// As a program decides that runs. A kubelet that runs has started: that it would not start again with what its pods hold
    /// is no matter of what it decides until then.
    fn from(program: DecidedBy) -> Self {
        match program {
            DecidedBy::Kubelet => {
                Self { full_node: FullNode::Start, uneven_group: UnevenGroup::Start, ..Self::KUBELET }
            }
            DecidedBy::Topolet => Self::default(),
        }
    }
}
