//! Walks a JSON value beside the protobuf descriptor that says what each part of it is.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

/// The field that a JSON key stands for, in camelCase or in snake_case.
pub(super) fn field(message: &MessageDescriptor, key: &str) -> Option<FieldDescriptor> {
    message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key))
}

/// Calls `visit` with every value of a field and its kind: the elements of a list, the values of a map, or the value itself.
///
/// A `null` in place of the field's value means that the field is absent, and is left alone.
pub(super) fn each_value(value: &mut Value, field: &FieldDescriptor, visit: impl Fn(&mut Value, &Kind)) {
    match (value, field.kind()) {
        (Value::Object(entries), Kind::Message(entry)) if field.is_map() => {
            let kind = entry.map_entry_value_field().kind();
            entries.values_mut().for_each(|value| visit(value, &kind));
        }
        (Value::Array(elements), kind) if field.is_list() => elements.iter_mut().for_each(|value| visit(value, &kind)),
        (Value::Null, _) => {}
        (value, kind) => visit(value, &kind),
    }
}

/// Puts the entries of all map fields in the order of their keys; protobuf keeps none.
pub(super) fn sort_maps(value: &mut Value, message: &MessageDescriptor) {
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        let Some(field) = field(message, key) else { continue };
        if let Value::Object(entries) = value
            && field.is_map()
        {
            entries.sort_keys();
        }
        each_value(value, &field, |value, kind| {
            if let Kind::Message(message) = kind {
                sort_maps(value, message);
            }
        });
    }
}
