//! Tests of the model names that are served, and of the features of adapters.

use rstest::rstest;

use super::{AdapterKind, ModelIden, Route, Shape, name, serves};

#[rstest]
#[case("claude-sonnet-4-6", true)]
#[case("gemini-3-flash", true)]
#[case("grok-4", true)]
#[case("deepseek-chat", true)]
#[case("anthropic::claude-sonnet-4-6", true)]
#[case("openai::gpt-5", true)]
#[case("ollama::qwen3", true)]
#[case("zai_coding::glm-5", true)]
#[case("genai_1::qwen3", true)]
#[case::openais_own("gpt-5", false)]
#[case::openais_own("o3-mini", false)]
#[case::ollama_takes_every_name("qwen3", false)]
#[case::no_such_namespace("nowhere::claude", false)]
#[case::drops_tools("command-r", false)]
fn a_name_is_served_where_it_says_whose_it_is(#[case] model: &str, #[case] served: bool) {
    assert_eq!(serves(model), served);
}

#[test]
fn every_adapter_has_its_shape_or_says_why_it_is_not_served() {
    let (mut unserved, mut messages) = (Vec::new(), Vec::new());
    for kind in AdapterKind::all() {
        match Route::of(&ModelIden::new(*kind, "m")) {
            Ok(Route::Crate(dialect)) => assert_eq!(dialect.adapter, name(*kind)),
            Ok(Route::Messages(adapter)) => {
                assert_eq!(adapter, name(*kind));
                messages.push(adapter);
            }
            Err(error) => {
                assert!(error.message.contains(&format!("`{}`", name(*kind))), "{error}");
                unserved.push(name(*kind));
            }
        }
    }
    assert_eq!(messages, ["anthropic", "minimax"]);
    assert_eq!(unserved, ["openai_resp", "gemini_ix", "baidu", "cohere", "opencode_go"]);
}

#[rstest]
#[case("claude-sonnet-4-6", Shape::Anthropic, false)]
#[case("gemini-3-flash", Shape::Gemini, true)]
fn vertex_takes_what_the_maker_of_its_model_takes(#[case] model: &str, #[case] shape: Shape, #[case] schema: bool) {
    let route = Route::of(&ModelIden::new(AdapterKind::Vertex, model)).expect("a served adapter");
    let Route::Crate(dialect) = route else { panic!("the crate makes its calls: {route:?}") };
    assert_eq!((dialect.shape, dialect.options), (shape, schema));
}
