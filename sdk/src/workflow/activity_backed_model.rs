//! Schedules model calls as activities: makes the request, with references to content that the
//! workflow's history holds, and reads the reply.
//!
//! A model call comes here from `workflow/host/mod.rs`, and continues with the message of
//! `wire/model_call.rs` in `worker/model_activity.rs`. "Flow: a conversation by reference" in
//! ARCHITECTURE.md describes the references.
//!
//! | name | meaning |
//! |---|---|
//! | ledger | index of the content that history holds, by conversation |
//! | fold, unfold | write a call's input as references and new items ([`Folded`]); the reverse |
//! | noted | the input that the ledger records once the call has a response ([`Noted`]) |
//! | command | something that a workflow requests from the server, such as an activity |
//! | gate, place | a semaphore over what is in flight, and its permit |

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use temporal_agents_core::{
    agent::Graph,
    drive::{ModelEffectError, guard::Panic},
    engine::TriedFor,
    tool::BoxError,
    wire::{
        Folded, Item, Ledger, MODEL_ACTIVITY, ModelCall, ModelFailureKind, ModelReply, ModelRequest, ModelResponse,
        Noted,
        conversation::{RECORD_ACTIVITY, RecordRequest},
        failure::{CONVERSATION_UNAVAILABLE, ConversationPart, ConversationUnavailable},
    },
};
use temporalio_workflow::{WorkflowCancellationToken, common::protos::temporal::api::enums::v1::TimeoutType};

use super::{
    context::DurableContext,
    effect::{
        failure::{
            EffectFailure, NoModelActivity, application, failure_type, is_not_registered, message_of, timeout_of,
        },
        model_activity_options::{ModelActivityOptions, Scheduling},
        until_deployed::{Answered, Requirement, Unanswered, Wanted, with_activity_id},
    },
    limits::{
        definitions::{GroupMember, MAX_GROUP_BYTES},
        gate::{Cancelled, Gate, Place},
        request::{RequestSize, checked, chunks, definitions_share, room_for_items},
    },
};

/// Start of the markers of calls that begin a group of definitions; see `limits/definitions.rs`.
const DEFINITIONS_WAIT: &str = "temporal-agents/definitions-wait";

/// Calls models through activities, with options for all agents and for individual agents.
#[derive(Clone, Debug, Default)]
pub struct ActivityBackedModel {
    options: ModelActivityOptions,
    per_agent: BTreeMap<String, ModelActivityOptions>,
}

impl ActivityBackedModel {
    /// Creates a model that schedules the calls of all agents with these options.
    pub fn new(options: ModelActivityOptions) -> Self {
        Self { options, per_agent: BTreeMap::new() }
    }

    /// Sets other options for the calls of one agent.
    #[must_use]
    pub fn for_agent(mut self, agent: impl Into<String>, options: ModelActivityOptions) -> Self {
        self.per_agent.insert(agent.into(), options);
        self
    }

    /// Returns the names of the agents that have options of their own.
    pub(super) fn agents_with_options(&self) -> impl Iterator<Item = &str> {
        self.per_agent.keys().map(String::as_str)
    }

    /// Returns `true` if any calls are made on a task queue of their own.
    pub(super) fn has_task_queue(&self) -> bool {
        self.options.task_queue.is_some() || self.per_agent.values().any(|options| options.task_queue.is_some())
    }

    /// Removes the options of agents that are not in the graph.
    pub(super) fn keep_agents(&mut self, graph: &Graph) {
        self.per_agent.retain(|agent, _| graph.agent(agent).is_some());
    }

    /// Returns `true` if the calls of this agent are local activities.
    pub(super) fn is_local(&self, agent: &str) -> bool {
        self.per_agent.get(agent).unwrap_or(&self.options).local
    }

    /// Returns the options for the calls of all agents that have none of their own.
    pub fn options_mut(&mut self) -> &mut ModelActivityOptions {
        &mut self.options
    }

