//! The recorded answers that travel with the project, and what is noticed when they change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use conformance::{Baseline, Case, Corpus, Outcome, Part, Passes, Report, play};
use serde_json::{Value, json};

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kubelet")
}

fn cases() -> (Corpus, Vec<Case>) {
    let (corpus, files) = Corpus::open(&recorded()).unwrap();
    let cases = files.iter().flat_map(|file| corpus.cases(file).unwrap()).collect();
    (corpus, cases)
}

/// A separate folder for one test, gone when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("conformance-{test}-{}", std::process::id()));
        fs::create_dir_all(path.join("quantity")).unwrap();
        Self(path)
    }

    fn with(test: &str, text: &str) -> Self {
        let folder = Self::new(test);
        fs::write(folder.0.join("quantity/some.jsonl"), text).unwrap();
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn ours_are_the_recorded_answers() {
    let written = fs::read_to_string(recorded().join("../kubelet-written.json")).unwrap();
    let mut report = Report::default().comparing_with(serde_json::from_str(&written).unwrap());
    report.play(&recorded(), None).unwrap();
    let (passed, failed, skipped) = report.totals();
    assert_eq!((failed, skipped), (0, 0), "{report}");
    // The cases of 1.36, and those of 1.37 over them.
    let count = cases().1.len();
    assert!(count > 2000 && passed > 2 * count, "{passed} of {count}");
}

#[test]
fn every_kind_that_passes_in_full_is_among_them() {
    let baseline = fs::read_to_string(recorded().join("../kubelet-baseline.json")).unwrap();
    let baseline: Baseline = serde_json::from_str(&baseline).unwrap();
    let mut kinds = BTreeSet::new();
    let of_claims = recorded().join("../dra");
    let folders = [recorded(), of_claims].map(|folder| Corpus::parts(&folder, None).unwrap());
    for Part { corpus, files } in folders.into_iter().flatten() {
        let cases = files.iter().flat_map(|file| corpus.cases(file).unwrap());
        kinds.extend(cases.map(|case| case.counted_as()));
    }
    let missing: Vec<_> = baseline.keys().filter(|kind| !kinds.contains(*kind)).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn an_answer_that_is_not_the_kubelets_is_noticed() {
    let (corpus, cases) = cases();
    let mut seen = BTreeSet::new();
    for case in cases {
        if play(&corpus, &case) != Outcome::Passed || !seen.insert((case.domain.clone(), case.kind.clone())) {
            continue;
        }
        let changed = Case::answered(
            &case.domain,
            &case.kind,
            case.input.clone(),
            json!({ "result": { "no": "kubelet says this" } }),
        );
        let outcome = play(&corpus, &changed.unwrap());
        assert!(matches!(outcome, Outcome::Failed { .. }), "{}/{}: {outcome:?}", case.domain, case.kind);
    }
    assert!(seen.len() > 10, "{seen:?}");
}

#[test]
fn a_kind_that_passes_fewer_cases_than_before_is_lost() {
    let folder = Folder::with(
        "baseline",
        "{\"id\":\"a\",\"case\":{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"},\"result\":{\"cmp\":-1}}\n",
    );
    let mut report = Report::default();
    report.play(&folder.0, None).unwrap();
    let before = |kind: &str, passed| Baseline::from([(kind.to_owned(), Passes { passed, listed: 0 })]);
    assert_eq!(report.lost(&before("quantity/quantity", 1)), [""; 0]);
    assert_eq!(report.lost(&before("quantity/quantity", 2)), ["quantity/quantity: 1 passed, 2 before"]);
    assert_eq!(report.lost(&before("quantity/gone", 1)), ["quantity/gone: 0 passed, 1 before"]);
    // A run on one domain says nothing of the others.
    assert_eq!(report.lost(&before("cpu/take", 1)), [""; 0]);
    assert_eq!(report.baseline(), before("quantity/quantity", 1));
}

#[test]
fn a_case_that_passes_as_a_listed_difference_only_is_lost() {
    let line = "{\"id\":\"a\",\"case\":{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"},";
    let folder = Folder::with("listed", &format!("{line}\"panic\":\"boom\"}}\n"));
    let mut report = Report::default();
    report.play(&folder.0, None).unwrap();
    let before = Baseline::from([("quantity/quantity".to_owned(), Passes { passed: 1, listed: 0 })]);
    assert_eq!(report.lost(&before), ["quantity/quantity: 1 listed differences, 0 before"]);
}

#[test]
fn where_the_kubelet_crashes_ours_is_the_written_answer() {
    let line = "{\"id\":\"a\",\"case\":{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"},";
    let folder = Folder::with("written", &format!("{line}\"panic\":\"boom\"}}\n"));
    for (written, passed) in [
        (json!({ "quantity/quantity": { "a": { "cmp": -1 } } }), 1),
        (json!({ "quantity/quantity": { "a": { "cmp": 1 } } }), 0),
        (json!({}), 0),
    ] {
        let mut report = Report::default().comparing_with(serde_json::from_value(written).unwrap());
        report.play(&folder.0, None).unwrap();
        assert_eq!(report.totals(), (passed, 1 - passed, 0), "{report}");
    }
}

