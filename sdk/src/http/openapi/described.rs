//! The description of an operation, from the types in the signature of its handler.

use std::sync::Arc;

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schemas::Schemas;
use crate::http::{
    access::Caller,
    error::{ApiError, ErrorBody},
    runs::LastEventId,
    service::Shared,
    sse::EventStream,
};

/// The parts of an operation's description.
#[derive(Debug, Default)]
pub(in crate::http) struct Operation {
    parameters: Vec<Value>,
    body: Option<Value>,
    responses: Map<String, Value>,
}

/// A header that an operation reads.
pub(in crate::http) struct Header {
    pub(in crate::http) name: &'static str,
    pub(in crate::http) description: &'static str,
}

impl Operation {
    pub(in crate::http) fn header(&mut self, header: &Header) {
        self.parameters.push(json!({
            "name": header.name, "in": "header", "required": false, "schema": {"type": "string"},
            "description": header.description,
        }));
    }

    pub(in crate::http) fn response(&mut self, status: StatusCode, description: &str, content: Option<(&str, Value)>) {
        let mut response = json!({"description": description});
        if let Some((kind, schema)) = content {
            response["content"] = json!({kind: {"schema": schema}});
        }
        self.responses.insert(status.as_u16().to_string(), response);
    }

    /// Returns the description as JSON, with the parameters that the path names.
    pub(super) fn into_json(self, path: &str, schemas: &mut Schemas) -> Map<String, Value> {
        let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let of_path =
            names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        let parameters: Vec<Value> = of_path.chain(self.parameters).collect();
        let mut responses = self.responses;
        let error = json!({"application/json": {"schema": schemas.written::<ErrorBody>()}});
        responses.insert("default".to_owned(), json!({"description": "The request was refused.", "content": error}));
        let mut json = Map::new();
        if !parameters.is_empty() {
            json.insert("parameters".to_owned(), json!(parameters));
        }
        if let Some(body) = self.body {
            let content = json!({"application/json": {"schema": body}});
            json.insert("requestBody".to_owned(), json!({"required": true, "content": content}));
        }
        json.insert("responses".to_owned(), Value::Object(responses));
        json
    }
}

/// A handler whose signature describes its operation.
pub(in crate::http) trait Described<Arguments> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas);
}

/// A part of a request that a handler reads.
pub(in crate::http) trait Read {
    fn describe(_operation: &mut Operation, _schemas: &mut Schemas) {}
}

/// An answer of a handler.
pub(in crate::http) trait Answer {
    fn describe(operation: &mut Operation, schemas: &mut Schemas);
}

macro_rules! described {
    ($($argument:ident),*) => {
        impl<F, Answered, $($argument,)*> Described<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> Answered,
            Answered: Future,
            Answered::Output: Answer,
            $($argument: Read,)*
        {
            fn describe(operation: &mut Operation, schemas: &mut Schemas) {
                $(<$argument as Read>::describe(operation, schemas);)*
                <Answered::Output as Answer>::describe(operation, schemas);
            }
        }
    };
}

described!(A);
described!(A, B);
described!(A, B, C);
described!(A, B, C, D);
described!(A, B, C, D, E);

impl Read for State<Arc<Shared>> {}
impl Read for Extension<Caller> {}
/// The path itself has the names.
impl<T> Read for Path<T> {}

impl<T: JsonSchema> Read for Json<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.body = Some(schemas.read::<T>());
    }
}

impl<T: JsonSchema> Read for Query<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        let (members, required) = schemas.members::<T>();
        for (name, mut schema) in members {
            let is_required = required.contains(&name);
            let mut parameter = json!({"name": name, "in": "query", "required": is_required});
            let description = schema.as_object_mut().and_then(|schema| schema.shift_remove("description"));
            if let Some(description) = description {
                parameter["description"] = description;
            }
            parameter["schema"] = schema;
            operation.parameters.push(parameter);
        }
    }
}

impl Read for LastEventId {
    fn describe(operation: &mut Operation, _schemas: &mut Schemas) {
        let description = "Cursor of the latest event that the reader has; goes before `from`.";
        operation.header(&Header { name: "Last-Event-ID", description });
    }
}

impl<T: JsonSchema> Answer for Json<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.response(StatusCode::OK, "The answer.", Some(("application/json", schemas.written::<T>())));
    }
}

impl<T: JsonSchema> Answer for EventStream<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        let content = Some(("text/event-stream", schemas.written::<T>()));
        operation.response(StatusCode::OK, "Events, each with this value as its data.", content);
    }
}

/// All operations have the answer of a refused request.
impl<T: Answer> Answer for Result<T, ApiError> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        T::describe(operation, schemas);
    }
}

/// An answer with status 201.
pub(in crate::http) struct Created<T>(pub(in crate::http) T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl<T: JsonSchema> Answer for Created<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.response(StatusCode::CREATED, "Created.", Some(("application/json", schemas.written::<T>())));
    }
}

/// An answer with status 202.
pub(in crate::http) struct Accepted<T>(pub(in crate::http) T);

impl<T: Serialize> IntoResponse for Accepted<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

impl<T: JsonSchema> Answer for Accepted<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.response(StatusCode::ACCEPTED, "Accepted.", Some(("application/json", schemas.written::<T>())));
    }
}

/// An answer with status 202 and no content.
pub(in crate::http) struct Acknowledged;

impl IntoResponse for Acknowledged {
    fn into_response(self) -> Response {
        StatusCode::ACCEPTED.into_response()
    }
}

impl Answer for Acknowledged {
    fn describe(operation: &mut Operation, _schemas: &mut Schemas) {
        operation.response(StatusCode::ACCEPTED, "Accepted.", None);
    }
}

/// A stream, or status 204.
pub(in crate::http) struct StreamIfAny<T>(pub(in crate::http) Option<EventStream<T>>);

impl<T> IntoResponse for StreamIfAny<T> {
    fn into_response(self) -> Response {
        self.0.map_or_else(|| StatusCode::NO_CONTENT.into_response(), IntoResponse::into_response)
    }
}

impl<T: JsonSchema> Answer for StreamIfAny<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        EventStream::<T>::describe(operation, schemas);
        operation.response(StatusCode::NO_CONTENT, "Nothing is running.", None);
    }
}
