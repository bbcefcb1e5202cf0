//! Expands the handlers as methods of the block, and the run's access to the inbox.
//!
//! The code refers only to items of `__private`, and holds calls, not logic. The attributes on the
//! methods are for `#[workflow_methods]`, which reads the block next.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, ImplItem, ItemImpl, Visibility, parse_quote};

use super::{parse::Keys, validate};

/// Returns the block with its handlers.
pub(super) fn handlers(keys: &Keys, block: &ItemImpl) -> TokenStream {
    let private = private(keys);
    // A handler has the visibility of the run: the SDK makes types of both, and one refers to the
    // other.
    let vis = validate::run(block).map_or(&Visibility::Inherited, |run| &run.vis);
    let mut block = block.clone();
    block.items.extend(methods(vis, &private));
    let field = keys.field();
    // `(*self).field` has the same type in both methods, so rustc reports a missing field once.
    let found = impl_has_agent_inbox(&block, &private, &quote!(&(*self).#field), &quote!(&mut (*self).#field));
    quote!(#block #found)
}

/// Returns the block unchanged, for a block that cannot have handlers, so that only its own
/// mistakes are reported.
pub(super) fn stub(keys: &Keys, block: &ItemImpl) -> TokenStream {
    if block.trait_.is_some() || !block.generics.params.is_empty() {
        return block.to_token_stream();
    }
    let unreachable = quote!(::core::unreachable!("the handlers do not compile"));
    let found = impl_has_agent_inbox(block, &private(keys), &unreachable, &unreachable);
    quote!(#block #found)
}

fn methods(vis: &Visibility, private: &TokenStream) -> Vec<ImplItem> {
    // The SDK copies `allow` to the constants that it makes of the methods.
    let allow: Attribute = parse_quote!(#[allow(missing_docs, reason = "made by #[agent_handlers]")]);
    let of_runs = run_methods(&allow, vis, private);
    of_runs.into_iter().chain(stream_methods(&allow, vis, private)).collect()
}

/// Returns the handlers of runs: decisions, outputs, state.
fn run_methods(allow: &Attribute, vis: &Visibility, private: &TokenStream) -> [ImplItem; 3] {
    [
        parse_quote! {
            #allow
            #[update(name = "agent_decide")]
            #vis fn agent_decide(
                &mut self,
                ctx: &mut #private::SyncWorkflowContext<Self>,
                decision: #private::AgentDecision,
            ) -> #private::DecisionReply {
                #private::agent_decide(self, ctx, decision)
            }
        },
        parse_quote! {
            #allow
            #[update(name = "agent_supply_output")]
            #vis fn agent_supply_output(
                &mut self,
                ctx: &mut #private::SyncWorkflowContext<Self>,
                supplied: #private::SuppliedOutput,
            ) -> #private::DecisionReply {
                #private::agent_supply_output(self, ctx, supplied)
            }
        },
        parse_quote! {
            #allow
            #[query(name = "agent_state")]
            #vis fn agent_state(&self, _ctx: &#private::WorkflowContextView) -> #private::AgentState {
                #private::HasAgentInbox::agent_inbox(self).state()
            }
        },
    ]
}

/// Returns the handlers of the workflow's stream, under the names of the official SDKs.
fn stream_methods(allow: &Attribute, vis: &Visibility, private: &TokenStream) -> [ImplItem; 5] {
    [
        parse_quote! {
            #allow
            #[signal(name = "__temporal_workflow_stream_publish")]
            #vis fn stream_publish(
                &mut self,
                ctx: &mut #private::SyncWorkflowContext<Self>,
                input: #private::RawValue,
            ) {
                #private::stream_publish(#private::HasAgentInbox::agent_inbox_mut(self), ctx, &input);
            }
        },
        parse_quote! {
            #allow
            #[update(name = "__temporal_workflow_stream_poll")]
            #vis async fn stream_poll(
                ctx: &mut #private::WorkflowContext<Self>,
                input: #private::RawValue,
            ) -> #private::PollResult {
                #private::stream_poll(ctx, input).await
            }
        },
        parse_quote! {
            #[update_validator(stream_poll)]
            fn stream_admits_poll(
                &self,
                _ctx: &#private::WorkflowContextView,
                _input: &#private::RawValue,
            ) -> ::core::result::Result<(), #private::BoxError> {
                #private::stream_admits_poll(#private::HasAgentInbox::agent_inbox(self))
            }
        },
        parse_quote! {
            #allow
            #[query(name = "__temporal_workflow_stream_poll")]
            #vis fn stream_read(
                &self,
                _ctx: &#private::WorkflowContextView,
                input: #private::RawValue,
            ) -> #private::PollResult {
                #private::stream_read(#private::HasAgentInbox::agent_inbox(self), &input)
            }
        },
        parse_quote! {
            #allow
            #[query(name = "__temporal_workflow_stream_offset")]
            #vis fn stream_offset(&self, _ctx: &#private::WorkflowContextView) -> u64 {
                #private::stream_offset(#private::HasAgentInbox::agent_inbox(self))
            }
        },
    ]
}

fn impl_has_agent_inbox(
    block: &ItemImpl,
    private: &TokenStream,
    shared: &TokenStream,
    unique: &TokenStream,
) -> TokenStream {
    let workflow = &block.self_ty;
    let cfgs = block.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    quote! {
        #(#cfgs)*
        #[automatically_derived]
        impl #private::HasAgentInbox for #workflow {
            fn agent_inbox(&self) -> &#private::AgentInbox {
                #shared
            }

            fn agent_inbox_mut(&mut self) -> &mut #private::AgentInbox {
                #unique
            }
        }
    }
}

fn private(keys: &Keys) -> TokenStream {
    let krate = keys.krate.as_ref().map_or_else(|| quote!(::temporal_agents), ToTokens::to_token_stream);
    quote!(#krate::__private)
}
