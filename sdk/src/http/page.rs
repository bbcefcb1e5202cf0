//! The page: runs as they happen, open questions, chats. It uses the public API only.
//!
//! Plain HTML, CSS and JavaScript, without a build step; the files are in `page/`.

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

/// The policy of the page: it loads nothing from elsewhere, and runs no inline script.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";

/// A file of the page: its path, its type and its content.
type File = (&'static str, &'static str, &'static str);

const JS: &str = "text/javascript; charset=utf-8";

const FILES: [File; 14] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/api.js", JS, include_str!("page/api.js")),
    ("/app.js", JS, include_str!("page/app.js")),
    ("/calls.js", JS, include_str!("page/calls.js")),
    ("/chat.js", JS, include_str!("page/chat.js")),
    ("/dom.js", JS, include_str!("page/dom.js")),
    ("/events.js", JS, include_str!("page/events.js")),
    ("/graph.js", JS, include_str!("page/graph.js")),
    ("/questions.js", JS, include_str!("page/questions.js")),
    ("/run.js", JS, include_str!("page/run.js")),
    ("/runs.js", JS, include_str!("page/runs.js")),
    ("/timeline.js", JS, include_str!("page/timeline.js")),
    ("/view.js", JS, include_str!("page/view.js")),
];

/// Returns the paths of the page. They need no token: the page asks for it.
pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.into_iter().fold(Router::new(), |router, (path, kind, content)| {
        router.route(path, get(move || async move { file(kind, content) }))
    })
}

fn file(kind: &'static str, content: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, content).into_response()
}
