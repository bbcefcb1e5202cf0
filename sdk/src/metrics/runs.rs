//! The watch of a workflow's runs.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
    time::SystemTime,
};

use temporal_agents_core::{
    drive::watch::{Moment, RunWatch, Seen},
    wire::{
        Interruption, RunState,
        event::{NoteKind, RunNote},
    },
};
use temporalio_workflow::workflow_interceptors::{
    ExecuteWorkflowInput, ExecuteWorkflowResult, WorkflowInterceptor, WorkflowInterceptorContext,
    WorkflowInterceptorFuture, WorkflowNext,
};

use super::{
    Metrics,
    agents::{Agents, Ended},
    instruments::Instruments,
};
use crate::workflow::watch_key::RunWatchKey;

/// Sets the watch of the runs of a workflow.
pub(crate) struct CountedWorkflow(Metrics);

/// Counts one run.
struct CountedRun {
    metrics: Metrics,
    workflow_type: String,
    /// Id of the execution, and number of the run in it.
    id: String,
    began: Cell<Option<SystemTime>>,
    agents: RefCell<Agents>,
    /// The turn, and the bytes that it has put into history.
    turn: Cell<(u32, u64)>,
    /// The open questions, by the ids of their calls, and the number of all so far. A provider may
    /// use an id again in a later response: what is counted has a number of its own.
    open: RefCell<BTreeMap<String, Open>>,
    asked: Cell<u32>,
    /// The number of notes about the gate so far.
    gated: Cell<u32>,
}

/// A question that is open.
struct Open {
    number: u32,
    asked: SystemTime,
    tool: String,
}

impl Metrics {
    /// Returns the interceptor of workflows.
    pub(crate) fn interceptor(&self) -> CountedWorkflow {
        CountedWorkflow(self.clone())
    }
}

impl WorkflowInterceptor for CountedWorkflow {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let (metrics, execution, runs) = (self.0.clone(), ctx.run_id().to_owned(), Rc::new(Cell::new(0)));
        let workflow_type = ctx.workflow_type().to_owned();
        let watch = move || -> Box<dyn RunWatch> {
            runs.set(runs.get() + 1);
            Box::new(CountedRun {
                metrics: metrics.clone(),
                workflow_type: workflow_type.clone(),
                id: format!("{execution}/{}", runs.get()),
                began: Cell::default(),
                agents: RefCell::default(),
                turn: Cell::default(),
                open: RefCell::default(),
                asked: Cell::default(),
                gated: Cell::default(),
            })
        };
        WorkflowInterceptorFuture::new(ctx.with_context_value::<RunWatchKey, _>(Box::new(watch), next.run(input)))
    }
}

impl RunWatch for CountedRun {
    fn see(&self, moment: Moment, seen: Seen<'_>) {
        match seen {
            Seen::Step { path, state } => self.step(moment, path, state),
            Seen::ModelCalled { path } => self.agents.borrow_mut().called_model(path),
            Seen::ToolsCalled { path, call_ids } => self.agents.borrow_mut().called_tools(path, call_ids),
            Seen::Recorded { bytes } => {
                let (turn, before) = self.turn.get();
                self.turn.set((turn, before + bytes as u64));
            }
            Seen::Noted { path, note } => self.noted(moment, path, note),
            Seen::Waits { questions } => self.waits(moment, questions),
            Seen::Waited { state } => self.waited(moment, state),
            Seen::Leaves => {
                let ended = self.agents.borrow_mut().end_all(moment.now);
                self.agents_ended(moment, ended, None);
                self.turn_ended(moment);
            }
        }
    }
}

impl CountedRun {
    /// Returns `true` if this part of the run is to be counted.
    fn counts(&self, moment: Moment, part: &str) -> bool {
        !moment.is_replaying && self.metrics.is_new(format!("{}/{part}", self.id))
    }

    fn step(&self, moment: Moment, path: &str, state: &RunState) {
        if self.began.get().is_none() {
            self.began.set(Some(moment.now));
        }
        let ended = self.agents.borrow_mut().step(path, state, moment.now);
        self.agents_ended(moment, ended, None);
        if path.is_empty() && state.turn != self.turn.get().0 {
            self.turn_ended(moment);
            self.turn.set((state.turn, 0));
        }
    }

    /// Counts the turn, unless it has put nothing into history.
    fn turn_ended(&self, moment: Moment) {
        let (turn, bytes) = self.turn.replace((0, 0));
        if turn > 0 && bytes > 0 && self.counts(moment, &format!("turn/{turn}")) {
            let Instruments { meter, turn, .. } = &self.metrics.0.instruments;
            turn.record(bytes, &meter.attributes(&[("gen_ai.workflow.name", &self.workflow_type)]));
        }
    }

