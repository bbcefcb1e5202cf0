use std::cell::Cell;

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::json;

use super::{super::AgentInbox, *};

/// A workflow that consists of its inbox alone.
struct Alone(RefCell<AgentInbox>);

impl InboxContext for Alone {
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox)) {
        change(&mut self.0.borrow_mut());
    }

    fn look(&self, look: &mut dyn FnMut(&AgentInbox)) {
        look(&self.0.borrow());
    }

    fn wait_until_decided(
        &self,
        ids: Vec<String>,
        _max_polls: Option<u32>,
        _token: WorkflowCancellationToken,
    ) -> LocalBoxFuture<'static, bool> {
        let is_decided = ids.iter().any(|id| self.0.borrow().is_decided(id));
        if is_decided { std::future::ready(true).boxed_local() } else { std::future::pending().boxed_local() }
    }

    fn stream_is_idle(&self) -> LocalBoxFuture<'static, ()> {
        std::future::ready(()).boxed_local()
    }
}

/// Returns a run that waits for an approval of call `a` and for the answer to a server's question
/// in call `b`.
fn paused() -> RunState {
    let call = |id: &str, progress: Value| json!({"call": {"tool": id, "call_id": id, "arguments": "{}"}, "progress": progress});
    let question = json!({"message": "Anything else?", "schema": {"type": "object"}});
    let calls =
        [call("a", json!({"kind": "needs_approval"})), call("b", json!({"kind": "needs_input", "question": question}))];
    let mut state = RunState::finished("desk", Vec::new());
    state.phase = serde_json::from_value(json!({"kind": "interrupted", "round": {"calls": calls}})).unwrap();
    state
}

fn decided(id: &str, decision: Verdict) -> DecidedInterruption {
    DecidedInterruption { id: id.to_owned(), decision, always: false, taken: false, by: None }
}

fn nonsense() -> Verdict {
    Verdict::SupplyOutput { output: "nonsense".to_owned() }
}

#[test]
fn a_decision_that_its_call_cannot_take_leaves_the_others_and_can_be_made_again() {
    let ctx = Rc::new(Alone(RefCell::default()));
    let inbox = RunInbox::begin(ctx.clone(), Waits::UntilDecided, None);
    let mut state = paused();
    inbox.publish(&state);
    ctx.0.borrow_mut().decided = vec![decided("b", nonsense()), decided("a", Verdict::Approve)];
    let asks = Cell::new(0);
    let mut wait = || {
        let pauses = |questions: Vec<AgentInterruption>| asks.set(asks.get() + questions.len());
        inbox.wait(&mut state, None, WorkflowCancellationToken::new(), pauses).now_or_never()
    };
    assert_eq!(wait(), Some(WaitOutcome::Decided));
    ctx.0.borrow_mut().decided.push(decided("b", nonsense()));
    assert_eq!(wait(), None, "the run waits on");
    assert_eq!(asks.get(), 1, "it has paused once, for one question");
    assert_eq!(state.interruptions().len(), 1);
    let again = ctx.0.borrow_mut().decide(AgentDecision::reject("b"));
    assert_eq!(again, DecisionAnswer::Accepted);
}
