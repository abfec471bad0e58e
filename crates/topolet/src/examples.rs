//! What `--help` of each command ends with. A test runs every line in a folder that has the files they name.

#[cfg(feature = "serve")]
pub(crate) mod serving;

pub(crate) const DEMO: &str = "\
Examples:
  # A few decisions, with nothing to prepare
  topolet demo";

pub(crate) const TOPOLOGY: &str = "\
Examples:
  # This machine
  topolet topology
  # What lies in what, and what is plugged in where, of a built-in machine
  topolet topology -m epyc-2s-96cpu-16l3-8gpu -o tree
  # A picture of what its pods hold
  topolet topology -m node.tar.zst -o svg > machine.svg";

pub(crate) const CAPTURE: &str = "\
Examples:
  # This machine, to be looked at elsewhere with --machine
  topolet capture machine.tar.zst
  # With what its kubelet has written, as a bug report needs it
  topolet capture --node this-node.tar.zst";

pub(crate) const ADMIT: &str = "\
Examples:
  # Would this pod run on this machine, and where?
  topolet admit -f pod.yaml
  # On another node, beside what runs there; `capture --node` makes such a file
  topolet admit -f pod.yaml -m node.tar.zst
  # Of a folder of manifests the pods that are refused
  topolet admit -f manifests/ -m xeon-2s-96cpu-sriov --only refused
  # Devices of a resource are the PCI functions of this vendor and device
  topolet admit -f pod.yaml -m node.tar.zst --device intel.com/vf=8086:1889
  # Its claims of devices by what the cluster has
  topolet admit -f pod.yaml --node-name worker-1 --kubeconfig node.conf";

pub(crate) const EXPLAIN: &str = "\
Examples:
  # Why is it refused, and what would fit?
  topolet explain -f pod.yaml -m xeon-2s-96cpu-sriov -c kubelet.yaml
  # Would it fit with eight more virtual functions on NUMA node 1?
  topolet explain -f pod.yaml -m xeon-2s-96cpu-sriov --add intel.com/vf@1=8
  # One of many pods, as a picture
  topolet explain -f manifests/ --pod web-11 -o svg > decision.svg";

pub(crate) const REPACK: &str = "\
Examples:
  # Which pods would have to restart so that this one fits?
  topolet repack -f pod.yaml -m node.tar.zst
  # At most one of them
  topolet repack -f pod.yaml -m node.tar.zst --moves 1 -o yaml
  # Move them, and admit it, on the node that topolet serves
  topolet repack -f pod.yaml --apply";

pub(crate) const DIFF: &str = "\
Examples:
  # Which policy for these pods?
  topolet diff -f manifests/ -m node.tar.zst --policy best-effort,restricted
  # What does the new configuration change for them?
  topolet diff -f manifests/ -m node.tar.zst -c kubelet.yaml -c new.yaml";

pub(crate) const SIMULATE: &str = "\
Examples:
  # Six hundred pods on a fleet, under several configurations
  topolet simulate -f scenario.yaml
  # How many of this pod fit on one machine?
  topolet simulate --find-max -f pod.yaml -m xeon-2s-96cpu-sriov
  # How many with 32 more CPUs on NUMA node 1?
  topolet simulate --find-max -f pod.yaml --add cpu@1=32";

pub(crate) const NRT: &str = "\
Examples:
  # What a scheduler would read of this node
  topolet export nrt -m node.tar.zst --node-name worker-1";

pub(crate) const RESOURCE_SLICES: &str = "\
Examples:
  # What drivers could publish of the devices of a machine
  topolet export resourceslices --node-name worker-1 > slices.yaml";

pub(crate) const STATE_SHOW: &str = "\
Examples:
  # Who holds which CPUs, memory and devices
  topolet state show --state kubelet/";

pub(crate) const STATE_CHECK: &str = "\
Examples:
  # Would the kubelet start from these files, and admit the pods that run again?
  topolet state check --state kubelet/ -m node.tar.zst";

