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
fn an_activity_tool() {
    assert_code!(pretty(
        quote!(start_to_close = "1m20s", attempts = 5, context("user", "locale")),
        &quote! {
            /// Current weather for one city.
            ///
            /// # Arguments
            /// * `city` - city name, e.g. "Oslo"
            pub async fn get_weather(
                State(api): State<WeatherApi>,
                city: String,
                units: Option<Units>,
            ) -> Result<Weather, ToolError> {
                Ok(api.now(&city, units).await?)
            }
        }
    ));
}

#[test]
fn a_workflow_tool() {
    assert_code!(pretty(
        quote!(workflow),
        &quote! {
            /// Waits a while.
            async fn wait(ctx: &mut WorkflowToolContext, seconds: u64) -> Result<String, ToolError> {
                ctx.sleep(Duration::from_secs(seconds)).await?;
                Ok("waited".to_owned())
            }
        }
    ));
}

#[test]
fn a_local_activity_tool() {
    assert_code!(pretty(
        quote!(local, start_to_close = "2s"),
        &quote! {
            /// Looks a word up.
            async fn look_up(word: String) -> String {
                word
            }
        }
    ));
}

#[test]
fn an_inline_tool() {
    assert_code!(pretty(
        quote!(inline, name = "sum", crate = agents::temporal),
        &quote! {
            /// Adds two numbers.
            #[cfg(feature = "math")]
            #[expect(clippy::arithmetic_side_effects)]
            fn add(
                /// The first.
                mut a: i64,
                ctx: &mut ToolContext,
                /// The second.
                r#type: i64,
            ) -> i64 {
                a += r#type;
                a
            }
        }
    ));
}

#[test]
fn a_tool_without_arguments() {
    assert_code!(pretty(
        quote!(
            description = "Pings.",
            lenient,
            heartbeat = "250ms",
            idempotent = false,
            task_queue = "pings",
            summary = "ping"
        ),
        &quote!(
            async fn ping() {}
        )
    ));
}

#[test]
fn a_client_tool() {
    assert_code!(pretty(
        quote!(client),
        &quote! {
            /// Lets the user pick a file.
            pub fn pick_file(title: String) -> PathBuf;
        }
    ));
}

#[test]
fn mistakes_are_reported_together_and_keep_the_names() {
    assert_code!(pretty(
        quote!(nmae = "sum", attempts = "many", inline),
        &quote! {
            /// Adds two numbers.
            async fn add(
                /// The first.
                (a, b): (i64, i64),
                c: &str,
            ) -> i64 {
                a + b
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
    ] {
        for attribute in
            [quote!(), quote!(,), quote!(= 3), quote!(name), quote!(name =), quote!(context()), quote!("x")]
        {
            assert!(expand(attribute, &item).to_string().contains("compile_error"));
        }
    }
}
