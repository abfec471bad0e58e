//! What a daemon answers is what its description of the interface says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Folder, Reply, pod};
use crate::described::{Described, document};

/// The description, and what was met of it.
struct Interface {
    whole: Value,
    schemas: BTreeMap<String, Described>,
    kinds: BTreeMap<String, Described>,
    /// Operations that were asked.
    asked: BTreeSet<String>,
}

impl Interface {
    fn published() -> Self {
        let text = fs::read_to_string(document("openapi.json")).unwrap();
        let whole = serde_json::from_str(&text).unwrap();
        Self { whole, schemas: BTreeMap::new(), kinds: BTreeMap::new(), asked: BTreeSet::new() }
    }

    /// The status, the type of the content and the body are described.
    fn check(&mut self, method: &str, path: &str, reply: &Reply) {
        let from = format!("{method} {path} answers {}: {}", reply.status, reply.body);
        let operation = &self.whole["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not described");
        self.asked.insert(operation["operationId"].as_str().unwrap().to_owned());
        let response = &operation["responses"][reply.status.to_string()];
        assert!(response.is_object(), "{from}");
        let kind = reply.field("content-type").replace("; charset=utf-8", "");
        let schema = &response["content"][&kind]["schema"];
        assert!(schema.is_object(), "{kind} is not described: {from}");
        let outcome = reply.field("topolet-outcome");
        if !outcome.is_empty() {
            let known = &response["headers"]["topolet-outcome"]["schema"]["enum"];
            assert!(
                known.as_array().unwrap().contains(&json!(outcome)),
                "{outcome} is not described: {from}"
            );
        }
        if kind != "application/json" || path == "/openapi.json" {
            return;
        }
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        let (schema, schemas) = (schema.clone(), self.whole["components"]["schemas"].clone());
        let described = self.schemas.entry(schema.to_string()).or_insert_with(|| {
            let mut whole = schema;
            whole["components"] = json!({ "schemas": schemas });
            Described::of(whole)
        });
        described.check(&body, &from);
        // The same by its kind alone.
        let kind = body["kind"].as_str().unwrap().to_owned();
        self.kinds.entry(kind.clone()).or_insert_with(|| Described::kind(&kind)).check(&body, &from);
    }
}

