//! Assembles activities to runs and turns: the inputs, the responses and the outcomes of calls.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use temporal_agents_core::wire::{
    Definitions, Item, ItemView, ModelCall, ModelResponse, ToolReply, ToolRequest, TraceSettings, Usage,
    native_call::call_of,
    session_call::{SessionOperation, SessionReply, SessionRequest},
};

use super::{
    Transcript, TranscriptError,
    conversation::Conversation,
    events::{Events, Exchange, Record},
    shape::{Activity, Call, GuardrailCall, McpListing, Run, SessionCall, Times, ToolKind, ToolUse, Turn},
    words,
};
use crate::{
    client::history::Start,
    conversations::{NotWhole, Recorded},
    events::{Place, Role},
};

/// Creates the transcript of the events that were read.
///
/// # Errors
/// [`TranscriptError::NoStart`].
pub(super) fn transcript(events: Events<'_>) -> Result<Transcript, TranscriptError> {
    let Events { mut records, start, end, approvals, times, traces, mut tripped, ended_runs, children, .. } = events;
    let Start { workflow_id, run_id, first_run_id, continued_from, workflow_type, input, tracer_data } =
        start.ok_or(TranscriptError::NoStart)?;
    let mut all = Assembly { recorded: recorded(&mut records), runs: Vec::new(), indices: BTreeMap::new(), calls: 0 };
    for record in records {
        all.take(record);
    }
    let Assembly { recorded, runs, indices, .. } = all;
    let mut runs: Vec<Run> = runs.into_iter().map(|run| run.finish(&indices)).collect();
    let of_effect = |(child, times): (String, Times)| {
        // An id that the author has chosen does not name the call.
        let effect = child.strip_prefix(&*workflow_id)?.strip_prefix('/')?;
        Some((effect.to_owned(), times))
    };
    let children: BTreeMap<String, Times> = children.into_values().filter_map(of_effect).collect();
    for run in &mut runs {
        set_children(run, &children);
        run.trace = settings_of(&run.id, &traces).cloned();
    }
    for guardrail in &mut tripped {
        guardrail.trace = settings_of(&guardrail.run, &traces).cloned();
    }
    let approvals = approvals.assign_to_calls(&mut runs);
    let mut usage = Usage::default();
    for run in &runs {
        usage.add(&run.usage);
    }
    Ok(Transcript {
        workflow_id,
        run_id,
        first_run_id,
        continued_from,
        workflow_type,
        input,
        runs,
        approvals,
        usage,
        end,
        times,
        tracer_data,
        tripped,
        ended_runs,
        recorded,
    })
}

/// Collects everything that requests refer to, before the first request is assembled.
fn recorded(records: &mut [Record]) -> Recorded {
    let mut recorded = Recorded::default();
    for Record { activity, exchange } in records {
        match exchange {
            Exchange::Model { request, response } => {
                if let Some(request) = request.take() {
                    let answered = response.as_ref().map_or_else(Vec::new, |response| response.output.clone());
                    recorded.model(&activity.id, request, answered);
                }
            }
            Exchange::Tool { request, reply: Some(reply) } => {
                let item = Item::function_call_output(&request.call_id, reply.output.clone().into_value());
                recorded.tool(&activity.id, item);
            }
            Exchange::Items { items } => recorded.items(&activity.id, std::mem::take(items)),
            Exchange::Chunk { chunk: Some(chunk) } => recorded.chunk(&activity.id, std::mem::take(chunk)),
            Exchange::Tool { reply: None, .. }
            | Exchange::Guardrail { .. }
            | Exchange::Session { .. }
            | Exchange::McpList { .. }
            | Exchange::Chunk { chunk: None }
            | Exchange::NotMade => {}
        }
    }
    recorded
}

struct Assembly {
    recorded: Recorded,
    runs: Vec<RunBuilder>,
    /// Indices of the runs in `runs`, by id.
    indices: BTreeMap<String, usize>,
    calls: u32,
}

/// A run that is being assembled.
struct RunBuilder {
    run: Run,
    conversation: Conversation,
    call_ids: BTreeSet<String>,
    /// For each call, the id of the run that it would have as the call of an agent: the index of
    /// its turn, its index in the turn, the id.
    possible_agent_runs: Vec<(usize, usize, String)>,
}

