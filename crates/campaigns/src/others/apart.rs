//! Programs that write to fixed folders of a node: they see empty ones in the place of those of this machine.

use std::path::Path;
use std::process::Command;

/// Mounts empty folders, which `$1` names, makes the kernel's cgroups read-only, makes the folders of `$2`, copies the
/// files of `$3` to `$4` and has the folder `$5` in the place of `$6`; then the program. Nothing of it is seen outside.
const SCRIPT: &str = r#"
for folder in $1; do mount -t tmpfs none "$folder" || exit 97; done
while read -r _ folder kind _; do
    case $kind in cgroup*) mount -o remount,bind,ro "$folder" || exit 97;; esac
done < /proc/self/mounts
for folder in $2; do mkdir -p "$folder" || exit 97; done
if [ -n "$3" ]; then mkdir -p "$4" && cp "$3"/* "$4" || exit 97; fi
if [ -n "$5" ]; then mount --bind "$5" "$6" || exit 97; fi
shift 6
exec "$@"
"#;

/// The folders that a program sees.
#[derive(Clone, Copy, Default)]
pub(super) struct Folders<'a> {
    /// Those of this machine that are empty for it.
    pub(super) empty: &'a [&'a str],
    /// Those that it finds below them.
    pub(super) made: &'a [&'a str],
    /// A folder, and where it finds its files.
    pub(super) shown: Option<(&'a Path, &'a str)>,
    /// A folder, and which one it finds in the place of.
    pub(super) replaced: Option<(&'a Path, &'a str)>,
}

/// Those of a node on which no pod has run yet.
pub(super) const NODE: Folders<'static> = Folders {
    empty: &["/var/lib", "/run"],
    made: &["/var/lib/kubelet/plugins_registry"],
    shown: None,
    replaced: None,
};

/// A command in a new mount namespace with these folders. Needs root.
pub(super) fn apart(program: &Path, folders: Folders<'_>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "--", "sh", "-c", SCRIPT, "sh"]);
    command.arg(folders.empty.join(" ")).arg(folders.made.join(" "));
    for folder in [folders.shown, folders.replaced] {
        match folder {
            Some((from, at)) => command.arg(from).arg(at),
            None => command.args(["", ""]),
        };
    }
    command.arg(program);
    command
}
