//! The files of flags of `MicroK8s`, as `kubelite` reads them (`ReadArgsFromFile` in its patch of Kubernetes): it trims
//! each line, skips empty lines and those that begin with `#`, removes all quotes, splits at spaces, and expands
//! variables of its environment.

use std::path::Path;

use crate::flags::last_value;

/// kubelite's own default.
const DEFAULT: &str = "/var/snap/microk8s/current/args/kubelet";

/// The path of the kubelet's file of flags among kubelite's arguments.
pub(crate) fn path<'a>(arguments: &[&'a str]) -> &'a str {
    last_value(arguments, &["kubelet-args-file"]).unwrap_or(DEFAULT)
}

/// The variables that snapd sets, by the paths that they are in. The environment of the process is not read: it needs
/// more rights, and may have secrets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Variables {
    snap: Option<String>,
    data: Option<String>,
    common: Option<String>,
}

impl Variables {
    /// Of `/var/snap/NAME/REVISION/args/kubelet` and `/snap/NAME/REVISION/kubelite`.
    pub(crate) fn of(file: &Path, executable: Option<&Path>) -> Self {
        let text = |path: &Path| path.to_str().map(str::to_owned);
        let data = file.parent().filter(|folder| folder.ends_with("args")).and_then(Path::parent);
        let data = data.filter(|data| data.starts_with("/var/snap") && data.components().count() == 5);
        Self {
            snap: executable.and_then(Path::parent).and_then(text),
            data: data.and_then(text),
            common: data.and_then(Path::parent).and_then(|name| text(&name.join("common"))),
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "SNAP" => self.snap.as_deref(),
            "SNAP_DATA" => self.data.as_deref(),
            "SNAP_COMMON" => self.common.as_deref(),
            _ => None,
        }
    }
}

/// The flags in the text of such a file. A variable that is not known stays as it is written.
pub(crate) fn flags(text: &str, variables: &Variables) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut flags = Vec::new();
    for line in lines {
        let line = line.replace(['"', '\''], "");
        flags.extend(line.split(' ').map(|part| expand(part, variables)));
    }
    flags
}

/// Replaces `$NAME` and `${NAME}`.
fn expand(text: &str, variables: &Variables) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((front, behind)) = rest.split_once('$') {
        expanded.push_str(front);
        let (name, end) = if let Some(name) = behind.strip_prefix('{') {
            name.split_once('}').map_or(("", 0), |(name, _)| (name, name.len() + 2))
        } else {
            let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = behind.find(|letter| !is_part(letter)).unwrap_or(behind.len());
            behind.split_at_checked(end).map_or(("", 0), |(name, _)| (name, end))
        };
        let (written, behind) = behind.split_at_checked(end).unwrap_or((behind, ""));
        if let Some(value) = variables.value(name) {
            expanded.push_str(value);
        } else {
            expanded.push('$');
            expanded.push_str(written);
        }
        rest = behind;
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_microk8s() {
        let text = "--kubeconfig=${SNAP_DATA}/credentials/kubelet.config\n  --root-dir=$SNAP_COMMON/var/lib/kubelet\n\
                    # a comment\n\n--eviction-hard=\"memory.available<100Mi,nodefs.available<1Gi\"\n\
                    --cpu-manager-policy static\n--a=${SNAP}/b ${OTHER}$ ${\n";
        let file = Path::new("/var/snap/microk8s/9072/args/kubelet");
        let variables = Variables::of(file, Some(Path::new("/snap/microk8s/9072/kubelite")));
        let expected = [
            "--kubeconfig=/var/snap/microk8s/9072/credentials/kubelet.config",
            "--root-dir=/var/snap/microk8s/common/var/lib/kubelet",
            "--eviction-hard=memory.available<100Mi,nodefs.available<1Gi",
            "--cpu-manager-policy",
            "static",
            "--a=/snap/microk8s/9072/b",
            "${OTHER}$",
            "${",
        ];
        assert_eq!(flags(text, &variables), expected);
    }

    #[test]
    fn variables_of_other_places_are_not_known() {
        let variables = Variables::of(Path::new("/etc/args/kubelet"), None);
        assert_eq!(variables, Variables::default());
        assert_eq!(flags("--a=${SNAP_DATA}/b", &variables), ["--a=${SNAP_DATA}/b"]);
    }

    #[test]
    fn the_last_path_counts() {
        assert_eq!(path(&[]), DEFAULT);
        assert_eq!(path(&["--kubelet-args-file=/a", "--kubelet-args-file", "/b"]), "/b");
    }
}
