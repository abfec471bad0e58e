//! Why a text is no machine.

use thiserror::Error;
use topology_model::InvalidMachine;

use crate::form::{Form, OtherForm};
use crate::machine_text::{MAX_NODES, MAX_TEXT};

/// Why a text is no machine.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MachineTextError {
    /// Longer than [`MAX_TEXT`].
    #[error("text of a machine is larger than {most} MiB", most = MAX_TEXT >> 20)]
    TooLarge,
    /// Nothing in it is known.
    #[error(
        "nothing in it is recognised as an output of lscpu, numactl --hardware, lstopo or virsh, as meminfo, as XML of hwloc, as a command line of QEMU, or as a kubelet's line about CPUs: expected a file that `topolet capture FILE.tar.zst` wrote on the node, or the output of `(lscpu -e; lscpu; numactl -H)` there"
    )]
    Unknown,
    /// It is known as something from which no machine is made.
    #[error("it is {form}: {instead}", instead = form.instead())]
    Other {
        /// What it is.
        form: OtherForm,
    },
    /// Nothing in it lists CPUs.
    #[error("{form} lists no CPUs: {instead}", instead = lists_cpus(*form))]
    NoCpus {
        /// What there is.
        form: Form,
    },
    /// A value cannot be understood.
    #[error("{form}, line {line}: {reason}")]
    Value {
        /// The output.
        form: Form,
        /// Its line in the text, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Two outputs say different things of one thing.
    #[error("outputs contradict each other: {one} has {what}, and {other} {other_what}")]
    Contradiction {
        /// An output.
        one: Form,
        /// What it says.
        what: String,
        /// Another, or another of the same form.
        other: Form,
        /// What that says.
        other_what: String,
    },
    /// Lines are missing.
    #[error("{form} is not whole: of {all} {what} it lists {listed}")]
    LeftOut {
        /// The output.
        form: Form,
        /// What is missing of.
        what: &'static str,
        /// How many there are.
        all: usize,
        /// How many are listed.
        listed: usize,
    },
    /// There are NUMA nodes, and nothing tells their CPUs.
    #[error("nothing says which CPUs each of the {nodes} NUMA nodes has: add the output of `numactl -H`")]
    NoCpusOfNodes {
        /// How many.
        nodes: usize,
    },
    /// More than the kernel knows.
    #[error("there are more than {MAX_NODES} NUMA nodes")]
    TooManyNodes,
    /// A drawing whose lines are not indented.
    #[error(
        "lstopo has lost its indentation, which says what lies in what: `lstopo FILE.xml` writes it in a form that keeps it"
    )]
    Indentation,
    /// Several machines.
    #[error("there are two machines in it: expected the outputs of one")]
    TwoMachines,
    /// A definition of a machine that is wrong.
    #[error("{form}: {reason}")]
    Definition {
        /// What it is.
        form: Form,
        /// What is wrong with it.
        reason: String,
    },
    /// No YAML or JSON.
    #[error("the object is damaged: {0}")]
    Object(String),
    /// Objects of several nodes.
    #[error("there are {count} objects in it, of {list}: `{command}` prints one", count = names.len(), list = names.join(", "))]
    ManyObjects {
        /// Their names.
        names: Vec<String>,
        /// The command that prints one.
        command: &'static str,
    },
    /// No XML.
    #[error("its XML is damaged: {0}")]
    Xml(String),
    /// What was read does not fit together.
    #[error(
        "outputs are not whole, or not of one machine: {0}; `(lscpu -e; lscpu; numactl -H) > FILE` has all of it"
    )]
    Machine(#[from] InvalidMachine),
}

/// What lists the CPUs that an output does not.
const fn lists_cpus(form: Form) -> &'static str {
    match form {
        Form::HwlocXml | Form::Lstopo => "`lstopo FILE.xml` on the node writes them",
        Form::LibvirtCapabilities => "`virsh capabilities` on a host of libvirt prints them",
        Form::LibvirtDomain => "`virsh dumpxml DOMAIN` prints them",
        Form::Lscpu => "`LC_ALL=C lscpu -e` prints them, in the language that is read",
        _ => "add the outputs of `lscpu -e` and `lscpu`",
    }
}
