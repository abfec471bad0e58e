//! The options under `devices`.
//!
//! ```yaml
//! devices:
//!   links: require                      # or ignore, prefer
//!   groups:                             # resources whose devices belong together in a request
//!     fabric: [nvidia.com/gpu, nvidia.com/nic]
//!   domains:                            # devices that reach each other over NVLink or xGMI
//!     nvlink: ["0008:01:00.0", "0009:01:00.0"]
//!   addresses:                          # of devices whose ids are no PCI addresses
//!     GPU-5a1b: "0008:01:00.0"
//!   claims: hint                        # or ignore: whether CPUs and memory follow devices of claims
//!   deferSeconds: 120                   # how long pods wait for a plugin that is not back yet
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use node_config::{ClaimHints, DeviceLinks, LinkRule, OwnOptions};

use super::word::choose;
use crate::names::is_resource;
use crate::node::{Field, known_fields};
use crate::{ManifestError, Problem};

const RESOURCE: &str = "a device's resource such as intel.com/vf";

pub(super) fn links(field: &Field<'_>) -> Result<DeviceLinks, ManifestError> {
    known_fields(
        field,
        &["links", "groups", "domains", "addresses", "claims", "deferSeconds"],
        "links, groups, domains, addresses, claims or deferSeconds",
    )?;
    let mut links = DeviceLinks::default();
    let words = LinkRule::ALL.map(|rule| (rule.name(), rule));
    choose(field, "links", "ignore, prefer or require", &words, &mut links.rule)?;
    if links.rule == LinkRule::Ignore {
        for key in ["groups", "domains", "addresses"] {
            if let Some(unused) = field.get(key)? {
                return Err(unused.unexpected("nothing, unless devices.links is prefer or require"));
            }
        }
    }
    if let Some(groups) = field.get("groups")? {
        links.groups = lists(&groups, RESOURCE)?;
        resources_in_one_group(&groups, &links)?;
    }
    if let Some(domains) = field.get("domains")? {
        links.domains = lists(&domains, "a PCI address such as 0000:3b:00.0")?;
    }
    if let Some(addresses) = field.get("addresses")? {
        for entry in addresses.entries()? {
            let address = entry.value.text("a PCI address such as 0000:3b:00.0")?;
            links.addresses.insert(entry.key.to_owned(), address.to_owned());
        }
    }
    Ok(links)
}

pub(super) fn claims(field: &Field<'_>) -> Result<ClaimHints, ManifestError> {
    let mut hints = ClaimHints::default();
    let words = ClaimHints::ALL.map(|hints| (hints.name(), hints));
    choose(field, "claims", "ignore or hint", &words, &mut hints)?;
    Ok(hints)
}

pub(super) fn defer(field: &Field<'_>) -> Result<Duration, ManifestError> {
    const SECONDS: &str =
        "a whole number of seconds from 0 to 240: after 300 a resource without a plugin is forgotten";
    let Some(seconds) = field.get("deferSeconds")? else { return Ok(Duration::ZERO) };
    let number = seconds.scalar(SECONDS)?.parse().ok().map(Duration::from_secs);
    number.filter(|number| *number <= OwnOptions::MOST_DEFERRED).ok_or_else(|| seconds.unexpected(SECONDS))
}

/// Lists of texts by name; each has at least two, since fewer are not together.
fn lists(field: &Field<'_>, expected: &'static str) -> Result<BTreeMap<String, Vec<String>>, ManifestError> {
    let mut lists = BTreeMap::new();
    for entry in field.entries()? {
        let texts = entry.value.items()?.into_iter().map(|item| Ok(item.text(expected)?.to_owned()));
        let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
        if texts.len() < 2 {
            return Err(entry.value.unexpected("a list of at least two"));
        }
        lists.insert(entry.key.to_owned(), texts);
    }
    Ok(lists)
}

fn resources_in_one_group(groups: &Field<'_>, links: &DeviceLinks) -> Result<(), ManifestError> {
    for entry in groups.entries()? {
        for item in entry.value.items()? {
            let resource = item.text(RESOURCE)?;
            if !(resource.contains('/') && is_resource(resource)) {
                return Err(item.unexpected(RESOURCE));
            }
            if let Some((twice, one, other)) =
                links.in_two_groups().filter(|(twice, _, other)| *twice == resource && *other == entry.key)
            {
                let what = format!("{twice} is in devices.groups.{one} and devices.groups.{other}");
                return Err(item.fail(Problem::Useless { what, expected: "a resource of no other group" }));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, read_own_options};

    fn read(text: &str) -> Result<DeviceLinks, String> {
        let text = format!("apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {text}");
        let source = Source { name: "topolet.yaml", text: &text };
        let options = read_own_options(&source).map_err(|error| error.problem().to_string())?;
        Ok(options.device_links)
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read("{}"), Ok(DeviceLinks::default()));
        let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let links = DeviceLinks {
            rule: LinkRule::Require,
            groups: [("fabric".to_owned(), text(&["nvidia.com/gpu", "nvidia.com/nic"]))].into(),
            domains: [("nvlink".to_owned(), text(&["0008:01:00.0", "0009:01:00.0"]))].into(),
            addresses: [("GPU-5a1b".to_owned(), "0008:01:00.0".to_owned())].into(),
        };
        let written = "{links: require, groups: {fabric: [nvidia.com/gpu, nvidia.com/nic]}, \
                       domains: {nvlink: ['0008:01:00.0', '0009:01:00.0']}, addresses: {GPU-5a1b: '0008:01:00.0'}}";
        assert_eq!(read(written), Ok(links));
    }

    #[test]
    fn pods_wait_for_as_long_as_a_resource_is_remembered() {
        let defer = |text: &str| {
            let text = format!(
                "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {{deferSeconds: {text}}}"
            );
            let read = read_own_options(&Source { name: "topolet.yaml", text: &text });
            read.map(|options| options.defer.as_secs()).map_err(|error| error.problem().to_string())
        };
        assert_eq!((defer("0"), defer("120"), defer("240")), (Ok(0), Ok(120), Ok(240)));
        for text in ["241", "-1", "1.5", "2m", "[]"] {
            assert!(defer(text).is_err(), "{text}");
        }
    }

    #[test]
    fn claims_give_hints_where_that_is_written() {
        let claims = |text: &str| {
            let text = format!(
                "apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\ndevices: {{claims: {text}}}"
            );
            let read = read_own_options(&Source { name: "topolet.yaml", text: &text });
            read.map(|options| options.claim_hints).map_err(|error| error.problem().to_string())
        };
        assert_eq!(claims("hint"), Ok(ClaimHints::Hint));
        assert_eq!(claims("ignore"), Ok(ClaimHints::Ignore));
        assert_eq!(claims("hints"), Err("found text \"hints\"".to_owned()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, problem) in [
            ("{links: always}", "found text \"always\""),
            ("{link: prefer}", "there is no field \"link\""),
            ("{groups: {a: [x.com/a, x.com/b]}}", "found a mapping"),
            ("{links: ignore, domains: {}}", "found a mapping"),
            ("{links: prefer, groups: {a: [x.com/a]}}", "found a list"),
            ("{links: prefer, groups: {a: [cpu, x.com/b]}}", "found text \"cpu\""),
            ("{links: prefer, domains: {a: x}}", "found text \"x\""),
            (
                "{links: prefer, groups: {a: [x.com/a, x.com/b], b: [x.com/c, x.com/a]}}",
                "x.com/a is in devices.groups.a and devices.groups.b",
            ),
        ] {
            assert_eq!(read(text), Err(problem.to_owned()), "{text}");
        }
    }
}