pub(crate) const STATE_REPAIR: &str = "\
Examples:
  # What would be done
  topolet state repair --dry-run --state kubelet/ -m node.tar.zst";

pub(crate) const STATUS: &str = "\
Examples:
  # The topolet that runs here, or this machine's kubelet
  topolet status
  # A node that was captured
  topolet status -m node.tar.zst";

#[cfg(feature = "bundles")]
pub(crate) const DIAGNOSE: &str = "\
Examples:
  # A must-gather, a sosreport, or a folder with what a user has sent
  topolet diagnose must-gather.local.42
  # Several together: the report of a node, and the pods of its cluster
  topolet diagnose sosreport-worker-1 pods.yaml
  # All about the refusal of one pod
  topolet diagnose must-gather.local.42 --pod ran/forwarder
  # The same without names, for a public issue
  topolet diagnose must-gather.local.42 --anonymise issue.tar.gz";

pub(crate) const CONFIG_CHECK: &str = "\
Examples:
  # Does a kubelet start with it, and what does it not do?
  topolet config check -m xeon-2s-96cpu-sriov -c kubelet.yaml
  # A configuration that pins as much as possible
  topolet config check -m xeon-2s-96cpu-sriov --propose > proposed.yaml";

pub(crate) const CONFIG_SHOW: &str = "\
Examples:
  # What is it over what nodeadm sets on an m5.24xlarge?
  topolet config show -c kubelet.yaml --base eks:m5.24xlarge
  # With the flags that kubeadm gives the kubelet
  topolet config show -c kubelet.yaml --kubelet-flags kubeadm-flags.env";

pub(crate) const CLAIM_CHECK: &str = "\
Examples:
  # What would an API server refuse, and what does not do what it should?
  topolet claim check slices.yaml claims.yaml
  # The same as a document
  topolet claim check slices.yaml claims.yaml -o json
  # What a cluster has
  topolet claim check --kubeconfig node.conf";

pub(crate) const UPGRADE_CHECK: &str = "\
Examples:
  # What does 1.37 do otherwise with this node and its pods?
  topolet upgrade check --to 1.37 -m node.tar.zst";

pub(crate) const GET_PODS: &str = "\
Examples:
  # All pods, and what each container holds
  topolet get pods -A -o wide
  # One of them
  topolet get pod web-0";

pub(crate) const GET_STATE: &str = "\
Examples:
  topolet get state";

pub(crate) const GET_MACHINE: &str = "\
Examples:
  topolet get machine -o json";

pub(crate) const GET_DECISIONS: &str = "\
Examples:
  # Why were pods refused lately?
  topolet get decisions";

pub(crate) const GET_EVENTS: &str = "\
Examples:
  # What has happened on the node?
  topolet get events
  # What happens, for programs: one JSON object a line
  topolet get events -w -o json";

pub(crate) const DESCRIBE_POD: &str = "\
Examples:
  topolet describe pod web-0
  topolet describe pod default/web-0 -o yaml";

pub(crate) const APPLY: &str = "\
Examples:
  # Would it be admitted?
  topolet apply --dry-run -f pod.yaml
  # Admits the pods of a folder
  topolet apply -f manifests/";

pub(crate) const DELETE: &str = "\
Examples:
  topolet delete pod web-0 web-1
  # The pods of a folder
  topolet delete -f manifests/";

#[cfg(feature = "terminal")]
pub(crate) const COMPLETIONS: &str = "\
Examples:
  topolet completions bash > topolet.bash
  # For kubectl topolet: a script for a folder of PATH
  topolet completions kubectl > kubectl_complete-topolet";

#[cfg(feature = "terminal")]
pub(crate) const MAN: &str = "\
Examples:
  topolet man manual/";

pub(crate) const LICENCES: &str = "\
Examples:
  topolet --licences";
