//! The script of the model.

use temporal_agents_testing::fake_model::{FakeModel, structured, text};

use super::Dish;

/// Returns a cook that ignores the allergy at first.
pub fn scripted() -> FakeModel {
    let dish = |name: &str, ingredients: &[&str]| Dish {
        name: name.to_owned(),
        ingredients: ingredients.iter().copied().map(str::to_owned).collect(),
    };
    FakeModel::script([
        structured(&dish("Linguine al pesto", &["linguine", "basil", "pine nuts", "parmesan"])),
        structured(&dish("Linguine al limone", &["linguine", "lemon", "butter", "parmesan"])),
        text("Linguine al limone: ribbons of pasta in lemon butter, with a snow of parmesan."),
    ])
}
