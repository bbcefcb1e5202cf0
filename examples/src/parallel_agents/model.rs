//! The script of the model: the writers call it in any order, so it is a function of the agent.

use temporal_agents_testing::fake_model::{FakeModel, structured, text};

use super::Verdict;

/// Returns three writers and a judge.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| match &*call.agent {
        "warm writer" => text(
            "I am so sorry about your night. Nobody should count drill strokes instead of sheep: tonight is on us, \
             in a room to the garden.",
        ),
        "brief writer" => text("Sorry for the noise. You get 20 percent off."),
        "formal writer" => text("We regret the inconvenience, which was caused by urgent construction work."),
        _ => structured(&Verdict {
            best: 1,
            reason: "It admits the fault and offers a quiet room, which is what the guest is missing.".to_owned(),
        }),
    })
}
