//! The server of a provider: the paths of its APIs, and its names for models.

use super::{OpenAiApi, azure::Azure};
use crate::provider::{
    ModelError,
    http::{answer::Answer, outgoing::Outgoing, transport::Transport},
};

/// The connection to a server, and what is particular to Azure.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) transport: Transport,
    /// Set for Azure, whose addresses have another form.
    pub(super) azure: Option<Azure>,
}

impl Endpoint {
    /// Returns the server's name for the model.
    pub(super) fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.azure.as_ref().map_or(name, |azure| azure.deployment_of(name))
    }

    /// Returns the path of an API for this model, relative to the base.
    pub(super) fn path(&self, api: OpenAiApi, name: &str) -> String {
        match (api, &self.azure) {
            (OpenAiApi::Responses, _) => "/responses".to_owned(),
            (OpenAiApi::ChatCompletions, None) => "/chat/completions".to_owned(),
            (OpenAiApi::ChatCompletions, Some(azure)) => azure.chat_completions(name),
        }
    }

    /// Sends a request, and reads the whole response; `model` is the provider's name for the model.
    pub(super) async fn exchange(
        &self,
        api: OpenAiApi,
        model: &str,
        mut outgoing: Outgoing,
    ) -> Result<Answer, ModelError> {
        // The servers refuse the options of a stream outside of one.
        outgoing.body.shift_remove("stream_options");
        self.transport.exchange(&self.path(api, model), &self.addressed(outgoing)).await
    }

    /// Returns the request with the query that the server requires, before the request's own.
    pub(super) fn addressed(&self, mut outgoing: Outgoing) -> Outgoing {
        if let Some(azure) = &self.azure {
            outgoing.query.insert(0, ("api-version".to_owned(), azure.api_version().to_owned()));
        }
        outgoing
    }
}
