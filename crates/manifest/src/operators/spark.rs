//! Pods of Spark: driver and executor, as the Spark operator and `spark-submit` make them.
//!
//! Apache Spark adds an overhead to a process' memory, and requests the sum, which is the limit too. Only a core limit
//! that is set limits CPUs, so that a pod without it is never Guaranteed. From `BasicDriverFeatureStep`,
//! `BasicExecutorFeatureStep` and `ResourceProfile` of Apache Spark 3.5, and from `defaults.go` and `submission.go` of
//! the operator's API v1beta2.

use super::tree::{Tree, entries, picked, set_default};
use crate::node::{Field, Node, Value};
use crate::{ManifestError, Problem};

/// The least overhead.
const LEAST_OVERHEAD: u64 = 384;
/// Shares of the memory that are overhead, in millionths, of Java and Scala, and of Python and R.
const JVM: u64 = 100_000;
const OTHERS: u64 = 400_000;
const WHOLE: u64 = 1_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Driver,
    Executor,
}

impl Role {
    const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Executor => "executor",
        }
    }

    /// What Spark calls its container.
    const fn container(self) -> &'static str {
        match self {
            Self::Driver => "spark-kubernetes-driver",
            Self::Executor => "spark-kubernetes-executor",
        }
    }
}

/// The template of the driver of an application; `spec` is the application's specification.
pub(super) fn driver(spec: &Field<'_>) -> Result<Node, ManifestError> {
    template(spec, Role::Driver)
}

/// The template of its executors.
pub(super) fn executor(spec: &Field<'_>) -> Result<Node, ManifestError> {
    template(spec, Role::Executor)
}

/// How many executors an application starts with: with dynamic allocation as many as the largest number that it sets for that,
/// as Spark's `getDynamicAllocationInitialExecutors` has it.
pub(super) fn executors(spec: &Field<'_>) -> Result<u32, ManifestError> {
    let own = spec.get(Role::Executor.name())?;
    let executor = Settings { spec, own: own.as_ref(), role: Role::Executor };
    let instances = executor.number(executor.text("instances", "executor.instances")?)?;
    let allocation = spec.get("dynamicAllocation")?;
    let dynamic = Settings { spec, own: allocation.as_ref(), role: Role::Executor };
    let is_enabled = match allocation.as_ref().map_or(Ok(None), |own| own.get("enabled"))? {
        Some(enabled) => enabled.is_true(),
        None => dynamic.property("dynamicAllocation.enabled")?.is_some_and(|text| text.trim() == "true"),
    };
    if !is_enabled {
        return Ok(instances.unwrap_or(1));
    }
    let initial = dynamic.number(dynamic.text("initialExecutors", "dynamicAllocation.initialExecutors")?)?;
    let least = dynamic.number(dynamic.text("minExecutors", "dynamicAllocation.minExecutors")?)?;
    Ok([instances, initial, least].into_iter().flatten().max().unwrap_or(0))
}

fn template(spec: &Field<'_>, role: Role) -> Result<Node, ManifestError> {
    let own = spec.get(role.name())?;
    let place = own.as_ref().unwrap_or(spec);
    let tree = Tree::at(place);
    let settings = Settings { spec, own: own.as_ref(), role };
    let memory = settings.memory()?;
    let memory = format!("{memory}Mi");
    let mut requests = vec![("cpu".to_owned(), settings.cores()?), ("memory".to_owned(), memory.clone())];
    let mut limits = vec![("memory".to_owned(), memory)];
    if let Some(limit) = settings.text("coreLimit", "kubernetes.{}.limit.cores")? {
        limits.push(("cpu".to_owned(), limit));
    }
    if let Some(gpu) = settings.gpu()? {
        requests.push(gpu.clone());
        limits.push(gpu);
    }
    let given = own.as_ref().and_then(|own| own.node.value.get("template"));
    let given_spec = given.and_then(|template| template.value.get("spec"));
    let mut fields = given_spec.map(entries).unwrap_or_default();
    fields.retain(|(key, _)| key != "containers");
    let mut containers = vec![tree.container(role.container(), &requests, &limits)];
    if let Some(sidecars) = own.as_ref().and_then(|own| own.node.value.get("sidecars"))
        && let Value::List(sidecars) = &sidecars.value
    {
        containers.extend(sidecars.iter().cloned());
    }
    fields.push(("containers".to_owned(), tree.list(containers)));
    for from in [own.as_ref().map(|own| own.node), Some(spec.node)].into_iter().flatten() {
        for (key, node) in picked(from, &["nodeSelector", "affinity", "tolerations", "initContainers"]) {
            set_default(&mut fields, &key, node);
        }
    }
    let metadata = given.and_then(|template| template.value.get("metadata"));
    Ok(tree.template(metadata, tree.map(fields)))
}

/// What an application sets for one of its roles: fields of the object, or else properties.
struct Settings<'f, 'a> {
    spec: &'f Field<'a>,
    own: Option<&'f Field<'a>>,
    role: Role,
}

impl Settings<'_, '_> {
    /// A field, or else a property.
    fn text(&self, field: &'static str, property: &str) -> Result<Option<String>, ManifestError> {
        if let Some(field) = self.own.map_or(Ok(None), |own| own.get(field))? {
            return Ok(Some(field.scalar("a text or a number")?.to_owned()));
        }
        self.property(property)
    }

