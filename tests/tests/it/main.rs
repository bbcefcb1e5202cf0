//! it
fn main(){}
