//! Activities whose names are known only at run time.
//!
//! The SDK requests the name of an activity's definition once, when it is registered, through a
//! function without arguments; the name is passed to that function in a thread-local.

use std::{cell::RefCell, sync::Arc};

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::wire::failure::MALFORMED_REQUEST;
use temporalio_common::{ActivityDefinition, error::ApplicationFailure};
use temporalio_sdk::activities::{
    ActivityContext, ActivityDefinitions, ActivityError, ActivityImplementer, ExecutableActivity,
};

use super::message::{Reply, Request};

/// The body of an activity. It shares its context with the heartbeats, because a context is
/// expensive to copy.
pub(crate) type Body =
    Arc<dyn Fn(Arc<ActivityContext>, Request) -> BoxFuture<'static, Result<Reply, ActivityError>> + Send + Sync>;

/// Returns the body of an activity whose request and reply are any JSON values.
pub(crate) fn of_values<B>(body: B) -> Body
where
    B: Fn(Arc<ActivityContext>, Value) -> BoxFuture<'static, Result<Value, ActivityError>> + Send + Sync + 'static,
{
    Arc::new(move |ctx, request| match request.to_value() {
        Ok(value) => body(ctx, value).map_ok(Reply::Value).boxed(),
        Err(error) => {
            let failure =
                ApplicationFailure::builder(error).type_name(MALFORMED_REQUEST.to_owned()).non_retryable(true).build();
            std::future::ready(Err(ActivityError::Application(Box::new(failure)))).boxed()
        }
    })
}

/// Activities by name.
#[derive(Clone, Default)]
pub(crate) struct NamedActivities(pub(crate) Vec<(String, Body)>);

impl ActivityImplementer for NamedActivities {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        for (name, body) in &self.0 {
            NAME.with(|current| current.borrow_mut().clone_from(name));
            definitions.register_activity::<NamedActivity>(Arc::new(NamedBody(Arc::clone(body))));
        }
        NAME.with(|current| current.borrow_mut().clear());
    }
}

thread_local! {
    static NAME: RefCell<String> = const { RefCell::new(String::new()) };
}

struct NamedActivity(String);

struct NamedBody(Body);

impl ActivityDefinition for NamedActivity {
    type Input = Request;
    type Output = Reply;

    fn name(&self) -> &str {
        &self.0
    }
}

impl ActivityImplementer for NamedBody {
    fn register_all(self: Arc<Self>, definitions: &mut ActivityDefinitions) {
        definitions.register_activity::<NamedActivity>(self);
    }
}

impl ExecutableActivity for NamedActivity {
    type Implementer = NamedBody;

    const REQUIRES_INSTANCE: bool = true;

    fn definition() -> Self {
        Self(NAME.with(|current| current.borrow().clone()))
    }

    fn execute(
        body: Option<Arc<NamedBody>>,
        ctx: ActivityContext,
        input: Request,
    ) -> BoxFuture<'static, Result<Reply, ActivityError>> {
        let body = body.expect("registered with an instance");
        (body.0)(Arc::new(ctx), input)
    }
}
