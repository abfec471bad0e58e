//! What a node is called, its labels and taints: what pods demand of it besides resources.

use std::collections::BTreeMap;

use admission_report::{unchecked_resources, why_unchecked};
use device_manager::Moment;
use k8s_quantity::{Amount, Quantity};
use node_output::manifest_error;
use pod_spec::{Container, Pod, ResourceName};
use topology_admission::Identity;
use topology_manifest::{NodeObject, Source, check_node_name, read_node};

use crate::node::LoadedNode;
use crate::sources::{ADVICE, IdentitySource};

impl IdentitySource {
    /// The identity that is given; `None`: none.
    ///
    /// # Errors
    /// The file cannot be read, or a name or label is wrong.
    fn read(&self) -> anyhow::Result<Option<Identity>> {
        if let Some(NodeObject { name, labels, taints, .. }) = self.object()? {
            return Ok(Some(Identity { name, labels, taints }));
        }
        let Some(name) = self.node_name.clone() else { return Ok(None) };
        // A kubelet gives itself these.
        let own = [("kubernetes.io/hostname", name.as_str()), ("kubernetes.io/os", "linux")];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = own.into_iter().chain(self.labels()?).collect();
        Ok(Some(Identity { name, labels, taints: Vec::new() }))
    }

    /// The Node object that is given; `None`: none is.
    fn object(&self) -> anyhow::Result<Option<NodeObject>> {
        let Some(path) = &self.node else { return Ok(None) };
        let text = crate::files::read(path)?;
        let node = Source::from_bytes(&path.display().to_string(), &text)
            .and_then(|source| read_node(&source))
            .map_err(manifest_error)?;
        Ok(Some(node))
    }

    /// The labels that are given beside those that a kubelet gives itself.
    ///
    /// # Errors
    /// One is no label, or the name that is given is none of a node.
    pub fn labels(&self) -> anyhow::Result<BTreeMap<String, String>> {
        if let Some(name) = &self.node_name
            && let Err(wrong) = check_node_name(name)
        {
            anyhow::bail!("--node-name {name} cannot be a node's name: {wrong}");
        }
        let labels = self.node_labels.iter().map(|label| {
            let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                anyhow::bail!("--node-labels has {label:?}; expected KEY=VALUE, several with commas between");
            };
            Ok((key.to_owned(), value.to_owned()))
        });
        labels.collect()
    }
}

