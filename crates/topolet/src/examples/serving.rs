//! Examples of the commands that serve or need an API server.

pub(crate) const SERVE: &str = "\
Examples:
  # A standalone node, with a configuration that pins CPUs on this machine
  topolet serve --init --root node --config node/config.yaml
  # A node on a built-in machine
  topolet serve -m xeon-2s-96cpu-sriov --root node -c pinned
  # A node of a cluster, with simulated containers
  topolet serve --kubeconfig node.conf --simulate-containers --root node
  # Beside a kubelet, of which nothing is changed
  topolet serve --observe --root kubelet --socket topolet.sock";

pub(crate) const UI: &str = "\
Examples:
  # What runs on this machine, and what would fit: prints an address
  topolet ui
  # A node that was captured, at a port of your choice
  topolet ui -m node.tar.zst --address 127.0.0.1:8080";

pub(crate) const SCHEMA: &str = "\
Examples:
  # Which kinds are there?
  topolet schema
  # What decisions contain
  topolet schema Decisions
  # The HTTP interface of topolet serve
  topolet schema --openapi > openapi.json";

pub(crate) const SCHEDULER: &str = "\
Examples:
  # Beside kube-scheduler, whose configuration has
  #   extenders: [{urlPrefix: https://127.0.0.1:10270, filterVerb: filter,
  #     prioritizeVerb: prioritize, preemptVerb: preempt, weight: 10,
  #     nodeCacheCapable: true, ignorable: true, enableHTTPS: true,
  #     tlsConfig: {caFile: a, certFile: client.crt, keyFile: client.key}}]
  # and where a is an authority that signs nothing else (certificates.sh)
  topolet scheduler --kubeconfig k.conf --tls-cert c --tls-key k --client-ca a
  # The same for a trial on one host: every user of the host can query it
  topolet scheduler --kubeconfig scheduler.conf --insecure-http";

pub(crate) const GUARD: &str = "\
Examples:
  # Does this node have what it needs?
  topolet guard check
  # As root, beside a kubelet and its container runtime
  topolet guard";

pub(crate) const FLEET: &str = "\
Examples:
  # A hundred nodes of eight NUMA nodes each
  topolet fleet --kubeconfig node.conf --nodes 100 -m spr-8480-snc4-8node
  # Five pods a second come to each node by themselves
  topolet fleet --kubeconfig node.conf -f pod.yaml --pods-a-second 5
  # Pods that end: annotations say when, with which code, and how slowly
  #   fleet.topolet.dev/run-seconds: '30'
  #   fleet.topolet.dev/exit-code: '1'
  #   fleet.topolet.dev/stop-seconds: '5'
  topolet fleet --kubeconfig node.conf";

pub(crate) const KUBECTL_EXPLAIN: &str = "\
Examples:
  # Why does the node refuse this pod? A link kubectl-topolet makes it a plugin
  kubectl topolet explain web-0
  # For programs, and without kubectl
  topolet kubectl explain web-0 -n default -o json";

pub(crate) const KUBECTL_NODES: &str = "\
Examples:
  # Which nodes have room, and what is the largest pod that still fits each?
  kubectl topolet nodes
  # Those that refused pods in the last hour, with reasons
  topolet kubectl nodes --only refusing --sort refused -o wide";

pub(crate) const KUBECTL_NODE: &str = "\
Examples:
  # What is free on each NUMA node, and who holds what?
  kubectl topolet node worker-1
  topolet kubectl node worker-1 -o yaml";
