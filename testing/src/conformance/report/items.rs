//! Reports new items, pending calls, usage and the findings of guardrails.

use serde_json::{Map, Value, json};
use temporal_agents::wire::{
    GuardrailResults, InputGuardrailResult, InputTokensDetails, Interruption, NewItem, OutputGuardrailResult,
    OutputTokensDetails, ToolGuardrailResult, Usage,
};
use temporal_agents_core::wire::run_state::HandoffEnds;

/// Reports the items of a run.
pub(super) fn new_items(items: &[NewItem]) -> Value {
    items.iter().map(new_item).collect()
}

fn new_item(item: &NewItem) -> Value {
    let NewItem { kind, agent, raw, handoff, .. } = item;
    let mut reported = json!({"type": kind, "agent": agent, "raw": raw});
    if let Some(HandoffEnds { source, target }) = handoff {
        reported["source_agent"] = source.as_str().into();
        reported["target_agent"] = target.as_str().into();
    }
    reported
}

/// Reports the calls that wait for decisions.
pub(super) fn interruptions(pending: &[Interruption]) -> Value {
    let reported = |interruption: &Interruption| {
        let Interruption { agent, tool, raw, .. } = interruption;
        json!({"agent": agent, "tool_name": tool, "raw": raw})
    };
    pending.iter().map(reported).collect()
}

/// Reports the usage of a run.
pub(super) fn usage(usage: &Usage) -> Value {
    let Usage {
        requests, input_tokens, input_tokens_details, output_tokens, output_tokens_details, total_tokens, ..
    } = usage;
    let InputTokensDetails { cached_tokens, cache_write_tokens, .. } = input_tokens_details;
    let OutputTokensDetails { reasoning_tokens, .. } = output_tokens_details;
    json!({
        "requests": requests,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": total_tokens,
        "cached_tokens": cached_tokens,
        "cache_write_tokens": cache_write_tokens,
        "reasoning_tokens": reasoning_tokens,
    })
}

/// Reports the four lists of findings, as members of an outcome.
pub(super) fn guardrail_results(results: &GuardrailResults) -> Map<String, Value> {
    let GuardrailResults { input, output, tool_input, tool_output, .. } = results;
    Map::from_iter([
        ("input_guardrail_results".to_owned(), input.iter().map(input_result).collect()),
        ("output_guardrail_results".to_owned(), output.iter().map(output_result).collect()),
        ("tool_input_guardrail_results".to_owned(), tool_input.iter().map(tool_result).collect()),
        ("tool_output_guardrail_results".to_owned(), tool_output.iter().map(tool_result).collect()),
    ])
}

/// Reports the finding of an input guardrail.
pub(super) fn input_result(result: &InputGuardrailResult) -> Value {
    let InputGuardrailResult { guardrail, tripwire_triggered, output_info, .. } = result;
    json!({"guardrail": guardrail, "tripwire_triggered": tripwire_triggered, "output_info": output_info})
}

/// Reports the finding of an output guardrail.
pub(super) fn output_result(result: &OutputGuardrailResult) -> Value {
    let OutputGuardrailResult { guardrail, agent, agent_output, tripwire_triggered, output_info, .. } = result;
    json!({
        "guardrail": guardrail,
        "agent": agent,
        "agent_output": agent_output,
        "tripwire_triggered": tripwire_triggered,
        "output_info": output_info,
    })
}

fn tool_result(result: &ToolGuardrailResult) -> Value {
    let ToolGuardrailResult { guardrail, behavior, output_info, .. } = result;
    json!({"guardrail": guardrail, "behavior": behavior, "output_info": output_info})
}
