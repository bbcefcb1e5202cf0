//! One message of a chat and the run that answers it, followed until the run pauses or ends.
//!
//! # Design
//! **History links a message to its run.** A chat answers its messages in the order in which it has
//! accepted them, and both are in the history. So any replica finds the run of a message, also long
//! after it has ended, and a repeated request has the same events.
//!
//! **A resumed turn begins with the first decision of its request.** The frontend has the events
//! before it. The run works on a call as soon as it is decided, and pauses again for the others,
//! with a fact: pauses count once the history has all decisions of the request.

mod chat_runs;
mod start;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use futures::FutureExt;
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentInterruption, ChatOutcome, ChatReply, EventKind, Item, RunEvent, RunMode, RunProblem,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use self::chat_runs::ChatRuns;
pub(super) use self::start::TurnStart;
use super::{
    error::ApiError,
    places::Reply,
    problems::{Look, looked},
    runs::AskedInHistory,
    service::Shared,
};
use crate::client::{QuietWatch, RunEventStream};

/// Time in which a worker must answer the query for the calls that wait.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of deltas that are kept until the fact that their run has begun.
const MAX_EARLY: usize = 256;
/// Time after the reply to a message in which its run must have ended in the history.
const GRACE: Duration = Duration::from_secs(10);

/// Time without a fact after which a reader of a history has read it to its present end.
const SETTLED: Duration = Duration::from_secs(2);

/// The part of a chat that a turn follows.
pub(super) enum Target {
    /// The run that answers this message, up to its first pause.
    Message(String),
    /// The run that answers this message, which is open: pauses that are over are passed by.
    Open(String),
    /// The run with these questions, after all of them are decided.
    Decided(BTreeSet<String>),
}

/// A step of a turn.
pub(super) enum TurnStep {
    /// A fact or a delta of the run.
    Event(Box<RunEvent>),
    /// The run makes no progress for this reason; `None` if it does again.
    Problem(Option<RunProblem>),
    /// The run waits for these calls. The turn has ended.
    Paused(Vec<AgentInterruption>),
    /// The run has ended with this output.
    Finished(Value),
    /// The run has left no facts but its reply.
    Reply(String),
    /// The run has failed.
    Failed { code: String, message: String },
    /// The run was cancelled.
    Cancelled,
}

/// A message and its run.
pub(super) struct Turn {
    shared: Arc<Shared>,
    mode: RunMode,
    workflow_id: String,
    events: RunEventStream,
    chat: ChatRuns,
    target: Target,
    /// The questions of a resumed turn that the history has no decision on.
    undecided: BTreeSet<String>,
    /// Id of the run, once it is known.
    run: Option<String>,
    /// Deltas that came before the fact that their run has begun.
    early: Vec<RunEvent>,
    due: VecDeque<RunEvent>,
    /// The calls that the run waits for: the turn ends with them.
    paused: Option<Vec<AgentInterruption>>,
    /// The questions of the run that are open according to the facts.
    asked: AskedInHistory,
    /// The time at which the open questions are those of the present: no worker has said so, and no
    /// later fact has come until then.
    settled_at: Option<Instant>,
    reply: Option<Reply>,
    answered: Option<ChatReply>,
    quiet: QuietWatch,
    /// The look for a problem that is under way.
    look: Option<Look>,
    /// `true` after an event that ends a problem which was shown.
    is_well_again: bool,
    is_over: bool,
}

/// The meaning of an event for the turn.
enum Observed {
    Skip,
    Pass,
    Pause,
    End,
}

impl Turn {
    /// Creates a turn of this chat. `reply` is the reply to the message, if the request has sent
    /// it: it ends a turn whose run leaves no facts.
    ///
    /// # Errors
    /// 503 if the mode is not available.
    pub(super) fn new(
        shared: &Arc<Shared>,
        (mode, workflow_id): (RunMode, &str),
        target: Target,
        start: TurnStart,
        reply: Option<Reply>,
    ) -> Result<Self, ApiError> {
        let TurnStart { execution, answered } = start;
        let events = match (execution, &shared.events) {
            (Some(execution), Some(events)) => events.watch_live_of_execution(workflow_id, &execution),
            _ => shared.watch(mode, workflow_id, None, true)?,
        };
        let undecided = match &target {
            Target::Decided(questions) => questions.clone(),
            Target::Message(_) | Target::Open(_) => BTreeSet::new(),
        };
        Ok(Self {
            events,
            shared: Arc::clone(shared),
            mode,
            workflow_id: workflow_id.to_owned(),
            chat: ChatRuns::new(answered),
            target,
            undecided,
            run: None,
            early: Vec::new(),
            due: VecDeque::new(),
            paused: None,
            asked: AskedInHistory::default(),
            settled_at: None,
            reply,
            answered: None,
            quiet: QuietWatch::default(),
            look: None,
            is_well_again: false,
            is_over: false,
        })
    }

