//! The facts of one execution: its records, as the effects of runs.

use std::collections::BTreeMap;

use temporal_agents_core::wire::{
    AgentDecision, EventKind, Item, ModelRequest, RecordedFailure, RunEvent, ToolReply, ready_made::CHAT_WORKFLOW,
};
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::history::v1::HistoryEvent};

use super::{
    chat_messages::{CarriedMessages, ChatMessages},
    cursor::short,
    published::PublishedDeltas,
};
use crate::{
    client::{
        history::{ActivityKey, HistoryReader, Kind, Record, Reply, Request, Start},
        transcript::{End, Status},
    },
    conversations::Recorded,
    events::{Attempts, Facts, Place, Role, ScheduledModelCall, lineage},
};

/// The history of one execution so far.
pub(super) struct Execution {
    reader: HistoryReader,
    facts: Facts,
    /// The calls that have not ended, by the event that scheduled them.
    calls: BTreeMap<ActivityKey, PendingCall>,
    /// The requests and results so far, to which later requests refer.
    recorded: Recorded,
    /// The latest model call of each run, with its input.
    latest: BTreeMap<String, (String, Vec<Item>)>,
    /// Decisions without a reply, by the event that accepted them.
    sent: BTreeMap<i64, AgentDecision>,
    /// Child workflows that were initiated, by the event that did.
    children: BTreeMap<i64, InitiatedChild>,
    published: PublishedDeltas,
    /// The messages that a chat has received or refused with the latest event.
    messages: Vec<RunEvent>,
    chat: ChatMessages,
    workflow_id: String,
    /// The end, once it was read, if no execution follows, and its time.
    closed: Option<(End, String)>,
}

struct PendingCall {
    id: String,
    kind: Kind,
    /// Id of the call and name of the tool.
    call: (String, String),
    attempts: Attempts,
}

/// A child workflow that is to be started.
#[derive(Clone, Debug)]
pub(super) struct InitiatedChild {
    pub(super) namespace: String,
    pub(super) workflow_id: String,
    /// The calls in which the child runs, outermost first.
    pub(super) path: Vec<String>,
    /// `true` if the server ends the child together with its parent.
    pub(super) ends_with_parent: bool,
}

/// The outcome of reading an event.
pub(super) enum ReadOutcome {
    /// The next event follows.
    Continue,
    /// A child workflow has started.
    ChildStarted { initiated: i64, child: InitiatedChild, run_id: String },
    /// A child workflow has ended: its own events come before this one.
    ChildEnded { initiated: i64 },
    /// The execution began as a copy up to here.
    WasReset { run_id: String, reason: String },
    /// The execution has ended, and continues in the next one, if any.
    Ended { next: Option<String> },
}

impl Execution {
    pub(super) fn new(converter: &DataConverter, run_id: &str) -> Self {
        Self {
            reader: HistoryReader::new(converter),
            facts: Facts::of_execution(short(run_id)),
            calls: BTreeMap::new(),
            recorded: Recorded::default(),
            latest: BTreeMap::new(),
            sent: BTreeMap::new(),
            children: BTreeMap::new(),
            published: PublishedDeltas::default(),
            messages: Vec::new(),
            chat: ChatMessages::default(),
            workflow_id: String::new(),
            closed: None,
        }
    }

    /// Returns the end of the execution and its time (RFC 3339), once it was read.
    pub(super) fn closed(&self) -> Option<&(End, String)> {
        self.closed.as_ref()
    }

    /// Takes the facts of the latest event, and the deltas that it has published.
    pub(super) fn events(&mut self) -> Vec<RunEvent> {
        let mut events = self.facts.take();
        events.append(&mut self.messages);
        events.append(&mut self.published.take());
        events
    }

    /// Discards the facts of the copy, and reports that the workflow was reset.
    pub(super) fn reset(&mut self, run_id: &str, reason: &str) {
        self.events();
        let suffix = format!("~{}", short(run_id));
        self.published.after_reset(suffix.clone());
        self.facts.after_reset(suffix);
        self.facts.reset(run_id, reason);
    }

    /// Reads the next event.
    pub(super) async fn read(&mut self, event: HistoryEvent) -> ReadOutcome {
        let time = event.event_time.as_ref().map(ToString::to_string).unwrap_or_default();
        self.facts.at(time.clone());
        for record in self.reader.read(event).await {
            match self.take(record, &time) {
                ReadOutcome::Continue => {}
                // Only the event of a batch has several records, and none of them leads here.
                other => return other,
            }
        }
        ReadOutcome::Continue
    }

