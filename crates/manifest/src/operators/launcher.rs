//! The pod in which `KubeVirt` runs a virtual machine: `virt-launcher`.
//!
//! The rules are those of `KubeVirt` v1.6.0 with its default configuration: no CPU limits by namespace, an allocation ratio
//! of 10, no overcommitted memory, KVM at hand. From `pkg/virt-controller/services/renderresources.go`, `template.go`,
//! `serialconsolelog.go`, and the webhook's defaults.
//!
//! - The guest's CPUs are cores times sockets times threads. With dedicated CPUs they are requested and limited whole, and
//!   `isolateEmulatorThread` adds one; without, a tenth of them is requested.
//! - Memory is the guest's and an [`overhead`]. With huge pages the guest's is pages, and the rest ordinary memory.
//!
//! Its devices (`devices.kubevirt.io/kvm`, `tun`, `vhost-net`) are left out: every node that runs machines has
//! them, and they have no NUMA node. Networks name their devices in other objects.

use k8s_quantity::Quantity;

use super::tree::{Tree, picked};
use crate::constraints::integer;
use crate::node::{Field, Node};
use crate::quantity::quantity;
use crate::{ManifestError, Problem};

const MI: i128 = 1 << 20;
/// Of `virt-launcher-monitor`, `virt-launcher`, `virtlogd`, `virtqemud`, `qemu`, and the thread for disks.
const PROCESSES: i128 = (25 + 100 + 25 + 40 + 30 + 8) * MI;
/// What a guest's CPU adds.
const EACH_CPU: i128 = 8 * MI;
/// The memory of a graphics card.
const GRAPHICS: i128 = 32 * MI;
/// Firmware of a guest on Arm.
const ARM_FIRMWARE: i128 = 128 * MI;
/// What a device of the host's adds: its memory is mapped.
const PASSED_DEVICES: i128 = 1024 * MI;
/// Encrypted memory.
const ENCRYPTION: i128 = 256 * MI;
/// A TPM's process.
const TPM: i128 = 53 * MI;
/// Of guests whose pod is Guaranteed.
const GUARANTEED: i128 = 100 * MI;
/// Each probe that runs a command, and all of them together.
const PROBE: i128 = 10 * MI;
const PROBES: i128 = 100 * MI;
/// As many guest's CPUs share one that is requested.
const ALLOCATION_RATIO: u64 = 10;
/// Asks for an even number of CPUs with those of the emulator.
const EVEN: &str = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity";

/// The template of the pod of `machine`, which has metadata and a specification.
pub(super) fn template(machine: &Field<'_>) -> Result<Node, ManifestError> {
    let guest = Guest::read(machine)?;
    let tree = Tree::at(&guest.domain);
    let mut containers = vec![guest.compute(&tree)?];
    let mut inits = Vec::new();
    let is_guaranteed = guest.is_guaranteed();
    for volume in guest.spec.get("volumes")?.map_or(Ok(Vec::new()), |volumes| volumes.items())? {
        if volume.get("containerDisk")?.is_some() {
            let name = volume.require("name", "the volume's name")?.text("a name")?;
            containers.push(disk(&tree, &format!("volume{name}"), is_guaranteed));
            inits.push(disk(&tree, &format!("volume{name}-init"), is_guaranteed));
        }
    }
    if guest.logs_console()? {
        let (requests, limits) = (small("5m", "35M"), small("15m", "60M"));
        let requests = if is_guaranteed { &limits } else { &requests };
        inits.push(tree.sidecar("guest-console-log", requests, &limits));
    }
    let mut fields =
        picked(guest.spec.node, &["nodeSelector", "affinity", "tolerations", "priorityClassName"]);
    fields.push(("containers".to_owned(), tree.list(containers)));
    if !inits.is_empty() {
        fields.push(("initContainers".to_owned(), tree.list(inits)));
    }
    Ok(tree.template(machine.node.value.get("metadata"), tree.map(fields)))
}

fn small(cpu: &str, memory: &str) -> [(String, String); 2] {
    [("cpu".to_owned(), cpu.to_owned()), ("memory".to_owned(), memory.to_owned())]
}

/// A container that serves a disk from an image.
fn disk(tree: &Tree, name: &str, is_guaranteed: bool) -> Node {
    let limits = small("10m", "40M");
    let mut requests = if is_guaranteed { limits.to_vec() } else { small("1m", "1M").to_vec() };
    requests.push(("ephemeral-storage".to_owned(), "50M".to_owned()));
    tree.container(name, &requests, &limits)
}

