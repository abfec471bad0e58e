//! What a page asks beside trials: configurations, upgrades, moves of pods, and how many of a pod fit. `topolet ui` answers these;
//! a daemon has its node to serve.

use std::sync::Arc;

use node_input::LoadedMachine;
use serde::Serialize;
use terminal_text::Page;

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuestionKind {
    /// Whether a kubelet starts with a configuration, and which one would pin there.
    ConfigCheck,
    /// What another release of the kubelet does otherwise.
    UpgradeCheck,
    /// Which pods have to move so that another one fits.
    Repack,
    /// How many of a pod fit.
    FindMax,
}

impl QuestionKind {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "config-check" => Self::ConfigCheck,
            "upgrade-check" => Self::UpgradeCheck,
            "repack" => Self::Repack,
            "find-max" => Self::FindMax,
            _ => return None,
        })
    }
}

/// The machine that is meant.
#[derive(Clone)]
pub enum AskedMachine {
    /// That of the node that is shown.
    This,
    /// The built-in one of this name, on which nothing runs.
    BuiltIn(String),
    /// That of a node file.
    Sent(Arc<LoadedMachine>),
}

/// A question of a page.
pub struct PageQuestion {
    /// What is asked.
    pub kind: QuestionKind,
    /// On which machine.
    pub machine: AskedMachine,
    /// The text of a configuration in the place of the machine's own.
    pub configuration: Option<String>,
    /// The kubelet, such as `1.37`; `None`: the machine's own.
    pub kubelet: Option<String>,
    /// The kubelet after an upgrade.
    pub to: Option<String>,
    /// Manifests; empty: none are given.
    pub manifests: Vec<u8>,
    /// The page that the answer is written on.
    pub page: Page,
}

/// The answer to a question.
#[derive(Clone, Debug, Serialize)]
pub struct PageAnswer {
    /// `done`, `something-wrong`, `some-refused` or `partial`, as commands exit with 0, 2, 2 and 3.
    pub outcome: &'static str,
    /// The answer in one line; absent: the outcome tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// As the command line prints it.
    pub text: String,
}

/// Answers questions of a page.
pub trait PageQuestions: Send + Sync {
    /// The arguments of a command line that name the node that is shown; none: this machine.
    fn arguments(&self) -> &[String];

    /// Answers. Nothing changes.
    ///
    /// # Errors
    /// Something that was given cannot be read, or a kubelet does not start with it.
    fn answer(&self, question: &PageQuestion) -> anyhow::Result<PageAnswer>;
}
