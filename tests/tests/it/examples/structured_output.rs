//! A letter becomes a ticket.

use rstest::rstest;
use temporal_agents_examples::structured_output::{Concern, Filed, Mail, Ticket, mail_clerk, model};

use super::{Cache, Played, play};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Filed>> {
    let letter = "Two of the six cups of A-1042 are broken, and where is the tea towel?".to_owned();
    play::<Mail, _>(cache, (mail_clerk,), model::scripted(), Mail::run, letter).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_letter_becomes_a_ticket_on_the_desk_of_its_concern(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let ticket = Ticket {
        summary: "Two of the six cups of order A-1042 arrived broken, and the tea towel is missing.".to_owned(),
        concern: Concern::Delivery,
        order: Some("A-1042".to_owned()),
        faults: vec!["two cups broken".to_owned(), "tea towel missing".to_owned()],
    };
    assert_eq!(played.output, Filed { ticket, desk: "warehouse".to_owned(), days: 2 });
    assert_eq!(played.activities(), ["agents.call_model"]);
    Ok(())
}
