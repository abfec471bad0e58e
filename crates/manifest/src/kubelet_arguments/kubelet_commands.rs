//! Commands and files that may change the kubelet's configuration, by what a node runs or writes.
//!
//! What decides are names: of the files that the kubelet or its unit reads, of variables and options with its flags, and the
//! kubelet as a program with flags. The word kubelet alone decides nothing, since commands install, start and watch a kubelet,
//! and other programs read its folders. Commands that only read a file, or change its owner or mode, are passed over.
//! Variables that the text sets, and folders that it changes to, are put in the place of their names; nothing else is run.

use core::ops::Range;

use super::is_of_kubelet;
use super::programs::{
    CHANGES_OF_OBJECTS, CHANGES_OF_UNITS, COPIERS, EDITORS, MOVERS, READERS, WRAPPERS, is_before, is_in_place,
};
use super::words::{ShellCommand, Word, commands, plain_commands};

/// What `/etc/kubernetes/kubelet.conf` is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KubeletConf {
    /// The kubelet's configuration, on OpenShift.
    Configuration,
    /// The credentials with which the kubelet asks the API server, as kubeadm writes them.
    Credentials,
}

/// Parts of paths and names by which the kubelet is configured, in small letters.
///
/// Of kubeadm's packages `/etc/default/kubelet` and `kubeadm-flags.env` (kubernetes.io, "Configuring each kubelet in your cluster
/// using kubeadm"), of Amazon's images `kubelet-config.json`, `kubelet/config.json` and `nodeadm.d` (awslabs/amazon-eks-ami), of
/// OpenShift `node-sizing-enabled.env` and `kubelet.conf.d` (openshift/machine-config-operator, `templates`), of k3s and RKE2
/// `kubelet-arg` (docs.k3s.io, "k3s agent"), of `MicroK8s` `args/kubelet` (microk8s.io, "Configuring services").
/// `/var/lib/kubelet/config.json` is none of them: it has credentials for registries.
const NAMES: [&str; 22] = [
    "/etc/default/kubelet",
    "/etc/eks/nodeadm.d",
    "/etc/sysconfig/kubelet",
    "args/kubelet",
    "kubeadm-flags.env",
    "kubelet-arg",
    "kubelet-config",
    "kubelet-extra-args",
    "kubelet.conf.d",
    "kubelet.service.d",
    "kubelet/config*",
    "kubelet/config.d",
    "kubelet/config.y",
    "kubelet/kubelet.conf",
    "kubeletconfiguration",
    "kubeletextraargs",
    "kubeletextraconfig",
    "kubernetes/kubelet/config",
    "microshift/config",
    "node.eks.aws/v1",
    "node-sizing-enabled.env",
    "system/kubelet.service",
];

/// Keys of units that look at a file.
const WATCHING: [&str; 4] = ["AssertPath", "ConditionPath", "EnvironmentFile", "Path"];

/// Whether a file by this path, or of this name, is one by which the kubelet is configured.
pub(crate) fn is_of_configuration(path: &str, conf: KubeletConf) -> bool {
    let path = path.to_ascii_lowercase();
    has_name(&path, conf) || path.ends_with("bin/kubelet")
}

fn has_name(text: &str, conf: KubeletConf) -> bool {
    NAMES.iter().any(|name| text.contains(name))
        || conf == KubeletConf::Configuration && text.contains("/etc/kubernetes/kubelet.conf")
}

/// The first line of a text that may change the kubelet's configuration.
pub(crate) fn changing_line(text: &str, conf: KubeletConf) -> Option<&str> {
    text.get(changing_range(text, conf)?)
}

/// The bytes of that line, without blanks around it.
pub(super) fn changing_range(text: &str, conf: KubeletConf) -> Option<Range<usize>> {
    changing_within(text, conf, 0)
}

