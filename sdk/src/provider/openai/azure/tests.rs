//! Tests of deployment names and the paths that they determine.

use super::Azure;

#[test]
fn a_model_without_a_deployment_has_one_of_its_name() {
    let azure = Azure::new("https://x.openai.azure.com", "2025-04-01-preview").deployment("gpt-5", "prod");
    assert_eq!(azure.chat_completions("gpt-5"), "/deployments/prod/chat/completions");
    assert_eq!(azure.chat_completions("gpt-4o"), "/deployments/gpt-4o/chat/completions");
}

#[test]
fn a_deployment_name_cannot_change_the_path() {
    let azure = Azure::new("https://x.openai.azure.com", "2025-04-01-preview");
    assert_eq!(azure.chat_completions("a/../b?c"), "/deployments/a%2F..%2Fb%3Fc/chat/completions");
}
