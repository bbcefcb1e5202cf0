//! The schemas of the types in requests and answers.
//!
//! A type that is read and written may have two: what a request may leave out can be present in
//! every answer. The one of requests then has a name of its own.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The place of the schemas in the document.
const PLACE: &str = "/components/schemas";
/// The place of the schemas of requests, until their names are known to differ.
const PLACE_OF_REQUESTS: &str = "/components/requests";

/// The schemas of the document so far.
pub(in crate::http) struct Schemas {
    written: SchemaGenerator,
    read: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings =
            |place: &'static str| SchemaSettings::draft2020_12().with(|it| it.definitions_path = place.into());
        Self {
            written: settings(PLACE).for_serialize().into_generator(),
            read: settings(PLACE_OF_REQUESTS).for_deserialize().into_generator(),
        }
    }

    /// Returns the schema of a type that the service writes.
    pub(in crate::http) fn written<T: JsonSchema>(&mut self) -> Value {
        self.written.subschema_for::<T>().to_value()
    }

    /// Returns the schema of a type that the service reads.
    pub(super) fn read<T: JsonSchema>(&mut self) -> Value {
        self.read.subschema_for::<T>().to_value()
    }

    /// Returns the members of a type that the service reads from a query.
    pub(super) fn members<T: JsonSchema>(&mut self) -> (Map<String, Value>, Vec<String>) {
        // The schemas that it refers to are among those of requests.
        let schema = T::json_schema(&mut self.read).to_value();
        let members = schema["properties"].as_object().cloned().unwrap_or_default();
        let required = schema["required"].as_array().into_iter().flatten();
        (members, required.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Returns all schemas by name.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        let mut schemas = self.written.take_definitions(true);
        for (name, schema) in self.read.take_definitions(true) {
            schemas.insert(format!("{name}{OF_REQUEST}"), schema);
        }
        schemas
    }
}

/// End of the names of the schemas of requests.
const OF_REQUEST: &str = "OfRequest";

/// Gives the references in a part of the document their final form.
pub(super) fn with_final_references(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| match value.as_str().and_then(|text| reference(&name, text)) {
                    Some(reference) => (name, json!(reference)),
                    None => (name, with_final_references(value)),
                })
                .collect(),
        ),
        Value::Array(values) => values.into_iter().map(with_final_references).collect(),
        other => other,
    }
}

fn reference(name: &str, text: &str) -> Option<String> {
    let rest = text.strip_prefix('#')?.strip_prefix(PLACE_OF_REQUESTS)?.strip_prefix('/')?;
    (name == "$ref").then(|| format!("#{PLACE}/{rest}{OF_REQUEST}"))
}
