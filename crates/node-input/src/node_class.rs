//! Karpenter's `EC2NodeClass` and node groups of eksctl with user data: what a kubelet gets of both.
//!
//! As `pkg/providers/amifamily` of karpenter-provider-aws: on Amazon Linux 2023 `nodeadm` lays the `NodeConfig` with the fields of
//! the class over that of user data, which stands before it; on Bottlerocket some fields of the class take the place of settings
//! in them. Karpenter always sets `maxPods`: that of the class, else by the instance type. What a node group of eksctl has in
//! the place of user data lies over what eksctl makes.

use anyhow::Context as _;
use node_output::manifest_error;
use serde_json::Value;
use topology_manifest::{
    ConfigKind, ImageFamily, KubeletArgument, KubeletConfigRead, NodeClass, Source, Warning,
    read_bootstrap_script, read_kubelet_config_of, read_kubelet_drop_ins,
};

use crate::bottlerocket;

/// Fields of the class that become settings, by their names there.
const SETTINGS: [(&str, &str); 4] = [
    ("maxPods", "max-pods"),
    ("systemReserved", "system-reserved"),
    ("kubeReserved", "kube-reserved"),
    ("evictionHard", "eviction-hard"),
];

/// What was read of the class, with its user data, on a machine with so many CPUs.
///
/// # Errors
/// The user data cannot be read, or no kubelet's part of them can.
pub(crate) fn with_user_data(
    name: &str,
    class: &NodeClass,
    read: KubeletConfigRead,
    cpus: usize,
) -> anyhow::Result<KubeletConfigRead> {
    let name = format!("{name}, {}", class.place);
    match (class.family, class.user_data.as_deref()) {
        (ImageFamily::AmazonLinux2023 | ImageFamily::Other, None) => Ok(read),
        (ImageFamily::AmazonLinux2023, Some(text)) if is_script(text) => {
            with_script(read, class, &name, text)
        }
        (ImageFamily::AmazonLinux2023, Some(text)) => with_node_config(read, &name, text),
        (ImageFamily::Bottlerocket, text) => settings(read, &name, text.unwrap_or_default(), cpus),
        (ImageFamily::Other, Some(text)) => with_script(read, class, &name, text),
    }
}

/// With the flags that a script gives the kubelet. An image that is started by one is none whose base is known.
fn with_script(
    mut read: KubeletConfigRead,
    class: &NodeClass,
    name: &str,
    text: &str,
) -> anyhow::Result<KubeletConfigRead> {
    let source = Source { name, text };
    read.flags.extend(read_bootstrap_script(&source).map_err(manifest_error)?.arguments);
    if text.contains(BOOTSTRAP) {
        read.node_class = Some(NodeClass { family: ImageFamily::Other, ..class.clone() });
    }
    Ok(read)
}

/// What starts a node with an image of Amazon before Amazon Linux 2023.
const BOOTSTRAP: &str = "/etc/eks/bootstrap.sh";

/// A script of a shell, or a message in MIME without a part for `nodeadm`: it sets nothing of the kubelet that `nodeadm` looks at.
fn is_script(text: &str) -> bool {
    let lower = text.trim_start().to_ascii_lowercase();
    let is_message =
        ["mime-version:", "content-type: multipart/"].iter().any(|start| lower.starts_with(start));
    lower.starts_with("#!") || is_message && !lower.contains("application/node.eks.aws")
}

/// With the fields of a `NodeConfig` in user data.
fn with_node_config(read: KubeletConfigRead, name: &str, text: &str) -> anyhow::Result<KubeletConfigRead> {
    let rules = read.config.rules;
    let source = Source { name, text };
    let mut user = read_kubelet_config_of(&source, rules).map_err(manifest_error)?;
    let mut warnings: Vec<Warning> = read.warnings.iter().chain(&user.warnings).cloned().collect();
    if is_of_karpenter(&read) && user.config.max_pods.take().is_some() {
        warnings.push(pods_by_karpenter(&source, "maxPods"));
    }
    let (class, users) = (serde_json::to_string(&read.config)?, serde_json::to_string(&user.config)?);
    let in_order = if is_of_karpenter(&read) { [&users, &class] } else { [&class, &users] };
    let merged = read_kubelet_drop_ins(None, &in_order.map(|text| Source { name, text }), rules)
        .map_err(manifest_error)?;
    let flags: Vec<KubeletArgument> = user.flags.iter().chain(&read.flags).cloned().collect();
    Ok(KubeletConfigRead { config: merged.config, flags, warnings, ..read })
}

