//! Spans that the author of a workflow opens around parts of its code.
//!
//! # Design
//! **A span is sent when it ends, once, and never on replay.** Its id is made of the execution and
//! of its number there, and its times are those of the workflow: a worker that has replayed the
//! beginning sends the same span as one that has not. History does not record it, so that it costs
//! no event, and cannot break a replay.

use temporalio_workflow::WorkflowContext;

use crate::workflow::headers::{EnclosingSpanKey, OpenedSpan, SpansKey};

/// Runs a part of a workflow within a span of this name, which the worker sends with the trace of
/// the workflow (`AgentsPlugin::tracing`); otherwise only runs it.
///
/// ```
/// use temporal_agents::{Agent, Runner, workflow};
/// use temporalio_workflow::{WorkflowContext, WorkflowResult};
///
/// # fn triage() -> Agent { Agent::new("triage").model("gpt-5") }
/// async fn sort<W: 'static>(ctx: &WorkflowContext<W>, mail: String) -> WorkflowResult<String> {
///     let runner = Runner::new(ctx);
///     let sorted = workflow::span(ctx, "sort mail", async { runner.run(&triage(), mail).await });
///     Ok(sorted.await?.final_output)
/// }
/// ```
///
/// Its parent is the span that is open around it in this way, or the span of the workflow. The
/// spans of agents and calls are not its children, because they are made of history, which does not
/// record it; `export_workflow` does not send it. A span that is open when the workflow ends, or
/// continues as new, is not sent.
///
/// # Determinism
/// Safe. It may be added to the code of open workflows, and be removed.
pub async fn span<W: 'static, F: Future>(ctx: &WorkflowContext<W>, name: impl Into<String>, part: F) -> F::Output {
    let (Some(spans), Some(start)) = (ctx.context_value::<SpansKey>(), ctx.workflow_time()) else {
        return part.await;
    };
    let (number, parent) = (spans.number(), ctx.context_value::<EnclosingSpanKey>().map(|number| *number));
    let output = ctx.with_context_value::<EnclosingSpanKey, _>(number, part).await;
    if let (false, Some(end)) = (ctx.is_replaying(), ctx.workflow_time()) {
        spans.ended(OpenedSpan { number, parent, name: name.into(), start, end });
    }
    output
}
