//! The script of the model.

use temporal_agents_testing::fake_model::{FakeModel, structured};

use super::{Concern, Ticket};

/// Returns a model that has read the letter.
pub fn scripted() -> FakeModel {
    FakeModel::script([structured(&Ticket {
        summary: "Two of the six cups of order A-1042 arrived broken, and the tea towel is missing.".to_owned(),
        concern: Concern::Delivery,
        order: Some("A-1042".to_owned()),
        faults: vec!["two cups broken".to_owned(), "tea towel missing".to_owned()],
    })])
}