fn is_of_karpenter(read: &KubeletConfigRead) -> bool {
    read.kind == ConfigKind::Part(KARPENTER)
}

/// What is called so in a [`ConfigKind::Part`].
const KARPENTER: &str = "Karpenter";

/// That a number of pods in user data has no effect.
fn pods_by_karpenter(source: &Source<'_>, key: &str) -> Warning {
    const EXPECTED: &str = "spec.kubelet.maxPods of the EC2NodeClass";
    let at = source.text.find(key).unwrap_or_default();
    let what = format!(
        "{key} has no effect in user data: Karpenter sets it, by the instance type unless the class has it"
    );
    Warning::useless(source, &(at..at + key.len()), what, EXPECTED)
}

/// That a setting in user data has no effect beside a field.
fn overridden(source: &Source<'_>, setting: &str) -> Warning {
    const EXPECTED: &str = "one of the two";
    let at = source.text.find(setting).unwrap_or_default();
    let field = SETTINGS.iter().find(|(_, own)| *own == setting).map_or(setting, |(field, _)| field);
    let what = format!("{setting} has no effect in user data: {field} of the object takes its place");
    Warning::useless(source, &(at..at + setting.len()), what, EXPECTED)
}

/// The configuration that settings make, with some of the class in them.
fn settings(
    read: KubeletConfigRead,
    name: &str,
    text: &str,
    cpus: usize,
) -> anyhow::Result<KubeletConfigRead> {
    let failed = || format!("failed to read {name} as settings of Bottlerocket");
    let json = serde_json::from_str::<toml::Table>(text).ok();
    let mut table = json.map_or_else(|| toml::from_str::<toml::Table>(text), Ok).with_context(failed)?;
    let fields = serde_json::to_value(&read.config)?;
    let is_written = |value: &&Value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    let own = SETTINGS
        .iter()
        .filter_map(|(field, setting)| Some((*setting, fields.get(field).filter(is_written)?)));
    let empty = || toml::Value::Table(toml::Table::new());
    let all = table.entry("settings").or_insert_with(empty).as_table_mut();
    let kubernetes = all.map(|all| all.entry("kubernetes").or_insert_with(empty));
    let kubernetes = kubernetes.and_then(toml::Value::as_table_mut).with_context(failed)?;
    let mut warnings = read.warnings.clone();
    if is_of_karpenter(&read) && kubernetes.remove("max-pods").is_some() {
        warnings.push(pods_by_karpenter(&Source { name, text }, "max-pods"));
    }
    for (setting, value) in own {
        let value = toml::Value::try_from(value)?;
        let before = kubernetes.insert(setting.to_owned(), value.clone());
        if before.is_some_and(|before| before != value) {
            warnings.push(overridden(&Source { name, text }, setting));
        }
    }
    let made = bottlerocket::configuration(name, &serde_json::to_string(&table)?, cpus)?;
    let source = Source { name, text: &made };
    let config = read_kubelet_config_of(&source, read.config.rules).map_err(manifest_error)?.config;
    warnings.extend(bottlerocket::without_effect(&Source { name, text }));
    Ok(KubeletConfigRead { config, warnings, ..read })
}

#[cfg(test)]
mod tests {
    use node_config::Rules;

    use super::*;
    use crate::{Reading, configuration_of_text};

    fn made(family: &str, user_data: &str) -> anyhow::Result<KubeletConfigRead> {
        let user_data = user_data.replace('\n', "\n    ");
        let text = format!(
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec:\n  {family}\n  kubelet:\n    maxPods: 20\n    \
             kubeReserved: {{memory: 1Gi}}\n  userData: |\n    {user_data}\n"
        );
        let read = read_kubelet_config_of(&Source { name: "class.yaml", text: &text }, Rules::default());
        let read = read.map_err(manifest_error)?;
        let class = read.node_class.clone().context("no class")?;
        with_user_data("class.yaml", &class, read, 96)
    }

