//! The settings of a request, without those that its model is known to refuse.
//!
//! A setting that a model refuses fails every call, and an agent whose model is replaced by another
//! one seldom knows. So what is known to be refused is left out, and logged once.

use serde_json::{Value, json};
use temporal_agents_core::wire::{Definitions, ModelSettings, ToolChoice};

use super::{
    Changes,
    families::{ClaudeVersion, EffortWithTools, ModelFamily, Sampling},
    rules::{ApiRules, ConversationForm},
};

const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// Removes the settings that the model refuses, and adds those that it needs.
pub(super) fn rewrite(rules: &ApiRules, family: &ModelFamily, definitions: &mut Definitions, changes: &mut Changes) {
    let has_tools = !definitions.tools.is_empty() || !definitions.handoffs.is_empty();
    let settings = &mut definitions.settings;
    // A prompt template and the extra members of a body may have tools of their own.
    let has_other_tools =
        definitions.prompt.is_some() || settings.extra_body.is_some() || settings.extra_args.is_some();
    if !has_tools && !has_other_tools && settings.tool_choice.take().is_some() {
        changes.add("`tool_choice` is left out: there are no tools".to_owned());
    }
    if family.refuses_effort {
        leave_out(&mut settings.reasoning, "reasoning", changes);
    }
    if rules.form == ConversationForm::Messages && has_tools {
        match family.effort_with_tools {
            EffortWithTools::Accepted => {}
            EffortWithTools::Refused => leave_out(&mut settings.reasoning, "reasoning", changes),
            EffortWithTools::OnlyNone => {
                let none = json!({"effort": "none"});
                if settings.reasoning.as_ref().is_some_and(|reasoning| *reasoning != none) {
                    changes
                        .add("`reasoning.effort` is `none`: the model refuses others together with tools".to_owned());
                }
                settings.reasoning = Some(none);
            }
        }
    }
    if !accepts_sampling(family, settings) {
        leave_out(&mut settings.temperature, "temperature", changes);
        leave_out(&mut settings.top_p, "top_p", changes);
        leave_out(&mut settings.frequency_penalty, "frequency_penalty", changes);
        leave_out(&mut settings.presence_penalty, "presence_penalty", changes);
        leave_out(&mut settings.top_logprobs, "top_logprobs", changes);
    }
    if family.refuses_penalties {
        leave_out(&mut settings.frequency_penalty, "frequency_penalty", changes);
        leave_out(&mut settings.presence_penalty, "presence_penalty", changes);
    }
    if family.reasons == Some(false) {
        if let Some(include) = &mut settings.response_include {
            include.retain(|part| part != ENCRYPTED_REASONING);
        }
    } else if rules.form == ConversationForm::Items && family.reasons == Some(true) && settings.store == Some(false) {
        // Without it, the reasoning of a response that is not stored cannot be sent back.
        let include = settings.response_include.get_or_insert_default();
        if !include.iter().any(|part| part == ENCRYPTED_REASONING) {
            include.push(ENCRYPTED_REASONING.to_owned());
        }
    }
    if let Some(version) = family.claude {
        rewrite_for_claude(version, settings, changes);
    }
}

/// Removes what Claude models refuse together, or since a version.
fn rewrite_for_claude(version: ClaudeVersion, settings: &mut ModelSettings, changes: &mut Changes) {
    let forces_tool = matches!(settings.tool_choice, Some(ToolChoice::Required | ToolChoice::Tool(_)));
    // Opus 5.5, Sonnet 5.5 and Fable 5.1 refuse a choice that forces a call.
    if forces_tool && version >= (5, 5) {
        leave_out(&mut settings.tool_choice, "tool_choice", changes);
    }
    // Later models think adaptively, which may be combined with any choice.
    let has_budget = settings.reasoning.as_ref().is_some_and(|reasoning| !reasoning["budget_tokens"].is_null());
    if forces_tool && (version < (4, 6) || has_budget && version < (4, 7)) {
        leave_out(&mut settings.reasoning, "reasoning", changes);
    }
    if version >= (4, 7) {
        leave_out(&mut settings.temperature, "temperature", changes);
        leave_out(&mut settings.top_p, "top_p", changes);
        return;
    }
    if settings.reasoning.as_ref().is_some_and(turns_thinking_on) {
        leave_out(&mut settings.temperature, "temperature", changes);
    }
    if version >= (4, 1) && settings.temperature.is_some() {
        leave_out(&mut settings.top_p, "top_p", changes);
    }
}

/// Returns `true` if a Claude model before 4.7 thinks with these settings.
fn turns_thinking_on(reasoning: &Value) -> bool {
    let effort = reasoning["effort"].as_str();
    effort.is_some_and(|effort| effort != "none") || !reasoning["budget_tokens"].is_null()
}

fn accepts_sampling(family: &ModelFamily, settings: &ModelSettings) -> bool {
    let effort = settings.reasoning.as_ref().and_then(|reasoning| reasoning.get("effort")).and_then(Value::as_str);
    match family.sampling {
        Sampling::Accepted => true,
        Sampling::WithoutReasoning => effort.is_none_or(|effort| effort == "none"),
        Sampling::IfReasoningIsOff => effort == Some("none"),
        Sampling::Refused => false,
    }
}

fn leave_out<T>(setting: &mut Option<T>, name: &str, changes: &mut Changes) {
    if setting.take().is_some() {
        changes.add(format!("`{name}` is left out: the model refuses it"));
    }
}
