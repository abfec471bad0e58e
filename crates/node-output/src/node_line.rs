//! The node that decided, in a line.

use node_config::{DecidedBy, Scope, Strategy};
use serde::Serialize;
use terminal_text::Page;
use topology_admission::Node;

/// The node that decided: machine and rules.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeLine {
    /// What the machine is called.
    pub machine: String,
    /// What the machine is imagined to have more than the real one, each such as `8 more intel.com/vf on NUMA node 1`; absent: it
    /// is the real one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imagined: Vec<String>,
    /// What the kubelet configuration is called.
    pub configuration: String,
    /// By the kubelet's name.
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::policy"))]
    pub topology_policy: &'static str,
    /// `container` or `pod`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "admission_report::schema::scope"))]
    pub topology_scope: &'static str,
    /// What tells node sets apart that the policy ranks equal; absent: the lower number, as in the kubelet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<&'static str>,
    /// `static` or `none`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::cpu_policy"))]
    pub cpu_policy: &'static str,
    /// `Static` or `None`.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::memory_policy"))]
    pub memory_policy: &'static str,
    /// The program whose answer it is.
    #[cfg_attr(feature = "schema", schemars(schema_with = "crate::schema::decided_by"))]
    pub decided_by: DecidedBy,
    /// The kubelet release whose answers these are; documents name it themselves.
    #[serde(skip)]
    pub rules_of: String,
}

impl NodeLine {
    /// Of `node` on the machine and with the configuration of these names.
    #[must_use]
    pub fn new(machine: &str, configuration: &str, decided_by: DecidedBy, node: &Node) -> Self {
        Self {
            machine: machine.to_owned(),
            imagined: Vec::new(),
            configuration: configuration.to_owned(),
            topology_policy: node.policy().name(),
            topology_scope: match node.scope() {
                Scope::Container => "container",
                Scope::Pod => "pod",
            },
            placement: Some(node.placement().strategy)
                .filter(|strategy| *strategy != Strategy::LowestNumber)
                .map(Strategy::name),
            cpu_policy: if node.cpus().is_some() { "static" } else { "none" },
            memory_policy: if node.memory().is_some() { "Static" } else { "None" },
            decided_by,
            rules_of: format!("v{}", node.kubelet_rules().version),
        }
    }

    /// The same of a machine that has more than the real one.
    #[must_use]
    pub fn imagined(self, more: Vec<String>) -> Self {
        Self { imagined: more, ..self }
    }

    /// Which machine is imagined; `None`: it is a real one.
    #[must_use]
    pub fn imagined_words(&self) -> Option<String> {
        let more = (!self.imagined.is_empty()).then(|| in_words(&self.imagined))?;
        Some(format!("imagined: {} with {more}", self.machine))
    }

    /// The line that comes before all others where the machine is imagined, ending in a newline; else nothing.
    #[must_use]
    pub fn imagined_line(&self, page: Page) -> String {
        self.imagined_words().map(|words| page.wrapped(&words, 2)).unwrap_or_default()
    }

    /// The first line of all output about a real machine, ending in a newline.
    #[must_use]
    pub fn headline(&self, page: Page) -> String {
        let dot = page.dot();
        let Self { configuration, cpu_policy, memory_policy, .. } = self;
        let line = self.line(page);
        let all = format!(
            "{line} {dot} configuration {configuration} {dot} CPUs {cpu_policy}, memory {memory_policy}"
        );
        page.wrapped(&all, 2)
    }

    /// The node in a few words.
    #[must_use]
    pub fn line(&self, page: Page) -> String {
        let dot = page.dot();
        let Self { machine, rules_of, decided_by, .. } = self;
        let whose = match decided_by {
            DecidedBy::Kubelet => "rules of kubelet",
            DecidedBy::Topolet => "topolet's rules, after kubelet",
        };
        format!("{machine} {dot} {} {dot} {whose} {rules_of}", self.topology())
    }

    /// How hints are merged: policy, scope, and the placement strategy where it is not the kubelet's.
    pub(crate) fn topology(&self) -> String {
        let Self { topology_policy, topology_scope, placement, .. } = self;
        let placement = placement.map(|strategy| format!(", placement {strategy}")).unwrap_or_default();
        format!("{topology_policy}, scope {topology_scope}{placement}")
    }
}

/// `a, b and c`.
fn in_words(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
