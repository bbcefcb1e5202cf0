use proc_macro2::TokenStream;
use quote::quote;

use super::expand;

fn pretty(attribute: TokenStream, item: &TokenStream) -> String {
    let code = expand(attribute, item);
    syn::parse2(code).map_or_else(|error| format!("{error}"), |file| prettyplease::unparse(&file))
}

#[test]
fn a_workflow_gets_its_handlers() {
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(pretty(
            quote!(inbox = decisions, crate = agents::temporal),
            &quote! {
                #[workflow_methods]
                impl Refunds {
                    #[run(name = "refunds")]
                    pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
                        Ok(request)
                    }
                }
            }
        ));
    });
}

#[test]
fn no_input_panics() {
    let block = quote!(
        #[workflow_methods]
        impl A {
            fn agent_state() {}
        }
    );
    for item in [
        quote!(),
        quote!(
            struct A;
        ),
        quote!(impl),
        quote!(
            impl<T> B for A<T> {}
        ),
        quote!(impl A {}),
        block,
    ] {
        for attribute in [quote!(), quote!(,), quote!(= 3), quote!(inbox), quote!(inbox = "a"), quote!("x")] {
            assert!(expand(attribute, &item).to_string().contains("compile_error"));
        }
    }
}
