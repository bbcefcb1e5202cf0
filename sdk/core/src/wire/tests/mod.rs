//! The wire contract against its golden files,
//! `tests/golden/wire/v<version>/<message>-<which>.json`.
//!
//! `UPDATE_GOLDEN=1` writes files that are missing; no file is ever overwritten.

#![expect(clippy::disallowed_methods, reason = "tests may read the environment: UPDATE_GOLDEN")]

mod files;
mod rules;
pub(in crate::wire) mod values;
mod vectors;

use serde_json::Value;

use crate::wire::{
    AgentDecision, AgentReport, AgentRequest, AgentSpec, AgentState, ApprovalRequest, ApprovalRuling, Carried,
    ChatMessage, ChatReply, ChatRequest, ChatTranscript, DecisionReply, ModelFailureDetails, ModelReply, ModelRequest,
    RunEvent, RunState, SessionCheckpoint, SuppliedOutput, ToolReply, ToolRequest, WireDecodeError,
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
    tool_batch::{ToolBatchDetails, ToolBatchReply, ToolBatchRequest, batch_of, calls_in, index_in},
    tool_error::FailureDetail,
    version::decode,
};

use files::{check, check_all, difference, every_file};

#[test]
fn model_requests_have_their_golden_shape() {
    check("model_request-full", &values::model_request_full());
    check("model_request-minimal", &values::model_request_minimal());
    check("model_request-by_reference", &values::model_request_by_reference());
    check("model_request-by_recording", &values::model_request_by_recording());
    check("model_request-traced", &values::model_request_traced());
    check("record_request", &values::record_request());
}

#[test]
fn model_replies_have_their_golden_shape() {
    check("model_reply-full", &values::model_reply_full());
    check("model_reply-minimal", &values::model_reply_minimal());
    check("model_reply-priced", &values::model_reply_priced());
}

#[test]
fn events_and_notes_of_runs_have_their_golden_shape() {
    check_all("run_event", &values::run_events());
    check("run_event-question_expires", &values::expiring_question());
    check_all("run_note", &values::run_notes());
}

#[test]
fn tool_requests_have_their_golden_shape() {
    check("tool_request-full", &values::tool_request_full());
    check("tool_request-minimal", &values::tool_request_minimal());
    check("tool_request-keyed", &values::tool_request_keyed());
    check("tool_request-set", &values::tool_request_set());
    check("tool_request-inside", &values::tool_request_inside());
    check("tool_request-version", &values::tool_request_version());
}

#[test]
fn what_mcp_servers_are_asked_and_answer_has_its_golden_shape() {
    check_all("tool_request", &values::mcp_tool_requests());
    check_all("mcp_request", &values::mcp_requests());
    check("mcp_reply", &values::mcp_reply());
    check("mcp_reply-left_out", &values::mcp_reply_left_out());
}

#[test]
fn tool_replies_have_their_golden_shape() {
    check("tool_reply-text", &values::tool_reply_text());
    check("tool_reply-content", &values::tool_reply_content());
    check("tool_reply-question", &values::tool_reply_question());
    check("tool_reply-side_data", &values::tool_reply_side_data());
}

#[test]
fn tool_calls_in_one_activity_have_their_golden_shape() {
    check_all("tool_batch_request", &values::tool_batch_requests());
    check("tool_batch_reply", &values::tool_batch_reply());
    check_all("tool_batch_details", &values::tool_batch_details());
    check_all("tool_failure_detail", &values::failure_details());
}

#[test]
fn the_id_of_a_batch_names_its_calls() {
    let ids = ["r1-4-tool-0", "r1-4-tool-1", "r1-4-tool-2", "r1-4-tool-5", "r1-4-tool-9", "r1-4-tool-10"];
    let batch = batch_of(ids).expect("ids of calls");
    assert_eq!(batch, "r1-4-tools-0_2.5.9_10");
    assert_eq!(calls_in(&batch).into_iter().map(|(_, id)| id).collect::<Vec<_>>(), ids);
    assert_eq!(ids.map(|id| index_in(&batch, id)), [0, 1, 2, 5, 9, 10].map(Some));
    let others = ["r1-4-tool-3", "r1-4-tool-20", "r1-5-tool-0", "r1-4-model", "x"];
    assert_eq!(others.map(|id| index_in(&batch, id)), [None; 5]);
    assert_eq!(batch_of(["r1-4-model"]), None);
    for hostile in ["x", "x-tools-", "x-tools-a", "x-tools-1_", "x-tools-4_2", "x-tool-1"] {
        assert_eq!(calls_in(hostile), [], "{hostile}");
    }
    assert_eq!(calls_in("x-tools-0_4294967295.0_4294967295").len(), 1_000);
}

