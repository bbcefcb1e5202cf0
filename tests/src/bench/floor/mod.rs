//! The floors: hand-written workflows that do the same amount of work as the agents, without
//! agents. Their cost is the lower bound of the agents' cost.

mod activities;
mod bare;
mod conv;
mod parked;

pub use activities::FloorActivities;
pub use bare::FloorBare;
pub use conv::FloorConv;
pub use parked::{ParkedBare, ParkedConv};
