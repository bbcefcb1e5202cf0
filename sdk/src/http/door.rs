//! The check of each request before any handler: who sends it, and for a service without a policy
//! that it is meant for this machine.
//!
//! # Design
//! A page of any site can send a browser of this machine to a service on it. Without a token, two
//! checks stop that: a page whose name resolves to this machine has another `Host`, and a form or a
//! simple request cannot have the content type JSON. Only a service with a policy allows other
//! origins, and only those that its operator names.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    access::{AccessPolicy, Caller},
    error::ApiError,
    service::Shared,
};

/// Accepts every caller; the check of the host keeps those of other machines out.
pub(super) struct LocalCallers;

impl AccessPolicy for LocalCallers {
    fn authenticate(&self, _authorization: Option<&str>) -> Option<Caller> {
        Some(Caller::default())
    }
}

/// Passes a request on that is meant for this machine, or for a service with a policy.
pub(super) async fn check_host(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    if shared.is_local && !host.is_some_and(is_loopback) {
        let message = "without an access policy the service answers only requests to localhost, 127.0.0.1 or [::1]; \
                       set one with AgentsService::access";
        return ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message).into_response();
    }
    next.run(request).await
}

/// Passes a request on, with its [`Caller`].
pub(super) async fn check(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    match admit(&shared, &request) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

fn admit(shared: &Shared, request: &Request) -> Result<Caller, ApiError> {
    let header = |name| request.headers().get(name).and_then(|value: &header::HeaderValue| value.to_str().ok());
    let has_body = [Method::POST, Method::PUT].contains(request.method());
    if has_body && !header(header::CONTENT_TYPE).is_some_and(is_json) {
        let message = "the content type of the request must be application/json";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", message));
    }
    let caller = shared.access.authenticate(header(header::AUTHORIZATION));
    caller.ok_or_else(|| {
        let message = "send a valid token: Authorization: Bearer <token>";
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
    })
}

/// Returns `true` for a host, with or without a port, that is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_address = name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::{is_json, is_loopback};

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.9.9.9", "[::1]:80", "[::1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["", "localhost.attacker.test", "127.0.0.1.attacker.test", "10.0.0.1", "[::2]", "attacker.test:80"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn only_json_is_json() {
        assert!(is_json("application/json; charset=utf-8"));
        assert!(!is_json("text/plain;application/json"));
        assert!(!is_json(""));
    }
}