impl Assembly {
    fn take(&mut self, record: Record) {
        let Record { activity, exchange } = record;
        // Their content is shown with the calls that refer to it.
        if matches!(exchange, Exchange::Items { .. } | Exchange::Chunk { .. } | Exchange::NotMade) {
            return;
        }
        let id = activity.id.clone();
        let place = Place::of(&id).unwrap_or(Place { run: &id, role: Role::Aside });
        let index = self.run(place.run);
        match exchange {
            Exchange::Model { request: _, response } => {
                self.calls += 1;
                let role = place.role;
                let run = &mut self.runs[index];
                run.model(&self.recorded, self.calls, activity, role, response);
            }
            Exchange::Tool { request, reply } => self.runs[index].tool(activity, request, reply),
            Exchange::Guardrail { request, reply } => {
                let ToolRequest { tool: name, agent, .. } = request;
                let output = reply.map(|reply| as_json(&reply.output.to_text()));
                self.runs[index].run.guardrails.push(GuardrailCall { name, agent, output, activity });
            }
            Exchange::Session { store, request, reply } => {
                self.runs[index].run.sessions.push(session(store, request, reply, activity));
            }
            Exchange::McpList { server } => {
                let turn = if let Role::McpList { turn } = place.role { turn } else { 0 };
                self.runs[index].run.mcp_lists.push(McpListing { server, turn, activity });
            }
            Exchange::Items { .. } | Exchange::Chunk { .. } | Exchange::NotMade => {}
        }
    }

    /// Returns the index of the run with this id, and creates it and the runs that contain it if
    /// necessary.
    fn run(&mut self, id: &str) -> usize {
        if let Some(index) = self.indices.get(id) {
            return *index;
        }
        let parent = Place::parent(id).map(str::to_owned);
        if let Some(parent) = &parent {
            self.run(parent);
        }
        let run = Run {
            id: id.to_owned(),
            parent,
            sessions: Vec::new(),
            guardrails: Vec::new(),
            turns: Vec::new(),
            usage: Usage::default(),
            mcp_lists: Vec::new(),
            trace: None,
        };
        self.runs.push(RunBuilder {
            run,
            conversation: Conversation::default(),
            call_ids: BTreeSet::new(),
            possible_agent_runs: Vec::new(),
        });
        self.indices.insert(id.to_owned(), self.runs.len() - 1);
        self.runs.len() - 1
    }
}

impl RunBuilder {
    fn model(
        &mut self,
        recorded: &Recorded,
        number: u32,
        activity: Activity,
        role: Role,
        response: Option<ModelResponse>,
    ) {
        let request = recorded.request(&activity.id);
        let turn = match (request, role) {
            (Some(request), _) => request.turn,
            (None, Role::Model { turn } | Role::Tool { turn, .. } | Role::McpList { turn }) => turn,
            (None, Role::Aside) => 1,
        };
        let agent = match request {
            Some(request) => request.agent.clone(),
            // For a local activity, only its summary names the agent.
            None => {
                activity.summary.as_deref().and_then(|summary| summary.split(" · ").next()).unwrap_or("?").to_owned()
            }
        };
        let ModelResponse { output, usage, response_id, incomplete, .. } = response.clone().unwrap_or_default();
        let mut call = Call {
            number,
            model: request.map(|request| request.model.clone()).unwrap_or_default(),
            instructions: None,
            new_input: Vec::new(),
            input_items: request.map_or(0, |request| request.input.count),
            incomplete_input: None,
            output,
            incomplete,
            response_id,
            usage: response.is_some().then_some(usage),
            activity,
        };
        let definitions = self.given(recorded, &agent, &mut call);
        if let Some(usage) = &call.usage {
            self.run.usage.add(usage);
        }
        let at = self.turn(turn, &agent);
        self.asked_for(at, turn, &definitions, &call.output);
        self.run.turns[at].calls.push(call);
    }

    /// Sets the new input and instructions of the call, and returns its definitions as far as they
    /// are known.
    fn given(&mut self, recorded: &Recorded, agent: &str, call: &mut Call) -> Definitions {
        let (definitions, input) = match recorded.call(&call.activity.id, self.conversation.latest()) {
            None => return Definitions::default(),
            Some(Ok(ModelCall { definitions, input, .. })) => (definitions, input),
            Some(Err(NotWhole { error, input, definitions })) => {
                call.incomplete_input = Some(words(&error));
                (Definitions::clone(&definitions), input)
            }
        };
        let new = self.conversation.take(&call.activity.id, input, &call.output);
        call.instructions = self.conversation.new_instructions(agent, definitions.instructions.as_deref());
        call.new_input = new.into_iter().filter(|item| !self.is_told(item)).collect();
        definitions
    }

    /// Returns `true` for an item that is the output of a call of this run, and stores it with that
    /// call.
    fn is_told(&mut self, item: &Item) -> bool {
        let (call_id, output, is_native) = match item.view() {
            ItemView::FunctionCallOutput { call_id, output } => (call_id, output, false),
            ItemView::NativeCallOutput { call_id, output } => (call_id, output, true),
            _ => return false,
        };
        let tools = self.run.turns.iter_mut().rev().flat_map(|turn| turn.tools.iter_mut().rev());
        let mut of_call = tools.filter(|tool| tool.call_id == call_id);
        let Some(tool) = of_call.next() else { return false };
        // If the output was changed after the tool had returned it, both are shown.
        tool.output.get_or_insert_with(|| output.clone()) == output || is_native
    }

