//! The programs that contain a kubelet, and how a process shows that it is one.

/// A program that contains a kubelet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Program {
    /// `kubelet` itself, also where RKE2, k0s, Talos or a snap starts it.
    Kubelet,
    /// `hyperkube kubelet`, of Kubernetes before 1.19 and of distributions that build it still.
    Hyperkube,
    /// `k3s server` or `k3s agent`. A server with `--disable-agent` has no kubelet, which is not visible once it runs.
    K3s,
    /// `kubelite`, of `MicroK8s`.
    Kubelite,
}

/// A process that is a kubelet by its names.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Recognised<'a> {
    pub(crate) program: Program,
    /// The arguments behind the program's name and the subcommand.
    pub(crate) rest: Vec<&'a [u8]>,
    pub(crate) shown: Shown,
}

/// Whether a process shows its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// As it was started.
    All,
    /// It has written a title over them.
    Title,
}

/// Whether a process is a kubelet. `arguments` begin with the name by which it was started; `executable` is the path of
/// its executable, if that may be read.
pub(crate) fn recognise<'a>(arguments: &[&'a [u8]], executable: Option<&[u8]>) -> Option<Recognised<'a>> {
    let (first, _) = arguments.split_first()?;
    if first.is_empty() {
        return None;
    }
    let is_loaded = executable.is_some_and(|path| is_loader(name_of(path)));
    let (arguments, executable) =
        if is_loaded { (behind_loader(arguments)?, None) } else { (arguments, executable) };
    let (first, rest) = arguments.split_first()?;
    let called = name_of(first);
    let all =
        |program, rest: &[&'a [u8]]| Some(Recognised { program, rest: rest.to_vec(), shown: Shown::All });
    match kind(executable.map_or(called, name_of))? {
        Program::Hyperkube if is_kubelet(called) => all(Program::Hyperkube, rest),
        Program::Hyperkube => match rest.split_first()? {
            (&b"kubelet", rest) => all(Program::Hyperkube, rest),
            _ => None,
        },
        Program::K3s => k3s(called, rest),
        program => all(program, rest),
    }
}

/// Which program has this name.
fn kind(name: &[u8]) -> Option<Program> {
    if is_kubelet(name) {
        return Some(Program::Kubelet);
    }
    match without_version(name) {
        b"hyperkube" => Some(Program::Hyperkube),
        b"kubelite" => Some(Program::Kubelite),
        _ => is_k3s(name).then_some(Program::K3s),
    }
}

fn is_kubelet(name: &[u8]) -> bool {
    // NixOS starts `.kubelet-wrapped` by a script.
    without_version(name) == b"kubelet" || name == b".kubelet-wrapped"
}

/// `k3s`, `k3s-server`, `k3s-arm64`, or a title such as `k3s server`.
fn is_k3s(name: &[u8]) -> bool {
    name.strip_prefix(b"k3s").is_some_and(|rest| matches!(rest.first(), None | Some(b'-' | b' ')))
}

/// The programs in k3s' executable have other names in front: `containerd`, `kubectl`. k3s writes `…/k3s server` over all
/// of its arguments, since some are secrets.
fn k3s<'a>(called: &[u8], rest: &[&'a [u8]]) -> Option<Recognised<'a>> {
    if !is_k3s(called) {
        return None;
    }
    let is_node = |command: &[u8]| matches!(command, b"server" | b"agent");
    let title = called.iter().rposition(|byte| *byte == b' ').and_then(|at| called.get(at + 1..));
    if let Some(title) = title {
        let is_title = is_node(title) && rest.iter().all(|argument| argument.is_empty());
        return is_title.then(|| Recognised { program: Program::K3s, rest: Vec::new(), shown: Shown::Title });
    }
    let at = rest.iter().position(|argument| !argument.starts_with(b"-"))?;
    let (command, rest) = rest.get(at..)?.split_first()?;
    let is_off = |argument: &&[u8]| matches!(*argument, b"--disable-agent" | b"--disable-agent=true");
    let runs = is_node(command) && !rest.iter().any(is_off);
    runs.then(|| Recognised { program: Program::K3s, rest: rest.to_vec(), shown: Shown::All })
}

/// The last part of a path.
fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// `kubelet` of `kubelet1.33`, `kubelet-1.36.3` and `kubelet_v1.36.3+k3s1`; other names as they are.
fn without_version(name: &[u8]) -> &[u8] {
    let Some(at) = name.iter().position(|byte| !byte.is_ascii_lowercase()) else { return name };
    let (front, version) = name.split_at(at);
    let version = version.strip_prefix(b"-").or_else(|| version.strip_prefix(b"_")).unwrap_or(version);
    let version = version.strip_prefix(b"v").unwrap_or(version);
    // `kubeletv1.36` has no separator.
    let front =
        if version.len() + at == name.len() { front.strip_suffix(b"v").unwrap_or(front) } else { front };
    let is_version = version.first().is_some_and(u8::is_ascii_digit) && version.contains(&b'.');
    if is_version { front } else { name }
}

/// The dynamic loaders of glibc and musl, which can be started in front of a program.
fn is_loader(name: &[u8]) -> bool {
    [&b"ld-linux"[..], b"ld-musl", b"ld64.so", b"ld.so", b"ld-2."].iter().any(|front| name.starts_with(front))
}