/// The same of a text so many times within others.
fn changing_within(text: &str, conf: KubeletConf, depth: usize) -> Option<Range<usize>> {
    const MOST: usize = 8;
    if depth > MOST {
        return has_name(&text.to_ascii_lowercase(), conf).then_some(0..text.len());
    }
    let commands = commands(text).unwrap_or_else(|_| plain_commands(text));
    let mut scope = Scope { conf, depth: depth + 1, variables: Vec::new(), folder: String::new() };
    let word = commands.iter().find_map(|command| {
        let found = scope.changing_word(command);
        scope.enter(command);
        found
    })?;
    let start = text.get(..word.span().start)?.rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(start..)?.lines().next()?;
    let start = start + line.len() - line.trim_start().len();
    Some(start..start + line.trim().len())
}

/// That a line may change it, with the line, of which 80 letters are shown at most.
pub(crate) fn may_change(line: &str) -> String {
    const MOST: usize = 80;
    let shown: String = line.chars().take(MOST).collect();
    let rest = if line.chars().count() > MOST { "..." } else { "" };
    format!("this may change the kubelet's configuration: \"{shown}{rest}\"")
}

/// What the commands before one have set.
struct Scope {
    conf: KubeletConf,
    /// How many texts commands within these are in.
    depth: usize,
    /// Variables with their values.
    variables: Vec<(String, String)>,
    /// The folder that paths without a slash before them are in; empty where it is not known.
    folder: String,
}

/// A word of a command, as the shell makes it.
struct Made<'a> {
    word: &'a Word,
    text: String,
    /// What it names, in small letters: with the folder that it is in, and without `>` before it.
    path: String,
}

