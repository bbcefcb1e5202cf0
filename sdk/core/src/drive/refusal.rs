//! The reasons for which a decision on a question is refused: it does not fit the kind of the call,
//! or the output is invalid or too large.

use serde_json::{Map, Value};

use crate::{
    tool::schema::{parse_arguments_with, validate_earlier_keywords},
    wire::{
        AGENT_SUPPLY_OUTPUT, AgentInterruption, Verdict,
        run_state::InterruptionKind,
        size::{MOST_BYTES, encoded_len},
    },
};

/// Returns the reason why this call cannot be decided in this way, if there is one.
pub fn refusal(asked: &AgentInterruption, decision: &Verdict) -> Option<String> {
    let tool = &asked.tool;
    match decision {
        Verdict::Approve | Verdict::ApproveWith { .. } if asked.kind == InterruptionKind::Output => Some(format!(
            "tool {tool:?} runs at the caller: supply its output ({AGENT_SUPPLY_OUTPUT}), or reject the call"
        )),
        Verdict::Approve | Verdict::ApproveWith { .. } if asked.kind == InterruptionKind::Input => Some(format!(
            "an MCP server requests input during this call of tool {tool:?}: supply the answer \
             ({AGENT_SUPPLY_OUTPUT}), or reject the call"
        )),
        Verdict::ApproveWith { arguments } => edited(asked, arguments),
        Verdict::SupplyOutput { output } if asked.kind == InterruptionKind::Input => {
            let schema = asked.question.as_ref().map(|question| &question.schema)?;
            // Only the keywords of JSON Schema that earlier builds checked, so that a decision that
            // they accepted stays accepted on replay. The MCP server checks the others.
            let invalid = parse_arguments_with(validate_earlier_keywords, tool, output, schema).err()?;
            let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
            Some(
                format!("the answer does not match the requested schema: {invalid} {}", issues.join("; "))
                    .trim_end()
                    .to_owned(),
            )
        }
        Verdict::SupplyOutput { output } => match &asked.server {
            Some(server) => {
                Some(format!("MCP server {server:?} makes this call itself once it is approved: approve or reject it"))
            }
            None if output.len() > MOST_BYTES => Some(format!(
                "the output of tool {tool:?} is {} bytes, the limit is {MOST_BYTES}: supply a shorter output, or a \
                 reference to it",
                output.len()
            )),
            None => None,
        },
        Verdict::Approve | Verdict::Reject { .. } => None,
    }
}

/// Returns the reason why this call cannot be made with these arguments, if there is one.
fn edited(asked: &AgentInterruption, arguments: &Map<String, Value>) -> Option<String> {
    if let Some(server) = &asked.server {
        return Some(format!(
            "MCP server {server:?} makes this call itself, with the arguments that the model wrote: approve or reject \
             it"
        ));
    }
    let bytes = encoded_len(arguments).unwrap_or(usize::MAX);
    (bytes > MOST_BYTES)
        .then(|| format!("the arguments of tool {:?} are {bytes} bytes, the limit is {MOST_BYTES}", asked.tool))
}