/// The arguments from the program on that a dynamic loader was started with.
fn behind_loader<'s, 'a>(arguments: &'s [&'a [u8]]) -> Option<&'s [&'a [u8]]> {
    let mut at = 1;
    loop {
        match *arguments.get(at)? {
            b"--library-path"
            | b"--inhibit-rpath"
            | b"--audit"
            | b"--preload"
            | b"--argv0"
            | b"--glibc-hwcaps-prepend"
            | b"--glibc-hwcaps-mask" => at += 2,
            option if option.starts_with(b"--") => at += 1,
            _ => return arguments.get(at..),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_by_their_names() {
        let check = |executable: &str, line: &str, expected: Option<(Program, &str)>| {
            let arguments: Vec<&[u8]> = line.split('|').map(str::as_bytes).collect();
            let executable = (!executable.is_empty()).then_some(executable.as_bytes());
            let found = recognise(&arguments, executable);
            let found =
                found.map(|found| (found.program, String::from_utf8(found.rest.join(&b'|')).unwrap()));
            assert_eq!(found, expected.map(|(program, rest)| (program, rest.to_owned())), "{line}");
        };
        let kubelet = |rest| Some((Program::Kubelet, rest));
        check("/usr/bin/kubelet", "/usr/bin/kubelet|--v=2|--config|a", kubelet("--v=2|--config|a"));
        check("", "/usr/bin/kubelet|--v=2", kubelet("--v=2"));
        check("", "kubelet", kubelet(""));
        check("/usr/bin/kubelet", "something|--v=2", kubelet("--v=2"));
        check("/usr/bin/kubelet1.33", "kubelet1.33|-v|2", kubelet("-v|2"));
        check("/opt/kubelet-1.36.3", "kubelet-1.36.3", kubelet(""));
        check("/opt/kubelet-v1.36.3+k3s1", "kubelet", kubelet(""));
        check("/opt/kubeletv1.36.3", "kubelet", kubelet(""));
        check("/nix/store/x/bin/.kubelet-wrapped", "/nix/store/x/bin/kubelet|--v=2", kubelet("--v=2"));
        check(
            "/lib64/ld-linux-x86-64.so.2",
            "/lib64/ld-linux-x86-64.so.2|/usr/bin/kubelet|--v=2",
            kubelet("--v=2"),
        );
        check("/lib/ld-musl-x86_64.so.1", "ld|--library-path|/a|/usr/bin/kubelet", kubelet(""));
        check("/lib64/ld-linux-x86-64.so.2", "ld|--list|/usr/bin/vi|kubelet", None);

        for (executable, line) in [
            ("/usr/bin/dash", "/bin/sh|/usr/bin/kubelet|--v=2"),
            ("/usr/bin/bash", "kubelet|--v=2"),
            ("/usr/bin/vi", "vi|kubelet"),
            ("/usr/bin/grep", "grep|kubelet"),
            ("", "sh|/usr/bin/kubelet"),
            ("", "vi|kubelet"),
            ("", ""),
            ("/usr/bin/kubelet", ""),
            ("/usr/bin/kubelet-wrapper", "kubelet-wrapper"),
            ("/usr/bin/kubelet-1", "kubelet-1"),
            ("/usr/bin/kubelets", "kubelets"),
            ("/usr/bin/kubectl", "kubectl|kubelet"),
            ("/usr/bin/rke2", "/usr/bin/rke2 server"),
            ("/usr/bin/python3", "python3|kubelet.py"),
        ] {
            check(executable, line, None);
        }

        let hyperkube = |rest| Some((Program::Hyperkube, rest));
        check("/hyperkube", "/hyperkube|kubelet|--v=2", hyperkube("--v=2"));
        check("/hyperkube", "/usr/bin/kubelet|--v=2", hyperkube("--v=2"));
        check("/hyperkube", "/hyperkube|apiserver|kubelet", None);
        check("/hyperkube", "/hyperkube", None);

        let kubelite = "/snap/microk8s/9072/kubelite";
        check(kubelite, &format!("{kubelite}|--a=b"), Some((Program::Kubelite, "--a=b")));

        let k3s = |rest| Some((Program::K3s, rest));
        let own = "/var/lib/rancher/k3s/data/0123abcd/bin/k3s";
        check(own, "/usr/local/bin/k3s|server|--kubelet-arg=v=2", k3s("--kubelet-arg=v=2"));
        check(own, "/usr/local/bin/k3s|--debug|agent|--server|a", k3s("--server|a"));
        check(own, "/usr/local/bin/k3s server||||", k3s(""));
        check("", "/usr/local/bin/k3s agent", k3s(""));
        check(own, "/usr/local/bin/k3s-arm64|agent", k3s(""));
        check(own, "/usr/local/bin/k3s|server|--disable-agent", None);
        check(own, "/usr/local/bin/k3s init", None);
        check(own, "/usr/local/bin/k3s|kubectl|get|server", None);
        check(own, "containerd|-c|/var/lib/rancher/k3s/agent/etc/containerd/config.toml", None);
        check(own, "kubectl|server", None);
        check(own, "/usr/local/bin/k3s", None);
    }

    #[test]
    fn a_title_is_not_taken_for_arguments() {
        let found = recognise(&[b"/usr/local/bin/k3s server", b"", b""], None).unwrap();
        assert_eq!(found.shown, Shown::Title);
        let found = recognise(&[b"/usr/local/bin/k3s", b"server"], None).unwrap();
        assert_eq!(found.shown, Shown::All);
    }
}
