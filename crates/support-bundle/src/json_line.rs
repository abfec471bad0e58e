//! Lines of a log in the kubelet's JSON (`logging.format: json`, and Talos always): `{"ts":…,"caller":"FILE.go:LINE","msg":…,KEY:…}`.

use serde_json::{Map, Value};

/// A line as klog writes it, and when it was written: milliseconds since 1970, as they are written there. What stands before the object, such as the
/// address that `talosctl` prints, stays. `None`: it is none of klog's JSON.
pub(crate) fn klog_text(line: &str) -> Option<(String, String)> {
    let at = line.find("{\"")?;
    let (before, object) = line.split_at_checked(at)?;
    let fields: Map<String, Value> = serde_json::from_str(object.trim_end()).ok()?;
    // Other programs write their levels and times otherwise.
    let Value::Number(time) = fields.get("ts").filter(|_| !fields.contains_key("level"))? else {
        return None;
    };
    let caller = fields.get("caller")?.as_str().filter(|caller| caller.contains(".go:"))?;
    let message = fields.get("msg")?.as_str()?;
    let mut text = format!("{before}{caller}] {}", quoted(message));
    for (key, value) in &fields {
        if !["ts", "caller", "msg", "v"].contains(&key.as_str()) {
            text.push_str(&format!(" {key}={}", quoted(&written(value))));
        }
    }
    Some((text, time.to_string()))
}

/// Whether a line is an object of klog's.
pub(crate) fn is_one(line: &str) -> bool {
    line.contains("\"ts\":") && line.contains("\"caller\":") && klog_text(line).is_some()
}

/// A value as klog's text has it: objects of a cluster by namespace and name.
fn written(value: &Value) -> String {
    let member = |name: &str| value.get(name).and_then(Value::as_str);
    match (value, member("name")) {
        (Value::String(text), _) => text.clone(),
        (Value::Object(_), Some(name)) => {
            member("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
        }
        (other, _) => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    format!(
        "\"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
    )
}
