//! A dish is checked before it is described.

use rstest::rstest;
use temporal_agents::wire::Item;
use temporal_agents_examples::deterministic_chain::{Dish, Kitchen, Menu, Order, cook, menu_writer, model};
use temporal_agents_testing::fake_model::{FakeModel, structured};

use super::{Cache, Played, play};

fn order() -> Order {
    Order { wish: "Pasta without meat.".to_owned(), allergens: vec!["nut".to_owned()] }
}

pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<Menu>> {
    play::<Kitchen, _>(cache, (cook, menu_writer), model::scripted(), Kitchen::run, order()).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_dish_with_nuts_goes_back_to_the_cook_and_never_reaches_the_menu(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = played(cache).await?;
    let ingredients = ["linguine", "lemon", "butter", "parmesan"].map(str::to_owned).to_vec();
    let dish = Dish { name: "Linguine al limone".to_owned(), ingredients };
    let line = "Linguine al limone: ribbons of pasta in lemon butter, with a snow of parmesan.".to_owned();
    assert_eq!(played.output, Menu { dish, line });
    let asked: Vec<_> =
        played.calls.iter().map(|call| (&*call.agent, call.input.last().and_then(Item::text))).collect();
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        asked,
        [
            ("cook", text("Pasta without meat.")),
            ("cook", text("The guest must not eat nut. Another dish, please.")),
            ("menu writer", text("Linguine al limone: linguine, lemon, butter, parmesan")),
        ]
    );
    assert_eq!(played.activities(), ["agents.call_model"; 3]);
    Ok(())
}

#[tokio::test]
async fn a_cook_who_does_not_listen_is_asked_three_times() -> anyhow::Result<()> {
    let pesto = Dish { name: "Pesto".to_owned(), ingredients: vec!["walnuts".to_owned()] };
    let model = FakeModel::script([structured(&pesto), structured(&pesto), structured(&pesto)]);
    let env = Cache::On.environment::<Kitchen>()?.agents((cook, menu_writer)).model(&model).start().await?;
    let run = env.run(Kitchen::run, order()).await?;
    assert_eq!(run.failure_chain(), [(String::new(), "no dish without nut".to_owned())]);
    env.finish().await?;
    Ok(())
}
