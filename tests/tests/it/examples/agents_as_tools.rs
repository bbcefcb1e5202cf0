//! A curator calls two translators, who look terms up.

use rstest::rstest;
use temporal_agents::wire::Item;
use temporal_agents_examples::agents_as_tools::{Label, Museum, curator, model};

use super::{Cache, Played, play};

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Label>> {
    play::<Museum, _>(cache, (curator,), model::scripted(), Museum::run, "A plate from Delft.".to_owned()).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn both_translators_use_the_glossary_and_only_their_answers_reach_the_curator(
    #[case] cache: Cache,
) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let label = Label {
        english: "Dish with a hare, Delft, about 1680: blue on white tin glaze.".to_owned(),
        french: "Plat au lièvre, Delft, vers 1680 : bleu sur glaçure stannifère blanche.".to_owned(),
        german: "Teller mit Hase, Delft, um 1680: Blau auf weißer Zinnglasur.".to_owned(),
    };
    assert_eq!(played.output, label);
    let kinds: Vec<_> = played.calls[5].input.iter().map(Item::kind).collect();
    let (call, output) = ("function_call", "function_call_output");
    assert_eq!(kinds, ["message", call, call, output, output]);
    let mut activities = played.activities();
    activities.sort_unstable();
    assert_eq!(activities, [["agents.call_model"; 6].as_slice(), &["agents.tool.glossary"; 2]].concat());
    Ok(())
}
