//! A dish for a guest with an allergy: the workflow's code calls one agent, checks its answer, and only then calls the next.
//!
//! Invariants are not left to a model. The list of ingredients is compared in plain Rust; a dish
//! that fails the check returns to the cook with the reason, and after three attempts the workflow
//! fails.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, Runner, wire::Item};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{ApplicationFailure, WorkflowContext, WorkflowResult};

/// What the cook thinks of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dish {
    pub name: String,
    /// All ingredients.
    pub ingredients: Vec<String>,
}

pub fn cook() -> Agent<Dish> {
    Agent::new("cook").model("gpt-5-mini").instructions("You think of dishes for guests.").output::<Dish>()
}

pub fn menu_writer() -> Agent {
    Agent::new("menu writer").model("gpt-5-mini").instructions("You describe a dish in one line of a menu.")
}

/// The guest's wish, and the ingredients that would harm the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub wish: String,
    pub allergens: Vec<String>,
}

/// The dish, and its line of the menu.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Menu {
    pub dish: Dish,
    pub line: String,
}

#[workflow]
#[derive(Debug, Default)]
pub struct Kitchen;

#[workflow_methods]
impl Kitchen {
    /// Finds a dish without the guest's allergens.
    #[run(name = "deterministic_chain")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, order: Order) -> WorkflowResult<Menu> {
        let runner = Runner::new(ctx);
        let mut conversation = vec![Item::user(&order.wish)];
        for _ in 0..3 {
            let idea = runner.run(&cook(), conversation).await?;
            let harmful = harmful(&idea.final_output, &order.allergens);
            if harmful.is_empty() {
                let dish = idea.final_output;
                let line = runner.run(&menu_writer(), describe(&dish)).await?.final_output;
                return Ok(Menu { dish, line });
            }
            conversation = idea.to_input_list();
            conversation
                .push(Item::user(format!("The guest must not eat {}. Another dish, please.", harmful.join(", "))));
        }
        Err(ApplicationFailure::non_retryable(format!("no dish without {}", order.allergens.join(", "))).into())
    }
}

/// Returns the allergens that the dish contains: the check between the two agents.
fn harmful(dish: &Dish, allergens: &[String]) -> Vec<String> {
    let holds = |allergen: &&String| {
        let allergen = allergen.to_lowercase();
        dish.ingredients.iter().any(|ingredient| ingredient.to_lowercase().contains(&allergen))
    };
    allergens.iter().filter(holds).cloned().collect()
}

fn describe(dish: &Dish) -> String {
    format!("{}: {}", dish.name, dish.ingredients.join(", "))
}
