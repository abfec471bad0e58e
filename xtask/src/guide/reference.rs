//! What only the book has: the help of each command, and the fields of each document, as the program has them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use fs_err as fs;
use serde_json::Value;

/// The files of the book, by name, and the lines of its summary.
pub(super) fn pages(program: &Path, schemas: &Path) -> anyhow::Result<(Vec<(&'static str, String)>, String)> {
    let summary = "\n# Reference\n\n- [Commands](commands.md)\n- [Documents](documents.md)\n";
    let pages = vec![("commands.md", commands(program)?), ("documents.md", documents(schemas)?)];
    Ok((pages, summary.to_owned()))
}

fn commands(program: &Path) -> anyhow::Result<String> {
    let mut text = "# Commands\n\nWhat each command prints with `--help`.\n".to_owned();
    let mut open = vec![Vec::<String>::new()];
    while let Some(command) = open.pop() {
        let help = help(program, &command)?;
        let name = [vec!["topolet".to_owned()], command.clone()].concat().join(" ");
        let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
        let below = listed(&help).into_iter().map(|below| [command.clone(), vec![below]].concat());
        open.extend(below.collect::<Vec<_>>().into_iter().rev());
    }
    Ok(text)
}

fn help(program: &Path, command: &[String]) -> anyhow::Result<String> {
    let mut asked = Command::new(program);
    // As on a terminal of 100 columns.
    let output = asked.args(command).arg("--help").env("COLUMNS", "100").output();
    let output = output.with_context(|| format!("failed to start {}", program.display()))?;
    ensure!(output.status.success(), "`topolet {} --help` fails", command.join(" "));
    String::from_utf8(output.stdout).context("the help is not UTF-8")
}

/// The commands that a help lists.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = lines.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = rows.filter(|row| !row.starts_with(' ')).filter_map(|row| row.split([' ', ',']).next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

fn documents(schemas: &Path) -> anyhow::Result<String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(schemas)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".json")) else {
            continue;
        };
        let schema: Value = serde_json::from_str(&fs::read_to_string(&path)?)
            .with_context(|| format!("{name} is no JSON"))?;
        files.insert(name.to_owned(), schema);
    }
    let mut text = "# Documents\n\nThe fields of what commands print with `-o json`, of what they read, and of the HTTP interface. \
                    `topolet schema KIND` prints the whole schema.\n"
        .to_owned();
    for (name, schema) in files {
        let _ = write!(text, "\n## {name}\n\n{}\n\n", sentence(&schema["description"]));
        fields(&mut text, &schema);
        let parts = ["$defs", "definitions"].into_iter().find_map(|key| schema[key].as_object());
        for (part, schema) in parts.into_iter().flatten() {
            if schema["properties"].is_object() {
                let _ = write!(text, "\n**{part}**: {}\n\n", sentence(&schema["description"]));
                fields(&mut text, schema);
            }
        }
    }
    Ok(text)
}

/// A table of the fields of an object.
fn fields(text: &mut String, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|required| required.iter().any(|other| other == name))
    };
    text.push_str("| field | type | meaning |\n|---|---|---|\n");
    for (name, field) in properties {
        let kind = kind(field);
        let kind = if required(name) { kind } else { format!("{kind}, or not there") };
        let _ = writeln!(text, "| `{name}` | {kind} | {} |", sentence(&field["description"]));
    }
}

fn kind(field: &Value) -> String {
    if let Some(part) = field["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return part.to_owned();
    }
    if field["items"].is_object() {
        return format!("list of {}", kind(&field["items"]));
    }
    match &field["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => {
            let any = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| field[key].as_array());
            let kinds: Vec<String> = any.into_iter().flatten().map(kind).collect();
            if kinds.is_empty() { "value".to_owned() } else { kinds.join(" or ") }
        }
    }
}

/// Of a description, in a cell of a table.
fn sentence(description: &Value) -> String {
    description.as_str().unwrap_or_default().replace('\n', " ").replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_help_are_found() {
        let help = "Does.\n\nUsage: a <COMMAND>\n\nCommands:\n  show    Prints\n  licences, --licences  Prints\n          more\n  \
                    help    Print\n\nOptions:\n  -h\n";
        assert_eq!(listed(help), ["show", "licences"]);
        assert!(listed("Does.\n\nOptions:\n  -h\n").is_empty());
    }

    #[test]
    fn fields_are_rows() {
        let schema = serde_json::json!({"required": ["pods"], "properties": {
            "pods": {"type": "array", "items": {"$ref": "#/$defs/Pod"}, "description": "Of the node,\nin order | of time."},
            "left": {"anyOf": [{"$ref": "#/$defs/Left"}, {"type": "null"}]},
        }});
        let mut text = String::new();
        fields(&mut text, &schema);
        assert!(text.contains("| `pods` | list of Pod | Of the node, in order \\| of time. |"), "{text}");
        assert!(text.contains("| `left` | Left or null, or not there |  |"), "{text}");
    }
}
