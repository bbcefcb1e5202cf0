//! The secrets of a model call: values of the worker's environment go into the call, and leave its
//! answer and its failure.

use serde_json::{Map, Value};
use temporal_agents_core::wire::{ModelCall, ModelFailureKind, ModelResponse, ToolSpec, worker_env::refers};

use crate::{
    provider::ModelError,
    secret::worker_env::{AllowedEnv, Given, Withheld},
};

/// Headers that contain credentials of gateways and proxies. A literal value of one would be in
/// history, with the settings that it is part of.
const CREDENTIALS: [&str; 12] = [
    "cf-aig-authorization",
    "cookie",
    "helicone-auth",
    "ocp-apim-subscription-key",
    "private-token",
    "x-access-token",
    "x-amz-security-token",
    "x-auth-key",
    "x-auth-token",
    "x-portkey-api-key",
    "x-session-token",
    "x-vault-token",
];

impl AllowedEnv {
    /// Fills the values into a call to the provider of this name.
    ///
    /// # Errors
    /// [`ModelFailureKind::Unsupported`], not retried, for a variable that is not allowed or not
    /// set. The message names the variable.
    pub(crate) fn fill(&self, call: &mut ModelCall, provider: Option<&str>) -> Result<Given, ModelError> {
        let mut given = Given::default();
        let withheld = |withheld: Withheld| {
            let message = withheld.told("the agent refers", "the model's provider");
            ModelError::new(ModelFailureKind::Unsupported, message)
        };
        for tool in &mut call.definitions.tools {
            if let ToolSpec::Hosted { config, .. } = tool {
                let mut whole = Value::Object(std::mem::take(config));
                let filled = self.fill_part(&mut whole, provider, false, &mut given);
                if let Value::Object(members) = whole {
                    *config = members;
                }
                filled.map_err(withheld)?;
            }
        }
        let settings = &mut call.definitions.settings;
        refuse_credentials(settings.extra_headers.as_ref())?;
        // Each member on its own: with `extra_body` a call may contain hosted tools.
        for (extra, is_credential) in [
            (&mut settings.extra_headers, true),
            (&mut settings.extra_body, false),
            (&mut settings.extra_query, true),
            (&mut settings.extra_args, false),
        ] {
            for part in extra.iter_mut().flat_map(Map::values_mut) {
                self.fill_part(part, provider, is_credential, &mut given).map_err(withheld)?;
            }
        }
        Ok(given)
    }
}

impl Given {
    /// Returns the failure without the values: a provider may quote the request.
    pub(crate) fn clean_error(&self, mut error: ModelError) -> ModelError {
        if self.is_empty() {
            return error;
        }
        error.message = self.text(&error.message);
        error.code = error.code.map(|code| self.text(&code));
        error.request_id = error.request_id.map(|id| self.text(&id));
        error.source = None;
        error
    }

    /// Returns the response without the values.
    pub(crate) fn clean_response(&self, mut response: ModelResponse) -> ModelResponse {
        if self.is_empty() {
            return response;
        }
        response.output = response.output.into_iter().map(|item| self.item(item)).collect();
        response.raw_usage = response.raw_usage.map(|usage| self.value(usage));
        response
    }
}

/// Refuses literal credentials in the extra headers.
///
/// # Errors
/// [`ModelFailureKind::Unsupported`] for a header of [`CREDENTIALS`] whose value is not a
/// reference.
fn refuse_credentials(headers: Option<&Map<String, Value>>) -> Result<(), ModelError> {
    let is_literal = |value: &Value| !value.is_null() && !refers(value);
    let mut literals = headers.into_iter().flatten().filter(|(_, value)| is_literal(value));
    let refused = literals.find(|(name, _)| CREDENTIALS.iter().any(|one| name.eq_ignore_ascii_case(one)));
    let Some((name, _)) = refused else { return Ok(()) };
    let message = format!(
        "unsupported: a literal `{name}` in extra_headers: settings are recorded in history; refer to a variable of \
         the worker with worker_env!, or configure the header in the provider on the worker"
    );
    Err(ModelError::new(ModelFailureKind::Unsupported, message))
}
