//! Scripts of user data that start a node: the kubelet's flags in `/etc/eks/bootstrap.sh --kubelet-extra-args` of Amazon EKS, and in
//! what installs or starts k3s and RKE2.

use core::ops::Range;

use super::k3s_install::{ARGUMENTS, K3S, RKE2, installs_k3s, of_k3s_install};
use super::kubelet_commands::{KubeletConf, changing_range, may_change};
use super::open_places::open_line;
use super::words::{Comments, Word, letters, split, split_letters};
use super::{ArgumentsOf, KubeletArgument, KubeletArguments};
use crate::problem::CONFIGZ;
use crate::template::RENDER_FIRST;
use crate::{ManifestError, Problem, Source};

/// The program that images of Amazon before Amazon Linux 2023 are started with.
const PROGRAM: &str = "bootstrap.sh";
const FLAGS: &str = "--kubelet-extra-args";
/// The variable that the program takes them from, too.
const VARIABLE: &str = "KUBELET_EXTRA_ARGS=";

/// Flags that decide nothing of resources: their values may be filled in on the node.
pub(crate) const FREE_FLAGS: [&str; 6] = [
    "--cloud-provider",
    "--hostname-override",
    "--node-ip",
    "--node-labels",
    "--provider-id",
    "--register-with-taints",
];

/// The flags that a script of a shell gives the kubelet; none where it sets none.
///
/// # Errors
/// It may change the kubelet's configuration otherwise than by the flags of these programs, or the shell chooses them.
pub fn read_bootstrap_script(source: &Source<'_>) -> Result<KubeletArguments, ManifestError> {
    let text = source.text;
    let fail = |range: Range<usize>, what: &str| {
        let problem = Problem::OtherForm { what: what.to_owned(), instead: CONFIGZ };
        ManifestError::at(source, "", &range, problem)
    };
    if let Some((range, what)) = encoded(text) {
        return Err(fail(range, what));
    }
    let mut flags: Vec<KubeletArgument> = Vec::new();
    // The script without the flags that are read.
    let mut others = text.to_owned();
    let (mut at, mut starts) = (0, 0);
    let mut of = ArgumentsOf::SomeFlags;
    // A line and those into which backslashes continue it.
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let mut end = at;
        for line in rest.split_inclusive('\n') {
            end += line.len();
            if !line.trim_end().ends_with('\\') {
                break;
            }
        }
        let words = split(&letters(text, at..end), Comments::Skipped).unwrap_or_default();
        if !is_comment(text.get(at..end).unwrap_or_default()) {
            starts += usize::from(words.iter().any(is_program) || installs_k3s(&words));
            let (own, read) = of_command(source, &words);
            let of_k3s = of_k3s_install(&words);
            if installs_k3s(&words) || !of_k3s.read.is_empty() {
                of = ArgumentsOf::K3s;
            }
            if let Some(word) = of_k3s.open {
                let found = text.get(word.clone()).unwrap_or_default();
                return Err(fail(word, &format!("the shell fills in options of k3s: {found}")));
            }
            if let Some(word) = filled_in(&own) {
                let found = text.get(word.clone()).unwrap_or_default();
                return Err(fail(word, &format!("the shell fills in a flag of the kubelet: {found}")));
            }
            if !flags.is_empty() && !own.is_empty() {
                return Err(fail(at..end, "a second command with flags of the kubelet"));
            }
            flags.extend(own.into_iter().map(|(argument, _)| argument));
            for span in read {
                let blank: String =
                    others.get(span.clone()).unwrap_or_default().bytes().map(|_| ' ').collect();
                others.replace_range(span, &blank);
            }
        }
        at = end;
    }
    if let Some(range) = open_line(&others) {
        return Err(ManifestError::at(source, "", &range, Problem::Template { expected: RENDER_FIRST }));
    }
    if let Some(range) = changing_range(&others, KubeletConf::Credentials) {
        let line = text.get(range.clone()).unwrap_or_default();
        return Err(fail(range, &may_change(line)));
    }
    if starts > 1 && !flags.is_empty() {
        return Err(fail(0..0, "several commands of this script start the node, and one of them runs"));
    }
    Ok(KubeletArguments { arguments: flags, of, missing: Vec::new() })
}

