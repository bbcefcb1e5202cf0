//! Azure OpenAI: its addresses, its API versions, and the names of its deployments.
//!
//! For Azure's version-less API, set `https://NAME.openai.azure.com/openai/v1` as the base URL
//! instead; it has the same paths as OpenAI's own. Microsoft Entra tokens are not supported, only
//! keys.

use std::collections::BTreeMap;

use reqwest::Url;

/// An Azure OpenAI resource, for [`OpenAiBuilder::azure`](super::OpenAiBuilder::azure).
///
/// ```
/// use temporal_agents::provider::Azure;
///
/// let azure = Azure::new("https://contoso.openai.azure.com", "2025-04-01-preview")
///     .deployment("gpt-5", "prod-gpt-5");
/// ```
#[derive(Clone, Debug)]
pub struct Azure {
    endpoint: String,
    api_version: String,
    deployments: BTreeMap<String, String>,
}

impl Azure {
    /// Creates the resource at this endpoint, `https://NAME.openai.azure.com`, with this dated
    /// `api-version`.
    pub fn new(endpoint: impl Into<String>, api_version: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), api_version: api_version.into(), deployments: BTreeMap::new() }
    }

    /// Sends calls of a model to this deployment; other models are sent to the deployment of their
    /// own name.
    #[must_use]
    pub fn deployment(mut self, model: impl Into<String>, deployment: impl Into<String>) -> Self {
        self.deployments.insert(model.into(), deployment.into());
        self
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(super) fn api_version(&self) -> &str {
        &self.api_version
    }

    pub(super) fn deployment_of<'a>(&'a self, model: &'a str) -> &'a str {
        self.deployments.get(model).map_or(model, String::as_str)
    }

    /// Returns the path of Chat Completions, which on Azure is below the deployment; all other
    /// paths are beside the deployments.
    pub(super) fn chat_completions(&self, model: &str) -> String {
        let mut url = Url::parse("http://azure/").expect("a literal address is valid");
        url.path_segments_mut().expect("an http address has a path").pop_if_empty().extend([
            "deployments",
            self.deployment_of(model),
            "chat",
            "completions",
        ]);
        url.path().to_owned()
    }
}

#[cfg(test)]
mod tests;
