//! As much work as the agents' without agents, by hand: the floor under what they can cost.

mod activities;
mod bare;
mod conv;

pub use activities::FloorActivities;
pub use bare::FloorBare;
pub use conv::FloorConv;
