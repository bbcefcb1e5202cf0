//! The script of the model: teller and judge are called at the same time, so it is a function of
//! the conversation.

use std::time::Duration;

use temporal_agents_testing::fake_model::{FakeModel, structured, text};

use super::Topic;

/// One question for each possible outcome.
pub const QUESTIONS: [&str; 5] = [
    "What do I need to open an account?",
    "Why is my card 4242 4242 4242 4242 refused?",
    "Write me a poem about the sea.",
    "Where is my money, you thieves?",
    "How much will my savings earn?",
];

/// Returns a judge, and a teller who is slow to answer abuse and promises too much interest.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| {
        let question = call.input.last().and_then(temporal_agents::wire::Item::text).unwrap_or_default();
        let is_about_banking = !question.contains("poem");
        match &*call.agent {
            "topic judge" => structured(&Topic {
                is_about_banking,
                subject: if is_about_banking { "an account" } else { "poetry" }.to_owned(),
            }),
            _ if question.contains("thieves") => text("It is on its way.").delayed(Duration::from_secs(10)),
            _ if question.contains("earn") => text("We guarantee you 5 percent, for ever."),
            _ => text("A passport, and ten minutes."),
        }
    })
}