#[test]
fn the_details_of_model_failures_have_their_golden_shape() {
    check("model_failure_details-full", &values::model_failure_details_full());
    check("model_failure_details-minimal", &values::model_failure_details_minimal());
    let too_large = values::model_failure_details_response_too_large();
    check("model_failure_details-response_too_large", &too_large);
    check_all("conversation_unavailable", &values::conversation_unavailable());
}

#[test]
fn how_nexus_endpoints_are_looked_up_has_its_golden_shape() {
    check("nexus_endpoint_request", &values::nexus_endpoint_request());
    check("nexus_endpoint_reply", &values::nexus_endpoint_reply());
}

#[test]
fn failure_types_have_their_golden_names() {
    check("failure_types", &values::failure_types());
}

#[test]
fn session_calls_have_their_golden_shape() {
    check_all("session_request", &values::session_requests());
    check_all("session_reply", &values::session_replies());
}

#[test]
fn what_people_say_to_a_run_has_its_golden_shape() {
    check_all("agent_decision", &values::agent_decisions());
    check_all("supplied_output", &values::supplied_outputs());
}

#[test]
fn what_people_are_told_has_its_golden_shape() {
    check_all("decision_reply", &values::decision_replies());
    check_all("agent_state", &values::agent_states());
    check_all("asked_questions", &values::asked_questions());
}

#[test]
fn run_states_have_their_golden_shape_in_every_phase() {
    check_all("run_state", &values::run_states());
}

#[test]
fn what_a_run_leaves_to_the_next_execution_has_its_golden_shape() {
    check_all("carried", &values::carried());
    check("keep_state_request", &values::keep_state_request());
    check("keep_state_reply", &values::keep_state_reply());
    check("load_state_request", &values::load_state_request());
    check("load_state_reply", &values::load_state_reply());
}

#[test]
fn what_ready_made_workflows_are_told_and_answer_has_its_golden_shape() {
    check_all("agent_request", &values::agent_requests());
    check("agent_report", &values::agent_report());
    check("agent_report-items", &values::agent_report_with_items());
    check_all("chat_request", &values::chat_requests());
    check_all("chat_message", &values::chat_messages());
    check_all("chat_reply", &values::chat_replies());
    check_all("chat_transcript", &values::chat_transcripts());
}

#[test]
fn agents_as_data_and_how_they_are_loaded_have_their_golden_shape() {
    check_all("agent_spec", &values::agent_specs());
    check_all("load_agent_request", &values::load_agent_requests());
    check_all("load_agent_reply", &values::load_agent_replies());
}

#[test]
fn the_search_for_selected_toolsets_has_its_golden_shape() {
    check_all("find_toolsets_request", &values::find_toolsets_requests());
    check_all("find_toolsets_reply", &values::find_toolsets_replies());
}

#[test]
fn kept_decisions_have_their_golden_shape() {
    check_all("kept_decisions_request", &values::kept_decisions_requests());
    check_all("kept_decisions_reply", &values::kept_decisions_replies());
}

#[test]
fn the_checkpoint_of_a_session_has_its_golden_shape() {
    check_all("session_checkpoint", &values::session_checkpoints());
    check("kept_checkpoint", &values::kept_checkpoint());
}

#[test]
fn deltas_in_heartbeats_and_the_mark_of_guarded_output_have_their_golden_shape() {
    check_all("delta_window", &values::delta_windows());
    let guarded = ModelRequest { guards_output: true, ..values::model_request_minimal() };
    check("model_request-guards_output", &guarded);
}

#[test]
fn what_the_workflow_of_an_approval_is_asked_and_answers_has_its_golden_shape() {
    check_all("approval_request", &values::approval_requests());
    check_all("approval_ruling", &values::approval_rulings());
}

#[test]
fn digests_and_canonical_json_are_the_golden_ones() {
    check("digests", &vectors::vectors());
}

