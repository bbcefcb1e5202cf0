//! Functions of the author at the end of a turn: answers to hosted MCP servers, stop rules, output
//! types, error handlers.

use serde_json::Value;

use super::{
    config::{ErrorHandler, HandledError},
    env::Env,
    guard,
    host::Host,
    kept, keywords,
};
use crate::{
    agent::{OutputDef, ToolResult, ToolUseBehavior},
    engine::{Engine, HandlerOutput, Resolution, RunError},
    tool::RunContext,
    wire::{
        Item,
        run_state::{Decision, McpApproval, Recoverable},
    },
};

/// Answers questions of hosted MCP servers: by the author's functions, or by kept decisions.
///
/// # Errors
/// [`RunError::Panicked`].
pub(super) fn answer_mcp<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
    questions: &[McpApproval],
) -> Result<Resolution, RunError> {
    let agent = env.agent(agent)?;
    let run = RunContext::new(engine.state().context.clone());
    let answer = |question: &McpApproval| {
        let Some(function) = agent.answers_approvals.get(&question.server_label) else {
            let kept = kept::on_request(env, &agent.name, &question.request);
            return Ok(kept.unwrap_or_else(|| Decision::reject_with("nobody answers for this server any more")));
        };
        let name = || format!("the approval function of MCP server {:?}", question.server_label);
        guard::call(name, &agent.name, || function.decide(&run, question))
    };
    questions.iter().map(answer).collect::<Result<_, _>>().map(Resolution::McpAnswered)
}

/// Calls the agent's own rule, which decides if the results of a turn end the run.
///
/// # Errors
/// [`RunError::Panicked`].
pub(super) fn decide_tool_use<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
    results: &[ToolResult],
) -> Result<Resolution, RunError> {
    // The agent may have another rule when a later release resumes its run.
    let ToolUseBehavior::Custom(decide) = &env.agent(agent)?.tool_use else {
        return Ok(Resolution::ToolUseDecided(None));
    };
    let run = RunContext::new(engine.state().context.clone());
    let function = || "the tool_use_behavior".to_owned();
    guard::call(function, agent, || decide(&run, results)).map(Resolution::ToolUseDecided)
}

/// Parses the model's answer as the agent's output type.
///
/// # Errors
/// [`RunError::Panicked`].
pub(super) fn parse_output<H: Host>(env: &Env<'_, H>, agent: &str, text: &str) -> Result<Resolution, RunError> {
    let Some(output) = &env.agent(agent)?.output else {
        return Ok(Resolution::Parsed(Ok(Value::String(text.to_owned()))));
    };
    let function = || format!("the output type {}", output.type_name());
    let parsed = guard::call(function, agent, || output.parse(text))?;
    let by_earlier = || guard::call(function, agent, || output.parse_by_earlier_keywords(text)).ok().flatten();
    Ok(Resolution::Parsed(keywords::judged(env.host, parsed, by_earlier)))
}

/// Calls the run's handler of an error.
///
/// # Errors
/// The error of the handler, or [`RunError::User`] when its output is not of the agent's output
/// type; [`RunError::Panicked`] of either.
pub(super) fn handle_error<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
    error: &Recoverable,
) -> Result<Resolution, RunError> {
    let (name, asked) = handler(env, error);
    let Some(asked) = asked else { return Ok(Resolution::Handled(None)) };
    let message = message(error);
    let history = engine.history(error);
    let run = RunContext::new(engine.state().context.clone());
    let function = || format!("the error handler for {name}");
    let is_redacted = matches!(error, Recoverable::InvalidFinalOutput { .. } | Recoverable::EmptyFinalOutput);
    let redacted = || RunError::User {
        agent: agent.to_owned(),
        message: "Error details are redacted.".to_owned(),
        has_run_data: false,
    };
    let answer = guard::call(function, agent, || asked.handle(&HandledError::new(&message, agent, &history, &run)))?;
    let handled = match answer {
        Ok(None) => return Ok(Resolution::Handled(None)),
        Ok(Some(handled)) => handled,
        Err(_) if is_redacted => return Err(redacted()),
        Err(source) => {
            return Err(RunError::Function { function: function(), agent: agent.to_owned(), source });
        }
    };
    let (value, text) = match &env.agent(agent)?.output {
        None => {
            let text = handled.final_output.as_str().map_or_else(|| handled.final_output.to_string(), str::to_owned);
            (handled.final_output, text)
        }
        Some(output) => {
            let function = || format!("the output type {}", output.type_name());
            guard::call(function, agent, || checked(env.host, output, handled.final_output))?.map_err(|()| {
                if is_redacted {
                    return redacted();
                }
                let message = "Invalid run error handler final_output for structured output.".to_owned();
                RunError::User { agent: agent.to_owned(), message, has_run_data: true }
            })?
        }
    };
    let message = handled.include_in_history.then(|| Item::assistant(&text));
    Ok(Resolution::Handled(Some(HandlerOutput { value, message })))
}

/// Returns the name of the error's kind in the OpenAI Agents SDK, and its handler.
fn handler<'r, H: Host>(env: &Env<'r, H>, error: &Recoverable) -> (&'static str, Option<&'r ErrorHandler>) {
    let handlers = &env.config.error_handlers;
    match error {
        Recoverable::MaxTurns { .. } => ("max_turns", handlers.max_turns.as_ref()),
        Recoverable::ModelRefusal { .. } => ("model_refusal", handlers.model_refusal.as_ref()),
        Recoverable::InvalidFinalOutput { .. } | Recoverable::EmptyFinalOutput => {
            ("invalid_final_output", handlers.invalid_final_output.as_ref())
        }
    }
}

/// Returns the message of an error, in the wording of the OpenAI Agents SDK.
fn message(error: &Recoverable) -> String {
    match error {
        Recoverable::MaxTurns { max_turns } => format!("Max turns ({max_turns}) exceeded"),
        Recoverable::ModelRefusal { refusal } => format!("Model refused to produce output: {refusal}"),
        Recoverable::InvalidFinalOutput { .. } => "Invalid JSON when parsing model output".to_owned(),
        Recoverable::EmptyFinalOutput => "Model returned no final output for the structured output type.".to_owned(),
    }
}

/// Converts a handler's output to a value of the output type and to the text of a model's answer.
fn checked<H: Host>(host: &H, output: &OutputDef, value: Value) -> Result<(Value, String), ()> {
    let text = output.text_of(value);
    let parsed = keywords::judged(host, output.parse(&text), || output.parse_by_earlier_keywords(&text));
    parsed.map(|value| (value, text)).map_err(|_| ())
}
