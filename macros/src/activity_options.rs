//! The keys that configure an activity: timeouts, attempts, task queue. Tools and guardrails have
//! them.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Ident, LitStr};

use crate::attribute::Entry;

/// Returns `true` if a key configures an activity.
pub(crate) fn is_activity_option(key: &str) -> bool {
    matches!(
        key,
        "start_to_close" | "schedule_to_close" | "heartbeat" | "attempts" | "idempotent" | "task_queue" | "summary"
    )
}

/// The values of the keys, each of which sets a field of `ToolActivityOptions`.
#[derive(Default)]
pub(crate) struct ActivityOptions {
    start_to_close: Option<Duration>,
    schedule_to_close: Option<Duration>,
    heartbeat: Option<Duration>,
    attempts: Option<u32>,
    idempotent: Option<bool>,
    task_queue: Option<LitStr>,
    summary: Option<LitStr>,
    local: bool,
}

impl ActivityOptions {
    /// Sets the value of one of these keys.
    pub(crate) fn set(&mut self, entry: &Entry) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "start_to_close" => self.start_to_close = Some(entry.duration()?),
            "schedule_to_close" => self.schedule_to_close = Some(entry.duration()?),
            "heartbeat" => self.heartbeat = Some(entry.duration()?),
            "attempts" => self.attempts = Some(entry.count()?),
            "idempotent" => self.idempotent = Some(entry.boolean()?),
            "task_queue" => self.task_queue = Some(entry.text()?),
            "summary" => self.summary = Some(entry.text()?),
            _ => {}
        }
        Ok(())
    }

    /// Makes the activity a local one, or not.
    pub(crate) fn set_local(&mut self, local: bool) {
        self.local = local;
    }

    /// Returns `true` if the activity is a local one.
    pub(crate) fn is_local(&self) -> bool {
        self.local
    }

    /// Returns `true` if the activity may have several attempts.
    pub(crate) fn may_repeat(&self) -> bool {
        self.idempotent != Some(false)
    }

    /// Returns the expression of type `ToolActivityOptions`; `None` if no key differs from the
    /// defaults.
    pub(crate) fn expand(&self, private: &TokenStream) -> Option<TokenStream> {
        let Self { start_to_close, schedule_to_close, heartbeat, attempts, idempotent, task_queue, summary, local } =
            self;
        let mut setters = TokenStream::new();
        let mut set = |name: &str, value: Option<TokenStream>| {
            let name = Ident::new(name, Span::mixed_site());
            setters.extend(value.map(|value| quote!(.#name(#value))));
        };
        set("start_to_close", start_to_close.map(|length| duration(length, private)));
        set("schedule_to_close", schedule_to_close.map(|length| duration(length, private)));
        set("heartbeat", heartbeat.map(|length| duration(length, private)));
        set("attempts", attempts.map(|count| quote!(#count)));
        set("idempotent", idempotent.map(|fact| quote!(#fact)));
        set("task_queue", task_queue.as_ref().map(|text| quote!(#text)));
        set("summary", summary.as_ref().map(|text| quote!(#text)));
        set("local", local.then(|| quote!(true)));
        (!setters.is_empty()).then(|| quote!(#private::ToolActivityOptions::builder()#setters.build()))
    }
}

fn duration(length: Duration, private: &TokenStream) -> TokenStream {
    if length.subsec_nanos() == 0 {
        let seconds = length.as_secs();
        quote!(#private::Duration::from_secs(#seconds))
    } else {
        let (seconds, nanos) = (length.as_secs(), length.subsec_nanos());
        quote!(#private::Duration::new(#seconds, #nanos))
    }
}
