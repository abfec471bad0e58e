//! The objects that decide on claims, of an API server that is a function: versions, pages, missing rights and wrong answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster_node::{ClaimKind, ClaimListError, ClaimLists, Cluster};
use parking_lot::Mutex;
use serde_json::json;

use crate::world::{Answer, World, refused};

const KINDS: [(&str, &str); 4] = [
    ("resourceslices", "ResourceSlice"),
    ("deviceclasses", "DeviceClass"),
    ("resourceclaims", "ResourceClaim"),
    ("resourceclaimtemplates", "ResourceClaimTemplate"),
];
const RULES: (&str, &str) = ("devicetaintrules", "DeviceTaintRule");

/// Answers by path, without the query. What is not listed is not there.
#[derive(Clone, Default)]
struct Server(BTreeMap<String, (u16, String)>);

impl Server {
    /// One that serves these kinds in these versions, each with one object that is called after its kind.
    fn serving(versions: &[(&str, &[(&str, &str)])]) -> Self {
        let mut server = Self::default();
        let names = versions.iter().map(
            |(version, _)| json!({"version": version, "groupVersion": format!("resource.k8s.io/{version}")}),
        );
        let group = json!({"kind": "APIGroup", "apiVersion": "v1", "name": "resource.k8s.io",
            "versions": names.collect::<Vec<_>>()});
        server.set("", 200, &group.to_string());
        for (version, kinds) in versions {
            let api_version = format!("resource.k8s.io/{version}");
            let resources = kinds.iter().map(|(resource, kind)| {
                json!({"name": resource, "kind": kind, "namespaced": false, "singularName": "", "verbs": ["list"]})
            });
            let resources = json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version,
                "resources": resources.collect::<Vec<_>>()});
            server.set(&format!("/{version}"), 200, &resources.to_string());
            for (resource, kind) in *kinds {
                let object =
                    json!({"metadata": {"name": resource, "managedFields": [{"manager": "driver"}]}});
                let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"),
                    "metadata": {"resourceVersion": "7"}, "items": [object]});
                server.set(&format!("/{version}/{resource}"), 200, &list.to_string());
            }
        }
        server
    }

    fn whole() -> Self {
        Self::serving(&[("v1", &KINDS)])
    }

    fn set(&mut self, path: &str, status: u16, body: &str) {
        self.0.insert(format!("/apis/resource.k8s.io{path}"), (status, body.to_owned()));
    }

    fn with(mut self, path: &str, status: u16, body: &str) -> Self {
        self.set(path, status, body);
        self
    }

    fn forbidding(self, path: &str) -> Self {
        let message = format!("{path} is forbidden");
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
            "reason": "Forbidden", "code": 403});
        self.with(path, 403, &status.to_string())
    }

    fn lists(self) -> Result<ClaimLists, ClaimListError> {
        self.cluster().claim_lists()
    }

    fn cluster(self) -> Cluster {
        let world = World::new(move |request| {
            let path = request.trim_start_matches("GET ").split('?').next().unwrap_or_default();
            self.0.get(path).map_or_else(|| refused(404), |(code, body)| Answer(*code, body.clone()))
        });
        world.connector().connect().unwrap()
    }

    #[track_caller]
    fn fails(self, expected: &str) {
        let error = self.lists().unwrap_err().to_string();
        assert!(error.contains(expected), "expected {expected:?} in {error:?}");
    }
}

fn versions(lists: &ClaimLists) -> Vec<(ClaimKind, String)> {
    let version = |(kind, list): &(ClaimKind, serde_json::Value)| {
        (*kind, list["apiVersion"].as_str().unwrap().to_owned())
    };
    lists.pages.iter().map(version).collect()
}

#[test]
fn each_kind_is_listed_in_the_newest_version_that_is_served() {
    let old: [(&str, &str); 2] = [KINDS[0], RULES];
    let lists =
        Server::serving(&[("v1beta1", &KINDS), ("v2", &KINDS), ("v1alpha3", &old), ("v1beta2", &KINDS[..2])]);
    let lists = lists.lists().unwrap();
    let expected = [
        (ClaimKind::Slices, "v1beta2"),
        (ClaimKind::Classes, "v1beta2"),
        (ClaimKind::Claims, "v1beta1"),
        (ClaimKind::Templates, "v1beta1"),
        (ClaimKind::TaintRules, "v1alpha3"),
    ];
    let expected = expected.map(|(kind, version)| (kind, format!("resource.k8s.io/{version}")));
    assert_eq!(versions(&lists), expected);
    let (_, slices) = &lists.pages[0];
    let expected = json!({"apiVersion": "resource.k8s.io/v1beta2", "kind": "ResourceSliceList",
        "items": [{"metadata": {"name": "resourceslices"}}]});
    assert_eq!(slices, &expected);
}

#[test]
fn every_missing_right_is_named_with_the_rule_that_gives_it() {
    let server = Server::whole().forbidding("/v1/resourceclaims").forbidding("/v1/resourceslices");
    server.fails(
        "the right to list resourceslices, resourceclaims of resource.k8s.io is missing, without which no claim is decided: \
         /v1/resourceslices is forbidden; /v1/resourceclaims is forbidden; a ClusterRole has to have the rule {apiGroups: \
         [resource.k8s.io], resources: [resourceslices, resourceclaims], verbs: [get, list]}",
    );
    for (resource, _) in KINDS {
        let server = Server::whole().forbidding(&format!("/v1/{resource}"));
        server.fails(&format!("the right to list {resource} of resource.k8s.io is missing"));
    }
    Server::whole().forbidding("").fails("a right is missing:  is forbidden");
}