    /// Adds the calls in a response to the turn.
    fn asked_for(&mut self, at: usize, turn: u32, definitions: &Definitions, output: &[Item]) {
        let mut index = 0;
        for item in output {
            let Some(call) = call_of(item, output) else { continue };
            // A request that was sent again may repeat calls that are already listed.
            if !self.call_ids.insert(call.call_id.to_owned()) {
                continue;
            }
            let handoff = definitions.handoffs.iter().find(|handoff| handoff.tool_name == call.name);
            let kind = if let Some(handoff) = handoff {
                ToolKind::Handoff { to: handoff.agent_name.clone() }
            } else {
                // The index in an activity id counts only the calls that are not handoffs.
                let run = format!("{}-{turn}-tool-{index}", self.run.id);
                self.possible_agent_runs.push((at, self.run.turns[at].tools.len(), run));
                index += 1;
                ToolKind::InWorkflow
            };
            let (name, call_id, arguments) = (call.name.to_owned(), call.call_id.to_owned(), as_json(&call.arguments));
            self.run.turns[at].tools.push(ToolUse {
                name,
                call_id,
                arguments,
                kind,
                output: None,
                approval: None,
                child: None,
                mcp_server: None,
            });
        }
    }

    fn tool(&mut self, activity: Activity, request: ToolRequest, reply: Option<ToolReply>) {
        let ToolRequest {
            version: _,
            tool: name,
            agent,
            turn,
            call_id,
            arguments,
            context: _,
            settings: _,
            idempotency_key: _,
            mcp,
            remote: _,
            schema: _,
            session_id: _,
            parent_call: _,
        } = request;
        let at = self.turn(turn, &agent);
        // A call during which an MCP server asked a question is repeated; only the repetition has
        // an output.
        let output = reply.filter(|reply| reply.question.is_none()).map(|reply| reply.output.into_value());
        let mcp_server = mcp.map(|target| target.server);
        let tools = &mut self.run.turns[at].tools;
        let kind = ToolKind::Activity { activity };
        let called = tools.iter_mut().find(|tool| tool.call_id == call_id && tool.kind == ToolKind::InWorkflow);
        if let Some(tool) = called {
            tool.kind = kind;
            tool.output = output;
            tool.mcp_server = mcp_server;
        } else {
            // A resumed run: the model made the call in an earlier run.
            let arguments = Value::Object(arguments);
            tools.push(ToolUse { name, call_id, arguments, kind, output, approval: None, child: None, mcp_server });
        }
    }

    fn turn(&mut self, number: u32, agent: &str) -> usize {
        if let Some(at) = self.run.turns.iter().position(|turn| turn.number == number) {
            return at;
        }
        self.run.turns.push(Turn { number, agent: agent.to_owned(), calls: Vec::new(), tools: Vec::new() });
        self.run.turns.len() - 1
    }

    fn finish(self, runs: &BTreeMap<String, usize>) -> Run {
        let Self { mut run, possible_agent_runs, .. } = self;
        for (turn, tool, id) in possible_agent_runs {
            let tool = &mut run.turns[turn].tools[tool];
            if tool.kind == ToolKind::InWorkflow && runs.contains_key(&id) {
                tool.kind = ToolKind::Agent { run: id };
            }
        }
        run
    }
}

/// Adds to the calls of a run the times of the child workflows that make them.
fn set_children(run: &mut Run, children: &BTreeMap<String, Times>) {
    for turn in &mut run.turns {
        let calls = turn.tools.iter_mut().filter(|tool| !tool.is_handoff());
        for (index, call) in calls.enumerate().filter(|(_, call)| call.kind == ToolKind::InWorkflow) {
            call.child = children.get(&format!("{}-{}-tool-{index}", run.id, turn.number)).copied();
        }
    }
}

/// Returns the settings of the trace of a run: those that it has written, or the run that contains
/// it.
fn settings_of<'t>(run: &str, traces: &'t BTreeMap<String, TraceSettings>) -> Option<&'t TraceSettings> {
    traces.get(run).or_else(|| settings_of(Place::parent(run)?, traces))
}

fn session(store: String, request: SessionRequest, reply: Option<SessionReply>, activity: Activity) -> SessionCall {
    let SessionRequest { version: _, session_id, operation } = request;
    let (operation, items) = match operation {
        SessionOperation::Read { limit: _ } | SessionOperation::ReadOn { limit: _, after: _ } => {
            ("read", reply.map(|reply| reply.items).unwrap_or_default())
        }
        SessionOperation::Add { items, key: _ } => ("add", items),
    };
    SessionCall { store, session_id, operation, items, activity }
}

/// Parses a string as JSON; a string that is not JSON remains a string.
fn as_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
