//! Names, when it runs, and what the worker learns of one in an activity.

use std::time::Duration;

use temporal_agents::{
    Agent, RunContext, State, ToolDef,
    agent::{GuardrailOutput, InputGuardrail, OutputGuardrail},
    guardrail,
    tool::ToolActivityOptions,
};
use temporal_agents_core::tool::{StateRequirement, ToolBinding};

/// Homework is not done here.
#[guardrail(input)]
fn no_homework(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("homework"))
}

#[guardrail(input, blocking, name = "language-check")]
fn r#type(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(output)]
fn polite(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("fool"))
}

#[derive(Clone)]
struct Filter;

/// Asks a service
/// what it thinks.
#[guardrail(
    input,
    activity,
    start_to_close = "5s",
    schedule_to_close = "1m",
    heartbeat = "2s",
    attempts = 5,
    task_queue = "filters",
    summary = "asks the filter",
    context("user", "locale")
)]
async fn no_abuse(State(_filter): State<Filter>, run: &RunContext, input: String) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.is_empty() && run.values().is_empty())
}

#[guardrail(output, activity, idempotent = false)]
async fn metered(_output: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[test]
fn the_function_names_the_guardrail_and_keys_say_when_it_runs() {
    let facts = |guardrail: InputGuardrail| {
        (guardrail.name().to_owned(), guardrail.runs_in_parallel(), guardrail.check().activity().is_some())
    };
    assert_eq!(facts(no_homework.into()), ("no_homework".to_owned(), true, false));
    assert_eq!(facts(r#type.into()), ("language-check".to_owned(), false, false));
    assert_eq!(facts(no_abuse.into()), ("no_abuse".to_owned(), true, true));
    let output = OutputGuardrail::from(polite);
    assert_eq!((output.name(), output.check().activity().is_some()), ("polite", false));
}

#[test]
fn agents_take_guardrails_by_name() {
    let agent = Agent::new("desk").input_guardrail(no_homework).input_guardrail(no_abuse).output_guardrail(polite);
    let inputs: Vec<_> = agent.def().input_guardrails.iter().map(InputGuardrail::name).collect();
    let outputs: Vec<_> = agent.def().output_guardrails.iter().map(OutputGuardrail::name).collect();
    assert_eq!((inputs, outputs), (vec!["no_homework", "no_abuse"], vec!["polite"]));
}

fn activity(guardrail: &InputGuardrail) -> ToolDef {
    guardrail.check().activity().expect("an activity").clone()
}

fn options(activity: &ToolDef) -> ToolActivityOptions {
    match activity.binding() {
        ToolBinding::Activity { options, .. } => options.clone(),
        other => panic!("{other:?} has no options"),
    }
}

#[test]
fn an_activity_has_options_states_and_keys_like_a_tool() {
    let activity = activity(&no_abuse.into());
    assert_eq!(activity.issues(), []);
    assert_eq!(activity.activity_type(), "agents.guardrail.no_abuse");
    assert_eq!(activity.description(), "Asks a service\nwhat it thinks.");
    assert_eq!(activity.requirements(), [StateRequirement::of::<Filter>()]);
    assert_eq!(activity.context_keys(), ["user", "locale"]);
    let wanted = ToolActivityOptions::builder()
        .start_to_close(Duration::from_secs(5))
        .schedule_to_close(Duration::from_mins(1))
        .heartbeat(Duration::from_secs(2))
        .attempts(5)
        .task_queue("filters")
        .summary("asks the filter")
        .build();
    assert_eq!(options(&activity), wanted);
    let output = OutputGuardrail::from(metered);
    let activity = output.check().activity().expect("an activity");
    assert_eq!(activity.activity_type(), "agents.guardrail.metered");
    assert_eq!(options(activity).attempts(), 1);
}
