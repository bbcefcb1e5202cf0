//! The decisions on the calls of a run that wait for approval: all are requested at once, and each
//! takes effect when it is returned.

use futures::{StreamExt, stream::FuturesUnordered};
use temporal_agents_core::{
    tool::idempotency_key,
    wire::{
        ApprovalRuling, RunState,
        run_state::{Decision, Interruption},
    },
};

use super::{
    approver::{Approver, Asked},
    end::Why,
    error::Ended,
    host::SessionHost,
};

/// Applies decisions to the state until none of its calls waits.
///
/// # Errors
/// [`Ended`] when the approver fails for a call, which is not a rejection: the session ends.
pub(super) async fn decide(host: &SessionHost, state: &mut RunState, approver: &dyn Approver) -> Result<(), Ended> {
    let waiting = state.interruptions();
    let (turn, answered) = (state.turn.to_string(), state.questions_answered().to_string());
    let id = |call: &Interruption| idempotency_key([&*host.inner.run, &*turn, &*call.id, &*answered]);
    let ids: Vec<String> = waiting.iter().map(id).collect();
    let ask = |(interruption, id)| {
        let asked = Asked { interruption, id, activity: &host.shared.ctx };
        async move { (interruption, approver.decide(asked).await) }
    };
    let mut asked: FuturesUnordered<_> = waiting.iter().zip(ids.iter().map(String::as_str)).map(ask).collect();
    while let Some((call, ruling)) = asked.next().await {
        let ruling = ruling.map_err(|source| {
            host.shared.end.come(Why::Approver { tool: call.tool.clone(), source });
            Ended
        })?;
        take(state, call, ruling);
        // A recorded decision is not requested again.
        host.reach(state);
        host.shared.write_soon();
        if state.interruptions().is_empty() {
            // This decision holds for the other calls as well (`always`).
            break;
        }
    }
    Ok(())
}

fn take(state: &mut RunState, call: &Interruption, ruling: ApprovalRuling) {
    let is_for_good = ruling.always;
    let decision = ruling.decision();
    let taken = if is_for_good { state.decide_always(&call.id, decision) } else { state.decide(&call.id, decision) };
    if let Err(refused) = taken {
        tracing::warn!(tool = call.tool, %refused, "a call is rejected, because the decision does not apply to it");
        let rejected = Decision::reject_with(format!("The call was not approved: {refused}"));
        // Every call that waits can be rejected.
        let _ = state.decide(&call.id, rejected);
    }
}