    fn take(&mut self, record: Record, time: &str) -> ReadOutcome {
        match record {
            Record::Started(start) => self.started(*start),
            Record::ChatMessage { event, message } => {
                let id = self.chat.received(event, message.id);
                self.message(id, message.text, false);
            }
            Record::ChatMessageRefused { event } => {
                if let Some(id) = self.chat.refused(event) {
                    self.message(id, String::new(), true);
                }
            }
            Record::Scheduled { activity, id, kind, request, summary: _, trace: _ } => {
                self.scheduled(activity, id, kind, request.ok());
            }
            Record::Attempt { activity, attempt, earlier_failure } => {
                if let Some(call) = self.calls.get_mut(&activity) {
                    call.attempts = Attempts { number: attempt, earlier_failure };
                }
            }
            Record::Completed { activity, reply } => {
                if let Some(call) = self.calls.remove(&activity) {
                    self.published.ended(&call.id);
                    self.completed(call, reply.ok());
                }
            }
            Record::Failed { activity, status, failure } => {
                if let Some(call) = self.calls.remove(&activity) {
                    self.published.ended(&call.id);
                    self.failed(call, status, failure);
                }
            }
            // Another activity makes the call, with the same facts.
            Record::NotMade { activity } => drop(self.calls.remove(&activity)),
            Record::LocalModelCall { id, summary, attempt, response, failure } => {
                let agent = summary.as_deref().and_then(|summary| summary.split(" · ").next());
                let turn = turn_of(&id);
                let call =
                    ScheduledModelCall { agent, turn, model: "", handoffs: None, items: &[], guards_output: None };
                self.facts.model_scheduled(&id, &call);
                let attempts = Attempts { number: attempt, earlier_failure: None };
                if let Some(failure) = failure {
                    self.facts.model_failed(&id, attempts, failure);
                } else {
                    let response = response.and_then(Result::ok);
                    self.facts.model_answered(&id, attempts, response.as_ref());
                }
            }
            Record::Noted { note: Some(note), questions } => self.facts.noted(note, questions),
            Record::Noted { note: None, questions } => {
                if let Some(questions) = questions {
                    self.facts.asked(questions);
                }
            }
            Record::DecisionSent { event, decision } => drop(self.sent.insert(event, decision)),
            Record::DecisionAnswered { event, reply } => {
                if let Some(decision) = self.sent.remove(&event)
                    && reply.answer.counts()
                {
                    self.facts.decided(decision);
                }
            }
            Record::Published { publisher, sequence, deltas } => self.published.batch(publisher, sequence, deltas),
            Record::ChildInitiated { event, namespace, workflow_id, ends_with_parent } => {
                let path = self.path_of(&workflow_id);
                self.children.insert(event, InitiatedChild { namespace, workflow_id, path, ends_with_parent });
            }
            Record::ChildStarted { initiated, run_id } => {
                if let Some(child) = self.children.remove(&initiated) {
                    return ReadOutcome::ChildStarted { initiated, child, run_id };
                }
            }
            Record::ChildEnded { initiated } => return ReadOutcome::ChildEnded { initiated },
            Record::Reset { run_id, reason } => return ReadOutcome::WasReset { run_id, reason },
            Record::Ended { end, next } => {
                self.closed = next.is_none().then(|| (end.clone(), time.to_owned()));
                self.ended(end, next.as_deref());
                return ReadOutcome::Ended { next };
            }
        }
        ReadOutcome::Continue
    }

    fn started(&mut self, start: Start) {
        self.workflow_id = start.workflow_id;
        if start.workflow_type != CHAT_WORKFLOW {
            return;
        }
        let carried = CarriedMessages::of_input(&start.input);
        self.chat = ChatMessages::of(&carried);
        for message in carried.current.into_iter().chain(carried.waiting) {
            self.message(message.id.unwrap_or_default(), message.text, false);
        }
    }

    fn message(&mut self, id: String, text: String, is_refused: bool) {
        let end = if is_refused { "/refused" } else { "" };
        let event_id = format!("message/{id}{end}");
        let kind = EventKind::ChatMessageDelta { chat_message_id: id, text, is_refused };
        self.messages.push(RunEvent { id: event_id, ..self.facts.delta("", "", 0, kind) });
    }

    fn scheduled(&mut self, activity: ActivityKey, id: String, kind: Kind, request: Option<Request>) {
        let mut call = (String::new(), String::new());
        match (kind, request) {
            (Kind::Model, Some(Request::Model(request))) => self.model_scheduled(&id, request),
            (Kind::Model, _) => {
                let (turn, model, handoffs) = (turn_of(&id), "", None);
                let call = ScheduledModelCall { agent: None, turn, model, handoffs, items: &[], guards_output: None };
                self.facts.model_scheduled(&id, &call);
            }
            (_, Some(Request::Tool(request))) => {
                self.facts.tool_scheduled(&id, &request.agent, request.turn);
                call = (request.call_id, request.tool);
            }
            (_, Some(Request::Items(items))) => self.recorded.items(&id, items),
            _ => {}
        }
        if matches!(kind, Kind::Model | Kind::Tool) {
            self.published.begun(&id, &call.0);
        }
        if matches!(kind, Kind::Model | Kind::Tool | Kind::Chunk) {
            self.calls.insert(activity, PendingCall { id, kind, call, attempts: Attempts::default() });
        }
    }

