//! Requests of any kind: none breaks a route, whatever is in it.

use axum::Extension;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use bounded_http::Peer;
use proptest::prelude::*;
use tower::ServiceExt as _;

use super::small::routes;

/// Parts of paths, right and wrong.
fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => prop::sample::select(vec![
            "v1", "pods", "explain", "repack", "machine", "state", "decisions", "metrics", "healthz", "readyz", "default", "a",
            "containers", "app", "started", "exited", "%00", "%ff", "..", "%2e%2e%2f",
        ]).prop_map(str::to_owned),
        1 => "[a-z0-9.%_-]{0,12}",
    ];
    prop::collection::vec(part, 0..8).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn query() -> impl Strategy<Value = String> {
    let pair = prop_oneof![
        Just("output=table".to_owned()),
        Just("output=yaml".to_owned()),
        Just("glyphs=ascii".to_owned()),
        Just("limit=3".to_owned()),
        Just("moves=2".to_owned()),
        Just("namespace=default".to_owned()),
        "[a-z]{0,6}=[a-z0-9%]{0,6}",
    ];
    prop::collection::vec(pair, 0..4).prop_map(|pairs| pairs.join("&"))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: app, image: i, \
                    resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n";
    let started = "{\"id\": \"containerd://c1\", \"cgroup\": \"/sys/fs/cgroup/a\", \"pid\": 1}";
    // A part of something right with a byte that is not.
    let spoilt = |text: &'static str| {
        (0..=text.len(), any::<u8>()).prop_map(move |(at, byte)| {
            let mut bytes = text.as_bytes().to_vec();
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
            bytes
        })
    };
    prop_oneof![
        Just(manifest.as_bytes().to_vec()),
        spoilt(manifest),
        spoilt(started),
        prop::collection::vec(any::<u8>(), 0..200),
    ]
}

#[test]
fn no_request_breaks_a_route() {
    let routes = routes().layer(Extension(Peer::Unix { user: 0 }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let method =
        prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"]);
    proptest!(ProptestConfig::with_cases(400), |(method in method, path in path(), query in query(), body in body())| {
        let request = Request::builder().method(method).uri(format!("{path}?{query}")).body(Body::from(body));
        let Ok(request) = request else { return Ok(()) };
        let reply = runtime.block_on(routes.clone().oneshot(request));
        let status = reply.map(|reply| reply.status());
        prop_assert!(status.is_ok_and(|status| status != StatusCode::INTERNAL_SERVER_ERROR), "{} {}", method, path);
    });
}
