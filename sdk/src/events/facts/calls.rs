//! Calls of models and tools: turns, messages, calls, outputs, handoffs.

use serde_json::Value;
use temporal_agents_core::wire::{
    EventKind, Item, ItemView, ModelResponse, RecordedFailure, SideData, incomplete::may_be_cut, native_call::call_of,
};

use super::{Attempts, Effect, Facts, ScheduledModelCall, output_of};

impl Facts {
    /// Observes that a model call was scheduled, under this activity id.
    pub(crate) fn model_scheduled(&mut self, id: &str, call: &ScheduledModelCall<'_>) {
        let Some(Effect { run, of_call: _, id }) = Effect::of(id) else { return };
        self.answer_passed(&run);
        self.expects_verdict(&run, call.guards_output);
        let observed = self.run(&run);
        let before = observed.agent.clone();
        let agent = call.agent.map_or_else(|| before.clone(), str::to_owned);
        if let Some(handoffs) = call.handoffs {
            observed.offers(&agent, handoffs);
        }
        let is_new_turn = call.turn != observed.turn;
        let handed_off_to = observed.hands_off_to.take();
        let has_begun = observed.has_begun;
        self.root_goes_on(&run);
        if has_begun {
            self.goes_on(&run);
            self.outputs(&run, call.items);
            self.calls_ended(&run);
            let is_handoff = before != agent || handed_off_to.as_deref() == Some(&*agent);
            if is_new_turn && is_handoff && !before.is_empty() {
                let local = format!("{}/handoff", self.run(&run).turn);
                self.tell(&run, &local, EventKind::Handoff { from: before, to: agent.clone() });
            }
        }
        let observed = self.run(&run);
        (observed.agent, observed.turn) = (agent, call.turn);
        if !has_begun {
            self.begin(&run, call);
        }
        self.run(&run).open.clear();
        let turn = call.turn;
        if is_new_turn {
            self.tell(&run, &turn.to_string(), EventKind::TurnStarted {});
        }
        self.tell(&run, &id, EventKind::ModelCallScheduled { model: call.model.to_owned() });
        self.mark_opaque(call.agent.is_none(), 1);
    }

    /// Observes that a model has answered; `None` if the reply cannot be read.
    pub(crate) fn model_answered(&mut self, id: &str, attempts: Attempts, response: Option<&ModelResponse>) {
        let Some(Effect { run, of_call: effect, .. }) = Effect::of(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number: attempts, earlier_failure } = attempts;
        let unread = ModelResponse::default();
        let ModelResponse { output, usage, response_id, incomplete, .. } = response.unwrap_or(&unread);
        let (usage, response_id, incomplete) = (usage.clone(), response_id.clone(), incomplete.clone());
        let kind = EventKind::ModelCallAnswered { attempts, earlier_failure, response_id, incomplete, usage };
        self.tell(&run, &format!("{effect}/answered"), kind);
        self.mark_opaque(response.is_none(), 1);
        // The run does not make such calls, so no client may make them either.
        let is_cut = response.and_then(|response| response.incomplete.as_deref()).is_some_and(may_be_cut);
        let is_call = |item: &Item| call_of(item, output).is_some();
        if is_cut {
            let others: Vec<Item> = output.iter().filter(|item| !is_call(item)).cloned().collect();
            self.run(&run).answered(&others);
        } else {
            self.run(&run).answered(output);
        }
        let is_final = !output.iter().any(is_call);
        for (index, item) in output.iter().enumerate() {
            let kind = match (call_of(item, output), item.view()) {
                (None, ItemView::Message { .. }) => {
                    EventKind::Message { text: item.text().unwrap_or_default(), item: item.clone() }
                }
                (None, ItemView::Reasoning) => EventKind::Reasoning { item: item.clone() },
                (Some(call), _) if !is_cut => EventKind::ToolCall {
                    call_id: call.call_id.to_owned(),
                    name: call.name.to_owned(),
                    arguments: call.arguments.clone().into_owned(),
                    item: item.clone(),
                },
                _ => EventKind::OtherItem { item: item.clone() },
            };
            self.answer_item(&run, &format!("{effect}/{index}"), kind, is_final);
        }
    }

