//! The functions and the output type of a request, as its API accepts them.
//!
//! # Design
//! **Strict is an offer.** A function is strict while its own schema fits and the limits of the
//! request hold: the output type first, because nothing checks it before it is the answer, then the
//! functions in their order. All others are sent with their whole schema and without `strict`. So
//! one odd function costs itself its guarantee, and never the request.

use serde_json::Value;
use temporal_agents_core::{
    tool::name::{is_function_name, to_function_name},
    wire::{Definitions, OutputSpec, Schema, ToolSpec},
};

use super::{
    Changes,
    families::ModelFamily,
    rules::{ApiRules, OutputForm, RequestLimits, StrictRules},
    schema::{Measures, fit, measure, sound},
};

/// Rewrites the functions and the output type to what the API accepts.
pub(super) fn rewrite(rules: &ApiRules, family: &ModelFamily, definitions: &mut Definitions, changes: &mut Changes) {
    let mut left = rules.strict.as_ref().map_or(NOTHING, |strict| strict.of_request);
    rewrite_output(rules, family, definitions, &mut left, changes);
    for tool in &mut definitions.tools {
        if let ToolSpec::Function { name, parameters, strict, .. } = tool {
            rewrite_function(rules, name, parameters, strict, &mut left, changes);
        }
    }
    for handoff in &mut definitions.handoffs {
        let schema = &mut handoff.input_json_schema;
        rewrite_function(rules, &handoff.tool_name, schema, &mut handoff.strict, &mut left, changes);
    }
}

const NOTHING: RequestLimits = RequestLimits { tools: 0, optional: 0, unions: 0 };

fn rewrite_function(
    rules: &ApiRules,
    name: &str,
    parameters: &mut Schema,
    strict: &mut bool,
    left: &mut RequestLimits,
    changes: &mut Changes,
) {
    let sound = sound(parameters);
    if *strict && let Some(rules) = &rules.strict {
        let has_room = left.tools > 0;
        match has_room.then(|| strict_form(rules, &sound, left)).flatten() {
            Some(schema) => {
                left.tools -= 1;
                *parameters = schema.into();
                return;
            }
            None => {
                changes.add(format!("function {name:?} is not strict: strict mode does not support its schema, or the request has too many strict schemas"));
            }
        }
    }
    *strict = false;
    *parameters = fit(&sound, &rules.schemas).into();
}

fn rewrite_output(
    rules: &ApiRules,
    family: &ModelFamily,
    definitions: &mut Definitions,
    left: &mut RequestLimits,
    changes: &mut Changes,
) {
    let has_functions = !definitions.tools.is_empty() || !definitions.handoffs.is_empty();
    let Some(output) = &mut definitions.output else { return };
    let OutputSpec { name, schema, strict } = output;
    if !is_function_name(name) {
        *name = to_function_name(name);
    }
    let sound = sound(schema);
    if (*strict || rules.output == OutputForm::StrictOrInstructions)
        && let Some(strict_rules) = &rules.strict
        && let Some(form) = strict_form(strict_rules, &sound, left)
    {
        *schema = form.into();
        return;
    }
    if *strict && rules.output == OutputForm::StrictOrLenient {
        changes.add(format!("the output type {name:?} is not strict: strict mode does not support its schema"));
    }
    let is_refused_beside_functions =
        rules.output == OutputForm::AsFunctions && has_functions && family.gemini.is_some_and(|version| version < 3);
    if rules.output == OutputForm::StrictOrInstructions || is_refused_beside_functions {
        changes.add(format!(
            "the output type {name:?} is described in the instructions: this API does not accept it as a schema here"
        ));
        let rule = format!(
            "Answer only with a JSON value, without Markdown, that conforms to this JSON schema:\n{}",
            **schema
        );
        let instructions = definitions.instructions.take().filter(|text| !text.trim().is_empty());
        definitions.instructions = Some(match instructions {
            Some(instructions) => format!("{instructions}\n\n{rule}"),
            None => rule,
        });
        definitions.output = None;
        return;
    }
    *strict = *strict && rules.output == OutputForm::AsFunctions;
    *schema = fit(&sound, &rules.schemas).into();
}

/// Returns the strict form of a schema, and subtracts it from the limits. `None` if it does not fit.
fn strict_form(rules: &StrictRules, schema: &Value, left: &mut RequestLimits) -> Option<Value> {
    let form = fit(schema, &rules.schemas);
    let measures = measure(&form);
    if !fits(rules, &measures) {
        return None;
    }
    let optional = left.optional.checked_sub(measures.optional)?;
    let unions = left.unions.checked_sub(measures.unions)?;
    *left = RequestLimits { optional, unions, ..*left };
    Some(form)
}

fn fits(rules: &StrictRules, measures: &Measures) -> bool {
    let Measures {
        optional,
        unions: _, // counted for the whole request
        properties,
        depth,
        enum_values,
        long_enum_chars,
        chars,
        is_recursive,
        is_open,
        is_vague,
    } = *measures;
    let limits = &rules.of_schema;
    !is_open
        && !is_vague
        && (rules.accepts_recursion || !is_recursive)
        && (!rules.requires_all || optional == 0)
        && properties <= limits.properties
        && depth <= limits.depth
        && enum_values <= limits.enum_values
        && long_enum_chars <= limits.long_enum_chars
        && chars <= limits.chars
}
