//! Drop-ins: several files that make one configuration, as the kubelet merges the `*.conf` below its `--config-dir`.

use node_config::{DEFAULT_EVICTIONS, Rules};

use crate::config_forms::{ConfigKind, body};
use crate::kubelet::{KubeletConfigRead, documents_of, read_kubelet_config_of};
use crate::kubelet_decoder::decoded;
use crate::merge::merge;
use crate::node::{Entry, Field, Node, Value};
use crate::{ManifestError, Problem, Source};

/// Reads drop-ins in the order in which they are merged (RFC 7386: mappings are merged, `null` takes a field away, all
/// else replaces) into the kubelet's `file`. A file without `evictionHard` has the kubelet's default thresholds, of which a
/// drop-in changes single ones; without a file there are none.
///
/// # Errors
/// The first file that the kubelet could not decode, or that is no `KubeletConfiguration`, with its place.
pub fn read_kubelet_drop_ins(
    file: Option<&Source<'_>>,
    drop_ins: &[Source<'_>],
    rules: Rules,
) -> Result<KubeletConfigRead, ManifestError> {
    let mut merged = Node { value: Value::Map(Vec::new()), span: 0..0 };
    let mut warnings = Vec::new();
    for (at, source) in file.into_iter().chain(drop_ins).enumerate() {
        // Each file is checked alone, so that an error names its line. The merged fields need no further check.
        let read = read_kubelet_config_of(source, rules)?;
        warnings.extend(read.warnings);
        for node in documents_of(source)? {
            let fields = body(&Field::document(source, &node))?;
            if read.kind != ConfigKind::Kubelet || !read.others.is_empty() || fields.get("kind")?.is_none() {
                let problem = Problem::Unexpected {
                    found: "another kind of file".to_owned(),
                    expected: "a KubeletConfiguration (kubelet.config.k8s.io/v1beta1): a kubelet takes no other as a drop-in",
                };
                return Err(Field::document(source, &node).fail(problem));
            }
            merge(&mut merged, node);
        }
        if at == 0
            && file.is_some()
            && let Value::Map(own) = &mut merged.value
            && !own.iter().any(|entry| entry.key == EVICTION)
        {
            own.push(defaults());
        }
    }
    let nowhere = Source { name: "", text: "" };
    let fields = Field::document(&nowhere, &merged);
    let static_pods = fields.get("staticPodPath")?;
    let static_pod_path = static_pods.and_then(|path| path.text("a path").ok()).map(str::to_owned);
    // The warnings of the merged fields repeat those of the files.
    let mut said = Vec::new();
    let config = decoded(fields, rules, &mut said)?;
    Ok(KubeletConfigRead { config, static_pod_path, warnings, ..KubeletConfigRead::default() })
}

const EVICTION: &str = "evictionHard";

/// `evictionHard` of a configuration file without one.
fn defaults() -> Entry {
    let text = |value: &str| Node { value: Value::Text(value.to_owned()), span: 0..0 };
    let entry = |key: &str, value| Entry { key: key.to_owned(), key_span: 0..0, value };
    let thresholds = DEFAULT_EVICTIONS.iter().map(|(signal, threshold)| entry(signal, text(threshold)));
    entry(EVICTION, Node { value: Value::Map(thresholds.collect()), span: 0..0 })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const HEAD: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

    fn read(texts: &[&str]) -> Result<KubeletConfigRead, String> {
        let texts: Vec<String> = texts.iter().map(|text| format!("{HEAD}{text}\n")).collect();
        let sources: Vec<Source<'_>> = texts.iter().map(|text| Source { name: "a.conf", text }).collect();
        let base = Source { name: "kubelet.yaml", text: HEAD };
        read_kubelet_drop_ins(Some(&base), &sources, Rules::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn thresholds_are_those_of_the_file_or_its_defaults() {
        let check = |file: Option<&str>, drop_in: &str, expected: &[(&str, &str)]| {
            let texts = [file, Some(drop_in)].map(|text| text.map(|text| format!("{HEAD}{text}\n")));
            let [file, drop_in] =
                texts.each_ref().map(|text| text.as_ref().map(|text| Source { name: "a.conf", text }));
            let read = read_kubelet_drop_ins(file.as_ref(), drop_in.as_slice(), Rules::default());
            let evictions = read.map(|read| read.config.eviction_hard.unwrap_or_default());
            assert_eq!(evictions.map_err(|error| error.to_string()), Ok(map(expected)));
        };
        let own = "evictionHard: {memory.available: 1Gi}";
        let more = "evictionHard: {nodefs.available: 5%}";
        check(Some(own), more, &[("memory.available", "1Gi"), ("nodefs.available", "5%")]);
        check(None, more, &[("nodefs.available", "5%")]);
        check(Some("maxPods: 5"), "maxPods: 6", &DEFAULT_EVICTIONS);
    }

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn mappings_are_merged_and_all_else_is_replaced() {
        let read = read(&[
            "cpuManagerPolicy: static\nkubeReserved: {cpu: 500m, memory: 1Gi}\nevictionHard: {memory.available: 200Mi}\n\
             reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 1, limits: {memory: 1Gi}}]",
            "kubeReserved: {memory: 2Gi, pid: null}\nreservedMemory: [{numaNode: 1, limits: {memory: 2Gi}}]\nmaxPods: 50",
            "cpuManagerPolicy: null\nmaxPods: 60",
        ]);
        let config = read.map(|read| read.config);
        let Ok(config) = config else { panic!("{config:?}") };
        assert_eq!(config.cpu_manager_policy, None);
        assert_eq!(config.kube_reserved, map(&[("cpu", "500m"), ("memory", "2Gi")]));
        assert_eq!(config.reserved_memory.iter().map(|reserved| reserved.numa_node).collect::<Vec<_>>(), [1]);
        assert_eq!(config.max_pods, Some(60));
        let evictions = config.eviction_hard.unwrap_or_default();
        assert_eq!(evictions.get("memory.available").map(String::as_str), Some("200Mi"));
        assert_eq!(evictions.len(), DEFAULT_EVICTIONS.len(), "other thresholds stay the defaults");
    }

    #[test]
    fn a_mistake_is_that_of_its_file() {
        let error = read(&["cpuManagerPolicy: static", "maxPods: many"]).map(|_| ());
        assert!(
            error.as_ref().is_err_and(|error| error.contains("maxPods") && error.contains("a.conf:3")),
            "{error:?}"
        );
        let text = "kubeletconfig: {cpuManagerPolicy: static}";
        let source = [Source { name: "configz.conf", text }];
        let error = read_kubelet_drop_ins(None, &source, Rules::default())
            .map(|_| ())
            .map_err(|error| error.to_string());
        assert!(error.as_ref().is_err_and(|error| error.contains("KubeletConfiguration")), "{error:?}");
    }
}
