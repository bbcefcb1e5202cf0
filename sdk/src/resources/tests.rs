use futures::{FutureExt, future::BoxFuture};

use super::*;
use crate::{
    inline::InlineRunner,
    provider::{Model, ModelError},
    worker::{AgentsPlugin, ToolRegistry},
};

#[derive(Clone)]
struct ServesNothing;

impl ModelProvider for ServesNothing {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        async { Ok(None) }.boxed()
    }
}

#[test]
fn all_hosts_take_the_same_declaration() {
    let resources = Resources::new().model_provider(ServesNothing).state(7_u8).state("seven");
    let declared = "Resources { providers: 1, states: StateMap(2 states), .. }";
    assert_eq!(format!("{resources:?}"), declared);
    let hosts = [
        format!("{:?}", AgentsPlugin::new(resources.clone())),
        format!("{:?}", InlineRunner::new(resources.clone())),
        format!("{:?}", ToolRegistry::new(resources)),
    ];
    assert_eq!(hosts.map(|host| host.contains(declared)), [true; 3]);
}

#[test]
fn a_model_provider_alone_is_a_declaration() {
    assert_eq!(
        format!("{:?}", Resources::from(ServesNothing)),
        "Resources { providers: 1, states: StateMap(0 states), .. }"
    );
}
