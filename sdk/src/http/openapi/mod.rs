//! The OpenAPI description of the service, and the router, from one table of routes.
//!
//! # Design
//! **Made from the handlers' own types.** [`Api`] is the only place where a path is added, and it
//! adds it to the router and to the description together, so no route can be missing. The
//! description of an operation comes from the signature of its handler (`described.rs`): bodies,
//! queries, headers and answers are the types that the handler really reads and returns.
//!
//! **No crate for it.** `schemars`, which the tools use already, writes the dialect of OpenAPI 3.1.
//! `utoipa` would need a second derive on each type and an attribute on each handler, which repeats
//! its types by hand and can be wrong; `aide` reads signatures as this does, at the price of some
//! 30 crates and of its own versions of axum and schemars.

mod described;
mod schemas;

use std::sync::Arc;

use axum::{
    Router,
    handler::Handler,
    routing::{MethodRouter, delete, get, post, put},
};
use serde_json::{Map, Value, json};

use self::{described::Described, schemas::with_final_references};
pub(super) use self::{
    described::{Accepted, Acknowledged, Answer, Created, Header, Operation, Read, StreamIfAny},
    schemas::Schemas,
};
use super::service::Shared;

/// Routes with their description.
pub(super) struct Api {
    router: Router<Arc<Shared>>,
    paths: Map<String, Value>,
    schemas: Schemas,
}

impl Api {
    pub(super) fn new() -> Self {
        Self { router: Router::new(), paths: Map::new(), schemas: Schemas::new() }
    }

    /// Adds a path that is read.
    pub(super) fn get<H, T, A>(self, path: &str, (id, summary): (&str, &str), handler: H) -> Self
    where
        H: Handler<T, Arc<Shared>> + Described<A>,
        T: 'static,
    {
        self.route::<H, A>("get", path, (id, summary), get(handler))
    }

    /// Adds a path that acts.
    pub(super) fn post<H, T, A>(self, path: &str, (id, summary): (&str, &str), handler: H) -> Self
    where
        H: Handler<T, Arc<Shared>> + Described<A>,
        T: 'static,
    {
        self.route::<H, A>("post", path, (id, summary), post(handler))
    }

    /// Adds a path that stores.
    pub(super) fn put<H, T, A>(self, path: &str, (id, summary): (&str, &str), handler: H) -> Self
    where
        H: Handler<T, Arc<Shared>> + Described<A>,
        T: 'static,
    {
        self.route::<H, A>("put", path, (id, summary), put(handler))
    }

    /// Adds a path that removes.
    pub(super) fn delete<H, T, A>(self, path: &str, (id, summary): (&str, &str), handler: H) -> Self
    where
        H: Handler<T, Arc<Shared>> + Described<A>,
        T: 'static,
    {
        self.route::<H, A>("delete", path, (id, summary), delete(handler))
    }

    fn route<H: Described<A>, A>(
        mut self,
        method: &str,
        path: &str,
        (id, summary): (&str, &str),
        handler: MethodRouter<Arc<Shared>>,
    ) -> Self {
        let mut operation = Operation::default();
        H::describe(&mut operation, &mut self.schemas);
        let mut json = operation.into_json(path, &mut self.schemas);
        json.insert("operationId".to_owned(), json!(id));
        json.insert("summary".to_owned(), json!(summary));
        let item = self.paths.entry(path).or_insert_with(|| json!({}));
        item[method] = Value::Object(json);
        Self { router: self.router.route(path, handler), paths: self.paths, schemas: self.schemas }
    }

    /// Returns the router and the description.
    pub(super) fn finish(self) -> (Router<Arc<Shared>>, Value) {
        let Self { router, paths, schemas } = self;
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Runs of agents",
                "version": env!("CARGO_PKG_VERSION"),
                "license": {"name": "MIT OR Apache-2.0"},
            },
            "servers": [{"url": "/"}],
            // A service without an access policy needs no token.
            "security": [{}, {"bearer": []}],
            "paths": paths,
            "components": {
                "schemas": schemas.finish(),
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            },
        });
        (router, with_final_references(document))
    }
}
