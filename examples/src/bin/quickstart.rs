//! q
fn main(){}
