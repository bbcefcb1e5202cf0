//! Traverses a JSON value together with the protobuf descriptor that defines the type of each part.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;

/// Returns the field for a JSON key, in camelCase or in snake_case.
pub(super) fn field(message: &MessageDescriptor, key: &str) -> Option<FieldDescriptor> {
    message.get_field_by_json_name(key).or_else(|| message.get_field_by_name(key))
}

/// Calls `visit` with every value of a field and its kind: the elements of a list, the values of a
/// map, or the value itself.
///
/// A `null` in place of the field's value means that the field is absent, and is skipped.
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

/// Sorts the entries of all map fields by key, since protobuf does not preserve their order.
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
