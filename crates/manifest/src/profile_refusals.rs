//! What the webhook of OpenShift's node tuning operator refuses in a `PerformanceProfile`, without looking at nodes.
//!
//! CPUs that are in two lists are found where the lists are compared with a machine.

use cpuset::CpuSet;

use crate::ManifestError;
use crate::node::Field;

/// One thing that the operator refuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileRefusal {
    /// The path of the field, such as `spec.cpu.isolated`.
    pub field: String,
    /// Its line in the file, or that of what should have it, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub text: String,
}

/// The annotation that leaves CPUs and memory to drivers.
pub(crate) const DRA: &str = "performance.openshift.io/dra-resource-management";
/// Sizes of huge pages on any architecture.
const SIZES: [&str; 6] = ["2M", "1G", "64K", "32M", "512M", "16G"];

/// All that is refused in a profile.
pub(crate) fn refusals(document: &Field<'_>) -> Result<Vec<ProfileRefusal>, ManifestError> {
    let mut found = Refusals { document, found: Vec::new() };
    found.of_cpus()?;
    found.of_selectors()?;
    found.of_pages()?;
    found.of_hints()?;
    found.of_frequencies()?;
    found.of_devices()?;
    Ok(found.found)
}

struct Refusals<'d, 's> {
    document: &'d Field<'s>,
    found: Vec<ProfileRefusal>,
}

