//! Collects the records of a history: its activities with their requests and results, and its
//! approvals.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::SystemTime,
};

use temporal_agents_core::wire::{
    Item, ModelRequest, ModelResponse, ToolReply, ToolRequest, TraceSettings,
    event::{NoteKind, RunNote},
    session_call::{SessionReply, SessionRequest},
    tool_batch::index_in,
};
use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::{failure::v1::Failure as WireFailure, history::v1::HistoryEvent},
};

use super::{
    TranscriptError,
    approvals::Approvals,
    shape::{Activity, End, Status, Times, Tripped},
};
use crate::{
    client::history::{self, ActivityKey, HistoryReader, Record as OfEvent, Reply, Request, Start},
    events::Place,
};

/// The content of a history read so far.
#[derive(Debug)]
pub(super) struct Events<'c> {
    converter: &'c DataConverter,
    reader: HistoryReader,
    /// The activities, in the order in which they were scheduled.
    pub(super) records: Vec<Record>,
    pub(super) start: Option<Start>,
    pub(super) end: End,
    pub(super) approvals: Approvals,
    /// Times of the workflow run.
    pub(super) times: Times,
    /// Settings of the traces of runs, by the id of the run.
    pub(super) traces: BTreeMap<String, TraceSettings>,
    /// The guardrails that have tripped, in order.
    pub(super) tripped: Vec<Tripped>,
    /// Ids of the outermost runs that have ended.
    pub(super) ended_runs: BTreeSet<String>,
    /// Ids and times of child workflows, by the id of the event that initiated them.
    pub(super) children: BTreeMap<i64, (String, Times)>,
    by_event: HashMap<ActivityKey, usize>,
}

/// An activity, with its request and its result.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) activity: Activity,
    pub(super) exchange: Exchange,
}

/// The request and the result of an activity, by its kind.
#[derive(Debug)]
pub(super) enum Exchange {
    Model {
        request: Option<Box<ModelRequest>>,
        response: Option<ModelResponse>,
    },
    Tool {
        request: ToolRequest,
        reply: Option<ToolReply>,
    },
    Guardrail {
        request: ToolRequest,
        reply: Option<ToolReply>,
    },
    Session {
        store: String,
        request: SessionRequest,
        reply: Option<SessionReply>,
    },
    /// The listing of an MCP server's tools.
    McpList {
        server: String,
    },
    /// Items that a separate activity has recorded, to which model calls refer.
    Items {
        items: Vec<Item>,
    },
    /// A part of the state from the previous execution, to which model calls refer.
    Chunk {
        chunk: Option<String>,
    },
    /// A tool call that a batch has left to an activity of its own.
    NotMade,
}

impl<'c> Events<'c> {
    pub(super) fn new(converter: &'c DataConverter) -> Self {
        Self {
            converter,
            reader: HistoryReader::new(converter),
            records: Vec::new(),
            start: None,
            end: End::Running,
            approvals: Approvals::default(),
            times: Times::default(),
            traces: BTreeMap::new(),
            tripped: Vec::new(),
            ended_runs: BTreeSet::new(),
            children: BTreeMap::new(),
            by_event: HashMap::new(),
        }
    }

    /// Reads the next event.
    ///
    /// # Errors
    /// [`TranscriptError`] when a message cannot be read.
    pub(super) async fn take(&mut self, event: HistoryEvent) -> Result<(), TranscriptError> {
        let at = event.event_time.as_ref().map(ToString::to_string);
        let time = event.event_time.and_then(|time| SystemTime::try_from(time).ok());
        self.times.ended = time.or(self.times.ended);
        for record in self.reader.read(event).await {
            self.add(record, at.clone(), time)?;
        }
        Ok(())
    }

