//! The names of providers in the semantic conventions of OpenTelemetry, for spans and metrics.

/// Returns the provider of a model by the conventions, and its name there: `openai::gpt-5` names
/// the provider, other names are recognised.
pub(crate) fn provider_of(model: &str) -> (&str, &str) {
    if let Some((provider, model)) = model.split_once("::") {
        let provider = match provider {
            "gemini" => "gcp.gemini",
            "azure" => "azure.ai.openai",
            other => other,
        };
        return (provider, model);
    }
    let known = [("gpt", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"), ("chatgpt", "openai")];
    let known = known.into_iter().chain([("claude", "anthropic"), ("gemini", "gcp.gemini")]);
    let found = known.into_iter().find(|(prefix, _)| model.starts_with(prefix));
    (found.map_or("unknown", |(_, provider)| provider), model)
}
