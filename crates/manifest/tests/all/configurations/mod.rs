//! What is read of a kubelet's configuration in some form.

#![allow(dead_code, reason = "each test uses a part")]

use topology_manifest::{KubeletArgument, KubeletConfigRead, Source, Style, read_kubelet_config};

/// The configuration in a text, which has to be one.
pub(crate) fn read(text: &str) -> KubeletConfigRead {
    let read = read_kubelet_config(&Source { name: "config", text });
    read.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The flags that it sets.
pub(crate) fn flags(read: &KubeletConfigRead) -> Vec<&str> {
    read.flags.iter().map(KubeletArgument::text).collect()
}

/// Why a text is none, as it is shown.
pub(crate) fn refused(text: &str) -> String {
    match read_kubelet_config(&Source { name: "config", text }) {
        Ok(read) => panic!("{text}: {read:?}"),
        Err(error) => error.render(Style::Ascii),
    }
}