    /// Observes that a model call has failed.
    pub(crate) fn model_failed(&mut self, id: &str, attempts: Attempts, failure: RecordedFailure) {
        let Some(Effect { run, id: effect, .. }) = Effect::of(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let kind = EventKind::ModelCallFailed { attempts: number, failure, earlier_failure };
        self.tell(&run, &format!("{effect}/failed"), kind);
    }

    /// Observes that a tool activity was scheduled: a run that was resumed calls tools first.
    pub(crate) fn tool_scheduled(&mut self, id: &str, agent: &str, turn: u32) {
        let Some(Effect { run, .. }) = Effect::of(id) else { return };
        self.answer_passed(&run);
        let observed = self.run(&run);
        if !observed.has_begun {
            (observed.agent, observed.turn) = (agent.to_owned(), turn);
        }
        self.root_goes_on(&run);
        self.goes_on(&run);
    }

    /// Observes the output of a tool activity; `None` if the reply cannot be read.
    pub(crate) fn tool_answered(
        &mut self,
        id: &str,
        (call_id, name): (&str, &str),
        attempts: Attempts,
        output: Option<&Value>,
        side_data: Option<Box<SideData>>,
    ) {
        let Some(Effect { run, of_call: effect, .. }) = Effect::of(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        let index = effect.rsplit_once('-').and_then(|(_, index)| index.parse().ok());
        let call = self.run(&run).call(call_id, name);
        call.index = index;
        call.has_failed = false;
        call.report(output.unwrap_or(&Value::Null));
        let kind = EventKind::ToolOutput {
            call_id: call_id.to_owned(),
            name: name.to_owned(),
            output: output.cloned().unwrap_or(Value::Null),
            attempts: number,
            earlier_failure,
            side_data,
            is_failure: false,
        };
        self.tell(&run, &format!("{effect}/output"), kind);
        self.mark_opaque(output.is_none(), 1);
    }

    /// Observes that a tool activity has failed.
    pub(crate) fn tool_failed(
        &mut self,
        id: &str,
        (call_id, name): (&str, &str),
        attempts: Attempts,
        failure: RecordedFailure,
    ) {
        let Some(Effect { run, id: effect, .. }) = Effect::of(id) else { return };
        if self.run(&run).has_ended {
            return;
        }
        let Attempts { number, earlier_failure } = attempts;
        self.run(&run).call(call_id, name).has_failed = true;
        let (call_id, name) = (call_id.to_owned(), name.to_owned());
        let kind = EventKind::ToolFailed { call_id, name, attempts: number, failure, earlier_failure };
        self.tell(&run, &format!("{effect}/failed"), kind);
    }

    /// Reports that a run begins with a model call.
    fn begin(&mut self, run: &str, call: &ScheduledModelCall<'_>) {
        self.run(run).has_begun = true;
        if call.turn > 1 {
            return self.resumed(run);
        }
        // The items since the last one of a model or a tool.
        let is_new = |item: &&Item| item.get("role").is_some_and(|role| role != "assistant");
        let mut input: Vec<Item> = call.items.iter().rev().take_while(is_new).cloned().collect();
        input.reverse();
        self.tell(run, "started", EventKind::RunStarted { input });
        self.mark_opaque(call.agent.is_none(), 1);
    }

    /// Reports the outputs of open calls among these items, in call order.
    fn outputs(&mut self, run: &str, items: &[Item]) {
        let observed = &self.runs[run];
        let mut found: Vec<(usize, &Item)> = Vec::new();
        for item in items.iter().rev() {
            if found.len() == observed.open.len() {
                break;
            }
            let Some(call_id) = output_of(item) else { continue };
            let at = observed.open.iter().position(|call| call.call_id == call_id);
            if let Some(at) = at
                && found.iter().all(|(other, _)| *other != at)
            {
                found.push((at, item));
            }
        }
        found.sort_by_key(|(at, _)| *at);
        for (_, item) in found {
            self.output(run, item);
        }
    }

    /// Reports the output of a call once.
    pub(super) fn output(&mut self, run: &str, item: &Item) {
        let (call_id, output, is_native) = match item.view() {
            ItemView::FunctionCallOutput { call_id, output } => (call_id, output, false),
            ItemView::NativeCallOutput { call_id, output } => (call_id, output, true),
            _ => return,
        };
        let own = self.effect_of_call(run, call_id);
        let call = self.run(run).call(call_id, "");
        // The output of a tool in another form is no other output.
        if is_native && call.outputs > 0 || !call.report(output) {
            return;
        }
        let local = if call.outputs == 1 { format!("{own}/output") } else { format!("{own}/output-{}", call.outputs) };
        let (call_id, name, output) = (call_id.to_owned(), call.name.clone(), output.clone());
        let (side_data, is_failure) = (call.side_data.take(), call.has_failed);
        self.nested_ended(run, &own, &EventKind::RunFinished { output: output.clone(), usage: None });
        let (attempts, earlier_failure) = (0, None);
        let kind = EventKind::ToolOutput { call_id, name, output, attempts, earlier_failure, side_data, is_failure };
        self.tell(run, &local, kind);
    }

    /// Returns the id of the effect of a call in this run, or its stand-in for a call whose
    /// response was not observed.
    pub(super) fn effect_of_call(&mut self, run: &str, call_id: &str) -> String {
        let observed = self.run(run);
        let turn = observed.turn;
        let index = observed.call(call_id, "").index;
        index.map_or_else(|| format!("{turn}-call-{call_id}"), |index| format!("{turn}-tool-{index}"))
    }
}
