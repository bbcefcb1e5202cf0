//! The names of the members of a spec, and of the settings that are closed to specs.

use crate::wire::ModelSettings;

/// The members of a spec.
#[cfg(feature = "worker")]
pub(super) const MEMBERS: [&str; 12] = [
    "version",
    "name",
    "description",
    "model",
    "instructions",
    "settings",
    "tools",
    "hosted_tools",
    "handoffs",
    "input_guardrails",
    "output_guardrails",
    "output",
];

/// Returns the settings that are merged into the provider's request, as far as they are set.
pub(super) fn extra_settings(settings: &ModelSettings) -> impl Iterator<Item = &'static str> {
    let set = [
        ("extra_headers", settings.extra_headers.is_some()),
        ("extra_query", settings.extra_query.is_some()),
        ("extra_body", settings.extra_body.is_some()),
        ("extra_args", settings.extra_args.is_some()),
    ];
    set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name)
}