#[test]
fn a_daemon_answers_what_is_described() {
    let folder = Folder::new();
    let daemon = Daemon::start(folder.path(), &[]);
    let mut interface = Interface::published();
    let small = pod("small", "cpu: 2, memory: 1Gi");
    let other = pod("small", "cpu: 3, memory: 1Gi");
    let large = pod("large", "cpu: 64, memory: 1Gi");
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n";
    let (pods, one) = ("/v1/pods", "/v1/pods/{namespace}/{name}");
    let started = "/v1/pods/{namespace}/{name}/containers/{container}/started";
    let exited = "/v1/pods/{namespace}/{name}/containers/{container}/exited";
    let resize = "/v1/pods/{namespace}/{name}/resize";
    let amounts = |cpu: &str| {
        let amounts = format!("{{\"cpu\": \"{cpu}\"}}");
        let resources = format!("{{\"requests\": {amounts}, \"limits\": {amounts}}}");
        format!("{{\"spec\": {{\"containers\": [{{\"name\": \"app\", \"resources\": {resources}}}]}}}}")
    };
    let each = [
        ("post", pods, "/v1/pods?dryRun=All", small.clone(), 200),
        ("post", pods, "/v1/pods", small.clone(), 200),
        ("post", pods, "/v1/pods", format!("{small}---\n{large}---\n{service}"), 422),
        ("post", pods, "/v1/pods", format!("{other}---\n{large}"), 409),
        ("post", pods, "/v1/pods", other.clone(), 409),
        ("post", pods, "/v1/pods", "kind: Pod".to_owned(), 400),
        ("post", pods, "/v1/pods", " ".repeat(2 << 20), 413),
        ("post", "/v1/explain", "/v1/explain", format!("{large}---\n{other}---\n{service}"), 200),
        ("post", "/v1/explain", "/v1/explain?anew=true", small.clone(), 200),
        ("post", "/v1/explain", "/v1/explain?output=table", large.clone(), 200),
        ("get", pods, "/v1/pods", String::new(), 200),
        ("get", pods, "/v1/pods?output=yaml", String::new(), 200),
        ("get", pods, "/v1/pods?output=table&width=60&wide=true", String::new(), 200),
        ("get", pods, "/v1/pods?names=nobody", String::new(), 404),
        ("get", pods, "/v1/pods?nothing=1", String::new(), 400),
        ("get", one, "/v1/pods/default/small", String::new(), 200),
        ("get", one, "/v1/pods/default/nobody", String::new(), 404),
        (
            "post",
            started,
            "/v1/pods/default/small/containers/app/started",
            "{\"id\": \"c1\"}".to_owned(),
            200,
        ),
        ("post", started, "/v1/pods/default/small/containers/app/started", "{}".to_owned(), 400),
        (
            "post",
            started,
            "/v1/pods/default/small/containers/none/started",
            "{\"id\": \"c2\"}".to_owned(),
            404,
        ),
        ("get", one, "/v1/pods/default/small", String::new(), 200),
        ("post", exited, "/v1/pods/default/small/containers/app/exited", "{\"id\": \"c1\"}".to_owned(), 200),
        ("post", exited, "/v1/pods/default/small/containers/app/exited", "{\"id\": \"c1\"}".to_owned(), 404),
        ("post", "/v1/repack", "/v1/repack?dryRun=All", large.clone(), 422),
        ("post", "/v1/repack", "/v1/repack", pod("third", "cpu: 1, memory: 1Gi"), 200),
        ("post", "/v1/repack", "/v1/repack", other.clone(), 409),
        ("post", "/v1/repack", "/v1/repack?moves=9", large.clone(), 400),
        ("patch", resize, "/v1/pods/default/small/resize", amounts("2"), 200),
        ("patch", resize, "/v1/pods/default/small/resize", amounts("3"), 409),
        ("patch", resize, "/v1/pods/default/small/resize", amounts("two"), 400),
        ("patch", resize, "/v1/pods/default/nobody/resize", amounts("3"), 404),
        ("get", "/v1/picture", "/v1/picture", String::new(), 200),
        ("get", "/v1/machine", "/v1/machine", String::new(), 200),
        ("get", "/v1/state", "/v1/state", String::new(), 200),
        ("get", "/v1/status", "/v1/status", String::new(), 200),
        ("get", "/v1/decisions", "/v1/decisions?limit=10", String::new(), 200),
        ("get", "/v1/decisions", "/v1/decisions?uid=nobody", String::new(), 404),
        ("get", "/v1/events", "/v1/events", String::new(), 200),
        ("get", "/v1/events", "/v1/events?after=soon", String::new(), 400),
        ("get", "/healthz", "/healthz", String::new(), 200),
        ("get", "/readyz", "/readyz", String::new(), 200),
        ("get", "/openapi.json", "/openapi.json", String::new(), 200),
        ("delete", one, "/v1/pods/default/small", String::new(), 200),
        ("delete", one, "/v1/pods/default/small", String::new(), 404),
    ];
    for (method, path, asked, body, status) in each {
        let reply = daemon.ask(&method.to_uppercase(), asked, &body);
        assert_eq!(reply.status, status, "{method} {asked}: {}", reply.body);
        interface.check(method, path, &reply);
    }
    let picky = daemon.ask_with("GET", "/v1/pods", "Accept: image/png\n", "");
    assert_eq!(picky.status, 406, "{}", picky.body);
    interface.check("get", pods, &picky);
    // The version is part of the type of metrics.
    let metrics = daemon.get("/metrics").field("content-type").replace("; charset=utf-8", "");
    assert!(interface.whole["paths"]["/metrics"]["get"]["responses"]["200"]["content"][&metrics].is_object());
    interface.asked.insert("readMetrics".to_owned());
    let all = interface.whole["paths"].as_object().unwrap().values();
    let all = all.flat_map(|methods| methods.as_object().unwrap().values());
    let all: BTreeSet<_> =
        all.map(|operation| operation["operationId"].as_str().unwrap().to_owned()).collect();
    assert_eq!(interface.asked, all);
    let unmet = interface.kinds["Explanation"].unmet();
    let failed: Vec<_> = unmet.iter().filter(|place| place.starts_with("FailedPod.")).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// All references of a description.
fn references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn all_that_the_description_refers_to_is_in_it() {
    let Interface { whole, .. } = Interface::published();
    let mut found = BTreeSet::new();
    references(&whole, &mut found);
    assert!(found.len() > 20, "{found:?}");
    for reference in found {
        let place = reference.strip_prefix('#').and_then(|place| whole.pointer(place));
        assert!(place.is_some(), "{reference}");
    }
}

#[test]
fn the_description_is_served_as_it_is_published() {
    let folder = Folder::new();
    let daemon = Daemon::start(folder.path(), &[]);
    let served = daemon.get("/openapi.json");
    assert_eq!((served.status, served.field("content-type")), (200, "application/json"));
    assert!(served.body == fs::read_to_string(document("openapi.json")).unwrap());
    assert_eq!(daemon.get("/openapi.json?x=1").status, 400);
}
