//! Templates that are not rendered yet.

use topology_manifest::{Source, Style, json_documents};

#[test]
fn templates_are_recognised() {
    let rendered = |text: &str| {
        let Err(error) = json_documents(&Source { name: "t.yaml", text }) else {
            panic!("{text:?} was read")
        };
        error.render(Style::Ascii)
    };
    insta::assert_snapshot!(rendered("kind: DaemonSet\nmetadata:\n  name: {{ include \"x.fullname\" . }}\n"), @r#"
    error: this is a template that is not rendered yet
     --> t.yaml:3:9
      |
    1 | kind: DaemonSet
    2 | metadata:
    3 |   name: {{ include "x.fullname" . }}
      |         ^^ expected the text that Helm makes of it: `helm template CHART > FILE`, and FILE in its place
    "#);
    insta::assert_snapshot!(rendered("{{- if .Values.a }}\nkind: Pod\n{{- end }}\n"), @"
    error: this is a template that is not rendered yet
     --> t.yaml:1:1
      |
    1 | {{- if .Values.a }}
      | ^^ expected the text that Helm makes of it: `helm template CHART > FILE`, and FILE in its place
    ");
    insta::assert_snapshot!(rendered("maxPods: {{ pods }}\n{% if x %}\ny: 1\n{% endif %}\n"), @"
    error: this is a template that is not rendered yet
     --> t.yaml:1:10
      |
    1 | maxPods: {{ pods }}
      |          ^^ expected the text that Jinja or Ansible makes of it: give the file that they write on the node
    ");
    let other = rendered("a: 'x {{ y }}'\nb: 1\nc: d: e\n");
    assert!(other.contains("mapping values"), "{other}");
}
