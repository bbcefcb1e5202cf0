use temporal_agents::tool;

/// Is generic.
#[tool(inline)]
fn largest<'a, T: Ord>(items: Vec<T>) -> Option<T>
where
    T: Clone,
{
    items.into_iter().max()
}

/// Is unsafe.
#[tool(inline)]
const unsafe extern "C" fn dangerous() {}

fn main() {}
