//! Activities whose names are known only at run time.
//!
//! The SDK asks an activity's definition for its name once, when it is registered, through a function without arguments;
//! the name reaches that function through a thread-local.

use std::{cell::RefCell, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;
use temporalio_common::ActivityDefinition;
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

/// The body of an activity: JSON in, JSON out.
pub(super) type Body =
    Arc<dyn Fn(ActivityContext, Value) -> BoxFuture<'static, Result<Value, ActivityError>> + Send + Sync>;

/// Activities by name.
#[derive(Clone, Default)]
pub(super) struct NamedActivities(pub(super) Vec<(String, Body)>);

impl ActivityImplementer for NamedActivities {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        for (name, body) in &self.0 {
            NAME.with(|current| current.borrow_mut().clone_from(name));
            definitions.register_activity::<Named>(Arc::new(NamedBody(Arc::clone(body))));
        }
        NAME.with(|current| current.borrow_mut().clear());
    }
}

thread_local! {
    static NAME: RefCell<String> = const { RefCell::new(String::new()) };
}

struct Named(String);

struct NamedBody(Body);

impl ActivityDefinition for Named {
    type Input = Value;
    type Output = Value;

    fn name(&self) -> &str {
        &self.0
    }
}

impl ActivityImplementer for NamedBody {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        definitions.register_activity::<Named>(self);
    }
}

impl ExecutableActivity for Named {
    type Implementer = NamedBody;

    const REQUIRES_INSTANCE: bool = true;

    fn definition() -> Self {
        Self(NAME.with(|current| current.borrow().clone()))
    }

    fn execute(
        body: Option<Arc<NamedBody>>,
        ctx: ActivityContext,
        input: Value,
    ) -> BoxFuture<'static, Result<Value, ActivityError>> {
        let body = body.expect("registered with an instance");
        (body.0)(ctx, input)
    }
}
