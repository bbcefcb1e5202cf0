//! A customer with two matters goes through four hands.

use rstest::rstest;
use temporal_agents_examples::handoffs::{Goodbye, Hotline, desk, model};

use super::{Cache, Played, play};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Goodbye>> {
    let complaint = "C-77. The invoice is 20 euros too high, and the line is dead.".to_owned();
    play::<Hotline, _>(cache, (desk,), model::scripted(), Hotline::run, complaint).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_customer_goes_round_and_the_technician_sees_no_invoices(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let text = "The fault is in our street cabinet, not in your house. It is repaired today, by six.".to_owned();
    assert_eq!(played.output, Goodbye { text, by: "technician".to_owned() });
    let speakers: Vec<_> = played.calls.iter().map(|call| &*call.agent).collect();
    assert_eq!(speakers, ["desk", "billing", "billing", "desk", "technician", "technician"]);
    let (model, tool) = ("agents.call_model", "agents.tool");
    let expected =
        [model, model, &format!("{tool}.open_invoices"), model, model, model, &format!("{tool}.measure_line"), model];
    assert_eq!(played.activities(), expected);

    let told = &played.calls[4];
    let instructions = "You repair lines. Reported: the line is dead, since Monday.";
    assert_eq!(told.definitions.instructions.as_deref(), Some(instructions));
    let seen: Vec<_> = told.input.iter().map(|item| (item.kind(), item.text())).collect();
    let explanation = "Your open invoices are 39 and 59 euros: the second one holds 20 euros for the new router.";
    assert_eq!(seen.last(), Some(&("message", Some(explanation.to_owned()))));
    assert!(seen.iter().all(|(kind, _)| *kind == "message"), "{seen:?}");
    Ok(())
}
