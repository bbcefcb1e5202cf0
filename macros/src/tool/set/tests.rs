use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

fn pretty(attribute: TokenStream, item: &TokenStream) -> String {
    let code = expand(attribute, item);
    syn::parse2(code).map_or_else(|error| format!("{error}"), |file| prettyplease::unparse(&file))
}

#[test]
fn a_set_of_two_tools() {
    let code = pretty(
        quote!(crate = agents::temporal),
        &quote! {
            impl Desk {
                /// Gives money back.
                ///
                /// # Arguments
                /// * `order` - number of the order
                #[tool(idempotent = false)]
                pub(crate) async fn refund(&self, State(api): State<Api>, order: u32) -> Result<String, ToolError> {
                    self.pay(order).await
                }

                /// Lists refunds.
                #[cfg(feature = "lists")]
                #[tool(name = "list-refunds")]
                async fn refunds(&self) -> Vec<u32> {
                    self.refunds.clone()
                }

                async fn pay(&self, order: u32) -> Result<String, ToolError> {
                    Ok(String::new())
                }
            }
        },
    );
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(code) });
}

#[test]
fn no_input_panics() {
    for item in [
        quote!(),
        quote!(
            struct A;
        ),
        quote!(impl A {}),
        quote!(
            impl<T> A<T> {
                #[tool = 3]
                fn f(self) {}
            }
        ),
        quote!(impl Clone for A { #[tool(inline)] fn f() {} #[tool] fn tools(&mut self, ..) {} }),
        quote!(impl A { #[tool] fn f_tool(self: Arc<Self>) {} #[tool] fn f() {} }),
    ] {
        for attribute in [quote!(), quote!(,), quote!(= 3), quote!(name), quote!(crate), quote!("x")] {
            assert!(expand(attribute, &item).to_string().contains("compile_error"));
        }
    }
}