    fn agents_ended(&self, moment: Moment, all: Vec<Ended>, failure: Option<&str>) {
        let Instruments { meter, agent, inference_calls, tool_calls, .. } = &self.metrics.0.instruments;
        let last = all.last().map(|ended| ended.number);
        for ended in all {
            if !self.counts(moment, &format!("agent/{}", ended.number)) {
                continue;
            }
            let mut attributes = vec![("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", &*ended.agent)];
            // Only the agent of the run itself has failed with it.
            attributes.extend(failure.filter(|_| Some(ended.number) == last).map(|name| ("error.type", name)));
            let attributes = meter.attributes(&attributes);
            agent.record(ended.duration.as_secs_f64(), &attributes);
            inference_calls.record(ended.inference_calls, &attributes);
            tool_calls.record(ended.tool_calls, &attributes);
        }
    }

    fn noted(&self, moment: Moment, path: &str, note: &RunNote) {
        let (outcome, failure) = match &note.note {
            NoteKind::Gated { calls } => {
                let Instruments { meter, verdicts, .. } = &self.metrics.0.instruments;
                if self.counts(moment, &format!("gate/{}", next(&self.gated))) {
                    for call in calls {
                        let verdict = if call.is_denied { "denied" } else { "asked" };
                        let pair = [("temporal_agents.verdict", verdict), ("gen_ai.tool.name", &*call.tool)];
                        verdicts.add(1, &meter.attributes(&pair));
                    }
                }
                return;
            }
            NoteKind::Finished { .. } => ("finished", None),
            NoteKind::Failed { failure, .. } => ("failed", Some(&*failure.type_name)),
            NoteKind::Cancelled { .. } => ("cancelled", Some("Cancelled")),
            _ => return,
        };
        if !path.is_empty() {
            return;
        }
        let ended = self.agents.borrow_mut().end_all(moment.now);
        self.agents_ended(moment, ended, failure);
        self.turn_ended(moment);
        self.close_all();
        if self.counts(moment, "end") {
            let Instruments { meter, workflow, runs, .. } = &self.metrics.0.instruments;
            let name = ("gen_ai.workflow.name", &*self.workflow_type);
            let failure = failure.map(|name| ("error.type", name));
            let mut of_run = vec![name, ("temporal_agents.outcome", outcome)];
            of_run.extend(failure);
            runs.add(1, &meter.attributes(&of_run));
            let mut of_workflow = vec![("gen_ai.operation.name", "invoke_workflow"), name];
            of_workflow.extend(failure);
            let took = self.began.get().and_then(|began| moment.now.duration_since(began).ok());
            workflow.record(took.unwrap_or_default().as_secs_f64(), &meter.attributes(&of_workflow));
        }
    }

    fn waits(&self, moment: Moment, questions: &[Interruption]) {
        let Instruments { meter, asked, .. } = &self.metrics.0.instruments;
        for Interruption { id, tool, .. } in questions {
            let opened = || Open { number: next(&self.asked), asked: moment.now, tool: tool.clone() };
            let number = self.open.borrow_mut().entry(id.clone()).or_insert_with(opened).number;
            if self.counts(moment, &format!("asked/{number}")) {
                asked.add(1, &meter.attributes(&[("gen_ai.tool.name", tool)]));
            }
        }
        self.metrics.questions(|open| questions.iter().for_each(|asked| open.open(&self.id, &asked.id, moment.now)));
    }

    fn waited(&self, moment: Moment, state: &RunState) {
        let mut open = self.open.borrow_mut();
        let decided = open.keys().filter_map(|id| Some((id.clone(), state.decision_on(id)?)));
        for (id, decision) in decided.collect::<Vec<_>>() {
            let Some(Open { number, asked, tool }) = open.remove(&id) else { continue };
            self.metrics.questions(|open| open.close(&self.id, &id));
            if self.counts(moment, &format!("decided/{number}")) {
                let Instruments { meter, wait, .. } = &self.metrics.0.instruments;
                let verdict = match (decision.approve, decision.supplied) {
                    (true, _) => "approved",
                    (false, true) => "supplied",
                    (false, false) => "rejected",
                };
                let waited = moment.now.duration_since(asked).unwrap_or_default();
                let pair = [("temporal_agents.decision", verdict), ("gen_ai.tool.name", &*tool)];
                wait.record(waited.as_secs_f64(), &meter.attributes(&pair));
            }
        }
    }

    /// Forgets the open questions: nobody waits for them any more, or another worker does.
    fn close_all(&self) {
        let closed = self.open.take();
        if !closed.is_empty() {
            self.metrics.questions(|open| closed.keys().for_each(|question| open.close(&self.id, question)));
        }
    }
}

/// Returns the next number, counted from 1; the same on replay.
fn next(number: &Cell<u32>) -> u32 {
    number.set(number.get() + 1);
    number.get()
}

impl Drop for CountedRun {
    fn drop(&mut self) {
        self.close_all();
    }
}
