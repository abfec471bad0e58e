//! The page for browsers, and the picture of the node that it shows.

use axum::extract::{RawQuery, Request as HttpRequest, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Extension, Router};
use bounded_http::{Peer, Who};
use machine_picture::svg::{self, PodKey};
use node_output::claimed;
use node_page::{ASSETS, HEADERS, asset};
use schemars::JsonSchema;
use serde::Serialize;
use terminal_text::{Glyphs, Page};

use super::failure::Failure;
use super::look::shown;
use super::node::{Answered, Node};
use super::query::Query;
use super::reply::Shape;

/// The files of the page.
pub(super) fn routes() -> Router<Node> {
    ASSETS.iter().fold(Router::new(), |router, asset| router.route(asset.path, get(file)))
}

async fn file(uri: Uri, RawQuery(query): RawQuery) -> Answered {
    Query::read(query.as_deref(), &[])?;
    let asset = asset(uri.path())
        .ok_or_else(|| Failure::new(StatusCode::NOT_FOUND, "there is nothing under this path"))?;
    let mut response = asset.text.into_response();
    let kind = (header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    let others =
        HEADERS.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    response.headers_mut().extend([kind].into_iter().chain(others).map(|(name, value)| (Some(name), value)));
    Ok(response)
}

/// Turns away who does not have the token: on a host with several users the port is there for all of them.
pub(super) async fn with_the_token(
    who: Option<Extension<Peer>>,
    request: HttpRequest,
    next: Next,
) -> Result<Response, Failure> {
    match who.map(|Extension(peer)| peer.who(request.headers())) {
        Some(Who::Holder) => Ok(next.run(request).await),
        _ => Err(Failure::new(
            StatusCode::UNAUTHORIZED,
            "the token is missing or is not that of this run: open the address that topolet ui has printed",
        )),
    }
}

/// A picture of the node, and how its pods are found in it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Picture {
    /// The node in a few words.
    which: String,
    /// `None` where only cAdvisor's view of the machine is known.
    svg: Option<String>,
    pods: Vec<PodKey>,
}

