//! Tool calls, executed as their binding says.
//!
//! | binding | file | in history |
//! |---|---|---|
//! | activity | `activity.rs` | an activity of this library, or the marker of a local one |
//! | activity, in a batch | `batch.rs` | one activity for several calls |
//! | remote tool | `activity.rs` | an activity of this library |
//! | remote activity, child workflow | `foreign.rs` | a foreign activity or workflow |
//! | workflow | `in_workflow.rs` | everything that the body starts |
//! | agent in a child workflow | `child_agent.rs` | an `AgentWorkflow` |
//! | Nexus operation | `nexus.rs` | an operation, after the lookup of its endpoint by an activity |

pub(in crate::workflow) mod activity;
pub(in crate::workflow) mod batch;
mod child_agent;
mod foreign;
mod in_workflow;
#[cfg(feature = "nexus")]
mod nexus;

use std::rc::Rc;

use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    engine::TriedFor,
    tool::{BoxError, ToolBinding},
    wire::digest::Digest,
};
use temporalio_workflow::WorkflowCancellationToken;

pub(in crate::workflow) use self::in_workflow::Passage;
use super::{mcp_call::NoMcpServer, mcp_session};
use crate::workflow::context::DurableContext;

/// No worker on the task queue has the transport.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has transport {transport:?} of remote tools; add it with \
     Resources::tool_streams on that queue's worker{tried_for}"
)]
struct NoTransport {
    transport: String,
    task_queue: String,
    tried_for: TriedFor,
    #[source]
    source: BoxError,
}

/// Makes the call under this id and awaits its outcome. Also returns the id of the activity that
/// returned the result, if there was one, otherwise `id`. `schema` identifies the version of a tool
/// with several versions.
pub(in crate::workflow) async fn call(
    ctx: &Rc<dyn DurableContext>,
    effect: ToolEffect<'_>,
    id: String,
    token: WorkflowCancellationToken,
    passage: Passage,
    schema: Option<Digest>,
) -> Result<(ToolAnswer, String), ToolEffectError> {
    let answer = match effect.tool.binding() {
        ToolBinding::Activity { options, .. } => return activity::call(ctx, options, effect, id, token, schema).await,
        ToolBinding::Remote(binding) => {
            return activity::call(ctx, binding.options(), effect, id, token, None).await.map_err(
                |error| match error {
                    ToolEffectError::NotRegistered { task_queue, tried_for, source } => {
                        let (transport, tried_for) = (binding.transport().to_owned(), TriedFor(tried_for));
                        ToolEffectError::Host(Box::new(NoTransport { transport, task_queue, tried_for, source }))
                    }
                    error => error,
                },
            );
        }
        ToolBinding::RemoteActivity(remote) => foreign::call_activity(ctx, remote, effect, &id, &token).await,
        ToolBinding::ChildWorkflow(child) => foreign::call_child(ctx, child, effect, &id, &token).await,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(operation) => nexus::call(ctx, operation, effect, &id, &token).await,
        ToolBinding::Workflow(body) => in_workflow::call(ctx, body, effect, id.clone(), token, passage).await,
        ToolBinding::ChildAgent(agent) => child_agent::call(ctx, agent, effect, &id, &token).await,
        ToolBinding::Mcp(binding) => {
            let server = binding.server().name();
            let in_session =
                effect.mcp_session.as_ref().map(|session| mcp_session::options(binding.options(), session));
            let options = in_session.as_ref().unwrap_or(binding.options());
            return activity::call(ctx, options, effect, id, token, None).await.map_err(|error| match error {
                ToolEffectError::NotRegistered { task_queue, tried_for, source } => {
                    let (server, tried_for) = (server.to_owned(), TriedFor(tried_for));
                    ToolEffectError::Host(Box::new(NoMcpServer { server, task_queue, tried_for, source }))
                }
                error => error,
            });
        }
        ToolBinding::Inline(_) | ToolBinding::Agent(_) | ToolBinding::Client => {
            unreachable!("the loop itself runs inline tools and agents, and requests the outputs of client tools")
        }
    };
    Ok((answer?, id))
}

/// Returns `true` if a call is a local activity.
pub(in crate::workflow) fn is_local(binding: &ToolBinding) -> bool {
    matches!(binding, ToolBinding::Activity { options, .. } if options.local)
}

/// Returns `true` if a call begins with a command that history shows as an event of its own.
pub(in crate::workflow) fn begins_with_a_command(binding: &ToolBinding) -> bool {
    match binding {
        ToolBinding::Activity { options, .. } => !options.local,
        ToolBinding::RemoteActivity(_)
        | ToolBinding::Mcp(_)
        | ToolBinding::Remote(_)
        | ToolBinding::ChildWorkflow(_)
        | ToolBinding::ChildAgent(_) => true,
        #[cfg(feature = "nexus")]
        ToolBinding::Nexus(_) => true,
        ToolBinding::Workflow(_) | ToolBinding::Inline(_) | ToolBinding::Agent(_) | ToolBinding::Client => false,
    }
}
