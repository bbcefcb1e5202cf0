//! The expansion names nothing that an author could have renamed, shadowed or left out.

use serde_json::json;
use temporal_agents::{Tool, ToolContext, tool};

/// Stands where the crate is re-exported under another name.
mod renamed {
    pub(super) use ::temporal_agents as agents;
}

/// Says where it is.
#[tool(inline, crate = crate::tool_macro::hygiene::renamed::agents)]
fn located(place: String) -> String {
    place
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!(located.definition().name(), "located");
}

/// A scope in which the usual names mean something else.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "the names are there to be in the way")]

    pub(super) mod serde {}
    pub(super) mod schemars {}
    pub(super) mod temporal_agents {}
    pub(super) struct Box;
    pub(super) struct Vec;
    pub(super) struct Option;
    pub(super) struct Result;
    pub(super) struct Arguments;
    pub(super) struct A0;
    pub(super) struct Tool;
    pub(super) struct ToolDef;
    pub(super) struct State;
    pub(super) struct Ok;
    pub(super) trait Clone {}
    pub(super) trait Debug {}
    pub(super) trait Send {}

    /// Takes what is in the way.
    ///
    /// # Arguments
    /// * `body` - named like a local of the expansion
    #[::temporal_agents::tool]
    pub(super) async fn tough(
        body: u8,
        arguments: u8,
        returned: u8,
        ctx: u8,
        context: &::temporal_agents::ToolContext,
        state_0: ::temporal_agents::State<u8>,
    ) -> u8 {
        body + arguments + returned + ctx + state_0.0 + u8::from(context.is_cancelled())
    }
}

#[tokio::test]
async fn shadowed_names_do_no_harm() {
    use temporal_agents::tool::CallInfo;
    use temporal_agents_core::tool::ToolBinding;

    let info = CallInfo::new("tough", "call_1", "triage", 1);
    let mut ctx = ToolContext::new(info, temporal_agents::RunContext::default()).with_state(16_u8);
    let definition = shadowed::tough.definition();
    let ToolBinding::Activity { body, .. } = definition.binding() else { panic!("not an activity") };
    let arguments = json!({"body": 1, "arguments": 2, "returned": 4, "ctx": 8});
    let output = body(&mut ctx, serde_json::from_value(arguments).expect("an object")).await;
    assert_eq!(output.expect("the tool succeeds"), "31".to_owned().into());
}

/// Tools named like what other tools' expansions and parameters may be called.
mod named_like_locals {
    /// Says so.
    #[::temporal_agents::tool(inline)]
    pub(super) fn arguments(place: String) -> String {
        place
    }

    /// Says so.
    #[::temporal_agents::tool(inline)]
    pub(super) fn returned(ctx: &::temporal_agents::ToolContext) -> String {
        ctx.info().tool.clone()
    }

    /// Says so.
    #[::temporal_agents::tool]
    pub(super) async fn body() {}
}

#[test]
fn a_tool_may_have_any_name() {
    use named_like_locals::{arguments, body, returned};

    let tools = [arguments.definition(), returned.definition(), body.definition()];
    assert_eq!(tools.map(|tool| tool.name().to_owned()), ["arguments", "returned", "body"]);
}

macro_rules! doubling_tool {
    ($name:ident, $number:ty) => {
        /// Doubles a number.
        #[tool(inline)]
        fn $name(number: $number) -> $number {
            number * 2
        }
    };
}

doubling_tool!(double, i32);

#[test]
fn a_tool_may_come_from_a_macro() {
    assert_eq!(double.call(4), 8);
    assert_eq!(double.definition().parameters()["properties"], json!({"number": {"type": "integer"}}));
}