    /// Returns the next step; `None` after the last.
    ///
    /// # Errors
    /// The history cannot be read; the turn has then ended.
    pub(super) async fn next(&mut self) -> Option<Result<TurnStep, ApiError>> {
        loop {
            if self.is_over {
                return None;
            }
            if std::mem::take(&mut self.is_well_again) {
                return Some(Ok(TurnStep::Problem(None)));
            }
            if let Some(event) = self.due.pop_front() {
                return Some(Ok(TurnStep::Event(Box::new(event))));
            }
            if let Some(waiting) = self.paused.take() {
                return Some(Ok(self.end(TurnStep::Paused(waiting))));
            }
            let event = tokio::select! {
                biased;
                event = self.events.next() => {
                    self.look = None;
                    event
                }
                () = self.quiet.is_due(), if self.look.is_none() => {
                    self.look = Some(self.shared.look(self.mode, &self.workflow_id));
                    continue;
                }
                problem = looked(&mut self.look) => {
                    match self.quiet.looked(problem) {
                        Some(news) => return Some(Ok(TurnStep::Problem(news))),
                        None => continue,
                    }
                }
                () = until(self.settled_at) => {
                    self.settled_at = None;
                    self.paused = Some(self.asked.open()).filter(|asked| !asked.is_empty());
                    continue;
                }
                reply = next_reply(&mut self.reply, self.answered.is_some()) => {
                    match self.replied(reply) {
                        None => continue,
                        Some(step) => return Some(Ok(self.end(step))),
                    }
                }
            };
            let event = match event {
                None => return Some(Ok(self.end(TurnStep::Cancelled))),
                Some(Err(error)) => {
                    self.is_over = true;
                    return Some(Err(error.into()));
                }
                Some(Ok(event)) => event,
            };
            self.is_well_again = self.quiet.event_came();
            if self.settled_at.is_some() && !event.is_delta() {
                // A run that has resumed works, however long a call takes without a fact.
                let is_asked = !self.asked.is_empty() && !matches!(event.kind, EventKind::RunResumed {});
                self.settled_at = is_asked.then(|| Instant::now() + SETTLED);
            }
            match self.observe(&event) {
                Observed::Skip => {}
                Observed::Pass => return Some(Ok(TurnStep::Event(Box::new(event)))),
                Observed::Pause => self.paused = self.waiting().await,
                Observed::End => return Some(Ok(self.end(ended(event.kind)))),
            }
        }
    }

    fn end(&mut self, step: TurnStep) -> TurnStep {
        self.is_over = true;
        step
    }

    fn observe(&mut self, event: &RunEvent) -> Observed {
        let is_root = event.path.is_empty() && event.workflow.is_none();
        self.asked.observe(event);
        match &event.kind {
            EventKind::RunContinued { .. } if is_root && !event.run.is_empty() => {
                self.chat.moving = Some(event.run.clone());
            }
            EventKind::RunResumed {} if is_root && self.chat.has_moved(event) => {
                let moved = self.chat.moved(event);
                if self.run.is_some() && self.run == moved {
                    self.run = Some(event.run.clone());
                }
            }
            EventKind::ChatMessageDelta { chat_message_id, text, is_refused } if event.workflow.is_none() => {
                self.chat.message(chat_message_id, text, *is_refused);
                return Observed::Skip;
            }
            EventKind::RunStarted { .. } | EventKind::RunResumed {} if is_root => {
                let input = if let EventKind::RunStarted { input } = &event.kind { &**input } else { &[] };
                let message = self.chat.began(&event.run, input);
                if let EventKind::RunStarted { .. } = &event.kind {
                    self.asked.clear();
                }
                let is_wanted = match &self.target {
                    Target::Message(wanted) | Target::Open(wanted) => message.as_ref() == Some(wanted),
                    Target::Decided(_) => false,
                };
                if is_wanted {
                    self.run = Some(event.run.clone());
                    let early = std::mem::take(&mut self.early).into_iter();
                    self.due.extend(early.filter(|delta| delta.run == event.run));
                }
            }
            EventKind::QuestionAsked { question_id, .. } if self.undecided.contains(question_id) => {
                self.run.get_or_insert_with(|| event.run.clone());
            }
            _ => {}
        }
        if self.run.is_none() && event.is_delta() && self.early.len() < MAX_EARLY {
            self.early.push(event.clone());
        }
        let ends_the_workflow = event.run.is_empty() && event.kind.ends_the_run();
        let Some(run) = &self.run else { return if ends_the_workflow { Observed::End } else { Observed::Skip } };
        // A chat answers one message at a time: events of child workflows are those of its run.
        if event.run != *run && event.workflow.is_none() && !ends_the_workflow {
            return Observed::Skip;
        }
        self.observe_of_run(event, is_root, run.clone() == event.run)
    }

