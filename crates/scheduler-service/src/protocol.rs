//! What kube-scheduler and its extenders say to each other: `k8s.io/kube-scheduler/extender/v1`, whose fields have the names
//! that they have in Go.
//!
//! A question is read in place: objects stay the text that they came as, and lists have limits, so that what is read takes no
//! more memory than a few times the question.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The largest pod as JSON, in bytes: an API server takes no larger request. etcd stores 1.5 MiB of a pod in a shorter form.
const LARGEST_POD: usize = 3 << 20;
/// The most nodes, or pods of a node, in a question.
const MOST: usize = 100_000;

/// A pod, and the nodes that are in question: by name, or as objects where the extender is not `nodeCacheCapable`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderArgs<'a> {
    #[serde(borrow)]
    pod: &'a RawValue,
    #[serde(borrow, default)]
    pub(crate) nodes: Option<NodeList<'a>>,
    #[serde(default)]
    pub(crate) node_names: Option<List<String>>,
}

/// Nodes as objects.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct NodeList<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    kind: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "apiVersion", skip_serializing_if = "Option::is_none")]
    api_version: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    items: List<&'a RawValue>,
}

/// What of an object says which it is.
#[derive(Debug, Deserialize)]
struct Named {
    metadata: Metadata,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: String,
}

impl<'a> ExtenderArgs<'a> {
    /// The pod as JSON.
    ///
    /// # Errors
    /// It is larger than any pod of a cluster.
    pub(crate) fn pod(&self) -> Result<&'a str, String> {
        pod(self.pod)
    }

    /// The nodes by name, in the order in which they came.
    ///
    /// # Errors
    /// A node has no name.
    pub(crate) fn names(&self) -> Result<Vec<String>, String> {
        match (&self.node_names, &self.nodes) {
            (Some(names), _) => Ok(names.0.clone()),
            (None, Some(nodes)) => nodes.items.0.iter().map(|node| name(node)).collect(),
            (None, None) => Ok(Vec::new()),
        }
    }
}

impl NodeList<'_> {
    /// Leaves the nodes at these positions, which ascend.
    pub(crate) fn retain(&mut self, positions: &[usize]) {
        let mut at = 0;
        self.items.0.retain(|_| {
            at += 1;
            positions.binary_search(&(at - 1)).is_ok()
        });
    }
}

fn pod(pod: &RawValue) -> Result<&str, String> {
    if pod.get().len() > LARGEST_POD {
        return Err(format!("it is larger than {LARGEST_POD} bytes, and no pod of a cluster is"));
    }
    Ok(pod.get())
}

fn name(node: &RawValue) -> Result<String, String> {
    let read = serde_json::from_str::<Named>(node.get());
    read.map(|node| node.metadata.name).map_err(|error| format!("a node has no name: {error}"))
}

/// Which nodes are left.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderFilterResult<'a> {
    pub(crate) nodes: Option<NodeList<'a>>,
    pub(crate) node_names: Option<Vec<String>>,
    /// Why the others are not, by name.
    pub(crate) failed_nodes: BTreeMap<String, String>,
    /// Those that no preemption makes fit.
    pub(crate) failed_and_unresolvable_nodes: BTreeMap<String, String>,
    pub(crate) error: String,
}

/// How good a node is: from 0, to the best score that the service is set up with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct HostPriority {
    pub(crate) host: String,
    pub(crate) score: i64,
}

/// Which pods would be ended on which nodes for a pod.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderPreemptionArgs<'a> {
    #[serde(borrow)]
    pod: &'a RawValue,
    /// Where the extender is not `nodeCacheCapable`.
    #[serde(default)]
    node_name_to_victims: Option<Map<Victims>>,
    #[serde(default)]
    node_name_to_meta_victims: Option<Map<MetaVictims>>,
}

/// Pods that would be ended on one node.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Victims {
    #[serde(default)]
    pods: Option<List<Named>>,
    #[serde(default, rename = "NumPDBViolations")]
    violations: i64,
}

/// The same by UID.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct MetaVictims {
    #[serde(default)]
    pub(crate) pods: Option<List<MetaPod>>,
    #[serde(default, rename = "NumPDBViolations")]
    pub(crate) violations: i64,
}

/// A pod by UID.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct MetaPod {
    #[serde(rename = "UID")]
    pub(crate) uid: String,
}

/// The nodes on which the pod fits after its victims have gone.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct ExtenderPreemptionResult {
    pub(crate) node_name_to_meta_victims: BTreeMap<String, MetaVictims>,
}

