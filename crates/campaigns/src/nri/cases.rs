//! Recorded cases, and which of them, or which part, a plugin of `nri-plugin` can take: its types cannot say
//! everything that the plugin in Go can.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context as _;
use fs_err as fs;
use serde_json::Value;

/// A case: operations of a runtime, and the lines that it printed.
pub(super) struct Case {
    pub(super) name: String,
    content: Value,
}

/// A case that cannot be played, and why.
pub(super) struct NotTaken(pub(super) &'static str);

/// What is played of a case.
pub(super) struct Part {
    /// As a file.
    pub(super) text: String,
    /// The containers whose creation is left out.
    pub(super) left_out: BTreeSet<String>,
}

/// A case of which one version recorded the stub in Go rather than the runtime.
const OF_THE_STUB: (&str, &str, &str) = (
    "35-garbage-to-the-plugin",
    "0.12.3",
    "the stub of that version waits for the frame that claims 256 MiB, and this crate closes the connection",
);

/// What rules and arguments have that the crate cannot say, with the reason.
const RULES: [(&str, &str); 4] = [
    ("wire", "bytes that are no frames or answers"),
    ("evict", "evictions"),
    ("refuse_more", "a page that is not answered with `more`"),
    ("mask", "a mask other than that of known events"),
];
const ARGUMENTS: [(&str, &str); 3] = [
    ("-old", "a plugin without the requests of NRI 0.12"),
    ("-twice", "two registrations on one connection"),
    ("-mute", "a connection without a registration"),
];

impl Case {
    /// All cases of a folder, by name.
    pub(super) fn all(folder: &Path) -> anyhow::Result<Vec<Self>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let content = serde_json::from_slice(&fs::read(&path)?);
                let content = content.with_context(|| format!("failed to read {}", path.display()))?;
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                all.push(Self { name, content });
            }
        }
        all.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(all)
    }

    fn spawned(&self) -> impl Iterator<Item = &Value> {
        let script = self.content["script"].as_array().into_iter().flatten();
        script.filter(|operation| operation["op"] == "spawn")
    }

    /// The rules of all plugins: request, name of a container, and action.
    fn rules(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let requests = self.spawned().filter_map(|spawn| spawn["rules"].as_object()).flatten();
        requests.flat_map(|(request, rules)| {
            let rules = rules.as_object().into_iter().flatten();
            rules.map(move |(name, action)| (request.as_str(), name.as_str(), action))
        })
    }

    /// The versions of NRI that it is played with.
    pub(super) fn versions(&self) -> Vec<&str> {
        if self.content["nri"].is_string() {
            // The program that plays cases takes it with one of the others.
            return vec!["0.12.3"];
        }
        let left_out = self.not_recorded_of_ours().map(|(version, _)| version);
        ["0.12.3", "0.12.5"].into_iter().filter(|version| left_out != Some(*version)).collect()
    }

    /// The version in which it recorded something else than the runtime, and what.
    pub(super) fn not_recorded_of_ours(&self) -> Option<(&'static str, &'static str)> {
        let (name, version, reason) = OF_THE_STUB;
        (name == self.name).then_some((version, reason))
    }

    /// What can be played of it.
    pub(super) fn part(&self) -> Result<Part, NotTaken> {
        for (argument, reason) in ARGUMENTS {
            let arguments = self.spawned().flat_map(|spawn| spawn["args"].as_array().into_iter().flatten());
            if arguments.into_iter().any(|has| has == argument) {
                return Err(NotTaken(reason));
            }
        }
        let mut twice = BTreeSet::new();
        for (request, name, action) in self.rules() {
            if let Some((_, reason)) = RULES.iter().find(|(field, _)| !action[*field].is_null()) {
                return Err(NotTaken(reason));
            }
            if action["during"] == true {
                return Err(NotTaken("an update from inside a handler"));
            }
            let updated: Vec<&Value> = action["update"].as_array().into_iter().flatten().collect();
            if request == "CreateContainer" && updated.iter().any(|update| update["containerId"] == name) {
                return Err(NotTaken("an update of the container that is being created"));
            }
            let distinct: BTreeSet<_> =
                updated.iter().filter_map(|update| update["containerId"].as_str()).collect();
            if distinct.len() < updated.len() {
                twice.insert(name.to_owned());
            }
        }
        let mut content = self.content.clone();
        let creates =
            |line: &Value| line["op"] == "create" && line["id"].as_str().is_some_and(|id| twice.contains(id));
        for list in ["script", "expect", "expect_0.12.3", "expect_0.12.5"] {
            if let Some(lines) = content[list].as_array_mut() {
                lines.retain(|line| !creates(line));
            }
        }
        Ok(Part { text: content.to_string(), left_out: twice })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Case, NotTaken};

    fn case(args: &[&str], rules: &serde_json::Value) -> Case {
        let script = json!([
            { "op": "spawn", "plugin": "a", "args": args, "rules": rules },
            { "op": "create", "id": "c1" },
            { "op": "create", "id": "c2" },
        ]);
        let expect =
            json!([{ "op": "spawn" }, { "op": "create", "id": "c1" }, { "op": "create", "id": "c2" }]);
        Case { name: "case".to_owned(), content: json!({ "script": script, "expect": expect }) }
    }

    fn update(id: &str) -> serde_json::Value {
        json!({ "containerId": id, "linux": {} })
    }

    #[test]
    fn what_the_types_cannot_say_is_not_played() {
        for (args, rules, expected) in [
            (&["-raw", "-old"][..], json!({}), "a plugin without the requests of NRI 0.12"),
            (&[], json!({ "CreateContainer": { "c1": { "evict": [] } } }), "evictions"),
            (&[], json!({ "Configure": { "*": { "mask": 0 } } }), "a mask other than that of known events"),
            (
                &[],
                json!({ "CreateContainer": { "c1": { "update": [update("c1")] } } }),
                "an update of the container that is being created",
            ),
        ] {
            let Err(NotTaken(reason)) = case(args, &rules).part() else { panic!("{expected}") };
            assert_eq!(reason, expected);
        }
        // Evictions beside an update of no event are left out by the plugin; the call is made all the same.
        assert!(
            case(&[], &json!({ "PostCreateContainer": { "c1": { "unsolicited_evict": [] } } }))
                .part()
                .is_ok()
        );
        assert!(
            case(&[], &json!({ "UpdateContainer": { "c1": { "update": [update("c1")] } } })).part().is_ok()
        );
    }

    #[test]
    fn a_creation_that_updates_one_container_twice_is_left_out() {
        let rules = json!({ "CreateContainer": { "c2": { "update": [update("c0"), update("c0")] } } });
        let part = case(&[], &rules).part().unwrap_or_else(|NotTaken(reason)| panic!("{reason}"));
        assert_eq!(part.left_out, ["c2".to_owned()].into());
        let content: serde_json::Value = serde_json::from_str(&part.text).unwrap();
        assert_eq!(content["expect"], json!([{ "op": "spawn" }, { "op": "create", "id": "c1" }]));
        assert_eq!(content["script"].as_array().map(Vec::len), Some(2));
    }
}
