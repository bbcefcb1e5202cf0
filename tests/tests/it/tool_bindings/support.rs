//! What a model was told, and a workflow for agents.

use serde_json::Value;
use temporal_agents_testing::{FakeModel, history::History};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

/// What a model gets for a failure whose words it must not see.
pub(super) const FAILED: &str = "An error occurred while running the tool. Please try again.";

/// The outputs of tools in the latest call of the model.
pub(super) fn outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("it was called");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

/// How often history has an event of this kind.
pub(super) fn count(history: &History, kind: EventType) -> usize {
    history.events.iter().filter(|event| event.event_type() == kind).count()
}

/// A workflow that runs one agent.
macro_rules! workflow_of {
    ($workflow:ident, $name:literal, $agent:ident) => {
        #[temporalio_macros::workflow]
        #[derive(Default)]
        pub(crate) struct $workflow;

        #[temporalio_macros::workflow_methods]
        impl $workflow {
            #[run(name = $name)]
            pub(crate) async fn run(
                ctx: &mut temporalio_sdk::WorkflowContext<Self>,
                request: String,
            ) -> temporalio_sdk::WorkflowResult<String> {
                Ok(temporal_agents::Runner::new(ctx).run(&$agent(), request).await?.final_output)
            }
        }
    };
}
pub(super) use workflow_of;
