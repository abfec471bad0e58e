//! The recorded answers of dynamic resource allocation that travel with the project.

use std::path::Path;

use conformance::Report;

#[test]
fn ours_are_the_recorded_answers() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dra");
    let mut report = Report::default();
    report.play(&recorded, None).unwrap();
    let (passed, failed, skipped) = report.totals();
    assert_eq!((failed, skipped), (0, 0), "{report}");
    assert!(passed >= 100, "{passed} cases were played");
}
