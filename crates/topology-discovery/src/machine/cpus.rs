//! CPUs, the cores that they are threads of, and packages.

use std::collections::BTreeMap;

use cpuset::{CpuId, CpuSet};
use topology_model::{Core, CoreKind, CpuLists, Package, PackageId};

use crate::kernel::{CPUS, Kernel, below, shown};
use crate::problem::Substitute;

/// Names of the files that hold the threads of a core, newest first.
pub(crate) const THREADS: [&str; 4] =
    ["thread_siblings_list", "core_cpus_list", "thread_siblings", "core_cpus"];
/// Names of the files that hold the CPUs of a package.
pub(crate) const PACKAGE: [&str; 4] =
    ["core_siblings_list", "package_cpus_list", "core_siblings", "package_cpus"];
/// Name of the file that holds the number of a CPU's package.
const PACKAGE_ID: &str = "physical_package_id";

/// Which CPUs there are, and which run.
pub(super) fn lists(kernel: &Kernel<'_>) -> CpuLists {
    let list = |name: &str| kernel.cpu_list(&format!("{CPUS}/{name}"), Substitute::Unknown);
    let present = list("present");
    let folders = folders(kernel);
    let online = online(kernel, &folders);
    let there = present.as_ref().unwrap_or(&folders);
    CpuLists {
        offline: there - &online,
        online,
        possible: list("possible"),
        isolated: list("isolated"),
        present,
    }
}

/// The CPUs that run; where the kernel does not list them, or lists none, those that have a topology.
fn online(kernel: &Kernel<'_>, folders: &CpuSet) -> CpuSet {
    let path = format!("{CPUS}/online");
    match kernel.cpu_list(&path, Substitute::CpusWithTopologyAreOnline) {
        Some(online) if !online.is_empty() => return online,
        Some(_) => kernel.unusable(&path, "it lists no CPU", Substitute::CpusWithTopologyAreOnline),
        None => kernel.missing_unless_there(&path, Substitute::CpusWithTopologyAreOnline),
    }
    folders.iter().filter(|cpu| has_topology(kernel, *cpu)).collect()
}

pub(super) fn folders(kernel: &Kernel<'_>) -> CpuSet {
    let numbers = kernel.numbered(CPUS, "cpu").unwrap_or_default();
    numbers.into_iter().filter_map(|number| CpuId::try_from(i64::from(number)).ok()).collect()
}

/// The folder of a CPU that says where it is.
pub(super) fn topology(cpu: CpuId) -> String {
    format!("{CPUS}/cpu{}/topology", cpu.get())
}

pub(super) fn has_topology(kernel: &Kernel<'_>, cpu: CpuId) -> bool {
    kernel.tree.list(&topology(cpu)).is_some()
        && kernel.number(&format!("{CPUS}/cpu{}/online", cpu.get()), Substitute::Unknown) != Some(0)
}