    /// A property behind `spark.`, in which `{}` is the role.
    fn property(&self, property: &str) -> Result<Option<String>, ManifestError> {
        let key = format!("spark.{}", property.replace("{}", self.role.name()));
        let Some(conf) = self.spec.get("sparkConf")? else { return Ok(None) };
        conf.get(&key)?.map(|value| value.scalar("a text").map(str::to_owned)).transpose()
    }

    /// CPUs that are requested.
    fn cores(&self) -> Result<String, ManifestError> {
        if let Some(request) = self.text("coreRequest", "kubernetes.{}.request.cores")? {
            return Ok(request);
        }
        Ok(self.text("cores", "{}.cores")?.unwrap_or_else(|| "1".to_owned()))
    }

    /// Mebibytes of memory with overhead.
    fn memory(&self) -> Result<u64, ManifestError> {
        let mebibytes = |text: &str| parse_memory(text).ok_or_else(|| self.unexpected(text));
        let own = self.text("memory", "{}.memory")?;
        let memory = mebibytes(own.as_deref().unwrap_or("1g"))?;
        let overhead = match self.text("memoryOverhead", "{}.memoryOverhead")? {
            Some(text) => mebibytes(&text)?,
            None => self.share(memory)?.max(LEAST_OVERHEAD),
        };
        let python = match (self.role, self.property("executor.pyspark.memory")?) {
            (Role::Executor, Some(text)) => mebibytes(&text)?,
            _ => 0,
        };
        Ok(memory.saturating_add(overhead).saturating_add(python))
    }

    /// The overhead that is a share of the memory, rounded down.
    fn share(&self, memory: u64) -> Result<u64, ManifestError> {
        let of_role = self.property("{}.memoryOverheadFactor")?;
        let of_all = match self.spec.get("memoryOverheadFactor")? {
            Some(factor) => Some(factor.scalar("a factor such as \"0.1\"")?.to_owned()),
            None => self.property("kubernetes.memoryOverheadFactor")?,
        };
        if let Some(factor) = of_role.or(of_all) {
            let share = parse_share(&factor).ok_or_else(|| self.unexpected(&factor))?;
            return Ok(memory.saturating_mul(share) / WHOLE);
        }
        let language =
            self.spec.get("type")?.map_or(Ok(""), |field| field.text("Java, Scala, Python or R"))?;
        Ok(memory.saturating_mul(if matches!(language, "Python" | "R") { OTHERS } else { JVM }) / WHOLE)
    }

    fn gpu(&self) -> Result<Option<(String, String)>, ManifestError> {
        let Some(gpu) = self.own.map_or(Ok(None), |own| own.get("gpu"))? else { return Ok(None) };
        let name = gpu.require("name", "the resource's name, such as nvidia.com/gpu")?;
        let quantity = gpu.require("quantity", "a number of devices")?;
        Ok(Some((name.text("a resource")?.to_owned(), quantity.scalar("a number")?.to_owned())))
    }

    /// A number of executors.
    fn number(&self, text: Option<String>) -> Result<Option<u32>, ManifestError> {
        let number = |text: String| {
            text.trim().parse().map_err(|_| self.out_of_range(&text, "a number of executors, zero or more"))
        };
        text.map(number).transpose()
    }

    fn unexpected(&self, found: &str) -> ManifestError {
        const AMOUNT: &str = "an amount as Spark writes it, such as 512m or 4g, or a factor such as 0.1";
        self.out_of_range(found, AMOUNT)
    }

    fn out_of_range(&self, found: &str, expected: &'static str) -> ManifestError {
        let problem = Problem::Range { found: found.to_owned(), expected };
        self.own.unwrap_or(self.spec).fail(problem)
    }
}

/// An amount of memory in mebibytes, which are meant where no unit is written; smaller units are rounded down.
fn parse_memory(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit = unit.trim_end_matches('b').trim_end_matches('i');
    Some(match unit {
        "" if lower.ends_with('b') => number >> 20,
        "k" => number >> 10,
        "" | "m" => number,
        "g" => number.checked_mul(1 << 10)?,
        "t" => number.checked_mul(1 << 20)?,
        _ => return None,
    })
}

/// A factor in millionths; what is smaller is left out.
fn parse_share(text: &str) -> Option<u64> {
    let (whole, part) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let part: String = part.chars().chain("000000".chars()).take(6).collect();
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    whole.checked_mul(WHOLE)?.checked_add(part.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_mebibytes() {
        for (text, expected) in [
            ("512m", Some(512)),
            ("512M", Some(512)),
            ("4g", Some(4096)),
            ("4Gi", Some(4096)),
            ("1t", Some(1 << 20)),
            ("2048k", Some(2)),
            ("700", Some(700)),
            ("1048576b", Some(1)),
            ("4x", None),
            ("", None),
            ("99999999999999t", None),
        ] {
            assert_eq!(parse_memory(text), expected, "{text}");
        }
    }

    #[test]
    fn factors_are_in_millionths() {
        for (text, expected) in [
            ("0.1", Some(100_000)),
            ("0.125", Some(125_000)),
            ("1", Some(1_000_000)),
            (".5", Some(500_000)),
            ("a", None),
            ("0.x", None),
        ] {
            assert_eq!(parse_share(text), expected, "{text}");
        }
    }
}