    fn add(&mut self, record: OfEvent, at: Option<String>, time: Option<SystemTime>) -> Result<(), TranscriptError> {
        match record {
            OfEvent::Started(start) => {
                self.times.started = time;
                self.start = Some(*start);
            }
            OfEvent::Scheduled { activity, id, kind: _, request, summary, trace } => {
                let run = Place::of(&id).map_or(&*id, |place| place.run).to_owned();
                self.traced(run, trace);
                self.by_event.insert(activity, self.records.len());
                let mut scheduled = pending(id, summary);
                scheduled.times.scheduled = time;
                scheduled.times.is_batched = activity.is_batched();
                self.records.push(Record { activity: scheduled, exchange: Exchange::of(request?) });
            }
            OfEvent::Attempt { activity, attempt, earlier_failure } => {
                if let Some(record) = self.record(activity) {
                    record.activity.attempts = attempt;
                    record.activity.earlier_failure = earlier_failure;
                    record.activity.times.started = time;
                }
            }
            OfEvent::Completed { activity, reply } => {
                if let Some(record) = self.record(activity) {
                    record.activity.status = Status::Completed;
                    record.activity.times.ended = time;
                    record.exchange.completed(reply?);
                }
            }
            OfEvent::Failed { activity, status, failure } => {
                if let Some(record) = self.record(activity) {
                    (record.activity.status, record.activity.failure) = (status, failure);
                    record.activity.times.ended = time;
                }
            }
            OfEvent::NotMade { activity } => {
                if let Some(record) = self.record(activity) {
                    record.exchange = Exchange::NotMade;
                }
            }
            OfEvent::LocalModelCall { id, summary, attempt, response, failure } => {
                let mut activity = pending(id, summary);
                activity.status = if failure.is_some() { Status::Failed } else { Status::Completed };
                (activity.attempts, activity.failure) = (attempt, failure);
                activity.times = Times { scheduled: time, started: time, ended: time, is_batched: false };
                let exchange = Exchange::Model { request: None, response: response.transpose()? };
                self.records.push(Record { activity, exchange });
            }
            OfEvent::Noted { note, questions } => {
                if let Some(note) = note {
                    self.noted(note, at.as_ref(), time);
                }
                if let Some(questions) = questions {
                    self.approvals.asked(at.as_ref(), questions);
                }
            }
            OfEvent::DecisionSent { event, decision } => self.approvals.sent(event, at, decision),
            OfEvent::DecisionAnswered { event, reply } => self.approvals.answered(event, &reply),
            OfEvent::Ended { end, next: _ } => self.end = end,
            OfEvent::ChildInitiated { event, workflow_id, .. } => {
                let times = Times { scheduled: time, ..Times::default() };
                self.children.insert(event, (workflow_id, times));
            }
            OfEvent::ChildStarted { initiated, .. } => {
                if let Some((_, times)) = self.children.get_mut(&initiated) {
                    times.started = time;
                }
            }
            OfEvent::ChildEnded { initiated } => {
                if let Some((_, times)) = self.children.get_mut(&initiated) {
                    times.ended = time;
                }
            }
            OfEvent::ChatMessage { .. }
            | OfEvent::ChatMessageRefused { .. }
            | OfEvent::Published { .. }
            | OfEvent::Reset { .. } => {}
        }
        Ok(())
    }

    /// Records the current attempt of an activity that has not ended, and the failure of the
    /// previous attempt.
    pub(super) async fn under_way(&mut self, activity_id: &str, attempt: u32, failure: Option<WireFailure>) {
        let converter = self.converter;
        let failure = match failure {
            Some(failure) => Some(history::failure(converter, failure).await),
            None => None,
        };
        let is_it = |record: &&mut Record| {
            let id = &record.activity.id;
            record.activity.status == Status::Pending && (id == activity_id || index_in(activity_id, id).is_some())
        };
        for record in self.records.iter_mut().filter(is_it) {
            record.activity.attempts = attempt;
            if let Some(failure) = &failure {
                record.activity.earlier_failure = Some(failure.clone());
            }
        }
    }

    /// Reads a note: expired questions, the guardrail that has ended the run, its end, its settings.
    fn noted(&mut self, note: RunNote, at: Option<&String>, time: Option<SystemTime>) {
        let RunNote { run, trace, note, .. } = note;
        if note.ends_the_run() {
            self.ended_runs.insert(run.clone());
        }
        match note {
            NoteKind::Expired { decisions } => self.approvals.expired(at, decisions),
            NoteKind::GuardrailTripped { guardrail } | NoteKind::Failed { guardrail: Some(guardrail), .. } => {
                self.tripped.push(Tripped { run: run.clone(), guardrail, at: time, trace: None });
            }
            _ => {}
        }
        self.traced(run, trace);
    }

    /// Keeps the settings that a run has written first.
    fn traced(&mut self, run: String, settings: Option<Box<TraceSettings>>) {
        if let Some(settings) = settings {
            self.traces.entry(run).or_insert(*settings);
        }
    }

    fn record(&mut self, scheduled: ActivityKey) -> Option<&mut Record> {
        self.by_event.get(&scheduled).and_then(|place| self.records.get_mut(*place))
    }
}

impl Exchange {
    fn of(request: Request) -> Self {
        match request {
            Request::Model(request) => Self::Model { request: Some(request), response: None },
            Request::Tool(request) => Self::Tool { request, reply: None },
            Request::Guardrail(request) => Self::Guardrail { request, reply: None },
            Request::Session { store, request } => Self::Session { store, request, reply: None },
            Request::McpList { server } => Self::McpList { server },
            Request::Items(items) => Self::Items { items },
            Request::Chunk => Self::Chunk { chunk: None },
        }
    }

    fn completed(&mut self, answer: Reply) {
        match (self, answer) {
            (Self::Model { response, .. }, Reply::Model(answer)) => *response = Some(answer),
            (Self::Tool { reply, .. } | Self::Guardrail { reply, .. }, Reply::Tool(answer)) => *reply = Some(answer),
            (Self::Session { reply, .. }, Reply::Session(answer)) => *reply = Some(answer),
            (Self::Chunk { chunk }, Reply::Chunk(answer)) => *chunk = Some(answer),
            // A reply is read by the kind of its request.
            _ => {}
        }
    }
}

fn pending(id: String, summary: Option<String>) -> Activity {
    let (failure, earlier_failure, times) = (None, None, Times::default());
    Activity { id, summary, status: Status::Pending, attempts: 0, failure, earlier_failure, times }
}