impl Scope {
    /// The words of a command behind those that stand before its program.
    fn made<'a>(&self, command: &'a ShellCommand) -> Vec<Made<'a>> {
        let made = |word: &'a Word| Made { word, text: self.with_values(&word.text()), path: String::new() };
        let mut own: Vec<Made<'a>> =
            command.words.iter().map(made).skip_while(|made| is_before(&made.text)).collect();
        if let Some(first) = own.first_mut() {
            // A group of commands.
            first.text = first.text.trim_start_matches(['(', '{']).to_owned();
        }
        for (at, one) in own.iter_mut().enumerate() {
            let bare = one.text.split_once(['>', '<']).map_or(one.text.as_str(), |(_, behind)| behind);
            let bare = bare.trim_start_matches(['>', '<']);
            let is_within =
                at > 0 && !self.folder.is_empty() && !bare.is_empty() && !bare.starts_with(['/', '-', '$']);
            one.path = if is_within { format!("{}/{bare}", self.folder) } else { one.text.clone() };
            one.path.make_ascii_lowercase();
        }
        own
    }

    /// A text with the values of variables in it.
    fn with_values(&self, text: &str) -> String {
        // What is longer names no file.
        const MOST: usize = 4096;
        let (mut made, mut rest) = (String::new(), text);
        while let Some((before, behind)) = rest.split_once('$') {
            made.push_str(before);
            let bare = behind.strip_prefix('{').unwrap_or(behind);
            let end = bare.find(|letter: char| !is_of_name(letter)).unwrap_or(bare.len());
            let (name, after) = bare.split_at_checked(end).unwrap_or((bare, ""));
            let after = if bare.len() < behind.len() { after.strip_prefix('}') } else { Some(after) };
            let value = self.variables.iter().find(|(own, _)| own == name).map(|(_, value)| value);
            if let (Some(value), Some(after)) = (value, after) {
                made.push_str(value);
                rest = after;
            } else {
                made.push('$');
                rest = behind;
            }
            if made.len() > MOST {
                return text.to_owned();
            }
        }
        made + rest
    }

    /// Takes what a command sets.
    fn enter(&mut self, command: &ShellCommand) {
        const MOST: usize = 200;
        let made = self.made(command);
        for one in &made {
            let Some((name, value)) = assignment(&one.text) else { break };
            self.variables.retain(|(other, _)| other != name);
            if self.variables.len() < MOST {
                self.variables.push((name.to_owned(), value.to_owned()));
            }
        }
        match made.as_slice() {
            [program, arguments @ ..] if matches!(program.text.as_str(), "cd" | "pushd") => {
                let is_folder = |made: &&Made<'_>| !made.text.starts_with('-') && !made.text.contains('>');
                let folder = arguments.iter().find(is_folder).map_or("", |made| made.path.as_str());
                folder.trim_end_matches('/').clone_into(&mut self.folder);
            }
            [program, ..] if program.text == "popd" => self.folder.clear(),
            _ => {}
        }
    }

    /// The word by which a command may change the configuration.
    fn changing_word<'a>(&self, command: &'a ShellCommand) -> Option<&'a Word> {
        let words = self.made(command);
        let (key, started) = words.first()?.text.split_once('=').unwrap_or_default();
        if WATCHING.iter().any(|own| key.starts_with(own)) {
            return None;
        }
        // Of a unit it is what a line of it starts.
        let is_exec = key.starts_with("Exec");
        let is_program =
            |made: &Made<'_>| assignment(&made.text).is_none_or(|(_, value)| starts_command(value));
        let at = if is_exec { Some(0) } else { words.iter().position(is_program) };
        let program = match at.and_then(|at| words.get(at)) {
            Some(_) if is_exec => started.trim_start_matches(['@', '-', ':', '+', '!']),
            Some(made) => assignment(&made.text).map_or(made.text.as_str(), |(_, value)| value),
            None => "",
        };
        let program = program.trim_start_matches(['$', '(', '`']).rsplit('/').next().unwrap_or_default();
        let arguments = words.get(at.unwrap_or_default() + 1..).unwrap_or_default();
        let starts_kubelet = |pair: &[Made<'_>]| {
            let [name, flag] = pair else { return false };
            name.text.rsplit('/').next() == Some("kubelet") && is_flag(&flag.text)
        };
        if program == "kubelet" && arguments.first().is_some_and(|flag| is_flag(&flag.text))
            || WRAPPERS.contains(&program) && words.windows(2).any(starts_kubelet)
        {
            return words.first().map(|made| made.word);
        }
        let found = words.iter().find(|made| self.is_named(program, made))?;
        let is_harmless = match program {
            "" => self.is_path_alone(command, &words),
            _ if COPIERS.contains(&program) => !self.is_target(arguments),
            _ if MOVERS.contains(&program) => {
                !self.is_target(arguments) && !arguments.iter().any(|made| has_name(&made.path, self.conf))
            }
            "kubectl" | "oc" if has_word(&words, &CHANGES_OF_OBJECTS) => false,
            "kubectl" | "oc" => {
                let is_target = |target: &str| has_name(&target.to_ascii_lowercase(), self.conf);
                !targets(&words).any(is_target) && !command.is_piped
            }
            _ => is_reading(program, &words, command.is_piped),
        };
        let line = || arguments.iter().map(|made| made.text.as_str()).collect::<Vec<_>>().join(" ");
        (!is_harmless || self.is_run(&line())).then_some(found.word)
    }

    /// Whether a word names the configuration, or holds commands that change it.
    fn is_named(&self, program: &str, made: &Made<'_>) -> bool {
        let is_unit = program == "systemctl" && matches!(made.text.as_str(), "kubelet" | "kubelet.service");
        let name = made.path.rsplit('/').next();
        let is_file = matches!(
            name,
            Some("kubelet.service" | "kubelet" | "config.yaml" | "config.json" | "kubelet.conf")
        );
        has_name(&made.path, self.conf)
            || has_variable(&made.text)
            || is_unit
            || is_file && (COPIERS.contains(&program) || MOVERS.contains(&program))
            || made.text.contains(char::is_whitespace) && self.changes(&made.text)
    }

    /// Whether commands within a command may change it.
    fn changes(&self, text: &str) -> bool {
        changing_within(text, self.conf, self.depth).is_some()
    }

    /// Whether a command within a text, in `$(…)` or between backticks, may change it.
    fn is_run(&self, text: &str) -> bool {
        let in_brackets = text.split_once("$(").and_then(|(_, within)| within.rsplit_once(')'));
        let in_ticks = text.split_once('`').and_then(|(_, within)| within.rsplit_once('`'));
        [in_brackets, in_ticks].into_iter().flatten().any(|(within, _)| self.changes(within))
    }

    /// Whether variables are set to paths alone: the files count where the variables are used.
    fn is_path_alone(&self, command: &ShellCommand, words: &[Made<'_>]) -> bool {
        let is_path = |made: &Made<'_>| {
            let value = assignment(&made.text).map_or("", |(_, value)| value);
            let run = value.strip_prefix("$(").and_then(|run| run.strip_suffix(')'));
            let is_harmless = run.is_some_and(|run| !self.changes(run));
            is_harmless
                || value.starts_with('/') && !value.contains(char::is_whitespace) && !has_variable(&made.text)
        };
        // Programs that are started get an exported one.
        command.words.first().is_none_or(|word| word.text() != "export")
            && words.iter().all(|made| is_path(made) || !self.is_named("", made))
    }

    /// Whether a file that a command copies becomes the kubelet's.
    fn is_target(&self, arguments: &[Made<'_>]) -> bool {
        let behind = arguments.iter().position(|made| made.text == "-t");
        let target = behind.map_or(arguments.last(), |at| arguments.get(at + 1));
        let Some(target) = target else { return false };
        let folder = target.path.trim_end_matches('/');
        let is_of_folder = |made: &Made<'_>| {
            let name = made.path.rsplit('/').next().unwrap_or_default();
            has_name(&format!("{folder}/{name}"), self.conf)
        };
        has_name(&target.path, self.conf) || arguments.iter().any(is_of_folder)
    }
}

