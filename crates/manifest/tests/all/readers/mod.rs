//! Every reader on the same bytes: the body of a fuzz target, and of tests that go without an engine.

use pod_spec::PodLevelResources;
use topology_manifest::{
    FunctionFacts, FunctionPart, ManifestError, Manifests, Problem, ScenarioArrivals, Source, Style,
    UnknownFields, read_devices, read_kubelet_config, read_manifests, read_own_options, read_pod_resources,
    read_pods, read_scenario,
};

/// Reads bytes in every way there is and shows all that is wrong with them. Panics where something cannot be.
pub(crate) fn read_everything(bytes: &[u8]) {
    let source = match Source::from_bytes("input.yaml", bytes) {
        Ok(source) => source,
        Err(error) => return show(&error),
    };
    let errors =
        [read_pods(&source).err(), read_own_options(&source).err(), read_pod_resources(&source).err()];
    errors.iter().flatten().for_each(show);
    match read_manifests(&source, PodLevelResources::Count, UnknownFields::Refuse) {
        Ok(read) => check_manifests(&read),
        Err(error) => show(&error),
    }
    match read_kubelet_config(&source) {
        Ok(read) => {
            for warning in &read.warnings {
                show(warning.as_error());
                assert!(warning.render(Style::Ascii).is_ascii());
            }
            // What has been read can be checked.
            for invalid in read.config.validate() {
                assert!(invalid.to_string().starts_with("invalid configuration: "));
            }
        }
        Err(error) => {
            show(&error);
            let _ = error.kubelet_text(&source);
        }
    }
    match read_scenario(&source) {
        Ok(read) => {
            assert!(!read.machines.is_empty() && !read.pods.is_empty() && read.runs > 0);
            if let ScenarioArrivals::Trace(trace) = &read.arrivals {
                assert!(
                    trace.is_sorted_by_key(|pod| pod.at) && trace.iter().all(|own| own.pod < read.pods.len())
                );
            }
        }
        Err(error) => show(&error),
    }
    match read_devices(&source) {
        Ok(entries) => entries.iter().for_each(|entry| take(&entry.source)),
        Err(error) => show(&error),
    }
}

fn check_manifests(read: &Manifests) {
    let is_meant = read.skipped.iter().any(|skipped| skipped.meant().is_some());
    assert_eq!(read.is_whole(), read.refused.is_empty() && !is_meant);
    for refusal in &read.refused {
        assert!((1..=100).contains(&refusal.causes.len()), "{refusal}");
        refusal.causes.iter().for_each(show);
        let problems = || refusal.causes.iter().map(ManifestError::problem);
        let complaints = problems().all(|problem| matches!(problem, Problem::Refused(_)));
        let unknown = problems().all(|problem| matches!(problem, Problem::UnknownObjectField { .. }));
        assert!(complaints || unknown || refusal.causes.len() == 1, "{refusal}");
        assert!(!refusal.render(Style::Ascii).is_empty());
    }
    for line in read.skipped.iter().map(ToString::to_string) {
        assert!(line.starts_with("input.yaml:") && !line.contains('\n'), "{line}");
    }
    for (at, pod) in read.pods.iter().enumerate() {
        assert!(!pod.containers.is_empty(), "{}", pod.name);
        let twin = read.pods[at + 1..].iter().find(|other| {
            other.uid == pod.uid || (&other.namespace, &other.name) == (&pod.namespace, &pod.name)
        });
        assert!(twin.is_none(), "{} is there twice", pod.name);
    }
}

fn take(source: &topology_manifest::DeviceSource) {
    let topology_manifest::DeviceSource::Pool(pool) = source else { return };
    let facts = FunctionFacts {
        address: "0000:18:01.1",
        class: 0x02_0000,
        vendor: Some(0x8086),
        device: None,
        part: FunctionPart::Virtual { of: "0000:18:00.0", number: 1 },
        card_names: None,
        driver: None,
    };
    let taken = pool.takes(&facts);
    assert!(!pool.takes(&FunctionFacts { part: FunctionPart::Shared, ..facts }));
    assert_eq!(taken, pool.takes(&facts), "the same again");
    pool.not_judged().iter().for_each(|part| assert!(!part.to_string().is_empty()));
}

/// An error can be shown in every style, and as one line.
fn show(error: &ManifestError) {
    let styles = [Style::Ascii, Style::Unicode, Style::Coloured];
    let [ascii, unicode, coloured] = styles.map(|style| error.render(style));
    assert!(ascii.is_ascii(), "{ascii}");
    assert!(ascii.contains("input.yaml"), "{ascii}");
    assert!(!unicode.contains('\u{1b}'), "{unicode}");
    assert!(coloured.contains('\u{1b}'), "{coloured}");
    let line = error.to_string();
    assert!(line.starts_with("input.yaml"), "{line}");
    // Of nothing there is no place.
    let is_of_nothing = line.starts_with("input.yaml is empty: ");
    let place = format!(":{}:{}: ", error.line(), error.column());
    assert!(is_of_nothing || line.contains(&place), "{line}");
    assert!(!line.contains('\n'), "{line}");
}