impl<'s> Refusals<'_, 's> {
    fn get(&self, path: &[&str]) -> Result<Option<Field<'s>>, ManifestError> {
        self.document.descend(path)
    }

    fn is_true(&self, path: &[&str]) -> Result<bool, ManifestError> {
        Ok(self.get(path)?.is_some_and(|field| field.is_true()))
    }

    /// At the deepest part of the path that is written.
    fn refuse(&mut self, path: &[&str], text: &str) -> Result<(), ManifestError> {
        let mut at = self.document.clone();
        for key in path {
            let Some(next) = at.get(key)? else { break };
            at = next;
        }
        let line = at.place().position.line;
        self.found.push(ProfileRefusal { field: path.join("."), line, text: text.to_owned() });
        Ok(())
    }

    fn of_cpus(&mut self) -> Result<(), ManifestError> {
        for name in ["reserved", "isolated"] {
            let path = ["spec", "cpu", name];
            let list = self.get(&path)?;
            let cpus = list.and_then(|field| field.text("").ok()).map(str::parse::<CpuSet>);
            match cpus {
                None => self.refuse(&path, "is required")?,
                Some(Ok(cpus)) if cpus.is_empty() => self.refuse(&path, "is empty")?,
                Some(Ok(_)) => {}
                Some(Err(_)) => self.refuse(&path, "is no list of CPUs such as 0-3")?,
            }
        }
        Ok(())
    }

    fn of_selectors(&mut self) -> Result<(), ManifestError> {
        for name in ["machineConfigLabel", "machineConfigPoolSelector", "nodeSelector"] {
            let path = ["spec", name];
            let Some(field) = self.get(&path)? else { continue };
            if field.entries()?.len() > 1 {
                self.refuse(&path, "has more than one label")?;
            }
        }
        let path = ["spec", "nodeSelector"];
        let Some(selector) = self.get(&path)? else { return self.refuse(&path, "is required") };
        let names_pool = self.get(&["spec", "machineConfigLabel"])?.is_some()
            && self.get(&["spec", "machineConfigPoolSelector"])?.is_some();
        let first = selector.entries()?.into_iter().next();
        let has_role = first.is_some_and(|label| label.key.split('/').count() == 2);
        if !names_pool && !has_role {
            self.refuse(
                &path,
                "has no label such as node-role.kubernetes.io/ROLE, from which the machine config pool is worked out",
            )?;
        }
        Ok(())
    }

    fn of_pages(&mut self) -> Result<(), ManifestError> {
        const DEFAULT: [&str; 3] = ["spec", "hugepages", "defaultHugepagesSize"];
        const PAGES: [&str; 3] = ["spec", "hugepages", "pages"];
        let pages = self.get(&PAGES)?.map_or(Ok(Vec::new()), |pages| pages.items())?;
        let default = self.get(&DEFAULT)?;
        if default.is_none() && !pages.is_empty() {
            self.refuse(&DEFAULT, "is required beside pages")?;
        }
        if default.is_some_and(|size| size.text("").is_ok_and(|size| !SIZES.contains(&size))) {
            self.refuse(&DEFAULT, "is no size of huge pages: 2M or 1G, on ARM also 64K, 32M, 512M or 16G")?;
        }
        let mut seen = Vec::new();
        for page in &pages {
            let scalar = |key| page.get(key).map(|field| field.and_then(|field| field.scalar("").ok()));
            let (size, node) = (scalar("size")?.unwrap_or_default(), scalar("node")?);
            let line = page.place().position.line;
            let mut refuse = |text: String| {
                self.found.push(ProfileRefusal { field: PAGES.join("."), line, text });
            };
            if !SIZES.contains(&size) {
                refuse(
                    "has a size that no huge pages have: 2M or 1G, on ARM also 64K, 32M, 512M or 16G"
                        .to_owned(),
                );
            }
            if seen.contains(&(size, node)) {
                refuse(format!("has {size} for the same NUMA nodes twice"));
            }
            seen.push((size, node));
        }
        Ok(())
    }

    fn of_hints(&mut self) -> Result<(), ManifestError> {
        let hint = |name| ["spec", "workloadHints", name];
        let real_time = self.get(&hint("realTime"))?;
        if self.is_true(&["spec", "realTimeKernel", "enabled"])?
            && real_time.is_some_and(|field| !field.is_true())
        {
            self.refuse(&hint("realTime"), "is false beside a real-time kernel")?;
        }
        let power = hint("highPowerConsumption");
        if self.is_true(&power)? && self.is_true(&hint("perPodPowerManagement"))? {
            self.refuse(&power, "and perPodPowerManagement exclude each other")?;
        }
        let mixed = hint("mixedCpus");
        if !self.is_true(&mixed)? {
            return Ok(());
        }
        let shared = self.get(&["spec", "cpu", "shared"])?;
        if shared.is_none_or(|field| field.text("").is_ok_and(str::is_empty)) {
            self.refuse(&mixed, "needs spec.cpu.shared")?;
        }
        let drivers = self.get(&["metadata", "annotations", DRA])?;
        if drivers.is_some_and(|field| field.text("").is_ok_and(|text| text == "true")) {
            self.refuse(&mixed, &format!("and the annotation {DRA} exclude each other"))?;
        }
        Ok(())
    }

    fn of_frequencies(&mut self) -> Result<(), ManifestError> {
        let path = ["spec", "hardwareTuning"];
        let Some(tuning) = self.get(&path)? else { return Ok(()) };
        if tuning.get("isolatedCpuFreq")?.is_none() || tuning.get("reservedCpuFreq")?.is_none() {
            self.refuse(&path, "needs isolatedCpuFreq and reservedCpuFreq")?;
        }
        Ok(())
    }

    fn of_devices(&mut self) -> Result<(), ManifestError> {
        let path = ["spec", "net", "devices"];
        let Some(devices) = self.get(&path)? else { return Ok(()) };
        for device in devices.items()? {
            let is_id = |key| -> Result<Option<bool>, ManifestError> {
                Ok(device.get(key)?.and_then(|field| field.text("").ok()).map(is_pci_id))
            };
            let (vendor, model) = (is_id("vendorID")?, is_id("deviceID")?);
            if vendor == Some(false) || model == Some(false) {
                self.refuse(&path, "has an id that is not 0x and four hexadecimal digits")?;
            }
            if model.is_some() && vendor.is_none() {
                self.refuse(&path, "has a deviceID without a vendorID")?;
            }
        }
        Ok(())
    }
}