#[test]
fn messages_of_every_version_ever_written_are_read() {
    fn read<T: serde::de::DeserializeOwned>(json: Value) -> Result<(), WireDecodeError> {
        decode::<T>("golden message", json).map(drop)
    }
    for (path, json) in every_file() {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("golden files have ASCII names");
        let read = match name.split_once('-').map_or(name, |(message, _)| message) {
            "model_request" => read::<ModelRequest>(json),
            "record_request" => read::<RecordRequest>(json),
            "conversation_unavailable" => read::<ConversationUnavailable>(json),
            "model_reply" => read::<ModelReply>(json),
            "tool_request" => read::<ToolRequest>(json),
            "mcp_request" => read::<McpRequest>(json),
            "nexus_endpoint_request" => read::<NexusEndpointRequest>(json),
            "nexus_endpoint_reply" => read::<NexusEndpointReply>(json),
            "mcp_reply" => read::<McpReply>(json),
            "tool_reply" => read::<ToolReply>(json),
            "model_failure_details" => read::<ModelFailureDetails>(json),
            "session_request" => read::<SessionRequest>(json),
            "session_reply" => read::<SessionReply>(json),
            "agent_decision" => read::<AgentDecision>(json),
            "supplied_output" => read::<SuppliedOutput>(json),
            "decision_reply" => read::<DecisionReply>(json),
            "agent_state" => read::<AgentState>(json),
            "asked_questions" => read::<AskedQuestions>(json),
            "run_state" => read::<RunState>(json),
            "carried" => read::<Carried>(json),
            "agent_request" => read::<AgentRequest>(json),
            "agent_report" => read::<AgentReport>(json),
            "agent_spec" => read::<AgentSpec>(json),
            "find_toolsets_request" => read::<FindToolsetsRequest>(json),
            "find_toolsets_reply" => read::<FindToolsetsReply>(json),
            "kept_decisions_request" => read::<KeptDecisionsRequest>(json),
            "kept_decisions_reply" => read::<KeptDecisionsReply>(json),
            "load_agent_request" => read::<LoadAgentRequest>(json),
            "load_agent_reply" => read::<LoadAgentReply>(json),
            "chat_request" => read::<ChatRequest>(json),
            "chat_message" => read::<ChatMessage>(json),
            "chat_reply" => read::<ChatReply>(json),
            "chat_transcript" => read::<ChatTranscript>(json),
            "keep_state_request" => read::<KeepStateRequest>(json),
            "keep_state_reply" => read::<KeepStateReply>(json),
            "load_state_request" => read::<LoadStateRequest>(json),
            "load_state_reply" => read::<LoadStateReply>(json),
            "session_checkpoint" => read::<SessionCheckpoint>(json),
            "kept_checkpoint" => read::<KeptCheckpoint>(json),
            "approval_request" => read::<ApprovalRequest>(json),
            "approval_ruling" => read::<ApprovalRuling>(json),
            "tool_batch_request" => read::<ToolBatchRequest>(json),
            "tool_batch_reply" => read::<ToolBatchReply>(json),
            "tool_batch_details" => read::<ToolBatchDetails>(json),
            // A detail of a failure, which has no version of its own.
            "tool_failure_detail" => {
                assert_ne!(FailureDetail::read(Some(json)), FailureDetail::default(), "{}", path.display());
                Ok(())
            }
            "run_event" => read::<RunEvent>(json),
            "run_note" => read::<RunNote>(json),
            "delta_window" => read::<DeltaWindow>(json),
            "digests" | "failure_types" => Ok(()),
            _ => panic!("{}: no message is named so", path.display()),
        };
        read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

#[test]
fn whole_requests_of_every_version_ever_written_unfold() {
    for (path, json) in every_file() {
        if path.ends_with("model_request-full.json") || path.ends_with("model_request-minimal.json") {
            let request: ModelRequest = decode("model request", json).expect("it is read");
            request.unfold().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[test]
fn a_changed_shape_is_told_to_bump_the_version() {
    assert_eq!(difference("{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"), None);
    assert_eq!(
        difference("{\n  \"a\": 1\n}\n", "{\n  \"b\": 1\n}\n").as_deref(),
        Some(
            "the wire shape changed: bump WIRE_VERSION and add a new golden file, never edit one\n\
             line 2\n  golden:   \"a\": 1\n  now:      \"b\": 1"
        )
    );
    assert!(difference("[]\n", "[]\n[]\n").is_some(), "a longer text differs");
}
