//! A run driven by hand: the test resolves each step.

use super::*;

/// A run driven by hand. After every step its state is written to JSON and read again, as in a
/// pause.
pub(super) struct ByHand {
    pub(super) engine: Engine,
}

impl ByHand {
    /// Starts a run of agent `triage` with the input "hi" and at most 10 turns.
    pub(super) fn start() -> Self {
        Self::with_max_turns(Some(10))
    }

    pub(super) fn with_max_turns(max_turns: Option<u32>) -> Self {
        Self::begin(Beginning { max_turns, ..beginning() }, Rules::default())
    }

    pub(super) fn with_rules(rules: Rules) -> Self {
        Self::begin(beginning(), rules)
    }

    /// Starts a run whose input is admitted by its guardrails, and written to its session, if it has
    /// one.
    pub(super) fn begin(beginning: Beginning, rules: Rules) -> Self {
        let mut run = Self { engine: Engine::start(beginning, rules) };
        if let Step::CheckInput { .. } = run.next() {
            run.resolve(Resolution::InputChecked { results: Vec::new(), more: false }).unwrap();
        }
        if let Step::Save { .. } = run.next() {
            run.resolve(Resolution::Saved).unwrap();
        }
        run
    }

    pub(super) fn next(&self) -> Step {
        let step = self.engine.next();
        assert_eq!(step, self.engine.next(), "asking twice gives the same step");
        step
    }

    pub(super) fn resolve(&mut self, resolution: Resolution) -> Result<(), RunError> {
        let resolved = self.engine.resolve(resolution);
        self.through_json();
        resolved
    }

    pub(super) fn through_json(&mut self) {
        let json = serde_json::to_string(self.engine.state()).unwrap();
        let read: RunState = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, self.engine.state(), "the state survives JSON");
        assert_eq!(serde_json::to_string(&read).unwrap(), json, "the JSON survives the state");
        self.engine.state = read;
    }

    /// Prepares the due turn and returns the model call that follows.
    pub(super) fn prepare(&mut self, setup: TurnSetup) -> ModelCall {
        let Step::PrepareTurn { .. } = self.next() else { panic!("no turn is due, but {:?}", self.next()) };
        self.resolve(Resolution::Prepared(Box::new(setup))).unwrap();
        let Step::CallModel(call) = self.next() else { panic!("no model call is due, but {:?}", self.next()) };
        *call
    }

    /// Runs a whole turn up to the model's response.
    pub(super) fn turn(&mut self, setup: TurnSetup, output: Vec<Item>) -> Result<ModelCall, RunError> {
        let call = self.prepare(setup);
        self.resolve(Resolution::Answered(response(output)))?;
        Ok(call)
    }

    /// Resolves the due tool calls with these outputs, in call order.
    pub(super) fn tools_return(&mut self, outputs: &[&str]) {
        self.tools_come_to(outputs.iter().map(|output| CallResult::Output((*output).into())).collect());
    }

    /// Resolves the due tool calls with these results, in call order. A call with an output has
    /// run.
    pub(super) fn tools_come_to(&mut self, results: Vec<CallResult>) {
        let due = self.due();
        assert_eq!(due.len(), results.len(), "one result for each of {due:?}");
        let outcomes = due.iter().zip(results).map(|(due, result)| outcome(due.index, result)).collect();
        self.resolve(Resolution::ToolsRan(outcomes)).unwrap();
    }

    pub(super) fn due(&self) -> Vec<DueCall> {
        let Step::CallTools { calls, .. } = self.next() else { panic!("no tools are due, but {:?}", self.next()) };
        calls
    }

    pub(super) fn due_calls(&self) -> Vec<PlannedCall> {
        self.due().into_iter().map(|due| due.call).collect()
    }

    /// Takes the due handoff; the next agent receives the whole conversation.
    pub(super) fn hand_off(&mut self) {
        self.hand_off_with(None);
    }

    pub(super) fn hand_off_with(&mut self, rewritten: Option<HandoffInputData>) {
        let Step::TakeHandoff { .. } = self.next() else { panic!("no handoff is due, but {:?}", self.next()) };
        self.resolve(Resolution::HandedOff).unwrap();
        let Step::Rewrite { .. } = self.next() else { panic!("no rewrite is due, but {:?}", self.next()) };
        self.resolve(Resolution::Rewritten(rewritten.map(Box::new))).unwrap();
    }

    /// Returns the final output, which no guardrail holds back.
    pub(super) fn output(&mut self) -> Value {
        let Step::Conclude { .. } = self.next() else { panic!("there is no final output, but {:?}", self.next()) };
        self.resolve(Resolution::OutputChecked(Vec::new())).unwrap();
        self.saved();
        let Step::Done { output } = self.next() else { panic!("the run is not over, but {:?}", self.next()) };
        output
    }

    /// Writes the due items to the session and returns them, one line each.
    pub(super) fn saved(&mut self) -> Vec<String> {
        let Step::Save { items } = self.next() else { return Vec::new() };
        self.resolve(Resolution::Saved).unwrap();
        items.iter().map(content).collect()
    }

    /// Returns the ids of the calls that wait for a decision.
    pub(super) fn waits_for(&self) -> Vec<String> {
        assert_eq!(self.next(), Step::Interrupted);
        self.engine.state().interruptions().into_iter().map(|interruption| interruption.id).collect()
    }

    /// Decides on calls and resumes the run.
    pub(super) fn decide(&mut self, decisions: &[(&str, Decision)]) {
        self.waits_for();
        let mut state = self.engine.state().clone();
        for (id, decision) in decisions {
            state.decide(id, decision.clone()).unwrap();
        }
        self.take_up(state);
    }

    pub(super) fn take_up(&mut self, state: RunState) {
        self.engine = Engine::resume(state, self.engine.rules.clone());
        self.through_json();
    }

    /// Offers these tools to the agent after a pause.
    pub(super) fn offer(&mut self, tools: &[&str]) -> Result<(), RunError> {
        self.offer_variants(tools.iter().map(|tool| (*tool, 0)))
    }

    pub(super) fn offer_variants<'t>(
        &mut self,
        tools: impl IntoIterator<Item = (&'t str, usize)>,
    ) -> Result<(), RunError> {
        let Step::PrepareResume { .. } = self.next() else { panic!("no resume is due, but {:?}", self.next()) };
        self.resolve(Resolution::Offered(tools.into_iter().map(|(tool, variant)| (tool.to_owned(), variant)).collect()))
    }

    /// Returns the items of the run, one line each: agent, type, call id or text.
    pub(super) fn transcript(&self) -> Vec<String> {
        self.engine.state().items.iter().map(line).collect()
    }

    /// Returns the raw items as they would be sent.
    pub(super) fn raw_items(&self) -> Vec<Item> {
        self.engine.state().items.iter().map(|item| item.raw.clone()).collect()
    }
}

pub(super) fn line(item: &NewItem) -> String {
    let kind = serde_json::to_value(item.kind).unwrap();
    format!("{}: {} {}", item.agent, kind.as_str().unwrap(), content(&item.raw))
}

pub(super) fn content(item: &Item) -> String {
    match (item.text(), item.call_id(), item.get("output")) {
        (Some(text), ..) => text,
        (None, Some(call_id), Some(output)) => format!("{call_id} = {}", output.as_str().unwrap_or("(content)")),
        (None, Some(call_id), None) => call_id.to_owned(),
        (None, None, _) => item.kind().to_owned(),
    }
}
