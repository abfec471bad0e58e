//! Objects of a cluster that describe the NUMA nodes of one of its nodes.

mod described;
mod numatopology;
mod zones;

use kubernetes_yaml::{Node as Value, read_stream};
use topology_model::{Machine, Smt};

use crate::error::MachineTextError;
use crate::form::Form;
use crate::lack::Lack;
use crate::machine_text::MachineText;
use described::{Described, name, string};

/// The kinds that are read, with the command that prints one.
const KINDS: [(&str, Form, &str); 2] = [
    ("NodeResourceTopology", Form::NodeResourceTopology, "kubectl get noderesourcetopology NODE -o yaml"),
    ("Numatopology", Form::Numatopology, "kubectl get numatopology NODE -o yaml"),
];

/// Whether a text whose first line is `first` is such an object, or a list of them.
pub(crate) fn is_one(first: &str, text: &str) -> bool {
    let begins = |begin: &&str| first.starts_with(begin);
    if !["apiVersion:", "kind:", "items:", "---", "{"].iter().any(begins) {
        return false;
    }
    let names_one = |part: &str| {
        let kind = part.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?;
        let kind = kind.trim_start().trim_start_matches(['"', '\'']);
        KINDS.iter().find(|(name, ..)| {
            kind.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    };
    text.split("kind").skip(1).any(|part| names_one(part).is_some())
}

/// Reads a machine from such an object; of several from that of the node called `wanted`.
pub(crate) fn read(text: &str, wanted: Option<&str>) -> Result<MachineText, MachineTextError> {
    let documents = read_stream(text).map_err(|error| MachineTextError::Object(error.to_string()))?;
    let mut found: Vec<(&Value, Form, &str)> = Vec::new();
    let of_lists =
        documents.nodes.iter().flat_map(|node| match node.value.get("items").map(|items| &items.value) {
            Some(kubernetes_yaml::Value::List(items)) => items.iter().collect(),
            _ => Vec::from([node]),
        });
    for node in of_lists {
        let Some(kind) = node.value.get("kind").and_then(string) else { continue };
        if wanted.is_some_and(|wanted| name(node) != wanted) {
            continue;
        }
        found.extend(
            KINDS.iter().filter(|(own, ..)| *own == kind).map(|(_, form, command)| (node, *form, *command)),
        );
    }
    let (object, form) = match found.as_slice() {
        [] => return Err(MachineTextError::Unknown),
        [(object, form, _)] => (object, *form),
        [(_, _, command), ..] => {
            let names = found.iter().map(|(object, ..)| name(object)).collect();
            return Err(MachineTextError::ManyObjects { names, command });
        }
    };
    let read = match form {
        Form::Numatopology => numatopology::read(object),
        _ => zones::read(object),
    };
    let Described { mut parts, mut lacks, assumed } =
        read.map_err(|reason| MachineTextError::Definition { form, reason })?;
    if parts.cpus.online.is_empty() {
        return Err(MachineTextError::Definition { form, reason: "it lists no CPUs".to_owned() });
    }
    parts.memory = parts.nodes.iter().map(|node| node.memory).sum();
    parts.hugepages = parts.hugepages_of_nodes();
    parts.smt = Smt {
        active: (!lacks.contains(&Lack::Cores)).then(|| parts.cores.iter().any(|core| core.cpus.len() > 1)),
        control: None,
    };
    lacks.extend([Lack::Caches, Lack::Devices]);
    lacks.extend(parts.memory.is_none().then_some(Lack::Memory));
    lacks.extend(parts.nodes.iter().any(|node| node.distances.is_none()).then_some(Lack::Distances));
    lacks.extend(parts.hugepages.is_empty().then_some(Lack::HugePages));
    lacks.sort_unstable();
    let machine = Machine::new(parts)?;
    Ok(MachineText { machine, forms: Vec::from([form]), assumed, lacks, unread: Vec::new() })
}
