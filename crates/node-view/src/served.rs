//! The node that is served or watched: what stays as it is while the daemon runs.

use anyhow::Context as _;
use machine_picture::Reserved;
use node_input::{LoadedMachine, LoadedNode};
use node_output::MachineView;
use terminal_text::Glyphs;
use topology_model::Machine;

/// Who owns the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// This daemon.
    Serve,
    /// A kubelet, which this daemon watches.
    Observe,
}

/// The node, its machine, and in which mode the daemon runs.
pub struct ServedNode {
    /// Machine, rules and devices.
    pub node: LoadedNode,
    /// Who owns it.
    pub mode: Mode,
    /// The machine as `topolet topology -o json` has it.
    pub machine: serde_json::Value,
    /// What `topolet topology` draws of the machine.
    pub view: MachineView,
    /// The machine for pictures of the node; `None` where only cAdvisor's view of it is known.
    pub hardware: Option<Hardware>,
    /// What is assumed about the node for as long as it is served, each as a sentence.
    pub assumed: Vec<String>,
}

/// A machine with what stays as it is while its node is served.
pub struct Hardware {
    /// The machine.
    pub machine: Machine,
    /// The line below the name of the machine in a picture.
    pub summary: String,
    /// CPUs and memory that pods cannot have.
    pub reserved: Reserved,
}

impl ServedNode {
    /// A node on its machine.
    ///
    /// # Errors
    /// The machine cannot be written as JSON.
    pub fn new(
        node: LoadedNode,
        machine: &LoadedMachine,
        mode: Mode,
        assumed: Vec<String>,
    ) -> anyhow::Result<Self> {
        let view = machine.view();
        let hardware = machine.machine.as_ref().map(|machine| Hardware {
            machine: machine.clone(),
            summary: view.summary.line(Glyphs::Unicode),
            reserved: node.reserved(),
        });
        Ok(Self {
            node,
            mode,
            machine: serde_json::to_value(&view).context("failed to write the machine down")?,
            view,
            hardware,
            assumed,
        })
    }
}