fn is_pci_id(text: &str) -> bool {
    let digits = text.strip_prefix("0x").unwrap_or_default();
    (1..=4).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::yaml::{RepeatedKey, documents};

    /// The fields that are refused, with their lines.
    #[track_caller]
    fn check(metadata: &str, spec: &str, expected: &[(&str, usize)]) {
        let text = format!("metadata: {{{metadata}}}\nspec: {{{spec}}}\n");
        let source = Source { name: "pp.yaml", text: &text };
        let nodes = documents(&source, RepeatedKey::Refused).expect(&text);
        let found = refusals(&Field::document(&source, &nodes[0])).expect(&text);
        let found: Vec<_> = found.iter().map(|one| (one.field.as_str(), one.line)).collect();
        assert_eq!(found, expected, "{spec}");
    }

    const CPUS: &str = "cpu: {isolated: 2-7, reserved: 0-1}, nodeSelector: {node-role.kubernetes.io/rt: ''}";

    #[test]
    fn what_is_required_is_asked_for() {
        check("", CPUS, &[]);
        let all = [("spec.cpu.reserved", 2), ("spec.cpu.isolated", 2), ("spec.nodeSelector", 2)];
        check("", "", &all);
        check("", "cpu: {isolated: '', reserved: a}, nodeSelector: {a/b: ''}", &all[..2]);
        check("", "cpu: {isolated: 2-7, reserved: 0-1}, nodeSelector: {role: ''}", &all[2..]);
        check("", &CPUS.replace("''}", "'', b/c: ''}"), &all[2..]);
    }

    #[test]
    fn fields_that_exclude_each_other_are_refused() {
        let more = |more: &str| format!("{CPUS}, {more}");
        let hints = |hints: &str| more(&format!("workloadHints: {{{hints}}}"));
        check("", &hints("mixedCpus: true"), &[("spec.workloadHints.mixedCpus", 2)]);
        let shared = hints("mixedCpus: true").replace("reserved: 0-1", "reserved: '0', shared: '1'");
        check("", &shared, &[]);
        let drivers = format!("annotations: {{{DRA}: 'true'}}");
        check(&drivers, &shared, &[("spec.workloadHints.mixedCpus", 2)]);
        let power = hints("highPowerConsumption: true, perPodPowerManagement: true");
        check("", &power, &[("spec.workloadHints.highPowerConsumption", 2)]);
        let kernel = format!("{}, realTimeKernel: {{enabled: true}}", hints("realTime: false"));
        check("", &kernel, &[("spec.workloadHints.realTime", 2)]);
        check("", &more("hardwareTuning: {isolatedCpuFreq: 1}"), &[("spec.hardwareTuning", 2)]);
        check("", &more("net: {devices: [{deviceID: '0x1593'}]}"), &[("spec.net.devices", 2)]);
        check("", &more("net: {devices: [{vendorID: '8086'}]}"), &[("spec.net.devices", 2)]);
    }

    #[test]
    fn pages_have_a_size_and_are_listed_once() {
        let pages = |pages: &str| format!("{CPUS}, hugepages: {{{pages}}}");
        check("", &pages("pages: [{size: 1G, count: 1}]"), &[("spec.hugepages.defaultHugepagesSize", 2)]);
        let default = "defaultHugepagesSize: 1G, pages: ";
        check("", &pages(&format!("{default}[{{size: 1G, node: 0}}, {{size: 1G, node: 1}}]")), &[]);
        let twice = pages(&format!("{default}[{{size: 1G, node: 0}}, {{size: 1G, node: 0}}]"));
        check("", &twice, &[("spec.hugepages.pages", 2)]);
        check("", &pages(&format!("{default}[{{size: 4G}}]")), &[("spec.hugepages.pages", 2)]);
    }
}