#[test]
fn claims_are_decided_without_the_right_to_list_rules_for_taints() {
    let kinds = [&KINDS[..], &[RULES]].concat();
    let server = Server::serving(&[("v1", &kinds)]);
    let lists = server.clone().lists().unwrap();
    assert_eq!((lists.pages.len(), lists.without_taint_rules.is_none()), (5, true));
    let lists = server.forbidding("/v1/devicetaintrules").lists().unwrap();
    let why = lists.without_taint_rules.unwrap().to_string();
    assert_eq!(
        (lists.pages.len(), why.as_str()),
        (4, "a right is missing: /v1/devicetaintrules is forbidden")
    );
}

#[test]
fn an_api_server_without_these_kinds_is_an_error() {
    Server::default().fails("serves no resourceslices of resource.k8s.io/v1, v1beta2 or v1beta1: claims");
    Server::serving(&[("v1alpha3", &KINDS)])
        .fails("serves no resourceslices of resource.k8s.io/v1, v1beta2 or v1beta1, but v1alpha3:");
    Server::serving(&[("v1", &KINDS[..2])]).fails("serves no resourceclaims of");
}

#[test]
fn answers_that_no_api_server_sends_are_errors() {
    let list = |text: &str| Server::whole().with("/v1/deviceclasses", 200, text);
    list("").fails("no object of Kubernetes");
    list("[]").fails("no object of Kubernetes");
    list(r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClassList","items":3}"#)
        .fails("no object of Kubernetes");
    list(r#"{"apiVersion":"v1","kind":"PodList","items":[]}"#)
        .fails(r#"asked for deviceclasses, it sends a "PodList" of "v1""#);
    list(r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClassList","metadata":{"continue":"again"}}"#)
        .fails("asked for deviceclasses, it sends more than 10000 pages");
    Server::whole().with("/v1", 500, "").fails("500");
    Server::whole().with("", 200, "[]").fails("no object of Kubernetes");
    Server::whole().with("", 200, "{}").fails("serves no resourceslices of");
    // Go writes an empty list like this too.
    let empty =
        list(r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClassList","metadata":{},"items":null}"#);
    assert_eq!(empty.lists().unwrap().pages[1].1["items"], json!([]));
}

#[test]
fn what_is_forgotten_between_two_pages_is_listed_anew() {
    let server = Server::whole();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    let world = World::new(move |request| {
        let address = request.trim_start_matches("GET ");
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        if path.ends_with("/resourceclaims") {
            heard.lock().push(query.trim_start_matches('&').to_owned());
            let page = |name: &str, next: &str| {
                let list = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList",
                    "metadata": {"continue": next}, "items": [{"metadata": {"name": name}}]});
                Answer(200, list.to_string())
            };
            return match heard.lock().len() {
                1 | 3 => page("first", "a&b"),
                2 => refused(410),
                _ => page("second", ""),
            };
        }
        server.0.get(path).map_or_else(|| refused(404), |(code, body)| Answer(*code, body.clone()))
    });
    let lists = world.connector().connect().unwrap().claim_lists().unwrap();
    let claims = lists.pages.iter().filter(|(kind, _)| *kind == ClaimKind::Claims);
    let names: Vec<&str> =
        claims.map(|(_, list)| list["items"][0]["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "second"]);
    let again = ["limit=200", "limit=200&continue=a%26b"];
    let asked = asked.lock().clone();
    assert_eq!(asked, [again, again].concat());
}

/// What an agent of node `worker-1` reads of these claims.
fn claims_of_node(server: Server, claims: &[(&str, &str)]) -> Result<ClaimLists, ClaimListError> {
    let claims: Vec<(String, String)> =
        claims.iter().map(|(namespace, name)| ((*namespace).to_owned(), (*name).to_owned())).collect();
    server.cluster().claims_of_node("worker-1", &claims)
}

#[test]
fn an_agent_reads_the_slices_of_its_node_and_the_claims_of_its_pods() {
    let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "ml", "managedFields": [{"manager": "scheduler"}]}});
    let path = "/v1/namespaces/ml/resourceclaims/gpu";
    let server = Server::whole().with(path, 200, &claim.to_string()).forbidding("/v1/resourceclaims");
    let lists = claims_of_node(server.clone(), &[("ml", "gpu"), ("ml", "gone")]).unwrap();
    let kinds: Vec<ClaimKind> = lists.pages.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(kinds, [ClaimKind::Slices, ClaimKind::Claims]);
    let items = lists.pages[1].1["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "one that is gone is no error");
    assert_eq!(items[0]["metadata"], json!({"name": "gpu", "namespace": "ml"}));
    assert_eq!(claims_of_node(server, &[]).unwrap().pages.len(), 1);

    let error = claims_of_node(Server::whole().forbidding(path), &[("ml", "gpu")]).unwrap_err().to_string();
    assert!(error.contains("the right to list resourceclaims of resource.k8s.io is missing"), "{error}");
    let error =
        claims_of_node(Server::whole().forbidding("/v1/resourceslices"), &[]).unwrap_err().to_string();
    assert!(error.contains("resources: [resourceslices], verbs: [get, list]"), "{error}");
    let error = claims_of_node(Server::default(), &[]).unwrap_err().to_string();
    assert!(error.contains("serves no resourceslices of resource.k8s.io"), "{error}");
}