/// Whether a command changes no file.
fn is_reading(program: &str, words: &[Made<'_>], is_piped: bool) -> bool {
    let is_reader = match program {
        "echo" | "printf" => !is_piped,
        "systemctl" => !has_word(words, &CHANGES_OF_UNITS),
        _ if EDITORS.contains(&program) => !words.iter().any(|made| is_in_place(&made.text)),
        _ => READERS.contains(&program),
    };
    is_reader && targets(words).all(|target| matches!(target, "/dev/null" | "&1" | "&2"))
}

fn has_word(words: &[Made<'_>], any: &[&str]) -> bool {
    words.iter().any(|made| any.contains(&made.text.as_str()))
}

/// Where a command's output goes, by `>`. In a text with blanks, which stands in quotes, it is a letter.
fn targets<'a>(words: &'a [Made<'_>]) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(|(at, made)| {
        let (_, target) = made.text.split_once('>').filter(|_| !made.text.contains(char::is_whitespace))?;
        let target = target.trim_start_matches('>');
        let next = words.get(at + 1).map_or("", |made| made.text.as_str());
        Some(if target.is_empty() { next } else { target })
    })
}

/// Whether a value is what a command prints, which begins in it.
fn starts_command(value: &str) -> bool {
    (value.starts_with("$(") || value.starts_with('`')) && !value.contains(char::is_whitespace)
}

/// The name and the value of a variable that a word sets.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    (!name.is_empty() && name.chars().all(is_of_name)).then_some((name, value))
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether a word is a flag of a kubelet that runs.
fn is_flag(word: &str) -> bool {
    word.strip_prefix("--").is_some_and(|flag| !matches!(flag, "version" | "help" | ""))
        || word.starts_with("$KUBELET_")
        || word.starts_with("${KUBELET_")
}

