use futures::{FutureExt, future::BoxFuture};

use super::*;
use crate::provider::{Model, ModelError, ModelProvider};

struct ServesNothing;

impl ModelProvider for ServesNothing {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        async { Ok(None) }.boxed()
    }
}

fn activity_types(plugin: &AgentsPlugin) -> Vec<String> {
    let NamedActivities(activities) = plugin.activities("desk").expect("nothing is missing");
    activities.into_iter().map(|(activity_type, _)| activity_type).collect()
}

#[test]
fn a_worker_without_models_calls_none_also_if_its_resources_have_a_provider() {
    let plugin = || AgentsPlugin::new(ServesNothing);
    let of_models = [MODEL_ACTIVITY.to_owned(), RECORD_ACTIVITY.to_owned()];
    let all = activity_types(&plugin());
    assert_eq!(all[..2], of_models);
    assert_eq!(activity_types(&plugin().without_models()), all[2..]);
}