/// A virtual machine, as far as its pod depends on it.
struct Guest<'a> {
    machine: &'a Field<'a>,
    spec: Field<'a>,
    domain: Field<'a>,
    /// CPUs, of which there is at least one.
    cpus: u64,
    /// Threads for disks that are pinned beside them.
    disk_threads: u64,
    is_dedicated: bool,
    /// The memory that the pod requests for it, in bytes.
    request: i128,
    /// The limit of that, where there is one.
    limit: Option<i128>,
    /// What the guest sees, in bytes.
    memory: i128,
    /// The size of its huge pages, such as `1Gi`.
    page: Option<String>,
}

impl<'a> Guest<'a> {
    fn read(machine: &'a Field<'a>) -> Result<Self, ManifestError> {
        let spec = machine.require("spec", "a mapping with the machine's domain")?;
        let domain = spec.require("domain", "a mapping with CPUs, memory and devices")?;
        let amount = |path: &[&str]| {
            let field = domain.descend(path)?;
            let bytes = field.map(|field| Ok::<_, ManifestError>(bytes(&quantity(&field)?.0))).transpose()?;
            Ok::<_, ManifestError>(bytes.filter(|bytes| *bytes > 0))
        };
        let page = domain.descend(&["memory", "hugepages", "pageSize"])?;
        let page_bytes =
            page.as_ref().map(|page| Ok::<_, ManifestError>(bytes(&quantity(page)?.0))).transpose()?;
        let written = amount(&["memory", "guest"])?;
        let limit = amount(&["resources", "limits", "memory"])?;
        let request = amount(&["resources", "requests", "memory"])?.or(limit).or(written).or(page_bytes);
        let Some(request) = request else { return Err(without_memory(&domain)) };
        let cpu = domain.get("cpu")?;
        let is_dedicated = cpu.as_ref().map_or(Ok(None), |cpu| cpu.get("dedicatedCpuPlacement"))?;
        let is_dedicated = is_dedicated.is_some_and(|field| field.is_true());
        let disk_threads = domain.descend(&["ioThreads", "supplementalPoolThreadCount"])?;
        let guest = Self {
            machine,
            cpus: cpus(&domain, cpu.as_ref())?,
            disk_threads: disk_threads.map_or(Ok(0), |field| integer(&field, "a number of threads"))?,
            is_dedicated,
            request,
            limit: if is_dedicated { Some(request) } else { limit },
            memory: written.unwrap_or(request),
            page: page.map(|page| page.scalar("a page size").map(str::to_owned)).transpose()?,
            spec,
            domain,
        };
        check(&guest, page_bytes)?;
        Ok(guest)
    }

    /// The container in which the guest runs.
    fn compute(&self, tree: &Tree) -> Result<Node, ManifestError> {
        let mut requests = vec![("ephemeral-storage".to_owned(), "50M".to_owned())];
        let mut limits = Vec::new();
        self.add_cpus(&mut requests, &mut limits)?;
        self.add_memory(&mut requests, &mut limits)?;
        for list in ["gpus", "hostDevices"] {
            for device in
                self.domain.descend(&["devices", list])?.map_or(Ok(Vec::new()), |list| list.items())?
            {
                let Some(name) = device.get("deviceName")? else { continue };
                add_device(name.text("a resource, such as nvidia.com/A100")?, [&mut requests, &mut limits]);
            }
        }
        Ok(tree.container("compute", &requests, &limits))
    }

    fn add_cpus(
        &self,
        requests: &mut Vec<(String, String)>,
        limits: &mut Vec<(String, String)>,
    ) -> Result<(), ManifestError> {
        let add = |list: &mut Vec<(String, String)>, amount: String| list.push(("cpu".to_owned(), amount));
        if self.is_dedicated {
            let cpus = (self.cpus + self.disk_threads + self.emulator()?).to_string();
            add(requests, cpus.clone());
            add(limits, cpus);
            return Ok(());
        }
        let written = |list| {
            let field = self.domain.descend(&["resources", list, "cpu"])?;
            field.map(|field| field.scalar("an amount of CPUs").map(str::to_owned)).transpose()
        };
        let limit = written("limits")?;
        let share = || format!("{}m", (self.cpus + self.disk_threads) * 1000 / ALLOCATION_RATIO);
        add(requests, written("requests")?.or_else(|| limit.clone()).unwrap_or_else(share));
        if let Some(limit) = limit {
            add(limits, limit);
        }
        Ok(())
    }