pub(super) async fn picture(
    State(node): State<Node>,
    who: Who,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answered {
    let shape = Shape::alone(query.as_deref(), &headers)?;
    let make = move |node: &Node| {
        let page = Page::endless(Glyphs::Unicode);
        let hardware = node.view.served.hardware.as_ref();
        let shares = node_output::shares(&shown(node), hardware.map(|hardware| &hardware.machine));
        let svg = hardware.map(|hardware| {
            let heading = svg::Heading { title: &node.line().machine, summary: &hardware.summary };
            let contents = svg::Contents { shares: Some(&shares), reserved: Some(&hardware.reserved) };
            svg::picture_of(&hardware.machine, heading, contents)
        });
        let mut pods = svg::pod_keys(&shares);
        let snapshot = node.snapshot();
        for (container, claims) in &*node.view.claims.all() {
            let Some(record) = snapshot.pods.get(&container.pod) else { continue };
            let name = format!("{}/{}", record.pod.namespace, record.pod.name);
            if let Some(pod) = pods.iter_mut().find(|pod| pod.name == name) {
                pod.holds.extend(claims.iter().map(claimed));
            }
        }
        let picture = Picture { which: node.line().line(page), svg, pods };
        shape.document("NodePicture", picture, table)
    };
    node.look(who, make).await
}

fn table(picture: &Picture, page: Page) -> String {
    let row = |pod: &PodKey| vec![pod.letters.clone(), pod.name.clone(), pod.holds.join("; ")];
    let head = ["KEY", "POD", "HOLDS"].map(str::to_owned).to_vec();
    format!("{}\n{}", picture.which, page.columns([head].into_iter().chain(picture.pods.iter().map(row)), ""))
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::request::Builder;
    use tower::ServiceExt as _;

    use std::sync::Arc;

    use super::*;
    use crate::page_questions::{PageAnswer, PageQuestion, PageQuestions};
    use crate::simulator::{Progress, Simulated, Simulator};
    use crate::{SimulationRuns, small};

    /// Runs no scenario.
    struct Nothing;

    impl Simulator for Nothing {
        fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
            &[("none", "kind: Scenario\n")]
        }

        fn run(&self, _: &[u8], _: &Progress) -> anyhow::Result<Simulated> {
            anyhow::bail!("nothing runs here")
        }
    }

    impl PageQuestions for Nothing {
        fn arguments(&self) -> &[String] {
            &[]
        }

        fn answer(&self, asked: &PageQuestion) -> anyhow::Result<PageAnswer> {
            let text = format!("{:?} {:?} {}", asked.kind, asked.configuration, asked.manifests.len());
            Ok(PageAnswer { outcome: "done", headline: None, text })
        }
    }

    /// The status, the headers and the body of an answer over TCP.
    fn ask(
        router: Router,
        token: Option<bounded_http::Token>,
        head: &[(&str, &str)],
        path: &str,
    ) -> (u16, HeaderMap, String) {
        answer(router, token, head, HttpRequest::builder().uri(path), "")
    }

    /// The same of a body that is sent.
    fn send(
        router: Router,
        token: Option<bounded_http::Token>,
        head: &[(&str, &str)],
        path: &str,
        body: &str,
    ) -> (u16, HeaderMap, String) {
        answer(router, token, head, HttpRequest::builder().uri(path).method("POST"), body)
    }

    fn answer(
        router: Router,
        token: Option<bounded_http::Token>,
        head: &[(&str, &str)],
        request: Builder,
        body: &str,
    ) -> (u16, HeaderMap, String) {
        let mut request = request.header("host", "localhost:1");
        for (name, value) in head {
            request = request.header(*name, *value);
        }
        let request = request.extension(Peer::Tcp { token }).body(Body::from(body.to_owned()));
        let request = request.unwrap_or_else(|error| panic!("{error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
        runtime.block_on(async {
            let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
            let (head, body) = response.into_parts();
            let body = to_bytes(body, 1 << 24).await.unwrap_or_else(|error| panic!("{error}"));
            (head.status.as_u16(), head.headers, String::from_utf8_lossy(&body).into_owned())
        })
    }

    #[test]
    fn every_file_is_served_with_its_policy() {
        for asset in &ASSETS {
            let (status, headers, body) = ask(small::routes(), None, &[], asset.path);
            assert_eq!((status, body.as_str()), (200, asset.text), "{}", asset.path);
            assert_eq!(headers[header::CONTENT_TYPE], asset.content_type, "{}", asset.path);
            for (name, value) in HEADERS {
                assert_eq!(headers[name], value, "{}", asset.path);
            }
        }
        assert_eq!(ask(small::routes(), None, &[], "/page/other.js").0, 404);
    }

    #[test]
    fn the_page_of_a_node_that_nobody_serves_needs_the_token() {
        let token = || bounded_http::Token::new("0123456789abcdef").ok();
        let runs = || SimulationRuns::new(Arc::new(Nothing));
        let routes = || crate::for_a_page(small::view(), small::EXPLAINED, runs(), Arc::new(Nothing));
        for asset in &ASSETS {
            assert_eq!(ask(routes(), token(), &[], asset.path).0, 200, "{}", asset.path);
        }
        for (sent, expected) in
            [("Bearer 0123456789abcdef", 200), ("Bearer 0123456789abcdeg", 401), ("", 401)]
        {
            for path in [
                "/v1/picture",
                "/v1/status",
                "/v1/machine",
                "/v1/decisions",
                "/v1/events",
                "/v1/choices",
                "/v1/scenarios/none",
            ] {
                let (status, _, body) = ask(routes(), token(), &[("authorization", sent)], path);
                assert_eq!(status, expected, "{path} with {sent:?}: {body}");
            }
        }
        // A question has its configuration before its manifests.
        let asked = |path: &str| {
            let headers = [("authorization", "Bearer 0123456789abcdef")];
            send(routes(), token(), &headers, path, "kind: Xkind: Pod")
        };
        let (status, _, body) = asked("/v1/questions/repack?configuration=7&machine=xeon-cxl-4node");
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("Repack Some(\\\"kind: X\\\") 9"), "{body}");
        for (path, expected) in [
            ("/v1/questions/other", (404, "there is no question other")),
            (
                "/v1/questions/repack?configuration=99",
                (400, "configuration is a number of bytes of the body"),
            ),
            ("/v1/questions/repack?machine=/etc", (404, "no built-in machine is called /etc")),
            ("/v1/questions/repack?machine=file:x", (404, "drop it again")),
        ] {
            let (status, _, body) = asked(path);
            assert!(status == expected.0 && body.contains(expected.1), "{path}: {status} {body}");
        }
        let (status, _, body) = send(routes(), token(), &[], "/v1/questions/repack", "");
        assert_eq!(status, 401, "{body}");
        // What would change something is not there.
        let sent = [("authorization", "Bearer 0123456789abcdef")];
        for path in ["/v1/pods", "/openapi.json"] {
            assert_eq!(ask(routes(), token(), &sent, path).0, 404, "{path}");
        }
    }

    #[test]
    fn a_picture_has_the_machine_and_its_words() {
        let (status, _, body) = ask(small::routes(), None, &[], "/v1/picture");
        assert_eq!(status, 200, "{body}");
        let picture: serde_json::Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}"));
        assert!(picture["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg") && svg.contains("NUMA 3")));
        assert!(picture["which"].as_str().is_some_and(|which| which.starts_with("xeon-cxl-4node")));
    }
}