    /// Calls a model. The request refers to the content that history already holds, which the
    /// worker reads from the server. If it cannot find this content (for example because it may not
    /// read histories), the call is scheduled again with the content itself: first with the
    /// definitions, if only they are missing, then with everything.
    pub(super) async fn call(
        &self,
        ctx: &Rc<dyn DurableContext>,
        books: HistoryAccount<'_>,
        call: ModelCall,
        activity_id: String,
        token: WorkflowCancellationToken,
    ) -> Result<ModelResponse, ModelEffectError> {
        let options = self.per_agent.get(&call.agent).unwrap_or(&self.options);
        let scheduled = Scheduled { ctx, options, call: &call, token };
        if options.local {
            // A local activity leaves only its result in history: there is nothing to refer to, and
            // no bytes to save.
            let nothing = RefCell::default();
            let books = HistoryAccount { ledger: &nothing, ..books };
            let Called { response, .. } = scheduled.attempt(&activity_id, books.fold(&call), &books).await?;
            return Ok(response);
        }
        let missing = match scheduled.answer(&activity_id, &books).await {
            Err(Failed::Unavailable(missing, _)) => missing,
            answered => return Ok(answered?),
        };
        if missing == ConversationPart::Definitions {
            books.ledger.borrow_mut().forget_definitions();
            match scheduled.answer(&format!("{activity_id}-definitions"), &books).await {
                Err(Failed::Unavailable(..)) => {}
                answered => return Ok(answered?),
            }
        }
        // An empty ledger, with which nothing is a reference. A ledger of its own, because other
        // conversations of the workflow may be intact, and continue to use references.
        let alone = RefCell::default();
        let fresh = HistoryAccount { ledger: &alone, chain: books.chain.clone(), ..books };
        let response = scheduled.answer(&format!("{activity_id}-full"), &fresh).await?;
        books.ledger.borrow_mut().take_over(alone.into_inner());
        Ok(response)
    }
}

/// The ledger and the gate that a model call uses, with callbacks that report its commands.
pub(super) struct HistoryAccount<'b> {
    /// The ledger of all conversations of the workflow execution: the content that history holds.
    pub(super) ledger: &'b RefCell<Ledger>,
    /// Key of this conversation in the ledger: each run has one, and each run inside it.
    pub(super) chain: String,
    /// Limits how much of the run is in flight.
    pub(super) gate: &'b Gate,
    /// Called when a command that had to wait at the gate is about to be scheduled: the size of
    /// history is measured where commands are scheduled.
    pub(super) late: &'b dyn Fn(),
    /// Called with the bytes of content that each command puts into history.
    pub(super) wrote: &'b dyn Fn(usize),
    /// Called with the bytes of definitions that a call puts into history, and the bytes that a
    /// request keeps free for them.
    pub(super) wrote_definitions: &'b dyn Fn(usize, usize),
}

impl HistoryAccount<'_> {
    fn fold(&self, call: &ModelCall) -> Folded {
        self.ledger.borrow().fold(&self.chain, &call.definitions, &call.input)
    }

    /// Waits for the turn of a call with inline definitions of `bytes` bytes; 0 means that the
    /// request refers to them. Returns the membership, which the call keeps until it has ended.
    async fn join_group(
        &self,
        ctx: &Rc<dyn DurableContext>,
        activity_id: &str,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<GroupMember<'_>, Failed> {
        let member = GroupMember::join(self.gate, bytes, |is_over| {
            // On replay the marker decides, so it is looked for whatever the size is now.
            (is_over || ctx.is_replaying()) && ctx.patched(&format!("{DEFINITIONS_WAIT}/{activity_id}"))
        });
        let waited = self.gate.wait_for_group(&member, token).await;
        if waited.map_err(|Cancelled| Failed::Otherwise(ModelEffectError::Cancelled))? {
            (self.late)();
        }
        Ok(member)
    }

    /// Waits until the gate has room for a command of `bytes` bytes.
    async fn place(&self, bytes: usize, token: &WorkflowCancellationToken) -> Result<Place<'_>, Failed> {
        let cancelled = |Cancelled| Failed::Otherwise(ModelEffectError::Cancelled);
        let place = self.gate.ask(bytes, token).await.map_err(cancelled)?;
        if place.has_waited() {
            (self.late)();
        }
        Ok(place)
    }
}

