//! The expansion names nothing that an author could have renamed, shadowed or left out.

use serde_json::json;
use temporal_agents::{
    RunContext,
    agent::{GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, OutputGuardrail},
    guardrail,
    wire::Item,
};
use temporal_agents_core::agent::Check;

/// Stands where the crate is re-exported under another name.
mod renamed {
    pub(super) use ::temporal_agents as agents;
}

/// Says where it is.
#[guardrail(input, crate = crate::guardrail_macro::hygiene::renamed::agents)]
fn located(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.is_empty())
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!(InputGuardrail::from(located).name(), "located");
}

/// A scope in which the usual names mean something else.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "the names are there to be in the way")]

    pub(super) mod serde {}
    pub(super) mod temporal_agents {}
    pub(super) struct Box;
    pub(super) struct From;
    pub(super) struct Into;
    pub(super) struct Result;
    pub(super) struct Ok;
    pub(super) struct Check;
    pub(super) struct InputGuardrail;
    pub(super) struct OutputGuardrail;
    pub(super) struct State;
    pub(super) trait Clone {}
    pub(super) trait Debug {}
    pub(super) trait Send {}

    #[::temporal_agents::guardrail(input)]
    pub(super) fn seen(
        returned: &::temporal_agents::RunContext,
        seen: &str,
        ctx: &::temporal_agents::agent::GuardrailContext<'_>,
    ) -> ::temporal_agents::agent::GuardrailOutput {
        let same = returned.values() == ctx.run.values();
        ::temporal_agents::agent::GuardrailOutput::trip_if(same).info(seen)
    }

    #[::temporal_agents::guardrail(output, activity)]
    pub(super) async fn subject(
        subject: u8,
        ctx: &::temporal_agents::ToolContext,
        state_0: ::temporal_agents::State<u8>,
    ) -> ::temporal_agents::agent::GuardrailOutput {
        ::temporal_agents::agent::GuardrailOutput::trip_if(subject > state_0.0 || ctx.is_cancelled())
    }
}

#[test]
fn shadowed_names_do_no_harm() {
    let guardrail = InputGuardrail::from(shadowed::seen);
    let Check::Pure(check) = guardrail.check() else { panic!("not pure") };
    let run = RunContext::default();
    let found = check(&GuardrailContext::new("desk", &run), &GuardrailInput(&[Item::user("hi")]));
    assert_eq!(found.expect("it succeeds"), GuardrailOutput::trip().info(json!("hi")));
    assert!(OutputGuardrail::from(shadowed::subject).check().activity().is_some());
}

macro_rules! without {
    ($name:ident, $word:expr, $input:ty) => {
        #[guardrail(input)]
        fn $name(input: $input) -> GuardrailOutput {
            GuardrailOutput::trip_if(input.contains($word))
        }
    };
}

without!(no_poems, "poem", &str);

#[test]
fn a_guardrail_may_come_from_a_macro() {
    assert_eq!(no_poems.call("a poem"), GuardrailOutput::trip());
    assert_eq!(InputGuardrail::from(no_poems).name(), "no_poems");
}
