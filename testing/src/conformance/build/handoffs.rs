//! Builds handoffs, their typed inputs and their filters.

use serde_json::{Map, Value};
use temporal_agents::{Handoff, agent::HandoffInputFilter, wire::NewItemKind};

use super::{BuildError, Cast, agents::Walk};
use crate::conformance::format::{self, Enabled, HandoffFilter, HandoffOptions};

/// Builds the handoff: to the agent itself if the walk visits it here for the first time, and
/// otherwise to its name.
pub(super) fn handoff<'s>(
    cast: &Cast<'s>,
    spec: &'s format::Handoff,
    walk: &mut Walk<'s>,
) -> Result<Handoff, BuildError> {
    match spec {
        format::Handoff::Plain(key) => to(cast, key, walk),
        format::Handoff::With(options) => {
            let handoff = to(cast, &options.agent, walk)?;
            Ok(with_options(cast, handoff, options))
        }
    }
}

fn to<'s>(cast: &Cast<'s>, key: &'s str, walk: &mut Walk<'s>) -> Result<Handoff, BuildError> {
    if walk.has_met(key) {
        return Ok(Handoff::to(&*cast.spec(key)?.name));
    }
    cast.visit(key, walk).map(Handoff::to_agent)
}

fn with_options(cast: &Cast<'_>, mut handoff: Handoff, options: &HandoffOptions) -> Handoff {
    let HandoffOptions {
        agent: _,
        tool_name,
        tool_description,
        input_schema,
        on_handoff_raises,
        input_filter,
        nest_handoff_history,
        is_enabled,
    } = options;
    if let Some(name) = tool_name {
        handoff = handoff.tool_name(name);
    }
    if let Some(description) = tool_description {
        handoff = handoff.tool_description(description);
    }
    handoff = match (input_schema, on_handoff_raises.clone()) {
        (Some(schema), raises) => typed(cast, handoff, schema, raises),
        (None, Some(text)) => handoff.on_taken(move |_run| Err(text.clone().into())),
        (None, None) => handoff,
    };
    if let Some(filter) = input_filter {
        handoff = handoff.input_filter(input_filter_of(*filter));
    }
    if let Some(nests) = nest_handoff_history {
        handoff = handoff.nest_history(*nests);
    }
    match is_enabled.clone() {
        None | Some(Enabled::Always(true)) => handoff,
        Some(enabled) => handoff.enabled_when(move |run, _agent| enabled.holds(run)),
    }
}

/// Adds a typed input to the handoff, which the witness records.
fn typed(cast: &Cast<'_>, handoff: Handoff, schema: &Value, raises: Option<String>) -> Handoff {
    let (witness, name) = (cast.witness().clone(), handoff.name());
    let members: Vec<String> = schema["properties"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
    handoff.on_handoff_with_schema(schema.clone(), move |_run, input| {
        witness.took_handoff(&name, as_struct(&members, input));
        raises.clone().map_or(Ok(()), |text| Err(text.into()))
    })
}

/// Converts an input to the value that a function with a typed parameter sees: the members of the
/// type and no others, with null for an absent member.
fn as_struct(members: &[String], input: Value) -> Value {
    match input {
        Value::Object(mut given) if !members.is_empty() => {
            let member = |name: &String| (name.clone(), given.remove(name).unwrap_or_default());
            Value::Object(members.iter().map(member).collect())
        }
        other => other,
    }
}

/// Returns the filter of this name.
pub(super) fn input_filter_of(filter: HandoffFilter) -> HandoffInputFilter {
    match filter {
        HandoffFilter::RemoveAllTools => HandoffInputFilter::remove_all_tools(),
        HandoffFilter::NestHandoffHistory => HandoffInputFilter::nest_history(),
        HandoffFilter::DropHistory => HandoffInputFilter::new(|mut data| {
            data.input_history.clear();
            data.pre_handoff_items.clear();
            data
        }),
        HandoffFilter::HideNewItems => HandoffInputFilter::new(|mut data| {
            data.input_items = Some(Vec::new());
            data
        }),
        HandoffFilter::KeepMessages => HandoffInputFilter::new(|mut data| {
            data.input_history.retain(|item| item.get("role").is_some());
            data.pre_handoff_items.retain(|item| item.kind == NewItemKind::MessageOutput);
            data.new_items.retain(|item| item.kind == NewItemKind::MessageOutput);
            data
        }),
    }
}
