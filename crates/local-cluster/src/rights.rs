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
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topolet}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topolet}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: agent}]
---
";

/// The group of users that nodes are.
pub const NODES: &str = "topolet-nodes";

/// What a node needs of an API server to be a member of its cluster, and no more, for the group [`NODES`].
pub const NODE_RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: topolet-node}
rules:
- {apiGroups: [''], resources: [nodes], verbs: [get, create, patch]}
- {apiGroups: [''], resources: [nodes/status], verbs: [patch]}
- {apiGroups: [''], resources: [pods], verbs: [list, watch, delete]}
- {apiGroups: [''], resources: [pods/status], verbs: [patch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topolet-node}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topolet-node}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: topolet-nodes}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: topolet-node, namespace: kube-node-lease}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: topolet-node, namespace: kube-node-lease}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: topolet-node}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: topolet-nodes}]
";

/// What nodes of the group [`NODES`] need to publish `NodeResourceTopology` objects, and schedulers to read them.
pub const TOPOLOGY_RIGHTS: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: topolet-publisher}
rules:
- {apiGroups: [topology.node.k8s.io], resources: [noderesourcetopologies], verbs: [create, patch, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: topolet-publisher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: topolet-publisher}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: topolet-nodes}]
---
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