    fn model_scheduled(&mut self, id: &str, request: Box<ModelRequest>) {
        let (agent, turn, model) = (request.agent.clone(), request.turn, request.model.clone());
        let guards_output = request.guards_output;
        self.recorded.model(id, request, Vec::new());
        let run = Place::of(id).map_or_else(String::new, |place| place.run.to_owned());
        let known = self.latest.get(&run).map(|(id, items)| (&**id, &**items));
        let (input, handoffs) = match self.recorded.call(id, known) {
            Some(Ok(call)) => (call.input, call.definitions.handoffs),
            Some(Err(partial)) => (partial.input, partial.definitions.handoffs.clone()),
            None => (Vec::new(), Vec::new()),
        };
        let (agent, handoffs) = (Some(&*agent), Some(&*handoffs));
        let guards_output = Some(guards_output);
        let call = ScheduledModelCall { agent, turn, model: &model, handoffs, items: &input, guards_output };
        self.facts.model_scheduled(id, &call);
        self.latest.insert(run, (id.to_owned(), input));
    }

    fn completed(&mut self, call: PendingCall, reply: Option<Reply>) {
        let PendingCall { id, kind, call: (call_id, name), attempts } = call;
        match (kind, reply) {
            (Kind::Model, Some(Reply::Model(response))) => {
                self.facts.model_answered(&id, attempts, Some(&response));
                self.recorded.answered(&id, &response.output);
            }
            (Kind::Chunk, Some(Reply::Chunk(chunk))) => self.recorded.chunk(&id, chunk),
            (Kind::Model, _) => self.facts.model_answered(&id, attempts, None),
            // A call during which an MCP server has requested a value from people is made again,
            // and has no output.
            (Kind::Chunk, _) | (_, Some(Reply::Tool(ToolReply { question: Some(_), .. }))) => {}
            (_, Some(Reply::Tool(reply))) => {
                let output = reply.output.into_value();
                self.facts.tool_answered(&id, (&call_id, &name), attempts, Some(&output), reply.side_data);
                self.recorded.tool(&id, Item::function_call_output(&call_id, output));
            }
            _ => self.facts.tool_answered(&id, (&call_id, &name), attempts, None, None),
        }
    }

    fn failed(&mut self, call: PendingCall, status: Status, failure: Option<RecordedFailure>) {
        let PendingCall { id, kind, call: (call_id, name), attempts } = call;
        // Whether a cancelled activity still reports to the history depends on timing.
        let (Some(failure), true) = (failure, status != Status::Cancelled) else { return };
        match kind {
            Kind::Chunk => {}
            Kind::Model => self.facts.model_failed(&id, attempts, failure),
            _ => self.facts.tool_failed(&id, (&call_id, &name), attempts, failure),
        }
    }

    fn ended(&mut self, end: End, next: Option<&str>) {
        match end {
            End::ContinuedAsNew { run_id } => self.facts.continued(&run_id),
            End::Completed { .. } => {
                self.facts.closed(&EventKind::RunFinished { output: serde_json::Value::Null, usage: None }, false);
            }
            End::Failed { failure } => {
                // A workflow that is retried reports the ends of its runs, but no end of its own.
                let kind = EventKind::RunFailed { failure, usage: None };
                self.facts.closed(&kind, next.is_none());
            }
            End::Cancelled => self.facts.closed(&EventKind::RunCancelled { usage: None }, true),
            End::Terminated { reason } => self.facts.closed(&EventKind::RunTerminated { reason }, true),
            End::TimedOut => self.facts.closed(&EventKind::RunTimedOut {}, true),
            End::Running => {}
        }
    }

    /// Returns the calls in which a child workflow runs: its id contains that of the call, unless
    /// the author has chosen another one.
    fn path_of(&self, child: &str) -> Vec<String> {
        let effect = child.strip_prefix(&*self.workflow_id).and_then(|rest| rest.strip_prefix('/'));
        match effect.and_then(Place::of) {
            Some(Place { run, role: Role::Tool { turn, index } }) => {
                let (_, mut path) = lineage(run);
                path.push(format!("{turn}-tool-{index}"));
                path
            }
            _ => vec![child.to_owned()],
        }
    }
}

fn turn_of(id: &str) -> u32 {
    match Place::of(id).map(|place| place.role) {
        Some(Role::Model { turn } | Role::Tool { turn, .. }) => turn,
        _ => 0,
    }
}