/// Whether a text sets a variable with flags of a kubelet.
fn has_variable(text: &str) -> bool {
    let is_variable = |(at, _): (usize, &str)| {
        let before = text.get(..at).unwrap_or_default().trim_end_matches('+');
        let name = before.rfind(|letter| !is_of_name(letter)).map_or(Some(before), |at| before.get(at + 1..));
        name.is_some_and(|name| is_of_kubelet(&name.to_ascii_uppercase()))
    };
    text.match_indices('=').any(is_variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_may_change_the_configuration_are_found() {
        for text in [
            "cp a /etc/default/kubelet",
            "echo KUBELET_EXTRA_ARGS=--v=2 >> /etc/sysconfig/kubelet",
            "echo 'KUBELET_EXTRA_ARGS=--v=2' | tee $FILE",
            "export NODE_KUBELET_ARGS+=--v=2",
            "sed -i \"s/ #cpuManagerPolicy/ cpuManagerPolicy/\" /var/lib/kubelet/config.yaml",
            "systemctl restart kubelet & cp /opt/a /etc/default/kubelet",
            "systemctl restart kubelet;cp /opt/a \"/etc/default/\"kubelet",
            "systemctl edit kubelet",
            "sudo -E systemctl set-property kubelet.service CPUQuota=50%",
            "cp b/config.yaml /var/lib/kubelet/",
            "cp kubelet.service /etc/systemd/system/",
            "nohup /usr/bin/kubelet --max-pods=3 &",
            "ExecStart=-/usr/bin/kubelet \\\n  --max-pods=3",
            "jq .maxPods=3 /etc/kubernetes/kubelet/config.json > /tmp/a",
            "echo \"$(sed -i x /var/lib/kubelet/config.yaml)\"",
            "bash -c 'systemctl edit kubelet'",
            "cat <<END > a\nkind: KubeletConfiguration\nEND",
            "it's cp a /etc/default/kubelet",
            "k3s agent --kubelet-arg=max-pods=3",
            "F=/var/lib/kubelet/config.yaml\nsed -i x \"$F\"",
            "D=/var/lib/kubelet; sed -i x ${D}/config.yaml",
            "export KUBELET_CONFIG=/var/lib/kubelet/config.yaml; /opt/set.sh",
            "cd /var/lib/kubelet && sed -i x config.yaml",
            "pushd /var/lib/kubelet >/dev/null; sed -i s/a/b/ config.yaml; popd",
            "(cd /var/lib/kubelet; patch -p0 config.yaml < /opt/x.patch)",
            "cd /etc/systemd/system/kubelet.service.d\ncat > 10-max.conf <<END\n[Service]\nEND",
            "mv /tmp/kubelet-config.json /etc/kubernetes/kubelet/kubelet-config.json",
            "mv /var/lib/kubelet/config.yaml /tmp",
            "install -m 644 -t /etc/default kubelet",
            "rm -f /var/lib/kubelet/config.yaml",
            "docker run --net=host hyperkube:v1 /kubelet --max-pods=3",
            "DEBUG=1 /usr/local/bin/kubelet $KUBELET_OPTS",
            "echo `sed -i x /var/lib/kubelet/config.yaml`",
            "kubectl get cm kubelet-config -o yaml > /var/lib/kubelet/config.yaml",
            "kubectl get cm kubelet-config -o yaml | kubectl replace -f -",
            "A=$(sed -i x /var/lib/kubelet/config.yaml)",
            "A=\"$(sed -i x /var/lib/kubelet/config.yaml)\"",
            "echo $(sed -i x /var/lib/kubelet/config.yaml)",
            "for f in /etc/default/kubelet; do sed -i x $f; done",
            "cat > /etc/eks/nodeadm.d/10.yaml",
        ] {
            assert!(changing_line(text, KubeletConf::Credentials).is_some(), "{text}");
        }
        let conf = "sed -i x /etc/kubernetes/kubelet.conf";
        assert_eq!(changing_line(conf, KubeletConf::Configuration), Some(conf));
        assert_eq!(changing_line(conf, KubeletConf::Credentials), None);
        let second = "ls\nsudo cp a /etc/default/kubelet && ls\nls";
        assert_eq!(
            changing_line(second, KubeletConf::Credentials),
            Some("sudo cp a /etc/default/kubelet && ls")
        );
    }

    #[test]
    fn commands_around_a_kubelet_are_passed_over() {
        for text in [
            "apt-get install -y kubelet=1.31.0-1.1 kubeadm kubectl && apt-mark hold kubelet kubeadm kubectl",
            "yum install -y kubelet --disableexcludes=kubernetes",
            "curl -LO https://dl.k8s.io/release/v1.31.0/bin/linux/amd64/kubelet && install -m 755 kubelet /usr/local/bin/kubelet",
            "export KUBELET_VERSION=1.31.0",
            "mkdir -p /var/lib/kubelet/plugins_registry",
            "podman run --authfile /var/lib/kubelet/config.json $IMAGE",
            "cp /opt/auth.json /var/lib/kubelet/config.json",
            "until systemctl is-active kubelet; do sleep 1; done",
            "if ! systemctl is-active --quiet kubelet; then systemctl restart kubelet; fi",
            "sudo -E systemctl enable --now containerd kubelet",
            "chmod 600 /etc/kubernetes/kubelet.conf",
            "chmod 600 /var/lib/kubelet/config.yaml",
            "[ -f /var/lib/kubelet/config.yaml ] && echo yes",
            "until test -f /var/lib/kubelet/config.yaml 2>/dev/null; do sleep 1; done",
            "journalctl -u kubelet -f > /var/log/k.log &",
            "echo \"installing kubelet\" && swapoff -a",
            "export KUBECONFIG=/etc/kubernetes/kubelet.conf; kubectl label node x a=b",
            "mount --bind /mnt/kubelet /var/lib/kubelet",
            "echo \"kubelet ALL\" | logger; modprobe br_netfilter",
            "kubeadm join phase kubelet-start",
            "kubelet --version",
            "F=/var/lib/kubelet/config.yaml\ngrep maxPods \"$F\"",
            "mkdir -p /etc/systemd/system/kubelet.service.d",
            "mv kubelet /usr/local/bin/",
            "cp /var/lib/kubelet/config.yaml /opt/backup.yaml",
            "cp files/config.yaml /etc/app/",
            "kubectl -n kube-system get configmap kubelet-config -o yaml > /tmp/a; kubectl get cm kubelet-config",
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: CredentialProviderConfig\n",
            "sed --quiet p /var/lib/kubelet/config.yaml; awk '$1 > 2' /etc/default/kubelet",
            "systemctl enable --now /etc/systemd/system/kubelet.service",
            ". /etc/default/kubelet",
            "logger -t health \"kubelet unhealthy, see /var/lib/kubelet/config.yaml\"",
            "A=$(grep maxPods /var/lib/kubelet/config.yaml)",
            "A=\"$(grep maxPods /var/lib/kubelet/config.yaml)\"; echo $A",
            "-w /var/lib/kubelet -p wa -k kubelet\n-w /etc/default/kubelet -p x",
            "/var/log/kubelet.log { daily }",
            "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n",
            "[Unit]\nDescription=Wait before kubelet starts\nBefore=kubelet.service\nConditionPathExists=/var/lib/kubelet/config.yaml\n",
            "# cp a /etc/default/kubelet\n; cp a /etc/default/kubelet\nls # cp a /etc/default/kubelet",
            "echo \"$(jq .kubeAPIQPS=50 /etc/kubernetes/kubelet/config.json)\" > /dev/null",
        ] {
            assert_eq!(changing_line(text, KubeletConf::Credentials), None, "{text}");
        }
    }

    #[test]
    fn commands_within_many_others_end() {
        let text = "echo kubelet-arg $(".repeat(5000) + &")".repeat(5000);
        assert!(changing_line(&text, KubeletConf::Credentials).is_some());
        let quoted = "\"'".repeat(5000) + " a ";
        assert_eq!(changing_line(&quoted, KubeletConf::Credentials), None);
    }

    #[test]
    fn a_text_that_doubles_its_variables_ends() {
        let text = "A=aaaaaaaa\n".to_owned() + &"A=$A$A\n".repeat(5000);
        assert_eq!(changing_line(&text, KubeletConf::Credentials), None);
    }
}
