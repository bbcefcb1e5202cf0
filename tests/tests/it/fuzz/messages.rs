//! Messages of the wire contract: the golden files of all versions, changed.

use serde::{Serialize, de::DeserializeOwned};
use temporal_agents::wire::{
    AgentDecision, AgentReport, AgentRequest, AgentSpec, AgentState, ApprovalRequest, ApprovalRuling, Carried,
    ChatMessage, ChatReply, ChatRequest, ChatTranscript, DecisionReply, ModelFailureDetails, ModelReply, ModelRequest,
    RunEvent, RunState, SessionCheckpoint, SuppliedOutput, ToolReply, ToolRequest,
};
use temporal_agents_core::wire::{
    asked_questions::AskedQuestions,
    carried::{KeepStateReply, KeepStateRequest, LoadStateReply, LoadStateRequest},
    conversation::RecordRequest,
    delta_window::DeltaWindow,
    event::RunNote,
    failure::ConversationUnavailable,
    find_toolsets::{FindToolsetsReply, FindToolsetsRequest},
    kept_decision::{KeptDecisionsReply, KeptDecisionsRequest},
    load_agent::{LoadAgentReply, LoadAgentRequest},
    mcp_call::{McpReply, McpRequest},
    nexus_endpoint::{NexusEndpointReply, NexusEndpointRequest},
    session_call::{SessionReply, SessionRequest},
    session_checkpoint::KeptCheckpoint,
    tool_batch::{ToolBatchDetails, ToolBatchReply, ToolBatchRequest},
    tool_error::FailureDetail,
};

use super::{
    cases::check,
    documents::{Document, documents, golden_messages},
};

const CASES: u32 = 1000;
/// A default that is written out, an escape that is longer than what it stands for: what is written is so many times what was read at most.
const GROWTH: usize = 8;
/// And so many bytes on top.
const DEFAULTS: usize = 4096;

#[test]
fn changed_messages_are_read_as_they_are_written_or_refused() -> anyhow::Result<()> {
    check(CASES, &documents(golden_messages()), |document| read(&document))
}

/// Reads a document as the message that it was.
fn read(document: &Document) -> anyhow::Result<()> {
    let message = document.name.split(['-', '.']).next().unwrap_or_default();
    let text = &*document.text;
    match message {
        "agent_decision" => stable::<AgentDecision>(text),
        "agent_report" => stable::<AgentReport>(text),
        "agent_request" => stable::<AgentRequest>(text),
        "asked_questions" => stable::<AskedQuestions>(text),
        "run_event" => stable::<RunEvent>(text),
        "run_note" => stable::<RunNote>(text),
        "agent_state" => stable::<AgentState>(text),
        "approval_request" => stable::<ApprovalRequest>(text),
        "approval_ruling" => stable::<ApprovalRuling>(text),
        "carried" => stable::<Carried>(text),
        "chat_message" => stable::<ChatMessage>(text),
        "chat_reply" => stable::<ChatReply>(text),
        "chat_request" => stable::<ChatRequest>(text),
        "chat_transcript" => stable::<ChatTranscript>(text),
        "conversation_unavailable" => stable::<ConversationUnavailable>(text),
        "delta_window" => stable::<DeltaWindow>(text),
        "decision_reply" => stable::<DecisionReply>(text),
        "keep_state_reply" => stable::<KeepStateReply>(text),
        "keep_state_request" => stable::<KeepStateRequest>(text),
        "kept_checkpoint" => stable::<KeptCheckpoint>(text),
        "load_state_reply" => stable::<LoadStateReply>(text),
        "load_state_request" => stable::<LoadStateRequest>(text),
        "mcp_reply" => stable::<McpReply>(text),
        "mcp_request" => stable::<McpRequest>(text),
        "model_failure_details" => stable::<ModelFailureDetails>(text),
        "model_reply" => stable::<ModelReply>(text),
        "model_request" => {
            if let Ok(request) = serde_json::from_slice::<ModelRequest>(text) {
                // An instruction of an unknown kind is refused by name, and never written again.
                if serde_json::to_string(&request).is_err() {
                    return Ok(());
                }
                // A call, or the reason why it is none.
                let _ = request.unfold();
            }
            stable::<ModelRequest>(text)
        }
        "nexus_endpoint_reply" => stable::<NexusEndpointReply>(text),
        "nexus_endpoint_request" => stable::<NexusEndpointRequest>(text),
        "record_request" => stable::<RecordRequest>(text),
        "run_state" => stable::<RunState>(text),
        "session_checkpoint" => stable::<SessionCheckpoint>(text),
        "session_reply" => stable::<SessionReply>(text),
        "session_request" => stable::<SessionRequest>(text),
        "supplied_output" => stable::<SuppliedOutput>(text),
        "tool_reply" => stable::<ToolReply>(text),
        "tool_request" => stable::<ToolRequest>(text),
        "agent_spec" => stable::<AgentSpec>(text),
        "find_toolsets_reply" => stable::<FindToolsetsReply>(text),
        "find_toolsets_request" => stable::<FindToolsetsRequest>(text),
        "kept_decisions_reply" => stable::<KeptDecisionsReply>(text),
        "kept_decisions_request" => stable::<KeptDecisionsRequest>(text),
        "load_agent_reply" => stable::<LoadAgentReply>(text),
        "load_agent_request" => stable::<LoadAgentRequest>(text),
        "tool_batch_details" => stable::<ToolBatchDetails>(text),
        "tool_batch_reply" => stable::<ToolBatchReply>(text),
        "tool_batch_request" => stable::<ToolBatchRequest>(text),
        "tool_failure_detail" => stable::<FailureDetail>(text),
        // Vectors of digests and names of failures: no messages.
        "digests" | "failure_types" => Ok(()),
        other => anyhow::bail!("no decoder is known for {other:?}; add it here"),
    }
}

/// What is read is written and read again as the same.
fn stable<T: Serialize + DeserializeOwned>(text: &[u8]) -> anyhow::Result<()> {
    let Ok(read) = serde_json::from_slice::<T>(text) else { return Ok(()) };
    let written = serde_json::to_string(&read)?;
    let most = GROWTH * text.len() + DEFAULTS;
    anyhow::ensure!(written.len() <= most, "{} bytes became {}", text.len(), written.len());
    let again: T = serde_json::from_str(&written)?;
    let twice = serde_json::to_string(&again)?;
    anyhow::ensure!(written == twice, "what is written is read as something else:\n{written}\n{twice}");
    Ok(())
}
