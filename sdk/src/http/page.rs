//! The page: runs as they happen, open questions, chats. It uses the public API only.
//!
//! Plain HTML, CSS and JavaScript, without a build step; the files are in `page/`.

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

/// The policy of the page: it loads nothing from elsewhere, runs no inline script, and parses no
/// text as HTML. Pictures are requested with the token, and are then images in memory (`blob:`),
/// which run nothing.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// A file of the page: its path, its type and its content.
type File = (&'static str, &'static str, &'static str);

const JS: &str = "text/javascript; charset=utf-8";

const FILES: [File; 27] = [
    ("/", "text/html; charset=utf-8", include_str!("page/index.html")),
    ("/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
    ("/api.js", JS, include_str!("page/api.js")),
    ("/app.js", JS, include_str!("page/app.js")),
    ("/calls.js", JS, include_str!("page/calls.js")),
    ("/chat.js", JS, include_str!("page/chat.js")),
    ("/decisions.js", JS, include_str!("page/decisions.js")),
    ("/dom.js", JS, include_str!("page/dom.js")),
    ("/entries.js", JS, include_str!("page/entries.js")),
    ("/events.js", JS, include_str!("page/events.js")),
    ("/format.js", JS, include_str!("page/format.js")),
    ("/graph.js", JS, include_str!("page/graph.js")),
    ("/messages.js", JS, include_str!("page/messages.js")),
    ("/picture.js", JS, include_str!("page/picture.js")),
    ("/questions.js", JS, include_str!("page/questions.js")),
    ("/run.js", JS, include_str!("page/run.js")),
    ("/run_layout.js", JS, include_str!("page/run_layout.js")),
    ("/run_table.js", JS, include_str!("page/run_table.js")),
    ("/runs.js", JS, include_str!("page/runs.js")),
    ("/schema.js", JS, include_str!("page/schema.js")),
    ("/text.js", JS, include_str!("page/text.js")),
    ("/timeline.js", JS, include_str!("page/timeline.js")),
    ("/totals.js", JS, include_str!("page/totals.js")),
    ("/usage.js", JS, include_str!("page/usage.js")),
    ("/value.js", JS, include_str!("page/value.js")),
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

#[cfg(test)]
mod tests;