    /// CPUs for the emulator's threads.
    fn emulator(&self) -> Result<u64, ManifestError> {
        let isolated = self.domain.descend(&["cpu", "isolateEmulatorThread"])?;
        if !isolated.is_some_and(|field| field.is_true()) {
            return Ok(0);
        }
        let to_even = self.machine.descend(&["metadata", "annotations"])?;
        let to_even = to_even.map_or(Ok(None), |annotations| annotations.get(EVEN))?.is_some();
        // Threads for disks count twice there.
        Ok(if to_even && self.cpus.is_multiple_of(2) { 2 } else { 1 })
    }

    fn add_memory(
        &self,
        requests: &mut Vec<(String, String)>,
        limits: &mut Vec<(String, String)>,
    ) -> Result<(), ManifestError> {
        let overhead = self.overhead()?;
        let (mut request, mut limit) = (self.request, self.limit);
        if let Some(page) = &self.page {
            let pages = (format!("hugepages-{page}"), request.min(self.memory).to_string());
            requests.push(pages.clone());
            limits.push(pages);
            let beyond = |amount: i128| (amount - self.memory).max(0);
            (request, limit) = (beyond(request), limit.map(beyond));
        }
        let uncounted = self.domain.descend(&["resources", "overcommitGuestOverhead"])?;
        let uncounted = uncounted.is_some_and(|field| field.is_true()) && self.page.is_none();
        requests.push(("memory".to_owned(), (request + if uncounted { 0 } else { overhead }).to_string()));
        limits.extend(limit.map(|limit| ("memory".to_owned(), (limit + overhead).to_string())));
        Ok(())
    }

    /// What the processes beside the guest need, in bytes.
    fn overhead(&self) -> Result<i128, ManifestError> {
        let has = |path: &[&str]| Ok::<_, ManifestError>(self.domain.descend(path)?.is_some());
        // A bit for every 512 of the memory, which is counted in thousands of bytes.
        let tables = (self.request + 999) / 1000 * 1000 / 512;
        let mut sum = tables + PROCESSES + i128::from(self.cpus) * EACH_CPU;
        let graphics = self.domain.descend(&["devices", "autoattachGraphicsDevice"])?;
        if graphics.is_none_or(|field| field.is_true()) {
            sum += GRAPHICS;
        }
        let architecture = self.spec.get("architecture")?;
        if architecture.map_or(Ok(""), |field| field.text("amd64, arm64 or s390x"))? == "arm64" {
            sum += ARM_FIRMWARE;
        }
        let encrypted = ["sev", "snp"];
        if encrypted.iter().any(|key| has(&["launchSecurity", key]).unwrap_or(false)) {
            sum += ENCRYPTION;
        }
        if has(&["devices", "gpus"])? || has(&["devices", "hostDevices"])? || self.has_function()? {
            sum += PASSED_DEVICES;
        }
        if has(&["devices", "tpm"])? {
            sum += TPM;
        }
        if self.is_guaranteed() {
            sum += GUARANTEED;
        }
        let probe = |key| Ok::<_, ManifestError>(self.spec.descend(&[key, "exec"])?.is_some());
        let probes =
            i128::from(u8::from(probe("livenessProbe")?)) + i128::from(u8::from(probe("readinessProbe")?));
        Ok(sum + probes * PROBE + if probes > 0 { PROBES } else { 0 })
    }

    /// Whether one of its interfaces is a function of a network card.
    fn has_function(&self) -> Result<bool, ManifestError> {
        let interfaces = self.domain.descend(&["devices", "interfaces"])?;
        let interfaces = interfaces.map_or(Ok(Vec::new()), |list| list.items())?;
        Ok(interfaces.iter().any(|interface| interface.get("sriov").is_ok_and(|field| field.is_some())))
    }

    /// Whether its pod is: its CPUs are dedicated, or requests and limits of its domain are equal.
    fn is_guaranteed(&self) -> bool {
        let amount = |list, resource| {
            let field = self.domain.descend(&["resources", list, resource]).ok()??;
            quantity(&field).ok().map(|(amount, _)| amount)
        };
        let is_equal = |resource| {
            let limit = amount("limits", resource);
            limit.is_some() && amount("requests", resource).or_else(|| limit.clone()) == limit
        };
        self.is_dedicated || is_equal("cpu") && is_equal("memory")
    }

