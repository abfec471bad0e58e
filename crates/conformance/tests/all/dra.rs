//! The recorded answers of dynamic resource allocation that travel with the project.

use std::path::Path;

use conformance::{Case, Corpus, Outcome, Report, play};
use serde_json::json;

#[test]
fn ours_are_the_recorded_answers() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dra");
    let mut report = Report::default();
    report.play(&recorded, None).unwrap();
    let (passed, failed, skipped) = report.totals();
    assert_eq!((failed, skipped), (0, 0), "{report}");
    assert!(passed >= 850, "{passed} cases were played");
    let kinds: Vec<&str> = report.kinds.keys().map(String::as_str).collect();
    let expected = [
        "allocate/allocate",
        "allocate/hard",
        "allocate/table",
        "cel/cel",
        "cpu-driver/cpu-driver",
        "drivers/drivers",
        "extended/extended",
        "numa/numa",
        "pools/pools",
        "validate/validate",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn another_answer_than_the_recorded_one_is_noticed() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dra");
    let (corpus, files) = Corpus::open(&recorded).unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for case in files.iter().flat_map(|file| corpus.cases(file).unwrap()) {
        if !kinds.insert((case.domain.clone(), case.kind.clone())) {
            continue;
        }
        let answer = json!({ "id": case.id, "result": { "value": "no such answer", "verdict": "none" } });
        let changed = Case::answered(&case.domain, &case.kind, case.input.clone(), answer).unwrap();
        let outcome = play(&corpus, &Case { kind: case.kind.clone(), ..changed });
        assert!(matches!(outcome, Outcome::Failed { .. }), "{}/{}: {outcome:?}", case.domain, case.kind);
    }
    assert_eq!(kinds.len(), 10, "{kinds:?}");
}
