//! Programs of scripts, by what they do with the files that their words name.

/// Programs that change no file unless the shell writes what they print, and words of the shell that read one.
pub(super) const READERS: [&str; 38] = [
    "-a",
    "-w",
    ".",
    "[",
    "[[",
    "awk",
    "cat",
    "cd",
    "chcon",
    "chgrp",
    "chmod",
    "chown",
    "cmp",
    "cut",
    "diff",
    "done",
    "echo",
    "egrep",
    "file",
    "grep",
    "head",
    "jq",
    "journalctl",
    "less",
    "logger",
    "ls",
    "md5sum",
    "mkdir",
    "printf",
    "pushd",
    "restorecon",
    "sha256sum",
    "source",
    "stat",
    "tail",
    "test",
    "wall",
    "wc",
];

/// Programs that change a file with an option alone.
pub(super) const EDITORS: [&str; 3] = ["perl", "sed", "yq"];

/// Programs that leave the files as they are that they copy.
pub(super) const COPIERS: [&str; 4] = ["cp", "install", "rsync", "scp"];

/// Programs that write a file under the name that it has, or another.
pub(super) const MOVERS: [&str; 2] = ["ln", "mv"];

/// Programs that run another one, behind options.
pub(super) const WRAPPERS: [&str; 11] = [
    "chroot",
    "ctr",
    "docker",
    "hyperkube",
    "ionice",
    "nerdctl",
    "nsenter",
    "numactl",
    "podman",
    "systemd-run",
    "taskset",
];

/// What systemctl changes.
pub(super) const CHANGES_OF_UNITS: [&str; 5] = ["edit", "link", "revert", "set-environment", "set-property"];

/// What kubectl changes.
pub(super) const CHANGES_OF_OBJECTS: [&str; 9] =
    ["annotate", "apply", "create", "delete", "edit", "label", "patch", "replace", "set"];

/// Words before the program of a command.
pub(super) const BEFORE: [&str; 20] = [
    "!", "(", "{", "command", "do", "elif", "else", "env", "exec", "export", "if", "local", "nice", "nohup",
    "readonly", "sudo", "then", "time", "until", "while",
];

/// Whether an option lets an editor write the file that it reads.
pub(super) fn is_in_place(word: &str) -> bool {
    let is_short = !word.starts_with("--") && word.starts_with('-') && word.contains('i');
    is_short || word.starts_with("--in-place") || word == "--inplace"
}

/// Whether a word stands before a program: a keyword of the shell, `sudo` with options, or a variable for it.
pub(super) fn is_before(word: &str) -> bool {
    BEFORE.contains(&word) || word.starts_with('-') && word != "-w" && word != "-a"
}
