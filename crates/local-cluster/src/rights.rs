//! What agents may do at the API server, and no more. The reasons are in the README of `cluster-node`.

use crate::User;

/// The user that [`WATCHER_RIGHTS`] are of.
pub const WATCHER: User<'static> = User { name: "agent", groups: &[] };

/// What an agent beside a kubelet needs, for the user [`WATCHER`].
pub const WATCHER_RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: topolet}
rules:
- {apiGroups: [''], resources: [pods], verbs: [list, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [list]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topolet}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topolet}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: agent}]
---
";

/// What `topolet serve --observe` beside a kubelet may do, and the service account `topolet` in the namespace `topolet` that
/// has these rights.
pub const OBSERVER_RIGHTS: &str = concat!(
    include_str!("../../../deploy/observe/namespace.yaml"),
    "---\n",
    include_str!("../../../deploy/observe/rights.yaml")
);

/// The group of users that kubelets are.
pub const KUBELETS: &str = "system:nodes";

/// What a kubelet needs, for the group [`KUBELETS`]: without a node authorizer each has the rights on all nodes.
pub const KUBELET_RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kubelets}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:node'}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:nodes'}]
";

/// The group of users that nodes are.
pub const NODES: &str = "topolet-nodes";

/// What a node needs of an API server to be a member of its cluster, and no more, for the group [`NODES`].
pub const NODE_RIGHTS: &str = include_str!("../../../deploy/node/rights.yaml");

/// What nodes of the group [`NODES`] need to publish `NodeResourceTopology` objects.
pub const PUBLISHER_RIGHTS: &str = include_str!("../../../deploy/node/publisher.yaml");

/// What schedulers need to read them.
pub const READER_RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: topology-reader}
rules:
- {apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topology-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topology-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: 'system:kube-scheduler'}]
";
