//! What a fuzzing engine runs instead of `main`: the target that the program is built as, see `fuzz/README.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clap::Parser as _;

use crate::command::{self, Arguments};
use crate::fuzzed_commands::COMMANDS;
use crate::screen::Screen;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match env!("CARGO_BIN_NAME") {
        "requests" => node_daemon::requests(bytes),
        "clients" => node_daemon::clients(bytes),
        _ => command(bytes),
    }
});

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ran}\nspec:\n  containers:\n  - name: app\n    \
                   image: i\n    resources:\n      limits: {cpu: 2, memory: 1Gi}\n";

/// Where files are put; in memory where the system has such a place.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = parent.join(format!("topolet-fuzz-{}", std::process::id()));
        fs::create_dir_all(folder.join("empty")).unwrap_or_else(|error| panic!("{error}"));
        fs::write(folder.join("pod.yaml"), POD).unwrap_or_else(|error| panic!("{error}"));
        folder
    })
}

/// The first byte says which command, the others are the file that it is given. Whatever is in it, the command ends.
fn command(bytes: &[u8]) {
    let Some((which, content)) = bytes.split_first() else { return };
    let Some(line) = COMMANDS.get(usize::from(which.wrapping_sub(b'A'))) else { return };
    let mut written = None;
    let word = |word: &str| -> String {
        let path = match word.split_at_checked(1) {
            Some(("@", ending)) => {
                let path = folder().join(format!("input{ending}"));
                written = Some(path.clone());
                path
            }
            Some(("+", file)) => {
                let root = folder().join(file.replace('/', "-"));
                written = Some(root.join(file));
                root
            }
            _ if word == "POD" => folder().join("pod.yaml"),
            _ if word == "FOLDER" => folder().join("empty"),
            _ => return word.to_owned(),
        };
        path.display().to_string()
    };
    let words: Vec<String> = std::iter::once("topolet").chain(line.split(' ')).map(word).collect();
    if let Some(path) = &written {
        let parent = path.parent().unwrap_or(path);
        let put = fs::create_dir_all(parent).and_then(|()| fs::write(path, content));
        put.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let arguments = Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let screen = Screen::new(clap::ColorChoice::Never);
    if let Err(error) = command::run(&arguments, screen) {
        let said = format!("{error:#}");
        assert!(!said.is_empty() && !said.contains("panicked"), "{said}");
        screen.error(&error);
    }
}
