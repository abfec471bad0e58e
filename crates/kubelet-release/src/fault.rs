//! The table of faults: what releases of the kubelet do wrong, and what avoids it.

use core::fmt;

use crate::release::Release;

/// Whether a release has a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It has it.
    Has,
    /// It does what it should.
    Mended,
    /// It lacks the feature that the fault is in.
    LacksFeature,
}

/// Makes [`Fault`] of a table with a row for each fault: its name, the name of its page in `docs/upstream`, the
/// title of the page, its standing in 1.34, 1.35, 1.36 and 1.37, its consequence on a node, and what avoids it.
macro_rules! table {
    ($($name:ident $page:literal $title:literal = [$v34:ident, $v35:ident, $v36:ident, $v37:ident],
       $consequence:literal, $cure:literal;)*) => {
        /// A fault of the kubelet that its own code has shown: `cargo xtask kubelet-faults` reproduces each.
        #[expect(clippy::doc_markdown, reason = "titles of pages, with names of the kubelet's code")]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Fault {
            $(#[doc = $title] $name,)*
        }

        impl Fault {
            /// Every fault, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name of its page in `docs/upstream`, without `.md`.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $page,)*
                }
            }

            /// What it is, as the title of its page.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }

            /// Its consequence on a node.
            #[must_use]
            pub const fn consequence(self) -> &'static str {
                match self {
                    $(Self::$name => $consequence,)*
                }
            }

            /// What avoids it.
            #[must_use]
            pub const fn cure(self) -> &'static str {
                match self {
                    $(Self::$name => $cure,)*
                }
            }

            /// Whether a release has it.
            #[must_use]
            pub const fn standing(self, release: Release) -> Standing {
                match (self, release) {
                    $((Self::$name, Release::V1_34) => Standing::$v34,
                      (Self::$name, Release::V1_35) => Standing::$v35,
                      (Self::$name, Release::V1_36) => Standing::$v36,
                      (Self::$name, Release::V1_37) => Standing::$v37,)*
                }
            }
        }
    };
}

table! {
    MergeProduct "merge-product" "Merging hints takes the product of their numbers" = [Has, Has, Has, Has],
        "the kubelet tries every combination of hints, and admits no other pod meanwhile",
        "topologyManagerPolicy single-numa-node keeps the hints of single NUMA nodes only";
    DistributeHang "distribute-hang" "distribute-cpus-across-numa with full-pcpus-only loops for ever" = [Has, Has, Has, Has],
        "the kubelet never answers and admits no other pod, after a restart either",
        "leave distribute-cpus-across-numa or full-pcpus-only out, or reserve whole cores and ask for the same number of whole cores of each NUMA node";
    KilledBetweenWrites "killed-between-writes" "A kubelet killed between two writes of cpu_manager_state does not start again" = [Has, Has, Has, Has],
        "the kubelet does not start until the CPUs in no set are given back",
        "topolet state repair gives the CPUs that are in no set back to the shared pool";
    FullNode "full-node" "A node whose CPUs are all allocated cannot restart under strict-cpu-reservation" = [Has, Has, Has, Has],
        "the kubelet does not start again while containers hold every CPU that is not reserved",
        "leave strict-cpu-reservation out, or keep a pod on the node that requests CPUs and shares them";
    SmtAfterRestart "smt-after-restart" "full-pcpus-only refuses running pods after a restart" = [Has, Has, Has, Mended],
        "the kubelet refuses the running pod when it starts again",
        "drain the node before its kubelet restarts, or leave full-pcpus-only out; kubelet 1.37 looks into its state first";
    PodCpusLost "pod-cpus-lost" "A restart loses the CPUs of pods with pod-level resources, and the next restart fails" = [LacksFeature, LacksFeature, Has, Has],
        "a restart allocates other CPUs to the pod and loses the first ones, and the kubelet does not start the time after that",
        "turn gate PodLevelResourceManagers off, or drain the node before its kubelet restarts";
    BusySibling "busy-sibling" "Reserved and allocated CPUs are allocated again on cores of different size" = [Has, Has, Has, Has],
        "the kubelet gives CPUs exclusively that are reserved or that another container holds",
        "reserve whole cores, and ask for whole cores of those with most threads";
    NodeIds "node-ids" "NUMA node ids above 63 crash the kubelet" = [Has, Has, Has, Has],
        "the kubelet crashes when it admits the pod, and again after each restart",
        "topologyManagerPolicy none and memoryManagerPolicy None make no sets of NUMA nodes";
    MissingPageSize "missing-page-size" "A huge page size that one NUMA node lacks crashes the kubelet" = [Has, Has, Has, Has],
        "the kubelet crashes when it admits the pod, and again after each restart",
        "let every NUMA node have pages of each size that one has, or set memoryManagerPolicy None";
    UnevenGroup "uneven-group" "Memory bound over NUMA nodes with different huge page sizes crashes the next start" = [Has, Has, Has, Has],
        "the kubelet crashes whenever it starts beside the pod",
        "let every NUMA node have pages of each size that one has, or set memoryManagerPolicy None";
    WrappedMemory "wrapped-memory" "More reserved memory than a NUMA node has becomes 16 EiB of free memory" = [Has, Has, Has, Has],
        "the kubelet counts about 2^64 bytes free on the NUMA node, and prefers it for every pod",
        "reserve no more memory on a NUMA node than it has beside its huge pages";
    DistanceIndex "distance-index" "prefer-closest-numa-nodes crashes where NUMA node ids have gaps" = [Has, Has, Has, Has],
        "the kubelet crashes when it compares NUMA nodes, or compares wrong distances",
        "leave prefer-closest-numa-nodes out";
    RefusedHints "refused-hints" "Hints of refused pods are never removed" = [Has, Has, Has, Has],
        "the kubelet's memory grows with each refused pod until it restarts",
        "restart the kubelet where pods are refused by the thousand";
    OverheadAlias "overhead-alias" "PodRequests adds the overhead of a pod to the pod itself" = [Has, Has, Has, Has],
        "each look at the pod counts its overhead once more",
        "write amounts of a pod with overhead as whole numbers, such as 1536Mi instead of 1.5Gi";
    BlockedDevices "blocked-devices" "Devices stay allocated after a plugin's empty answer" = [Has, Has, Has, Has],
        "the devices stay allocated without a container until another pod with devices ends or the kubelet restarts",
        "restart the kubelet";
    ReplacedPlugin "replaced-plugin" "A device plugin that ends takes its successor's devices along" = [Has, Has, Has, Mended],
        "no device of the resource is healthy although its plugin runs, until the plugin registers again",
        "end the older plugin before the newer one registers, or restart the newer one";
    OpenConnections "open-connections" "Each registration of a device plugin leaves a connection open" = [Has, Has, Has, Mended],
        "the kubelet runs out of file descriptors",
        "restart the kubelet where a plugin registers again and again";
}

impl Fault {
    /// Its page, from the project's root.
    #[must_use]
    pub const fn page(self) -> Page {
        Page(self)
    }

    /// Whether a release has it.
    #[must_use]
    pub const fn is_in(self, release: Release) -> bool {
        matches!(self.standing(release), Standing::Has)
    }
}

/// Where the page of a fault is; displays as its address, since an operator's host has no checkout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page(Fault);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/blob/main/docs/upstream/{}.md", env!("CARGO_PKG_REPOSITORY"), self.0.id())
    }
}
