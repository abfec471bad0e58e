//! Commands that install or start k3s or RKE2, and the kubelet's flags that they give it.
//!
//! The installer starts k3s with the words of `INSTALL_K3S_EXEC` and behind them its own arguments (`setup_env` in `install.sh` of
//! k3s-io/k3s).

use core::ops::Range;

use super::command::of_k3s;
use super::words::{Word, split_letters};

/// The variable with arguments of k3s.
pub(super) const ARGUMENTS: &str = "INSTALL_K3S_EXEC";

/// Where k3s and RKE2 are installed from.
pub(super) const K3S: &str = "get.k3s.io";
pub(super) const RKE2: &str = "get.rke2.io";

/// What a command gives the kubelet by k3s.
#[derive(Default)]
pub(super) struct K3sInstall {
    /// Flags with their dashes.
    pub(super) flags: Vec<Word>,
    /// The bytes of the words that have them.
    pub(super) read: Vec<Range<usize>>,
    /// A word that becomes options of k3s which are not known.
    pub(super) open: Option<Range<usize>>,
}

/// Whether a command installs k3s or RKE2, or starts one.
pub(super) fn installs_k3s(words: &[Word]) -> bool {
    words.iter().any(|word| [K3S, RKE2].iter().any(|from| word.text().contains(from)))
        || start(words).is_some()
}

/// The place of the first argument of `k3s server` or `rke2 agent`.
fn start(words: &[Word]) -> Option<usize> {
    let is_start = |pair: &[Word]| {
        let [program, step] = pair else { return false };
        let program = program.text();
        matches!(program.rsplit('/').next(), Some("k3s" | "rke2"))
            && matches!(step.text().as_str(), "server" | "agent")
    };
    Some(words.windows(2).position(is_start)? + 2)
}

/// What a command gives the kubelet by k3s; nothing where it neither installs nor starts it.
pub(super) fn of_k3s_install(words: &[Word]) -> K3sInstall {
    let mut made = K3sInstall::default();
    let variable = format!("{ARGUMENTS}=");
    for word in words.iter().filter(|word| word.text().starts_with(&variable)) {
        made.add(split_letters(&word.behind(variable.len())), word.span());
    }
    let behind = start(words).or_else(|| {
        let is_shell = |word: &Word| matches!(word.text().as_str(), "sh" | "bash");
        let shell = words.iter().position(is_shell).filter(|_| installs_k3s(words))?;
        let option = words.iter().skip(shell).position(|word| word.text() == "-s")?;
        Some(shell + option + 1)
    });
    let own: Vec<Word> = behind.map_or_else(Vec::new, |at| {
        words.iter().skip(at).take_while(|word| !ends_command(&word.text())).cloned().collect()
    });
    if let (Some(first), Some(last)) = (own.first(), own.last()) {
        let span = first.span().start..last.span().end;
        made.add(own, span);
    }
    made
}

/// Whether a word stands behind a command.
fn ends_command(word: &str) -> bool {
    matches!(word, "|" | "||" | "&&" | "&" | ";") || word.starts_with(['>', '<']) || word.starts_with("2>")
}

impl K3sInstall {
    fn add(&mut self, words: Vec<Word>, read: Range<usize>) {
        let mut before = String::new();
        for word in &words {
            let text = word.text();
            // Behind an option it is its value.
            let is_value = before.starts_with('-') && !before.contains('=');
            if text.starts_with('$') && !is_value && self.open.is_none() {
                self.open = Some(word.span());
            }
            before = text;
        }
        self.flags.extend(of_k3s(words));
        self.read.push(read);
    }
}
