//! The JSON schemas of values whose JSON is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{
    event::{Common, EventKind, RunEvent},
    item::Item,
    version::WireVersion,
};

impl JsonSchema for Item {
    fn schema_name() -> Cow<'static, str> {
        "Item".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A conversation item: an input or output item of the OpenAI Responses API.",
            "type": "object",
        })
    }
}

impl JsonSchema for WireVersion {
    fn schema_name() -> Cow<'static, str> {
        "WireVersion".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A version of the wire contract.",
            "type": "string",
            "pattern": "^[0-9]+\\.[0-9]+$",
        })
    }
}

impl JsonSchema for RunEvent {
    fn schema_name() -> Cow<'static, str> {
        "RunEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An event of a run: a fact, or a delta. Later releases have more kinds and members.",
            "allOf": [generator.subschema_for::<Common>(), generator.subschema_for::<EventKind>()],
        })
    }
}
