//! Five questions to a bank, four of which are stopped.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_examples::guardrails::{BankChat, Reply, model, teller};
use temporal_agents_testing::environment::{ActivityOutcome, activities};

use super::{Cache, Played, histories};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Vec<Reply>>> {
    let model = model::scripted();
    let env = cache.environment::<BankChat>()?.agents((teller,)).model(&model).start().await?;
    let mut replies = Vec::new();
    let mut all = Vec::new();
    for question in model::QUESTIONS {
        let run = env.run(BankChat::run, question.to_owned()).await?;
        all.extend(histories::<BankChat>(&env, &run.workflow_id).await?);
        replies.push(run.output()?);
    }
    env.finish().await?;
    Ok(Played { output: replies, histories: all, calls: model.calls() })
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn each_guardrail_stops_its_question_before_it_costs_more(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let declined = |guardrail: &str, info: Value| Reply::Declined { guardrail: guardrail.to_owned(), info };
    assert_eq!(
        played.output,
        [
            Reply::Answer("A passport, and ten minutes.".to_owned()),
            declined("no_card_numbers", Value::Null),
            declined("about_banking", json!("poetry")),
            declined("no_abuse", Value::Null),
            Reply::Withheld { guardrail: "no_promises".to_owned() },
        ]
    );
    let all: Vec<Vec<_>> = played
        .histories
        .iter()
        .map(|history| activities(history).into_iter().map(|record| (record.activity_type, record.outcome)).collect())
        .collect();
    let done = |kind: &str| (kind.to_owned(), ActivityOutcome::Completed);
    let (model, no_abuse) = ("agents.call_model", "agents.guardrail.no_abuse");
    let under_way = (model.to_owned(), ActivityOutcome::Pending);
    let both = || vec![done(model), done(model), done(no_abuse)];
    assert_eq!(all, [both(), vec![], vec![done(model)], vec![done(model), under_way, done(no_abuse)], both()]);
    Ok(())
}
