//! By which kubelet a configuration is read, and over which distribution's base.

use std::fmt;
use std::str::FromStr;

use anyhow::bail;
use distribution_config::{Distribution, Facts, InstanceType};
use node_config::Rules;

use crate::kubelet_version::NamedBy;

/// The base that is asked for in place of the one that the form of a file tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseChoice {
    /// The fields of the file are all that a kubelet reads.
    None,
    /// What a distribution sets lies beneath them.
    Of(Distribution),
    /// What Amazon EKS sets on instances of a type.
    Instance(InstanceType),
}

impl FromStr for BaseChoice {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        if name == "none" {
            return Ok(Self::None);
        }
        if let Some(instance) = name.strip_prefix("eks:") {
            let Some(instance) = InstanceType::named(instance) else {
                bail!(
                    "expected an instance type of EC2 that is known here, such as eks:m5.large; eks alone leaves the type open"
                );
            };
            return Ok(Self::Instance(instance));
        }
        let Ok(distribution) = name.parse() else {
            let known: Vec<&str> = Distribution::ALL.into_iter().map(Distribution::name).collect();
            bail!("expected none, eks:TYPE such as eks:m5.large, or one of {}", known.join(", "));
        };
        Ok(Self::Of(distribution))
    }
}

impl fmt::Display for BaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Of(distribution) => distribution.fmt(f),
            Self::Instance(instance) => write!(f, "eks:{instance}"),
        }
    }
}

/// How a configuration is read.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Reading<'a> {
    /// The kubelet that reads it.
    pub rules: Rules,
    /// Over which base; `None`: the one that the form of the file tells.
    pub base: Option<BaseChoice>,
    /// Flags over it: files with them, or flags themselves.
    pub flags: &'a [String],
    /// What names that kubelet.
    pub named_by: NamedBy,
}

impl From<Rules> for Reading<'_> {
    fn from(rules: Rules) -> Self {
        Self { rules, base: None, flags: &[], named_by: NamedBy::Nobody }
    }
}

/// That a distribution's table was not read for this kubelet, as text to be shown; `None`: it was.
pub(crate) fn of_another_release(distribution: Distribution, rules: Rules) -> Option<String> {
    let release = rules.version.release();
    let minor = release.minor().rsplit('.').next().and_then(|minor| minor.parse().ok())?;
    let Facts { kubelets, source } = distribution.facts();
    distribution.is_of_another_release(minor).then(|| {
        format!(
            "base {distribution} is that of kubelets 1.{} to 1.{}, and this one is {release}: what it sets may differ ({source}). \
             --base none leaves it out",
            kubelets.start(),
            kubelets.end()
        )
    })
}

#[cfg(test)]
mod tests {
    use node_config::Release;

    use super::*;

    #[test]
    fn a_base_is_read_by_its_name() {
        for name in ["none", "openshift", "talos-controlplane", "eks:m5.large"] {
            assert_eq!(name.parse::<BaseChoice>().map(|base| base.to_string()).ok().as_deref(), Some(name));
        }
        let error = "gke".parse::<BaseChoice>().map_err(|error| error.to_string());
        assert!(error.is_err_and(|error| error.contains("one of openshift, eks")));
        let error = "eks:m5.huge".parse::<BaseChoice>().map_err(|error| error.to_string());
        assert!(
            error.is_err_and(|error| error.contains("expected an instance type of EC2 that is known here"))
        );
    }

    #[test]
    fn a_base_of_another_release_is_named() {
        let notice = |release| of_another_release(Distribution::OpenShift, Rules::of(release));
        assert_eq!(notice(Release::V1_36), None);
        assert!(
            notice(Release::V1_37)
                .is_some_and(|text| text.contains("kubelets 1.31 to 1.36, and this one is 1.37"))
        );
    }
}