#[test]
fn figures_name_the_first_difference_and_what_is_not_covered() {
    let folder = Folder::with(
        "figures",
        concat!(
            "{\"id\":\"wrong\",\"case\":{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"},\"result\":{\"cmp\":1}}\n",
            "{\"id\":\"crash\",\"case\":{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"},\"panic\":\"boom\"}\n",
            "{\"id\":\"new\",\"case\":{\"kind\":\"colour\"},\"result\":1}\n",
        ),
    );
    let mut report = Report::default();
    report.play(&folder.0, None).unwrap();
    assert_eq!(
        report.to_string(),
        "quantity/quantity: 1/2, of them 1 listed differences\n  differs: wrong\n    case: \
         {\"a\":\"1\",\"b\":\"2\",\"kind\":\"quantity\",\"op\":\"cmp\"}\n    expected: {\"cmp\":1}\n    got: \
         {\"cmp\":-1}\nnot covered yet: quantity/colour (1)\n1 passed, 1 failed, 1 skipped"
    );
}

#[test]
fn a_damaged_file_is_an_error_with_its_place() {
    for (text, error) in [
        ("{\"id\":", "line 1"),
        (
            "{\"case\":{\"kind\":\"x\"},\"result\":1}\n{\"id\":\"b\"}\n",
            "line 2 is not a case: it has no case",
        ),
        ("{\"case\":{\"kind\":\"x\"}}\n", "line 1 is not a case: it has no result"),
    ] {
        let folder = Folder::with("damaged", text);
        let shown = Report::default().play(&folder.0, None).unwrap_err().to_string();
        assert!(shown.contains(error), "{shown}");
    }
}

#[test]
fn data_that_lies_with_the_committed_cases_serves_others_too() {
    let folder = Folder::new("data");
    fs::create_dir_all(folder.0.join("cpu")).unwrap();
    let (_, cases) = cases();
    let take = cases.iter().find(|case| case.domain == "cpu" && case.kind == "take").unwrap();
    let line: Value = json!({ "id": take.id, "case": take.input, "result": {} });
    fs::write(folder.0.join("cpu/take.jsonl"), line.to_string()).unwrap();
    let mut report = Report::default();
    report.play(&folder.0, None).unwrap();
    assert!(!report.to_string().contains("failed to read"), "{report}");
}

/// A folder of changed answers over another: the cases of `kubelet` are `a` and `b`, and release 1.37 answers `b` anew.
fn changed(test: &str, release: &str) -> Folder {
    let line = |id: &str, answer: i32| {
        format!(
            "{{\"id\":\"{id}\",\"case\":{{\"kind\":\"quantity\",\"op\":\"cmp\",\"a\":\"1\",\"b\":\"2\"}},\"result\":{{\"cmp\":{answer}}}}}\n"
        )
    };
    let folder = Folder::new(test);
    fs::remove_dir(folder.0.join("quantity")).unwrap();
    for (path, text) in [
        ("kubelet/quantity/some.jsonl", line("a", -1) + &line("b", 7)),
        ("kubelet-1.37/quantity/changed-some.jsonl", line("b", -1)),
        ("kubelet-1.37/quantity/downgrade.jsonl", line("c", -1)),
        ("kubelet-1.37/RELEASE", release.to_owned()),
    ] {
        let path = folder.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_folder_of_a_release_changes_the_one_beside_it() {
    let folder = changed("release", "1.37.1\n");
    let mut report = Report::default();
    report.play(&folder.0.join("kubelet-1.37"), None).unwrap();
    assert_eq!(
        report.to_string(),
        "quantity/quantity: 1/1\nquantity/quantity@1.37: 2/2\n3 passed, 0 failed, 0 skipped"
    );
    // A domain alone is laid over the same domain.
    let mut domain = Report::default();
    domain.play(&folder.0.join("kubelet-1.37/quantity"), None).unwrap();
    assert_eq!(domain.to_string(), report.to_string());
    // Another base, by name.
    fs::rename(folder.0.join("kubelet"), folder.0.join("other")).unwrap();
    let missing = Report::default().play(&folder.0.join("kubelet-1.37"), None).unwrap_err().to_string();
    assert!(missing.contains("is neither beside nor above it"), "{missing}");
    let mut named = Report::default();
    named.play(&folder.0.join("kubelet-1.37"), Some(&folder.0.join("other"))).unwrap();
    assert_eq!(named.to_string(), report.to_string());
}

#[test]
fn releases_in_a_folder_are_played_with_it() {
    let folder = changed("releases", "1.37.1");
    fs::rename(folder.0.join("kubelet-1.37"), folder.0.join("kubelet/1.37.1")).unwrap();
    let mut report = Report::default();
    report.play(&folder.0.join("kubelet"), None).unwrap();
    let figures: Vec<_> =
        report.kinds.iter().map(|(kind, figures)| (kind.as_str(), figures.passed)).collect();
    assert_eq!(figures, [("quantity/quantity", 2), ("quantity/quantity@1.37", 2)]);
    // A release of which nothing was read is not lost.
    let before = Baseline::from([("quantity/quantity@1.36".to_owned(), Passes { passed: 9, listed: 0 })]);
    assert_eq!(report.lost(&before), [""; 0]);
}

#[test]
fn a_release_that_is_not_known_is_an_error() {
    let folder = changed("unknown", "1.12.0");
    let error = Report::default().play(&folder.0.join("kubelet-1.37"), None).unwrap_err().to_string();
    assert!(error.contains("RELEASE names no known release"), "{error}");
}