/// A line by which a part of a message in MIME, or a file of `cloud-config`, is not there as it is; what that makes of the text.
fn encoded(text: &str) -> Option<(Range<usize>, &'static str)> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let lower = line.trim().to_ascii_lowercase();
        let is_part = lower.starts_with("content-transfer-encoding:") && lower.contains("base64");
        let value = lower.trim_start_matches([' ', '-']).strip_prefix("encoding:");
        let is_file =
            value.is_some_and(|value| ["b64", "base64", "gz"].iter().any(|one| value.contains(one)));
        let what = if is_part { "user data in MIME with a part in base64" } else { ENCODED_FILE };
        (is_part || is_file).then_some((start..start + line.trim_end().len(), what))
    })
}

const ENCODED_FILE: &str = "user data with an encoded file";

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['#', ';']) || line.starts_with("//")
}

fn is_program(word: &Word) -> bool {
    word.text().rsplit('/').next() == Some(PROGRAM)
}

/// The word among flags that the shell fills in, but for the values of flags that decide nothing of resources.
fn filled_in(flags: &[Placed]) -> Option<Range<usize>> {
    let mut before = "";
    for (flag, span) in flags {
        let text = flag.text();
        let name = text.split_once('=').map_or(before, |(name, _)| name);
        if text.contains(['$', '`']) && !FREE_FLAGS.contains(&name) {
            return Some(span.clone());
        }
        before = text;
    }
    None
}

/// Whether a text is a script, or a message in MIME with some, by which a node of Amazon EKS, k3s or RKE2 starts.
#[must_use]
pub fn is_bootstrap_script(text: &str) -> bool {
    let first = text.trim_start().to_ascii_lowercase();
    let is_script =
        ["#!", "mime-version:", "content-type: multipart/"].iter().any(|start| first.starts_with(start));
    let has_start = ["/etc/eks/bootstrap.sh", ARGUMENTS, K3S, RKE2].iter().any(|start| text.contains(start));
    is_script && has_start && !text.contains("application/node.eks.aws")
}

/// A flag, and the bytes of its word.
type Placed = (KubeletArgument, Range<usize>);