    fn observe_of_run(&mut self, event: &RunEvent, is_root: bool, is_own: bool) -> Observed {
        let requested = if let Target::Decided(questions) = &self.target { questions.len() } else { 0 };
        if let EventKind::QuestionDecided { question_id, .. } = &event.kind
            && self.undecided.remove(question_id)
        {
            return Observed::Pass;
        }
        if requested > 0 && self.undecided.len() == requested {
            return if is_root && is_own && event.kind.ends_the_run() { Observed::End } else { Observed::Skip };
        }
        match &event.kind {
            EventKind::RunPaused {} if is_root && !self.undecided.is_empty() => Observed::Skip,
            EventKind::RunPaused {} if is_root => Observed::Pause,
            kind if kind.ends_the_run() && is_root && (is_own || event.run.is_empty()) => Observed::End,
            _ => Observed::Pass,
        }
    }

    /// Returns the calls that the run waits for; `None` if the pause is over, or may be.
    async fn waiting(&mut self) -> Option<Vec<AgentInterruption>> {
        let state = timeout(QUERY_TIMEOUT, self.shared.state(self.mode, &self.workflow_id)).await;
        let is_asked = |call: &AgentInterruption| self.asked.has(&call.id);
        let waiting: Option<Vec<_>> = match state {
            Ok(Ok(Some(state))) => Some(state.interruptions.into_iter().filter(is_asked).collect()),
            Ok(Ok(None) | Err(_)) | Err(_) => None,
        };
        match (&self.target, waiting) {
            (_, Some(waiting)) if !waiting.is_empty() => Some(waiting),
            // A repeated request has the same end. The facts have all but long arguments.
            (Target::Message(_), _) => Some(self.asked.open()),
            (Target::Open(_) | Target::Decided(_), Some(_)) => None,
            // No worker answers: the pause is that of the present if no later fact follows.
            (Target::Open(_) | Target::Decided(_), None) => {
                self.settled_at = Some(Instant::now() + SETTLED);
                None
            }
        }
    }

    /// Records the reply to the message, or ends a turn whose run has left no facts.
    fn replied(&mut self, reply: Option<ChatReply>) -> Option<TurnStep> {
        self.reply = None;
        if let Some(reply) = self.answered.take() {
            return Some(outcome(reply.outcome));
        }
        let reply = reply?;
        match &reply.outcome {
            ChatOutcome::Refused { .. } => return Some(outcome(reply.outcome)),
            _ => self.answered = Some(reply),
        }
        None
    }
}

/// Waits until this time, if there is one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Waits for the reply; after it, for the time in which the history must have the end of the run.
async fn next_reply(reply: &mut Option<Reply>, has_answer: bool) -> Option<ChatReply> {
    match (reply, has_answer) {
        (Some(reply), _) => reply.await,
        (None, true) => sleep(GRACE).map(|()| None).await,
        (None, false) => std::future::pending().await,
    }
}

fn outcome(outcome: ChatOutcome) -> TurnStep {
    match outcome {
        ChatOutcome::Answered { output: Value::String(text) } => TurnStep::Reply(text),
        ChatOutcome::Answered { output } => TurnStep::Reply(output.to_string()),
        ChatOutcome::Failed { reason } => TurnStep::Failed { code: "run_failed".to_owned(), message: reason },
        ChatOutcome::Refused { reason } => TurnStep::Failed { code: "refused".to_owned(), message: reason },
        other => TurnStep::Failed { code: "no_answer".to_owned(), message: format!("the chat has ended: {other:?}") },
    }
}

fn ended(kind: EventKind) -> TurnStep {
    let failed = |code: &str, message: String| TurnStep::Failed { code: code.to_owned(), message };
    match kind {
        EventKind::RunFinished { output, .. } => TurnStep::Finished(output),
        EventKind::RunFailed { failure, .. } => failed(&failure.type_name, failure.message),
        EventKind::RunTerminated { reason } => failed("terminated", format!("the workflow was terminated: {reason}")),
        EventKind::RunTimedOut {} => failed("timed_out", "the workflow has exceeded a timeout".to_owned()),
        _ => TurnStep::Cancelled,
    }
}

/// Returns the message of a reply whose run has left no facts.
pub(super) fn message(text: String) -> RunEvent {
    RunEvent { id: "reply".to_owned(), ..RunEvent::new(EventKind::Message { item: Item::assistant(&text), text }) }
}
