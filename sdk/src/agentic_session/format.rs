//! The formats of a session's checkpoints.

/// The format in which a session writes its checkpoints.
///
/// A session reads all formats, whatever it writes: the next attempt may have other options, or be
/// an older build, or code in another language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointFormat {
    /// The format of this crate: [`SessionCheckpoint`](temporal_agents_core::wire::SessionCheckpoint), which loses
    /// nothing. Only this crate reads it.
    #[default]
    Native,
    /// The format of the ToolRegistry/AgenticSession proposal (temporalio/proposals#107), as a JSON
    /// string that holds a JSON object. The proposal's Python and TypeScript code continues from
    /// it.
    ///
    /// ```json
    /// "{\"version\":1,\"messages\":[..],\"results\":[..]}"
    /// ```
    ///
    /// `messages` is the conversation as of the last complete turn, in the form of the
    /// [`MessageDialect`]; `results` are the values that the tools of these turns have added.
    /// Instructions are not in it: the code that continues has its own. The guide lists [what the
    /// format loses](crate::guide::agentic_sessions#attempts-in-other-languages).
    ///
    /// A session with this format has one run, whose conversation it is. Before the first model
    /// call, a run fails with [`RunError::User`](temporal_agents_core::engine::RunError::User) if another attempt could
    /// not continue it safely:
    ///
    /// - a second run of the session,
    /// - an agent with a tool that is not idempotent: the format does not record that a call has
    ///   begun, so another attempt would call it again. A tool that only its MCP server marks as
    ///   not idempotent fails the run when it is called;
    /// - a run with a session, a `conversation_id` or a `previous_response_id`: another attempt
    ///   would add the same items to that conversation again.
    ///
    /// A [checkpoint store](super::AgenticSessionOptions::checkpoint_store) is not written, because
    /// code in other languages cannot read it. A checkpoint that a heartbeat cannot carry ends the
    /// session with [`CheckpointError::TooLargeToHandOver`](super::CheckpointError).
    ProposalString(MessageDialect),
    /// The same JSON object as in [`ProposalString`](Self::ProposalString), as an object and not in
    /// a string. The proposal's Go code continues from it.
    ///
    /// ```json
    /// {"version": 1, "messages": [..], "results": [..]}
    /// ```
    ProposalObject(MessageDialect),
}

/// The form of a checkpoint of the proposal.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProposalForm {
    pub(super) dialect: MessageDialect,
    /// `true` if a JSON string holds the object.
    pub(super) is_string: bool,
}

impl CheckpointFormat {
    /// Returns the form of a checkpoint of the proposal.
    pub(super) fn proposal(self) -> Option<ProposalForm> {
        match self {
            Self::Native => None,
            Self::ProposalString(dialect) => Some(ProposalForm { dialect, is_string: true }),
            Self::ProposalObject(dialect) => Some(ProposalForm { dialect, is_string: false }),
        }
    }

    /// `true` if a checkpoint is one conversation, and not the states and answers of the runs.
    pub(super) fn is_proposal(self) -> bool {
        self.proposal().is_some()
    }
}

/// The form of the messages in a checkpoint of the ToolRegistry/AgenticSession proposal: that of
/// the provider with which the code in the other language continues. This crate continues from both
/// with any provider.
///
/// In both, text and images are kept. Reasoning and calls of hosted tools are left out. The session
/// logs a warning, once, with the kinds of all other items and content parts that it leaves out
/// (files, for example).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageDialect {
    /// Blocks of Anthropic's Messages API.
    ///
    /// ```json
    /// {"role": "user", "content": "Review a.rs."}
    /// {"role": "assistant", "content": [
    ///     {"type": "text", "text": "I read it."},
    ///     {"type": "tool_use", "id": "call_1", "name": "read", "input": {"path": "a.rs"}}]}
    /// {"role": "user", "content": [
    ///     {"type": "tool_result", "tool_use_id": "call_1", "content": "fn main() {}"}]}
    /// ```
    ///
    /// The result of a failed call has `"is_error": true`. System messages within the conversation
    /// become user messages, because messages have no other role.
    Anthropic,
    /// Messages of OpenAI's Chat Completions API.
    ///
    /// ```json
    /// {"role": "user", "content": "Review a.rs."}
    /// {"role": "assistant", "content": "I read it.", "tool_calls": [
    ///     {"id": "call_1", "type": "function",
    ///      "function": {"name": "read", "arguments": "{\"path\":\"a.rs\"}"}}]}
    /// {"role": "tool", "tool_call_id": "call_1", "content": "fn main() {}"}
    /// ```
    ///
    /// The result of a tool is text only.
    ChatCompletions,
}
