use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

fn pretty(attribute: TokenStream, item: &TokenStream) -> String {
    let code = expand(attribute, item);
    syn::parse2(code).map_or_else(|error| format!("{error}"), |file| prettyplease::unparse(&file))
}

/// Compares code with its snapshot, which contains only the code.
macro_rules! assert_code {
    ($code:expr) => {
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!($code) })
    };
}

#[test]
fn a_pure_input_guardrail() {
    assert_code!(pretty(
        quote!(input, blocking, name = "homework"),
        &quote! {
            /// Homework is not done here.
            #[cfg(feature = "school")]
            pub fn no_homework(run: &RunContext, ctx: &GuardrailContext<'_>, input: &str) -> GuardrailOutput {
                GuardrailOutput::trip_if(input.contains("homework"))
            }
        }
    ));
}

#[test]
fn an_input_guardrail_in_an_activity() {
    assert_code!(pretty(
        quote!(input, activity, start_to_close = "5s", context("user"), crate = agents::temporal),
        &quote! {
            /// Asks a service.
            async fn no_abuse(
                State(filter): State<Filter>,
                input: GuardrailInput<'_>,
                ctx: &GuardrailContext<'_>,
                run: &RunContext,
                call: &ToolContext,
            ) -> Result<GuardrailOutput, ToolError> {
                Ok(filter.judge(input, run).await?)
            }
        }
    ));
}

#[test]
fn output_guardrails() {
    assert_code!(pretty(
        quote!(output),
        &quote! {
            fn affordable(plan: &my::Plan) -> GuardrailOutput {
                GuardrailOutput::trip_if(plan.euros > 900)
            }
        }
    ));
    assert_code!(pretty(
        quote!(output, activity),
        &quote! {
            async fn polite(output: String) -> GuardrailOutput {
                ask(output).await
            }
        }
    ));
}

#[test]
fn mistakes_are_reported_together_and_keep_the_names() {
    assert_code!(pretty(
        quote!(blocking, timeout = "5s"),
        &quote! {
            async fn no_homework(input: Vec<String>) -> bool {
                input.is_empty()
            }
        }
    ));
}

#[test]
fn no_input_panics() {
    for item in [
        quote!(),
        quote!(
            struct A;
        ),
        quote!(fn),
        quote!(fn f(..) {}),
        quote!(impl A { fn f() {} }),
        quote!(
            fn f(self: &Self, input: &mut str) {}
        ),
    ] {
        for attribute in
            [quote!(), quote!(,), quote!(= 3), quote!(input, output), quote!(output =), quote!(input()), quote!("x")]
        {
            assert!(expand(attribute, &item).to_string().contains("compile_error"));
        }
    }
}