/// The flags that a command gives the kubelet by `bootstrap.sh`, and the bytes of the words that have them.
fn of_command(source: &Source<'_>, words: &[Word]) -> (Vec<Placed>, Vec<Range<usize>>) {
    let argument = |word: &Word| (KubeletArgument::new(source, word.text(), &word.span()), word.span());
    let set: Vec<&Word> = words.iter().filter(|word| word.text() != "export").collect();
    if let [word] = set.as_slice()
        && let Some(value) = word.text().strip_prefix(VARIABLE)
    {
        let flags = split_letters(&word.behind(VARIABLE.len()));
        // In a variable the words of another one are not known.
        return if value.contains(['$', '`']) {
            (Vec::new(), Vec::new())
        } else {
            (flags.iter().map(argument).collect(), vec![word.span()])
        };
    }
    let of_k3s = of_k3s_install(words);
    let mut flags: Vec<Placed> = of_k3s.flags.iter().map(argument).collect();
    let mut read = of_k3s.read;
    let mut own = words.iter().skip_while(|word| !is_program(word)).skip(1);
    while let Some(word) = own.next() {
        let text = word.text();
        let value = match text.strip_prefix(FLAGS) {
            Some("") => own.next(),
            Some(rest) if rest.starts_with('=') => Some(word),
            _ => continue,
        };
        let Some(value) = value else { continue };
        let before = if value == word { FLAGS.len() + 1 } else { 0 };
        flags.extend(split_letters(&value.behind(before)).iter().map(argument));
        read.extend([word.span(), value.span()]);
    }
    (flags, read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String, String> {
        let flags = read_bootstrap_script(&Source { name: "user-data", text });
        let joined = |read: KubeletArguments| {
            read.arguments.iter().map(|flag| flag.text().to_owned()).collect::<Vec<_>>().join(" ")
        };
        flags.map(joined).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_of_a_bootstrap_script_are_read() {
        for (text, expected) in [
            ("#!/bin/bash\nset -e\n/etc/eks/bootstrap.sh demo\n", ""),
            (
                "#!/bin/bash\n# kubelet\n/etc/eks/bootstrap.sh demo \\\n  --kubelet-extra-args '--max-pods=20 --v=2' --b x\n",
                "--max-pods=20 --v=2",
            ),
            ("/etc/eks/bootstrap.sh demo --kubelet-extra-args=\"--max-pods=20\"\n", "--max-pods=20"),
            (
                "export KUBELET_EXTRA_ARGS=\"--max-pods=20 --v=2\"\n/etc/eks/bootstrap.sh demo\n",
                "--max-pods=20 --v=2",
            ),
            ("yum install -y htop\n", ""),
            (
                "curl -sfL https://get.k3s.io | INSTALL_K3S_EXEC=\"agent --server $URL --kubelet-arg=max-pods=20 --kubelet-arg v=2\" sh -s - --kubelet-arg=v=4\n",
                "--max-pods=20 --v=2 --v=4",
            ),
            (
                "export INSTALL_K3S_EXEC='--kubelet-arg=max-pods=20'\ncurl -sfL https://get.k3s.io | sh -\n",
                "--max-pods=20",
            ),
            ("curl -sfL https://get.k3s.io | sh -s - server --disable traefik && ls\n", ""),
            ("nohup k3s agent --kubelet-arg=max-pods=20 > /var/log/k3s.log &\n", "--max-pods=20"),
            (
                "curl -sfL https://get.rke2.io | INSTALL_RKE2_TYPE=agent sh -\nsystemctl enable --now rke2-agent\n",
                "",
            ),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn flags_that_the_shell_chooses_or_fills_in_are_refused() {
        let one = "/etc/eks/bootstrap.sh c --kubelet-extra-args '--max-pods=7'\n";
        let other = one.replace('7', "20");
        for text in [
            format!("if [ -f /pin ]; then\n{one}else\n{other}fi\n"),
            format!("if [ -f /pin ]; then\n{one}else\n/etc/eks/bootstrap.sh c\nfi\n"),
            format!("export KUBELET_EXTRA_ARGS=--v=2\n{one}"),
            one.replace("'--max-pods=7'", "\"--node-labels=a=b $EXTRA\""),
            one.replace("'--max-pods=7'", "\"--max-pods=${PODS}\""),
            one.replace("'--max-pods=7'", "--max-pods=$(nproc)"),
            "curl https://get.k3s.io | INSTALL_K3S_EXEC=\"agent $ARGS\" sh -\n".to_owned(),
            "curl https://get.k3s.io | sh -s - agent \"$@\"\n".to_owned(),
            "k3s agent --kubelet-arg=max-pods=$PODS\n".to_owned(),
            "echo kubelet-arg=max-pods=3 > /etc/rancher/k3s/config.yaml\n".to_owned(),
        ] {
            assert!(read(&text).is_err_and(|error| error.contains("configz")), "{text}");
        }
        let labels = one.replace("'--max-pods=7'", "\"--max-pods=7 --node-labels=a=$NAME\"");
        assert_eq!(read(&labels).as_deref(), Ok("--max-pods=7 --node-labels=a=$NAME"));
    }

    #[test]
    fn a_kubelet_may_be_started_again() {
        let one = "/etc/eks/bootstrap.sh c --kubelet-extra-args '--max-pods=7'\n";
        for command in ["systemctl restart kubelet", "sudo systemctl enable --now kubelet.service"] {
            assert_eq!(read(&format!("{one}{command}\n")).as_deref(), Ok("--max-pods=7"), "{command}");
        }
        for command in [
            "systemctl edit kubelet",
            "systemctl restart kubelet; cp a /etc/default/kubelet",
            "D=/var/lib/kubelet\nsed -i x $D/config.yaml",
        ] {
            assert!(read(&format!("{one}{command}\n")).is_err(), "{command}");
        }
        let joined = one.replace('\n', "; sed -i x /etc/kubernetes/kubelet/config.json\n");
        assert!(read(&joined).is_err());
    }

    #[test]
    fn a_script_that_writes_the_kubelets_file_is_not_passed_over() {
        let text = "#!/bin/bash\njq '.maxPods=20' /etc/kubernetes/kubelet/kubelet-config.json > /tmp/a\n";
        assert!(read("export KUBELET_EXTRA_ARGS=\"--max-pods=$PODS\"\n").is_err());
        let open = read("#!/bin/bash\n${pre_bootstrap_user_data}\n/etc/eks/bootstrap.sh a\n");
        assert!(
            open.is_err_and(|error| error.contains("user-data:2:1") && error.contains("render it first"))
        );
        let error = read(text);
        assert!(
            error.as_ref().is_err_and(|error| error.contains("user-data:2:") && error.contains("configz")),
            "{error:?}"
        );
    }
}
