//! What a scenario says of schedulers, and of pods that come again.

use topology_manifest::{Scenario, ScenarioRetry, SchedulerName, Source, read_scenario};

fn read(lines: &str) -> Result<Scenario, String> {
    let text = format!(
        "apiVersion: topolet.dev/v1alpha1\nkind: Scenario\n{lines}machines:\n- {{machine: a}}\npods:\n- pod: \
         {{metadata: {{name: p}}, spec: {{containers: [{{name: c}}]}}}}\narrivals: {{count: 1, every: 1s}}\n"
    );
    read_scenario(&Source { name: "s.yaml", text: &text }).map_err(|error| error.to_string())
}

#[test]
fn each_scheduler_has_a_name() {
    for (name, expected) in [
        ("spread", SchedulerName::Spread),
        ("pack", SchedulerName::Pack),
        ("blind", SchedulerName::Blind),
        ("topolet", SchedulerName::Topolet),
        ("topology-match", SchedulerName::TopologyMatch),
        ("kai", SchedulerName::Kai),
    ] {
        assert_eq!(read(&format!("scheduler: {name}\n")).unwrap().scheduler, expected);
        let of_one =
            read(&format!("configurations:\n- {{name: one, scheduler: {name}}}\n- {{name: other}}\n"))
                .unwrap();
        let own: Vec<_> = of_one.configurations.iter().map(|own| own.scheduler).collect();
        assert_eq!((of_one.scheduler, own), (SchedulerName::Spread, vec![Some(expected), None]));
    }
    let error = read("scheduler: volcano\n").unwrap_err();
    assert!(error.contains("spread, pack, blind, topolet, topology-match or kai"), "{error}");
}

#[test]
fn pods_are_tried_again_only_where_a_scenario_says_so() {
    for (line, expected) in [
        ("", ScenarioRetry::Never),
        ("retry: false\n", ScenarioRetry::Never),
        ("retry: true\n", ScenarioRetry::BackOff),
    ] {
        assert_eq!(read(line).unwrap().retry, expected, "{line:?}");
    }
    assert_eq!(read("").unwrap().repack, None);
    let repack = read("repack: {moves: 2, price: 5m}\n").unwrap().repack.unwrap();
    assert_eq!((repack.moves.get(), repack.price.as_secs()), (2, 300));
    for (line, words) in [
        ("repack: {}\n", "moves"),
        ("repack: {moves: 0}\n", "1 to 3"),
        ("repack: {moves: 4}\n", "1 to 3"),
        ("repack: {moves: 1, price: soon}\n", "price"),
        ("repack: {moves: 1, cost: 5m}\n", "moves or price"),
        ("repack: 1\n", "repack"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(words), "{line:?}: {error}");
    }
    let error = read("retry: often\n").unwrap_err();
    assert!(error.contains("true or false"), "{error}");
}

#[test]
fn a_configuration_says_how_its_pods_claim_devices() {
    use topology_manifest::{ScenarioClaims, ScenarioCpuDevices};

    let of = |claims: &str| {
        let scenario = read(&format!("configurations:\n- {{name: one, claims: {claims}}}\n"));
        scenario.map(|scenario| scenario.configurations[0].claims.clone())
    };
    assert_eq!(read("configurations:\n- {name: one}\n").unwrap().configurations[0].claims, None);
    assert_eq!(of("{}"), Ok(Some(ScenarioClaims::default())));
    for (word, cpus) in [
        ("numanode", ScenarioCpuDevices::ByNode),
        ("socket", ScenarioCpuDevices::BySocket),
        ("individual", ScenarioCpuDevices::Individual),
    ] {
        let claims = format!("{{resources: [a/b, c/d], matchAttribute: e/f, cpus: {word}}}");
        let expected = ScenarioClaims {
            resources: Some(["a/b".to_owned(), "c/d".to_owned()].into()),
            match_attribute: Some("e/f".to_owned()),
            cpus: Some(cpus),
        };
        assert_eq!(of(&claims), Ok(Some(expected)));
    }
    assert!(of("{resources: [], cpus: socket}").is_ok(), "CPUs alone");
    for (claims, text) in [
        ("{resources: []}", "something that pods claim"),
        ("{resources: [cpu]}", "an extended resource such as nvidia.com/gpu"),
        ("{matchAttribute: numaNode}", "an attribute with its domain"),
        ("{cpus: grouped}", "numanode, socket or individual"),
        ("{class: gpu}", "resources, matchAttribute or cpus"),
        ("true", "a mapping"),
    ] {
        let error = of(claims).unwrap_err();
        assert!(error.contains(text), "{claims}: {error}");
    }
}