impl<'a> ExtenderPreemptionArgs<'a> {
    /// The pod as JSON.
    ///
    /// # Errors
    /// It is larger than any pod of a cluster.
    pub(crate) fn pod(&self) -> Result<&'a str, String> {
        pod(self.pod)
    }

    /// The victims by UID.
    pub(crate) fn victims(self) -> BTreeMap<String, MetaVictims> {
        if let Some(victims) = self.node_name_to_meta_victims.filter(|victims| !victims.0.is_empty()) {
            return victims.0;
        }
        let meta = |victims: Victims| {
            let uid = |pod: Named| MetaPod { uid: pod.metadata.uid };
            let pods = victims.pods.map(|pods| List(pods.0.into_iter().map(uid).collect()));
            MetaVictims { pods, violations: victims.violations }
        };
        let all = self.node_name_to_victims.into_iter().flat_map(|victims| victims.0);
        all.map(|(node, victims)| (node, meta(victims))).collect()
    }
}

/// A list of [`MOST`] at most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The same by name.
#[derive(Debug)]
struct Map<T>(BTreeMap<String, T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of {MOST} at most")
            }

            /// Go writes a list without elements so.
            fn visit_unit<E>(self) -> Result<List<T>, E> {
                Ok(List::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = elements.next_element()? {
                    if list.len() == MOST {
                        return Err(A::Error::custom(format_args!("a list has more than {MOST} elements")));
                    }
                    list.push(element);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_any(Elements(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Map<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Map<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of {MOST} fields at most")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map<T>, A::Error> {
                let mut map = BTreeMap::new();
                while let Some((name, entry)) = entries.next_entry()? {
                    if map.len() == MOST {
                        return Err(A::Error::custom(format_args!("an object has more than {MOST} fields")));
                    }
                    map.insert(name, entry);
                }
                Ok(Map(map))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_that_are_left_are_given_back_as_they_came() {
        let text = r#"{"Pod":{},"Nodes":{"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":
            [{"metadata":{"name":"a"},"x": 1.0},{"metadata":{"name":"b"}},{"metadata":{"name":"c"}}]}}"#;
        let mut asked: ExtenderArgs<'_> =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(asked.names(), Ok(["a", "b", "c"].map(str::to_owned).to_vec()));
        let Some(nodes) = &mut asked.nodes else { panic!("there are nodes") };
        nodes.retain(&[0, 2]);
        let left = serde_json::to_value(nodes).unwrap_or_else(|error| panic!("{error}"));
        let expected = json!({ "kind": "NodeList", "metadata": { "resourceVersion": "7" },
            "items": [{ "metadata": { "name": "a" }, "x": 1.0 }, { "metadata": { "name": "c" } }] });
        assert_eq!(left, expected);
    }

    #[test]
    fn what_is_too_much_is_named() {
        let numbers = "0,".repeat(MOST);
        let long = "x".repeat(LARGEST_POD);
        for (text, expected) in [
            (
                format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{numbers}0]}}}}"#),
                "a list has more than 100000 elements",
            ),
            (
                format!(r#"{{"Pod":{{}},"NodeNames":[{}""]}}"#, "\"\",".repeat(MOST)),
                "a list has more than 100000",
            ),
            (format!(r#"{{"Pod":"{long}"}}"#), "it is larger than 3145728 bytes"),
            (r#"{"Pod":{},"Nodes":{"items":[0]}}"#.to_owned(), "a node has no name: invalid type: integer"),
        ] {
            let read = serde_json::from_str::<ExtenderArgs<'_>>(&text).map_err(|error| error.to_string());
            let read = read.and_then(|asked| asked.pod().and_then(|_| asked.names()));
            let why = read.err().unwrap_or_default();
            assert!(why.starts_with(expected), "{why}");
        }
    }

    #[test]
    fn empty_lists_of_go_are_read() {
        let asked: ExtenderArgs<'_> =
            serde_json::from_str(r#"{"Pod":{},"Nodes":{"items":null},"NodeNames":null}"#)
                .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(asked.names(), Ok(Vec::new()));
    }

    #[test]
    fn victims_are_the_same_by_object_and_by_uid() {
        let objects = r#"{"Pod":{},"NodeNameToVictims":{"a":{"Pods":[{"metadata":{"uid":"1","name":"x"}}],"NumPDBViolations":2},
            "b":{"Pods":null}}}"#;
        let uids =
            r#"{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"1"}],"NumPDBViolations":2},"b":{}}}"#;
        let read = |text: &str| {
            let asked = serde_json::from_str::<ExtenderPreemptionArgs<'_>>(text);
            asked.unwrap_or_else(|error| panic!("{error}")).victims()
        };
        assert_eq!(read(objects), read(uids));
    }
}