/// A model call with all that is needed to schedule it, up to three times.
struct Scheduled<'c> {
    ctx: &'c Rc<dyn DurableContext>,
    options: &'c ModelActivityOptions,
    call: &'c ModelCall,
    token: WorkflowCancellationToken,
}

/// A model call that has a response.
struct Called {
    response: ModelResponse,
    /// Id of the activity that returned the response.
    activity_id: String,
    /// The input of the call, for the ledger to record.
    noted: Noted,
}

/// The reason why a call has no response.
enum Failed {
    /// The worker could not find this part of the content of Temporal's history that the request
    /// refers to.
    Unavailable(ConversationPart, BoxError),
    Otherwise(ModelEffectError),
}

impl Scheduled<'_> {
    /// Makes the call. Once it has a response, records in the ledger the content that history now
    /// holds.
    async fn answer(&self, activity_id: &str, books: &HistoryAccount<'_>) -> Result<ModelResponse, Failed> {
        let folded = self.recorded(activity_id, books).await?;
        let Called { response, activity_id, noted } = self.attempt(activity_id, folded, books).await?;
        books.ledger.borrow_mut().answered(&books.chain, &activity_id, noted, &response.output);
        Ok(response)
    }

    /// Returns the call with references. Items that are together too large to travel with the call
    /// are first recorded by activities of their own, which do nothing: history holds their input.
    async fn recorded(&self, activity_id: &str, books: &HistoryAccount<'_>) -> Result<Folded, Failed> {
        let folded = books.fold(self.call);
        let limit = self.options.max_request_bytes;
        let room = room_for_items(self.call, &folded, limit).map_err(|error| Failed::of(error.into()))?;
        let chunks = chunks(folded.inline_items(), limit, room).map_err(Failed::of)?;
        if chunks.is_empty() {
            return Ok(folded);
        }
        // One after another: the server limits the response to a workflow task to 4 MiB, in
        // addition to the limit of each payload.
        for (number, items) in chunks.into_iter().enumerate() {
            let activity_id = format!("{activity_id}-items-{number}");
            let count = items.len();
            let Self { ctx, options, call, token } = self;
            let scheduling = Scheduling { call, activity_id: activity_id.clone(), token: token.clone() };
            let bytes = items.iter().map(Item::json_len).sum();
            let _place = books.place(bytes, token).await?;
            (books.wrote)(bytes);
            let (request, options) = (RecordRequest::from(items.clone()), options.recording(scheduling, count));
            let schedule = |id| ctx.record_activity(request.clone(), with_activity_id(&options, id));
            let recording = self.wanted(&activity_id, RECORD_ACTIVITY).answer(schedule).await;
            let Answered { activity_id, .. } = recording.map_err(|unanswered| self.failed(unanswered))?;
            books.ledger.borrow_mut().recorded(&activity_id, &items);
        }
        Ok(books.fold(self.call))
    }

    /// Schedules the activity and reads its reply.
    async fn attempt(&self, activity_id: &str, folded: Folded, books: &HistoryAccount<'_>) -> Result<Called, Failed> {
        let Self { ctx, options, call, token } = self;
        let RequestSize { conversation, definitions: defined } = checked(call, &folded, options).map_err(Failed::of)?;
        let Folded { conversation: segments, definitions, noted } = folded;
        let request = ModelRequest::with_parts(call, definitions, segments);
        let at = Scheduling { call, activity_id: activity_id.to_owned(), token: token.clone() };
        let wanted = self.wanted(activity_id, MODEL_ACTIVITY);
        let answer = if options.local {
            let options = options.local_activity(at).map_err(|panic| Failed::of(summary_panicked(&panic)))?;
            let schedule = |id| {
                let mut options = options.clone();
                options.activity_id = Some(id);
                ctx.local_model_activity(request.clone(), options)
            };
            wanted.answer(schedule).await
        } else {
            let options = options.activity(at).map_err(|panic| Failed::of(summary_panicked(&panic)))?;
            let _member = books.join_group(ctx, activity_id, defined, token).await?;
            // What no group has room for counts as the conversation does.
            let _place = books.place(conversation + defined.saturating_sub(MAX_GROUP_BYTES), token).await?;
            (books.wrote)(conversation);
            if defined > 0 {
                (books.wrote_definitions)(defined, definitions_share(self.options.max_request_bytes));
            }
            let schedule = |id| ctx.model_activity(request.clone(), with_activity_id(&options, id));
            wanted.answer(schedule).await
        };
        // The id of the activity that has answered, which may have been scheduled again.
        let Answered { result, activity_id } = answer.map_err(|unanswered| self.failed(unanswered))?;
        let ModelReply { version: _, response } =
            result.read("model reply").map_err(|error| Failed::of(error.into()))?;
        Ok(Called { response, activity_id, noted })
    }

    fn wanted<'w>(&'w self, id: &'w str, activity: &'static str) -> Wanted<'w> {
        let longest = Some(self.options.schedule_to_close);
        Wanted { ctx: self.ctx, id, what: Requirement::Activity(activity), longest, token: &self.token }
    }

    fn failed(&self, unanswered: Unanswered) -> Failed {
        let (failure, tried_for) = match unanswered {
            Unanswered::Cancelled => return Failed::Otherwise(ModelEffectError::Cancelled),
            Unanswered::Failed(failure, tried_for) => (failure, tried_for),
        };
        if is_not_registered(&failure) {
            let task_queue = self.options.task_queue.clone().unwrap_or_else(|| self.ctx.task_queue());
            let tried_for = TriedFor(tried_for);
            return Failed::of(Box::new(NoModelActivity { task_queue, tried_for, failure }));
        }
        if failure_type(&failure) == Some(CONVERSATION_UNAVAILABLE) {
            let details =
                application(&failure).and_then(|failure| failure.details::<ConversationUnavailable>().ok()?);
            let what = details.map_or(ConversationPart::Items, |details| details.what);
            return Failed::Unavailable(what, Box::new(EffectFailure::new(failure)));
        }
        if failure_type(&failure) == Some(&*ModelFailureKind::ConversationNotFound.failure_type()) {
            let (reason, source) = (message_of(&failure), Box::new(EffectFailure::new(failure)));
            return Failed::Otherwise(ModelEffectError::ConversationLost { reason, source });
        }
        if timeout_of(&failure) == Some(TimeoutType::StartToClose) {
            let reason = self.options.exceeded_by(self.call);
            let source = Box::new(EffectFailure::with_message(reason.clone(), failure));
            return Failed::Otherwise(ModelEffectError::Failed { reason, source });
        }
        let reason = format!("{}{}", message_of(&failure), TriedFor(tried_for));
        let source = Box::new(EffectFailure::after(failure, tried_for));
        Failed::Otherwise(ModelEffectError::Failed { reason, source })
    }
}

impl Failed {
    fn of(source: BoxError) -> Self {
        Self::Otherwise(ModelEffectError::Failed { reason: source.to_string(), source })
    }
}

impl From<Failed> for ModelEffectError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Unavailable(_, source) => Self::Failed { reason: source.to_string(), source },
            Failed::Otherwise(error) => error,
        }
    }
}

fn summary_panicked(panic: &Panic) -> BoxError {
    format!("the summary function of the model activity failed: {panic}").into()
}
