//! Karpenter's `EC2NodeClass` with user data: what a kubelet gets of both.
//!
//! As `pkg/providers/amifamily/bootstrap` of karpenter-provider-aws: on Amazon Linux 2023 `nodeadm` lays the `NodeConfig` of user
//! data over that with the fields of the class; on Bottlerocket some fields of the class take the place of settings in them.

use anyhow::{Context as _, bail};
use node_output::manifest_error;
use serde_json::Value;
use topology_manifest::{
    ConfigKind, ImageFamily, KubeletArgument, KubeletConfigRead, NodeClass, Source, read_kubelet_config_of,
    read_kubelet_drop_ins,
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
    let name = format!("{name}, spec.userData");
    match (class.family, class.user_data.as_deref()) {
        (ImageFamily::AmazonLinux2023 | ImageFamily::Other, None) => Ok(read),
        (ImageFamily::AmazonLinux2023, Some(text)) if is_script(text) => Ok(read),
        (ImageFamily::AmazonLinux2023, Some(text)) => over(read, &name, text),
        (ImageFamily::Bottlerocket, text) => settings(read, &name, text.unwrap_or_default(), cpus),
        (ImageFamily::Other, Some(_)) => bail!(
            "{name}: a script of an image that is not known here may set the kubelet's fields. With amiFamily AL2023 or Bottlerocket \
             user data are read; what a node's kubelet has prints kubectl get --raw /api/v1/nodes/NODE/proxy/configz"
        ),
    }
}

/// A script of a shell, which sets nothing of the kubelet that `nodeadm` looks at.
fn is_script(text: &str) -> bool {
    text.trim_start().starts_with("#!")
}

/// The fields of user data over those of the class.
fn over(read: KubeletConfigRead, name: &str, text: &str) -> anyhow::Result<KubeletConfigRead> {
    let rules = read.config.rules;
    let source = Source { name, text };
    let user = read_kubelet_config_of(&source, rules).map_err(manifest_error)?;
    let (own, users) = (serde_json::to_string(&read.config)?, serde_json::to_string(&user.config)?);
    let sources = [&own, &users].map(|text| Source { name, text });
    let merged = read_kubelet_drop_ins(None, &sources, rules).map_err(manifest_error)?;
    let flags: Vec<KubeletArgument> = read.flags.iter().chain(&user.flags).cloned().collect();
    let warnings = read.warnings.iter().chain(&user.warnings).cloned().collect();
    Ok(KubeletConfigRead { config: merged.config, flags, warnings, ..read })
}

/// The configuration that settings make, with some of the class in them.
fn settings(
    read: KubeletConfigRead,
    name: &str,
    text: &str,
    cpus: usize,
) -> anyhow::Result<KubeletConfigRead> {
    let failed = || format!("failed to read {name} as settings of Bottlerocket");
    let mut table: toml::Table = toml::from_str(text).with_context(failed)?;
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
    for (setting, value) in own {
        kubernetes.insert(setting.to_owned(), toml::Value::try_from(value)?);
    }
    let made = bottlerocket::configuration(name, &serde_json::to_string(&table)?, cpus)?;
    let source = Source { name, text: &made };
    let config = read_kubelet_config_of(&source, read.config.rules).map_err(manifest_error)?.config;
    let mut warnings = read.warnings;
    warnings.extend(bottlerocket::without_effect(&Source { name, text }));
    Ok(KubeletConfigRead { config, warnings, kind: ConfigKind::Part("Karpenter"), ..read })
}

#[cfg(test)]
mod tests {
    use node_config::Rules;

    use super::*;

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
    fn a_node_config_of_user_data_goes_over_the_class() {
        let user = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      \
                    cpuManagerPolicy: static\n      kubeReserved: {cpu: \"2\"}\n    flags: [--v=2]";
        for family in ["amiFamily: AL2023", "amiSelectorTerms: [{alias: al2023@latest}]"] {
            let read = made(family, user).unwrap_or_else(|error| panic!("{error:#}"));
            let config = read.config;
            assert_eq!((config.cpu_policy(), config.max_pods, read.flags.len()), ("static", Some(20), 1));
            assert_eq!(config.kube_reserved.len(), 2);
        }
        assert!(
            made("amiFamily: AL2023", "#!/bin/sh\necho").is_ok_and(|read| read.config.max_pods == Some(20))
        );
        let wrong = made("amiFamily: AL2023", &user.replace("static", "[a]")).map(|_| ());
        assert!(wrong.is_err_and(|error| format!("{error:#}").contains("class.yaml, spec.userData")));
    }

    #[test]
    fn fields_of_the_class_take_the_place_of_settings() {
        let user = "[settings.kubernetes]\nmax-pods = 58\ncpu-manager-policy = \"static\"";
        let read = made("amiFamily: Bottlerocket", user).unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!((read.config.cpu_policy(), read.config.max_pods), ("static", Some(20)));
        assert_eq!(read.config.kube_reserved.get("memory").map(String::as_str), Some("1Gi"));
    }

    #[test]
    fn a_script_of_another_image_is_not_passed_over() {
        let error = made("amiFamily: AL2", "#!/bin/sh\n/etc/eks/bootstrap.sh").map(|_| ());
        assert!(error.is_err_and(|error| error.to_string().contains("spec.userData")));
    }
}
