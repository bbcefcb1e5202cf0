//! A tool call as what its binding says.

mod activity;

use std::rc::Rc;

use temporalio_workflow::WorkflowCancellationToken;

use super::context::DurableContext;
use crate::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    tool::ToolBinding,
};

/// Makes the call under this id and awaits what comes of it.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    effect: ToolEffect<'_>,
    id: String,
    token: WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    match effect.tool.binding() {
        ToolBinding::Activity { options, .. } => activity::call(ctx, options, effect, id, token).await,
        ToolBinding::Inline(_) | ToolBinding::Agent(_) | ToolBinding::Client => {
            unreachable!("the loop itself runs inline tools and agents, and asks for the outputs of client tools")
        }
    }
}
