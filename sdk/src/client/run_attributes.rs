//! The search attributes of runs: the values of a start, and the check that a server knows them.

use temporal_agents_core::wire::{
    error_debug,
    run_attributes::{AGENT_ATTRIBUTE, NOBODY, STATUS_ATTRIBUTE, WAITS_FOR_ATTRIBUTE, agent_value},
};
use temporalio_client::{Client, NamespacedClient, grpc::OperatorService};
use temporalio_common::{
    protos::temporal::api::{enums::v1::IndexedValueType, operatorservice::v1::ListSearchAttributesRequest},
    search_attributes::{SearchAttributeKey, SearchAttributeUpdate},
};
use tonic::Code;

const AGENT: SearchAttributeKey<String> = SearchAttributeKey::keyword(AGENT_ATTRIBUTE);
const STATUS: SearchAttributeKey<String> = SearchAttributeKey::keyword(STATUS_ATTRIBUTE);
const WAITS_FOR: SearchAttributeKey<Vec<String>> = SearchAttributeKey::keyword_list(WAITS_FOR_ATTRIBUTE);

/// The attributes, with their types in the server's words.
const WANTED: [(&str, IndexedValueType, &str); 3] = [
    (AGENT_ATTRIBUTE, IndexedValueType::Keyword, "Keyword"),
    (STATUS_ATTRIBUTE, IndexedValueType::Keyword, "Keyword"),
    (WAITS_FOR_ATTRIBUTE, IndexedValueType::KeywordList, "KeywordList"),
];

/// Returns the search attributes with which a workflow that runs this agent is started, so that its
/// runs keep them up to date: [`NewRun::indexed`](super::NewRun::indexed) does it for ready-made
/// workflows.
///
/// ```
/// use temporal_agents::client::run_attributes;
/// use temporalio_client::WorkflowStartOptions;
/// use temporalio_common::search_attributes::SearchAttributes;
///
/// let options = WorkflowStartOptions::new("support", "ticket-7")
///     .search_attributes(SearchAttributes::new(run_attributes("triage")))
///     .build();
/// ```
pub fn run_attributes(agent: &str) -> [SearchAttributeUpdate; 3] {
    let (agent, status) = (AGENT.value_set(agent_value(agent)), STATUS.value_set("running".to_owned()));
    // All three: a server that lacks one refuses the start, and not a task of a run that has begun.
    [agent, status, WAITS_FOR.value_set(vec![NOBODY.to_owned()])]
}

/// The reason why a worker whose runs have search attributes must not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunAttributesError {
    /// The namespace does not have the attributes, or has them with other types.
    #[error(
        "namespace {namespace:?} lacks the search attributes {}, which runs set; create them with\n{command}",
        .missing.join(", ")
    )]
    Missing {
        /// The namespace.
        namespace: String,
        /// The names of the attributes.
        missing: Vec<String>,
        /// The command that creates them.
        command: String,
    },
    /// The server has refused the request, or is unavailable.
    #[error("the search attributes of the namespace cannot be read: {0}")]
    Server(#[from] tonic::Status),
}

error_debug!(enum RunAttributesError {
    Missing { namespace, missing, command },
    Server(source),
});

/// Checks that the client's namespace has the search attributes that runs set. A server that does
/// not let this client read them is believed to have them.
///
/// # Errors
/// [`RunAttributesError`].
pub async fn check_run_attributes(client: &Client) -> Result<(), RunAttributesError> {
    let mut client = client.clone();
    let namespace = client.namespace();
    let request = tonic::Request::new(ListSearchAttributesRequest { namespace: namespace.clone() });
    let known = match OperatorService::list_search_attributes(&mut client, request).await {
        Ok(known) => known.into_inner().custom_attributes,
        Err(status) if matches!(status.code(), Code::PermissionDenied | Code::Unimplemented) => {
            tracing::warn!(error = %status, namespace, "the search attributes of the namespace cannot be checked");
            return Ok(());
        }
        Err(status) => return Err(status.into()),
    };
    let is_missing = |(name, kind, _): &&(&str, IndexedValueType, &str)| known.get(*name) != Some(&(*kind as i32));
    let missing: Vec<_> = WANTED.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let command = missing.iter().fold(
        format!("temporal operator search-attribute create --namespace {}", quoted(&namespace)),
        |command, (name, _, kind)| format!("{command} --name {name} --type {kind}"),
    );
    let missing = missing.iter().map(|(name, ..)| (*name).to_owned()).collect();
    Err(RunAttributesError::Missing { namespace, missing, command })
}

/// Returns a word of a command line.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_namespace_stays_one_word_of_the_command() {
        assert_eq!(quoted("shop.x7f"), "shop.x7f");
        assert_eq!(quoted("a b'; rm -rf"), "'a b'\\''; rm -rf'");
    }
}
