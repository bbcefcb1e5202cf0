//! State of the worker that tools request by type: connections, clients, caches.

use std::{
    any::{Any, TypeId, type_name},
    collections::BTreeMap,
    ops::Deref,
    sync::Arc,
};

use super::{context::ToolContext, error::ToolError};

/// A parameter of an activity tool that the worker supplies: `State(api): State<WeatherApi>`.
///
/// `Resources::state` adds the value; a worker whose tools need a state that it does not have
/// does not start.
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A tool parameter that does not come from the model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool parameter",
    note = "take `State<T>`, `&ToolContext`, or a type that implements `Deserialize` and `JsonSchema`"
)]
pub trait FromToolContext: Sized {
    /// Reads the parameter from the context of the call.
    ///
    /// # Errors
    /// An error if the worker has no such state.
    fn from_context(ctx: &ToolContext) -> Result<Self, ToolError>;

    /// Returns the state that the worker must have for the parameter, if it needs one.
    fn requirement() -> Option<StateRequirement>;
}

impl<T: Clone + Send + Sync + 'static> FromToolContext for State<T> {
    fn from_context(ctx: &ToolContext) -> Result<Self, ToolError> {
        ctx.states().get::<T>().map(State).ok_or_else(|| {
            ToolError::failed(format!(
                "tool {:?} requires State<{}>, which this worker does not have; add it with Resources::state(..)",
                ctx.info().tool,
                type_name::<T>()
            ))
        })
    }

    fn requirement() -> Option<StateRequirement> {
        Some(StateRequirement::of::<T>())
    }
}

/// A state that a tool needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRequirement {
    id: TypeId,
    name: &'static str,
}

impl StateRequirement {
    /// Creates a requirement for a state of this type.
    pub fn of<T: 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: type_name::<T>() }
    }

    /// Returns the name of the type.
    pub fn type_name(&self) -> &'static str {
        self.name
    }
}

/// The states of a worker, at most one of each type.
#[derive(Clone, Default)]
pub struct StateMap(BTreeMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl StateMap {
    /// Adds a state; replaces a state of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, state: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(state));
    }

    /// Returns a clone of the state of this type.
    pub(crate) fn get<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.0.get(&TypeId::of::<T>()).and_then(|state| state.downcast_ref::<T>()).cloned()
    }

    /// Returns `true` if the map has the required state.
    pub fn has(&self, requirement: &StateRequirement) -> bool {
        self.0.contains_key(&requirement.id)
    }
}

impl std::fmt::Debug for StateMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateMap({} states)", self.0.len())
    }
}
