//! JSON schemas of the project's own documents that people write.

/// The kinds, and the schema of each as JSON Schema 2020-12. A schema names all fields that the reader knows; what depends on other
/// fields or files is the reader's to say.
pub const INPUT_SCHEMAS: [(&str, &str); 2] = [
    ("Scenario", include_str!("../schemas/Scenario.json")),
    ("TopoletConfiguration", include_str!("../schemas/TopoletConfiguration.json")),
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    use super::*;
    use crate::{ManifestError, Source, read_own_options, read_scenario};

    /// Scenarios whose field has one inside that is none, `oops`, and where its fellows are in the schema.
    const SCENARIOS: [(&str, &str, &str); 11] = [
        ("", "oops", "1"),
        ("/properties/machines/items", "machines", "[{machine: m, oops: 1}]"),
        ("/properties/configurations/items", "configurations", "[{name: a, oops: 1}]"),
        (
            "/properties/configurations/items/properties/claims",
            "configurations",
            "[{name: a, claims: {oops: 1}}]",
        ),
        (
            "/properties/configurations/items/properties/topoletConfig/oneOf/1",
            "configurations",
            "[{name: a, topoletConfig: {oops: 1}}]",
        ),
        (
            "/properties/configurations/items/properties/topoletConfig/oneOf/1/properties/placement",
            "configurations",
            "[{name: a, topoletConfig: {placement: {oops: 1}}}]",
        ),
        ("/properties/pods/items", "pods", "[{pod: {}, oops: 1}]"),
        ("/properties/arrivals", "arrivals", "{oops: 1}"),
        ("/properties/trace/items", "trace", "[{oops: 1}]"),
        ("/$defs/spans", "arrivals", "{count: 1, every: {oops: 1}}"),
        (
            "/$defs/spans/oneOf/3/properties/logNormal",
            "arrivals",
            "{count: 1, every: {logNormal: {oops: 1}}}",
        ),
    ];
    /// The same of a `TopoletConfiguration`.
    const OPTIONS: [(&str, &str); 8] = [
        ("", "oops: 1"),
        ("/properties/cpu", "cpu: {oops: 1}"),
        ("/properties/memory", "memory: {oops: 1}"),
        ("/properties/placement", "placement: {oops: 1}"),
        ("/properties/placement/properties/mix/items", "placement: {strategy: keep-room, mix: [{oops: 1}]}"),
        ("/properties/podPolicy", "podPolicy: {oops: 1}"),
        ("/properties/devices", "devices: {oops: 1}"),
        ("/properties/cgroup", "cgroup: {oops: 1}"),
    ];

    fn schema(kind: &str) -> Value {
        let (_, text) = INPUT_SCHEMAS.iter().find(|(name, _)| *name == kind).unwrap();
        serde_json::from_str(text).unwrap()
    }

    /// The fields at a place of a schema, or of what may be there.
    fn fields(schema: &Value, place: &str) -> BTreeSet<String> {
        let node = schema.pointer(place).unwrap_or_else(|| panic!("no {place}"));
        let forms = if node["properties"].is_null() {
            node["oneOf"].as_array().unwrap().clone()
        } else {
            vec![node.clone()]
        };
        let names = forms.iter().filter_map(|form| form["properties"].as_object()).flatten();
        names.map(|(name, _)| name.clone()).filter(|name| name != "apiVersion" && name != "kind").collect()
    }

    /// The fields that an error lists: `a, b or c`.
    fn listed(error: &ManifestError) -> BTreeSet<String> {
        let list = error.problem().expected().unwrap_or_default().replace(" or ", ", ");
        list.split(", ").map(|name| name.trim().to_owned()).collect()
    }

    #[test]
    fn schemas_have_the_fields_that_the_readers_know() {
        let pod = "[{pod: {metadata: {name: a}, spec: {containers: [{name: a}]}}}]";
        for (place, field, value) in SCENARIOS {
            let mut fields_of = BTreeMap::from([("machines", "[{machine: m}]"), ("pods", pod)]);
            fields_of.insert(field, value);
            let fields_of: String =
                fields_of.iter().map(|(name, value)| format!("\n{name}: {value}")).collect();
            let text = format!("apiVersion: topolet.dev/v1alpha1\nkind: Scenario{fields_of}");
            let error = read_scenario(&Source { name: "s.yaml", text: &text }).map(drop).unwrap_err();
            assert_eq!(fields(&schema("Scenario"), place), listed(&error), "{text}");
        }
        for (place, text) in OPTIONS {
            let text = format!("apiVersion: topolet.dev/v1alpha1\nkind: TopoletConfiguration\n{text}");
            let error = read_own_options(&Source { name: "o.yaml", text: &text }).map(drop).unwrap_err();
            assert_eq!(fields(&schema("TopoletConfiguration"), place), listed(&error), "{text}");
        }
    }
}
