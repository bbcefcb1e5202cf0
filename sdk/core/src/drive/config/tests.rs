use std::collections::BTreeMap;

use serde_json::json;

use super::RunConfig;
use crate::engine::RunError;

#[test]
fn a_builder_sets_only_what_its_setters_name() {
    let config = RunConfig::builder().model("gpt-5").context("tenant", "acme").context("book", 7).build();
    assert_eq!((config.model.as_deref(), config.max_turns), (Some("gpt-5"), Some(10)));
    assert_eq!(json!(config.context), json!({"tenant": "acme", "book": 7}));
    assert_eq!(RunConfig::builder().max_turns(3).build().max_turns, Some(3));
    assert_eq!(RunConfig::builder().unlimited_turns().build().max_turns, None);
}

#[test]
fn a_context_value_of_a_builder_that_is_not_json_fails_the_run() {
    let by_place = BTreeMap::from([((1, 2), "here")]);
    let config = RunConfig::builder().context("places", by_place).build();
    let refused = config.check("clerk").expect_err("the keys are pairs");
    assert!(matches!(refused, RunError::Context { key, .. } if key == "places"));
}