impl LoadedNode {
    /// The node with the identity that is given, if one is.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn with_identity(mut self, given: &IdentitySource) -> anyhow::Result<Self> {
        if let Some(object) = given.object()? {
            self.other_machine = self.other_machine(&object);
        }
        if let Some(identity) = given.read()? {
            self.node = self.node.as_ref().clone().with_identity(identity).into();
        }
        Ok(self)
    }

    /// The node that its object describes: as it calls it, with its labels and taints.
    #[must_use]
    pub(crate) fn with_node_object(mut self, object: NodeObject) -> Self {
        let NodeObject { name, labels, taints, .. } = object;
        self.node = self.node.as_ref().clone().with_identity(Identity { name, labels, taints }).into();
        self
    }

    /// In what a Node object contradicts the machine and the configuration, as text to be shown.
    pub(crate) fn contradicted_by(&self, object: &NodeObject) -> Vec<String> {
        if let Some(other) = self.other_machine(object) {
            return vec![other];
        }
        let (own, pods) = self.reported_amounts(&self.empty_ledger(), Moment::default());
        let parsed =
            |amounts: &BTreeMap<String, String>, name: &str| amounts.get(name)?.parse::<Quantity>().ok();
        let kept_from_pods = |all: Option<Quantity>, pods: Option<Quantity>, of: fn(&Quantity) -> i64| {
            Some(of(&all?).saturating_sub(of(&pods?)))
        };
        let kept = |name: &str, all: Option<&Quantity>, of: fn(&Quantity) -> i64| {
            let reported = kept_from_pods(all.cloned(), object.allocatable.get(name).cloned(), of)?;
            Some((reported, kept_from_pods(parsed(&own, name), parsed(&pods, name), of)?))
        };
        let mut found = Vec::new();
        let mut tell = |what: &str, (reported, here): (String, String)| {
            found.push(format!(
                "by its object the node keeps {reported} of {what} from pods, and by configuration {} {here}: its kubelet runs with another configuration, or has not restarted since it changed",
                self.line.configuration
            ));
        };
        let cpu = kept("cpu", object.cpus.as_ref(), Quantity::milli_value);
        if let Some((reported, here)) = cpu.filter(|(reported, here)| reported != here) {
            tell("CPU", (format!("{reported}m"), format!("{here}m")));
        }
        // Bytes are reported in whole kibibytes, and huge pages are part of the difference on both sides.
        let memory = kept("memory", object.memory.as_ref(), Quantity::value);
        if let Some((reported, here)) = memory.filter(|(reported, here)| reported.abs_diff(*here) > 1 << 20) {
            let bytes = |value: i64| Amount::Bytes(u64::try_from(value).unwrap_or(0)).to_string();
            tell("memory", (bytes(reported), bytes(here)));
        }
        found
    }

    /// That a Node object has not the size of the machine.
    fn other_machine(&self, object: &NodeObject) -> Option<String> {
        let (name, machine) = (&object.name, &self.line.machine);
        let real = self.imagined.as_ref().map(|imagined| &imagined.real);
        let own = real
            .map_or_else(|| i64::try_from(self.cpus.num_cpus()).unwrap_or(i64::MAX), |real| real.num_cpus);
        if let Some(cpus) = object.cpus.as_ref().map(Quantity::value).filter(|cpus| *cpus != own) {
            return Some(format!(
                "Node {name} has {cpus} CPUs, and machine {machine} {own}: they are not the same node"
            ));
        }
        let own = real.map_or_else(|| self.view().memory_capacity(), |real| real.memory_capacity);
        let theirs = u64::try_from(object.memory.as_ref()?.value()).ok()?;
        // A kernel may keep a little more or less for itself after each boot.
        let is_other = own > 0 && theirs.abs_diff(own) > own / 20;
        is_other.then(|| {
            let (theirs, own) = (Amount::Bytes(theirs), Amount::Bytes(own));
            format!(
                "Node {name} has {theirs} of memory, and machine {machine} {own}: they are not the same node"
            )
        })
    }

    /// Which devices of these pods are not checked, since no plugin of them is known here, as text to be shown.
    pub fn unchecked<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Option<String> {
        let mut counts: BTreeMap<ResourceName, usize> = BTreeMap::new();
        for pod in pods {
            for resource in unchecked_resources(&self.node, &self.inventory, pod) {
                *counts.entry(resource).or_default() += 1;
            }
        }
        let counted = |(resource, count): (&ResourceName, &usize)| {
            format!("{resource} of {count} pod{}", if *count == 1 { "" } else { "s" })
        };
        let are = if counts.len() == 1 { "is" } else { "are" };
        let listed = counts.iter().map(counted).collect::<Vec<_>>().join(", ");
        (!counts.is_empty()).then(|| {
            let why = why_unchecked(counts.len());
            format!("{listed} {are} not checked: {why}{}", ADVICE.unchecked)
        })
    }

    /// Which demands of these pods are not checked, since facts of the node are missing, as text to be shown.
    pub fn not_looked_at<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Vec<String> {
        let (mut selectors, mut affinity, mut storage) = (false, false, false);
        let asks_storage = |container: &Container| container.requests.contains_key("ephemeral-storage");
        for pod in pods {
            selectors |= !pod.constraints.node_selector.is_empty();
            affinity |= pod.constraints.node_affinity.is_some();
            storage |= pod.containers.iter().any(asks_storage);
        }
        let of_identity = [(selectors, "nodeSelector"), (affinity, "nodeAffinity")];
        let demands: Vec<&str> =
            of_identity.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what).collect();
        let mut notes = Vec::new();
        if self.node.identity().is_none() && !demands.is_empty() {
            notes.push(format!(
                "not looked at: {}, since the node's name and labels are not known; --node takes them from \
                 `kubectl get node NODE -o yaml`",
                demands.join(", ")
            ));
        }
        if storage {
            notes.push("not looked at: ephemeral-storage, since the node's disk is not known".to_owned());
        }
        notes
    }
}
