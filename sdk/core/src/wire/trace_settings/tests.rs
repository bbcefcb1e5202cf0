use std::collections::BTreeMap;

use serde_json::json;

use super::{ModelTracing, TraceSettings, TracingConfig};

const ID: &str = "0af7651916cd43dd8448eb211c80319c";

fn settings() -> TraceSettings {
    TraceSettings {
        workflow_name: Some("Support".to_owned()),
        trace_id: Some(ID.to_owned()),
        metadata: BTreeMap::from([("tier".to_owned(), json!("gold")), ("region".to_owned(), json!("eu"))]),
        ..TraceSettings::default()
    }
}

#[test]
fn the_id_of_a_trace_is_32_digits_with_or_without_a_prefix() {
    let with = |id: &str| TraceSettings { trace_id: Some(id.to_owned()), ..TraceSettings::default() };
    for id in [ID.to_owned(), format!("trace_{ID}")] {
        assert_eq!(with(&id).check(), Ok(()), "{id}");
    }
    let zero = "0".repeat(32);
    for id in ["", "trace_", &ID[1..], &ID.to_uppercase(), &format!("group_{ID}"), &zero, "é".repeat(16).as_str()] {
        assert!(with(id).check().is_err_and(|why| why.starts_with("the trace id")), "{id}");
    }
}

#[test]
fn settings_that_are_too_large_are_refused() {
    let metadata = BTreeMap::from([("note".to_owned(), json!("x".repeat(5_000)))]);
    let large = TraceSettings { metadata, ..TraceSettings::default() };
    assert!(large.check().is_err_and(|why| why.contains("the limit is 4096")));
}

#[test]
fn a_resumed_run_keeps_what_its_runner_does_not_set() {
    let later = TraceSettings {
        workflow_name: Some("Refunds".to_owned()),
        metadata: BTreeMap::from([("tier".to_owned(), json!("silver"))]),
        disabled: true,
        ..TraceSettings::default()
    };
    let merged = later.over(&settings());
    assert_eq!(
        json!(merged),
        json!({
            "workflow_name": "Refunds", "trace_id": ID, "metadata": {"region": "eu", "tier": "silver"}, "disabled": true
        })
    );
    assert!(TraceSettings::default().over(&merged).disabled, "disabled stays disabled");
}

#[test]
fn a_request_cannot_widen_what_the_author_permits() {
    let authored = TraceSettings {
        include_sensitive_data: Some(false),
        disabled: true,
        tracing: Some(TracingConfig::to_collector("ours")),
        ..TraceSettings::default()
    };
    let asked = TraceSettings {
        include_sensitive_data: Some(true),
        tracing: Some(TracingConfig::to_collector("theirs")),
        ..settings()
    };
    let expected = TraceSettings { workflow_name: asked.workflow_name.clone(), ..authored.clone() };
    let merged = asked.within(&authored);
    assert_eq!(
        merged,
        TraceSettings { trace_id: merged.trace_id.clone(), metadata: merged.metadata.clone(), ..expected }
    );
    let narrowing = TraceSettings { include_sensitive_data: Some(false), ..TraceSettings::default() };
    assert_eq!(narrowing.within(&settings()).include_sensitive_data, Some(false));
}

#[test]
fn models_are_told_the_narrowest_extent_and_nothing_by_default() {
    let with = |disabled, include_sensitive_data| {
        TraceSettings { include_sensitive_data, disabled, ..settings() }.for_models()
    };
    assert_eq!(TraceSettings::default().for_models(), None);
    assert_eq!(with(false, None), Some(ModelTracing::Enabled));
    assert_eq!(with(false, Some(false)), Some(ModelTracing::EnabledWithoutData));
    assert_eq!(with(true, Some(true)), Some(ModelTracing::Disabled));
}

#[test]
fn an_unknown_extent_is_data() {
    assert_eq!(serde_json::from_value::<ModelTracing>(json!("sampled")).ok(), Some(ModelTracing::Other));
}

#[test]
fn a_child_has_a_name_of_its_own_and_everything_else_of_its_parent() {
    let tracing = Some(TracingConfig::to_collector("team-a"));
    let parent = TraceSettings { tracing, ..settings() };
    assert_eq!(parent.for_child(), TraceSettings { workflow_name: None, ..parent });
}
