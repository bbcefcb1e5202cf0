//! Calls one agent after another, with a check in plain Rust between them.

use temporal_agents_examples::{
    deterministic_chain::{Kitchen, Order, cook, menu_writer, model},
    stage::Stage,
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let stage = Stage::set::<Kitchen>((cook, menu_writer), model::scripted()).await?;
    let order = Order { wish: "Something with pasta, without meat.".to_owned(), allergens: vec!["nut".to_owned()] };
    println!("\nThe guest is allergic to {}.\n", order.allergens.join(", "));
    let menu = stage.run(Kitchen::run, order).await?;
    println!("\nOn the menu: {}\nMade of: {}", menu.line, menu.dish.ingredients.join(", "));
    stage.clear().await
}