    #[test]
    fn the_class_goes_over_a_node_config_of_user_data() {
        let user = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      \
                    cpuManagerPolicy: static\n      maxPods: 9\n      kubeReserved: {cpu: \"2\", memory: 9Gi}\n    flags: [--v=2]";
        for family in ["amiFamily: AL2023", "amiSelectorTerms: [{alias: al2023@latest}]"] {
            let read = made(family, user).unwrap_or_else(|error| panic!("{error:#}"));
            let config = read.config;
            assert_eq!((config.cpu_policy(), config.max_pods, read.flags.len()), ("static", Some(20), 1));
            let reserved = ["cpu", "memory"].map(|name| config.kube_reserved[name].as_str());
            assert_eq!((reserved, read.warnings.len()), (["2", "1Gi"], 1));
        }
        assert!(
            made("amiFamily: AL2023", "#!/bin/sh\necho").is_ok_and(|read| read.config.max_pods == Some(20))
        );
        let message = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: \
                       text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\necho\n\n--B--";
        let script = made("amiFamily: AL2023", message);
        assert!(script.as_ref().is_ok_and(|read| read.config.max_pods == Some(20)), "{script:?}");
        let wrong = made("amiFamily: AL2023", &user.replace("static", "[a]")).map(|_| ());
        assert!(wrong.is_err_and(|error| format!("{error:#}").contains("class.yaml, spec.userData")));
    }

    #[test]
    fn a_node_group_of_eksctl_lies_over_the_base_of_its_image_and_instance_type() {
        let over = |group: &str| {
            let text = format!(
                "apiVersion: eksctl.io/v1alpha5\nkind: ClusterConfig\nnodeGroups:\n- {{name: a, {group}}}\n"
            );
            let read = configuration_of_text("cluster.yaml", text.as_bytes(), 96, Reading::default());
            let read = read.unwrap_or_else(|error| panic!("{group}: {error:#}"));
            (read.shown_name(), read.config.max_pods)
        };
        let named = |text: &str| format!("cluster.yaml over base {text}");
        assert_eq!(over("instanceType: m5.xlarge"), (named("eks:m5.xlarge"), Some(58)));
        assert_eq!(over("instanceType: m5.huge").0, named("eks of an unknown instance type"));
        assert_eq!(over("instanceType: m5.xlarge, maxPodsPerNode: 20").1, Some(20));
        let settings = "amiFamily: Bottlerocket, bottlerocket: {settings: {kubernetes: {max-pods: 9}}}";
        assert_eq!(over(settings), (named("bottlerocket"), Some(9)));
        let script =
            "overrideBootstrapCommand: '/etc/eks/bootstrap.sh a --kubelet-extra-args \"--max-pods=7\"'";
        assert_eq!(over(&format!("amiFamily: AmazonLinux2, {script}")), (named("unknown"), Some(7)));
    }

    #[test]
    fn a_script_that_starts_a_node_has_flags() {
        let text = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n\
                    /etc/eks/bootstrap.sh demo --kubelet-extra-args '--max-pods=7'\n--//--\n";
        for text in [text, "#!/bin/bash\n/etc/eks/bootstrap.sh demo --kubelet-extra-args --max-pods=7\n"] {
            let read = configuration_of_text("user-data", text.as_bytes(), 96, Reading::default());
            let read = read.unwrap_or_else(|error| panic!("{error:#}"));
            assert_eq!((read.config.max_pods, read.is_over_unknown()), (Some(7), true), "{text}");
        }
    }

    #[test]
    fn fields_of_the_class_take_the_place_of_settings() {
        let user = "[settings.kubernetes]\nmax-pods = 58\ncpu-manager-policy = \"static\"";
        let read = made("amiFamily: Bottlerocket", user).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!((read.config.cpu_policy(), read.config.max_pods), ("static", Some(20)));
        assert_eq!(read.warnings.len(), 1);
        let both = format!("{user}\n[settings.kubernetes.kube-reserved]\nmemory = \"2Gi\"");
        let warnings = made("amiFamily: Bottlerocket", &both).map(|read| read.warnings).unwrap_or_default();
        let texts: Vec<String> = warnings.iter().map(|one| one.as_error().to_string()).collect();
        assert!(
            texts.iter().any(|text| text.contains("kubeReserved of the object takes its place")),
            "{texts:?}"
        );
        assert_eq!(read.config.kube_reserved.get("memory").map(String::as_str), Some("1Gi"));
    }

    #[test]
    fn a_script_of_another_image_is_not_passed_over() {
        let script = "#!/bin/sh\n/etc/eks/bootstrap.sh demo --kubelet-extra-args '--v=2 --max-pods=9'";
        for family in ["amiFamily: AL2", "amiFamily: AL2023", "amiSelectorTerms: [{id: ami-1}]"] {
            let read = made(family, script).unwrap_or_else(|error| panic!("{error:#}"));
            assert_eq!(read.flags.len(), 2);
            assert_eq!(read.node_class.map(|class| class.family), Some(ImageFamily::Other));
        }
        let error = made("amiFamily: AL2", "#!/bin/sh\nsed -i s/a/b/ /etc/kubernetes/kubelet/config.json")
            .map(|_| ());
        assert!(error.is_err_and(|error| format!("{error:#}").contains("spec.userData:2:")));
    }
}