    /// Whether a container writes what the guest says on its serial console, as it does by default.
    fn logs_console(&self) -> Result<bool, ManifestError> {
        let is_off = |key| {
            let field = self.domain.descend(&["devices", key])?;
            Ok::<_, ManifestError>(field.is_some_and(|field| !field.is_true()))
        };
        Ok(!is_off("autoattachSerialConsole")? && !is_off("logSerialConsole")?)
    }
}

/// The product of a topology's numbers, of which those that are not set count as one; without a topology the CPUs of
/// limits or else requests.
fn cpus(domain: &Field<'_>, cpu: Option<&Field<'_>>) -> Result<u64, ManifestError> {
    let number = |key| {
        let field = cpu.map_or(Ok(None), |cpu| cpu.get(key))?;
        field.map_or(Ok(0), |field| integer::<u64>(&field, "a number, one or more"))
    };
    let numbers = [number("cores")?, number("sockets")?, number("threads")?];
    if numbers.iter().any(|number| *number > 0) {
        return Ok(numbers.iter().fold(1, |product: u64, number| product.saturating_mul((*number).max(1))));
    }
    for list in ["limits", "requests"] {
        if let Some(field) = domain.descend(&["resources", list, "cpu"])? {
            let whole = quantity(&field)?.0.ceil_units().unwrap_or(1);
            return Ok(u64::try_from(whole).unwrap_or(1).max(1));
        }
    }
    Ok(1)
}

fn bytes(quantity: &Quantity) -> i128 {
    quantity.ceil_units().unwrap_or(i128::from(i64::MAX))
}

/// One device more of a resource, in both lists.
fn add_device(name: &str, lists: [&mut Vec<(String, String)>; 2]) {
    for list in lists {
        match list.iter_mut().find(|(own, _)| own == name) {
            Some((_, amount)) => *amount = (amount.parse::<u64>().unwrap_or(0) + 1).to_string(),
            None => list.push((name.to_owned(), "1".to_owned())),
        }
    }
}

/// What `KubeVirt`'s webhook refuses, in its words: CPUs that are written twice and differ, and memory that is no number of
/// pages.
fn check(guest: &Guest<'_>, page: Option<i128>) -> Result<(), ManifestError> {
    let domain = &guest.domain;
    let refused = |words| Err(domain.at_path(String::new()).fail(Problem::Judged(words)));
    let at = |path: &str| format!("{}.{path}", domain.path);
    if guest.is_dedicated {
        let cpus = |list| {
            let field = domain.descend(&["resources", list, "cpu"])?;
            field.map(|field| Ok::<_, ManifestError>(bytes(&quantity(&field)?.0))).transpose()
        };
        let written = [cpus("requests")?, cpus("limits")?];
        let is_written = written.iter().any(Option::is_some);
        if is_written && !written.contains(&Some(i128::from(guest.cpus))) {
            let [requests, limits, cores] =
                ["resources.requests.cpu", "resources.limits.cpu", "cpu.cores"].map(at);
            return refused(format!(
                "{requests} or {limits} must not be provided at the same time with {cores} when DedicatedCPUPlacement is true"
            ));
        }
    }
    let Some(page) = page.filter(|page| *page > 0) else { return Ok(()) };
    let (request, size) = (at("resources.requests.memory"), at("hugepages.size"));
    let (amount, page_text) = (guest.request, guest.page.as_deref().unwrap_or_default());
    if amount < page {
        return refused(format!(
            "{request} '{amount}' must be equal to or larger than page size {size} '{page_text}'"
        ));
    }
    if amount % page != 0 {
        return refused(format!(
            "{request} '{amount}' is not a multiple of the page size {size} '{page_text}'"
        ));
    }
    Ok(())
}

fn without_memory(domain: &Field<'_>) -> ManifestError {
    domain.fail(Problem::OtherForm {
        what: "the machine's memory is not in it: its instance type, or a preset, has CPUs and memory".to_owned(),
        instead: "the machine with its instance type filled in (`virtctl expand --file FILE`), or the pod of one that \
                  runs (`kubectl get pods -l kubevirt.io=virt-launcher -o yaml`)",
    })
}