/// What the folder of one CPU says.
struct Facts {
    core_id: Option<i64>,
    die: Option<i64>,
    cluster: Option<i64>,
    threads: Option<(&'static str, CpuSet)>,
}

/// Packages and cores. CPUs with one package number are one package, unless the number says nothing (-1); then a
/// package is what the kernel calls siblings. A core is what the kernel calls siblings, whatever its number.
pub(super) fn packages_and_cores(kernel: &Kernel<'_>, online: &CpuSet) -> (Vec<Package>, Vec<Core>) {
    let packages = packages(kernel, online);
    let kinds = CoreKinds::read(kernel);
    let mut numbering = Numbering::default();
    let mut cores: Vec<Core> = Vec::new();
    // Which cores have and lack a file that only newer kernels write.
    let (mut dies, mut clusters) = ([CpuSet::new(), CpuSet::new()], [CpuSet::new(), CpuSet::new()]);
    for package in &packages {
        let mut left = package.cpus.clone();
        while let Some(cpu) = left.first() {
            let facts = facts(kernel, cpu);
            let [has, lacks] = &mut dies;
            if facts.die.is_some() {
                has.insert(cpu)
            } else {
                lacks.insert(cpu)
            };
            let [has, lacks] = &mut clusters;
            if facts.cluster.is_some() {
                has.insert(cpu)
            } else {
                lacks.insert(cpu)
            };
            let mut cpus = facts.threads.as_ref().map_or_else(CpuSet::new, |(_, threads)| threads & &left);
            cpus.insert(cpu);
            left = &left - &cpus;
            if let Some((name, threads)) = &facts.threads {
                siblings_agree(kernel, cpu, name, &(threads & online), &cpus, &package.cpus);
            }
            places_agree(kernel, cpu, &facts, &cpus, &mut numbering);
            // The kernel writes -1, or the same in 16 bits, where the hardware has no such thing.
            let known = |number: Option<i64>| number.filter(|number| *number != -1 && *number != 0xffff);
            let (die, cluster, kind) = (known(facts.die), known(facts.cluster), kinds.of(cpu));
            cores.push(Core { id: facts.core_id.unwrap_or(-1), die, cluster, kind, cpus });
        }
    }
    for (name, [having, lacking]) in [("die_id", &dies), ("cluster_id", &clusters)] {
        some_lack(kernel, &format!("topology/{name}"), having, lacking);
    }
    numbering.complain(kernel);
    (packages, cores)
}

/// Reports files that some CPUs have and others lack. Where all lack them the kernel is one that has none.
fn some_lack(kernel: &Kernel<'_>, name: &str, having: &CpuSet, lacking: &CpuSet) {
    if having.is_empty() {
        return;
    }
    for cpu in lacking {
        kernel.missing_unless_there(&format!("{CPUS}/cpu{}/{name}", cpu.get()), Substitute::Unknown);
    }
}

/// Reports where the threads of a core do not call each other siblings: those that the first of them names and that
/// are of other cores or packages, and those of the core that name others.
fn siblings_agree(
    kernel: &Kernel<'_>,
    first: CpuId,
    name: &'static str,
    named: &CpuSet,
    core: &CpuSet,
    package: &CpuSet,
) {
    let file = |cpu: CpuId, name: &str| format!("{}/{name}", topology(cpu));
    let own = file(first, name);
    if !named.contains(first) {
        kernel.unusable(&own, &format!("CPU {} is not in it", first.get()), Substitute::WithItself);
    }
    if let Some(other) = (named - package).first() {
        let id = file(other, PACKAGE_ID);
        let number = kernel.number(&id, Substitute::Unknown).unwrap_or(-1);
        kernel.differs((&own, shown(named)), (&id, number.to_string()), Substitute::CoreInPackage);
    } else if let Some(other) = (named - core).first() {
        let theirs = kernel.cpus_with_name(&topology(other), &THREADS);
        let theirs = theirs.map_or_else(String::new, |(_, theirs)| shown(&theirs));
        kernel.differs((&own, shown(named)), (&file(other, name), theirs), Substitute::FirstRead);
    }
    for cpu in core.iter().filter(|cpu| *cpu != first) {
        let theirs = kernel.cpus_with_name(&topology(cpu), &THREADS);
        match theirs {
            // Some files list offline CPUs as siblings, and others do not.
            Some((name, theirs))
                if !core.is_subset(&theirs) || theirs.intersection_len(named) < named.len() =>
            {
                let path = file(cpu, name);
                kernel.differs((&path, shown(&theirs)), (&own, shown(named)), Substitute::FirstRead);
            }
            _ => {}
        }
    }
}

/// How the threads of all cores are numbered.
#[derive(Default)]
struct Numbering {
    /// Whether threads of some core have one number.
    is_by_core: bool,
    /// Files of threads that have another number than the first of their core, with that one's file, and what each
    /// says.
    others: Vec<[(String, i64); 2]>,
}

impl Numbering {
    /// Reports threads that have other numbers than their core's first, unless all have: Bulldozer's count the
    /// halves of a module.
    fn complain(self, kernel: &Kernel<'_>) {
        for [(path, own), (first, told)] in self.others.iter().filter(|_| self.is_by_core) {
            kernel.differs((path, own.to_string()), (first, told.to_string()), Substitute::CoreOfSiblings);
        }
    }
}

/// Reports threads of a core that are of another die or cluster than the first of them, and notes their numbers.
fn places_agree(kernel: &Kernel<'_>, first: CpuId, facts: &Facts, core: &CpuSet, numbering: &mut Numbering) {
    let file = |cpu: CpuId, name: &str| below(&topology(cpu), name);
    for (name, told) in [("core_id", facts.core_id), ("die_id", facts.die), ("cluster_id", facts.cluster)] {
        // What the first of them lacks is reported where all CPUs are compared.
        let Some(told) = told else { continue };
        for cpu in core.iter().filter(|cpu| *cpu != first) {
            let path = file(cpu, name);
            match kernel.number(&path, Substitute::Unknown) {
                Some(own) if name == "core_id" && own != told => {
                    numbering.others.push([(path, own), (file(first, name), told)]);
                }
                Some(own) if own != told => {
                    let other = (file(first, name), told.to_string());
                    kernel.differs((&path, own.to_string()), (&other.0, other.1), Substitute::FirstRead);
                }
                Some(_) => numbering.is_by_core |= name == "core_id",
                None => kernel.missing_unless_there(&path, Substitute::FirstRead),
            }
        }
    }
}

fn facts(kernel: &Kernel<'_>, cpu: CpuId) -> Facts {
    let folder = topology(cpu);
    let number = |name: &str| kernel.number(&below(&folder, name), Substitute::Unknown);
    let core_id = number("core_id");
    if core_id.is_none() {
        kernel.missing_unless_there(&format!("{folder}/core_id"), Substitute::Unknown);
    }
    let threads = kernel.cpus_with_name(&folder, &THREADS);
    if threads.is_none() {
        kernel.missing(&format!("{folder}/thread_siblings"), Substitute::CoreOfItsOwn);
    }
    Facts { core_id, die: number("die_id"), cluster: number("cluster_id"), threads }
}

fn packages(kernel: &Kernel<'_>, online: &CpuSet) -> Vec<Package> {
    let mut numbered: BTreeMap<i64, CpuSet> = BTreeMap::new();
    let mut packages = Vec::new();
    let mut left = online.clone();
    while let Some(cpu) = left.first() {
        left.remove(cpu);
        let path = below(&topology(cpu), PACKAGE_ID);
        let number = kernel.number(&path, Substitute::Unknown);
        if let Some(number) = number.filter(|number| *number >= 0) {
            numbered.entry(number).or_default().insert(cpu);
            continue;
        }
        if number.is_none() {
            kernel.missing_unless_there(&path, Substitute::PackageOfNumber);
        }
        let unknown = number.unwrap_or(-1);
        if let Some(siblings) = kernel.cpus(&topology(cpu), &PACKAGE) {
            let mut cpus = &siblings & &left;
            cpus.insert(cpu);
            left = &left - &cpus;
            packages.push(Package { id: PackageId(unknown), cpus });
        } else {
            numbered.entry(unknown).or_default().insert(cpu);
        }
    }
    for (number, cpus) in numbered.iter().filter(|(number, _)| **number >= 0) {
        package_agrees(kernel, *number, cpus, online);
    }
    packages.extend(numbered.into_iter().map(|(number, cpus)| Package { id: PackageId(number), cpus }));
    packages
}

/// Reports CPUs of a package that name others as those of their package; of several that name the same, the first.
fn package_agrees(kernel: &Kernel<'_>, number: i64, package: &CpuSet, online: &CpuSet) {
    let mut told: Vec<CpuSet> = Vec::new();
    for cpu in package {
        let folder = topology(cpu);
        let Some((name, siblings)) = kernel.cpus_with_name(&folder, &PACKAGE) else { continue };
        let siblings = &siblings & online;
        if siblings != *package && !told.contains(&siblings) {
            let (path, id) = (below(&folder, name), below(&folder, PACKAGE_ID));
            let of_number = format!("{number}, as {} have", shown(package));
            kernel.differs((&path, shown(&siblings)), (&id, of_number), Substitute::PackageOfNumber);
            told.push(siblings);
        }
    }
}

/// Which CPUs of a hybrid processor are fast and which are small.
struct CoreKinds {
    performance: CpuSet,
    efficiency: CpuSet,
}

impl CoreKinds {
    fn read(kernel: &Kernel<'_>) -> Self {
        let list = |name: &str| kernel.cpu_list(&format!("sys/devices/{name}/cpus"), Substitute::Unknown);
        Self {
            performance: list("cpu_core").unwrap_or_default(),
            efficiency: list("cpu_atom").unwrap_or_default(),
        }
    }

    fn of(&self, cpu: CpuId) -> CoreKind {
        if self.performance.contains(cpu) {
            CoreKind::Performance
        } else if self.efficiency.contains(cpu) {
            CoreKind::Efficiency
        } else {
            CoreKind::Plain
        }
    }
}
