//! The form of specs.

use serde_json::{Map, Value, json};

use super::{problems, read};
use crate::{
    agent::spec::{read::MEMBERS, values::MAX_SPEC_BYTES},
    wire::AgentSpec,
};

#[test]
fn a_spec_is_written_as_it_was_read() {
    let json = json!({
        "version": "1.2", "name": "desk", "description": "Answers.", "model": "gpt-5", "instructions": "Be brief.",
        "settings": {"temperature": 0.5, "tool_choice": "find_order"},
        "tools": ["find_order", {"name": "refund", "needs_approval": true, "input_guardrails": ["small_amounts"]}],
        "hosted_tools": ["web_search"],
        "handoffs": ["billing", {"agent": "law", "version": 3, "tool_name": "to_lawyer"}],
        "input_guardrails": ["no_homework"], "output_guardrails": ["polite"],
        "output": {"schema": {"type": "object", "properties": {}}},
    });
    let spec = read("desk", &json).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), json);
    assert_eq!(serde_json::from_value::<AgentSpec>(json).unwrap(), spec);
}

#[test]
fn the_members_of_a_spec_are_those_that_are_read() {
    let mut spec = read("desk", &json!({"model": "m", "instructions": "i", "description": "d"})).unwrap();
    spec.settings.max_tokens = Some(7);
    let json = json!({
        "tools": ["a"], "hosted_tools": ["b"], "handoffs": ["c"], "input_guardrails": ["d"], "output_guardrails": ["e"],
        "output": {"schema": {}},
    });
    let lists = read("desk", &json).unwrap();
    let written = |spec: &AgentSpec| serde_json::to_value(spec).unwrap().as_object().cloned().unwrap_or_default();
    let members: Map<String, Value> = written(&spec).into_iter().chain(written(&lists)).collect();
    let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
    let mut known = MEMBERS.to_vec();
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}

#[test]
fn all_problems_of_the_form_are_reported_at_once() {
    let json = json!({
        "name": "desk", "instuctions": "typo", "approvals": "unknown", "model": "",
        "settings": {"temperature": 3, "top_p": "much", "temprature": 1, "timeout": 0, "max_tokens": 0},
        "tools": ["a", 5, {"name": "b", "approve": false}, {"needs_approval": true}],
        "handoffs": [{"agent": "x", "tool_name": "to x"}, {"agent": "y", "version": 0}],
        "output": {"name": "an output", "schema": true},
        "output_guardrails": "polite",
    });
    assert_eq!(
        problems(&json),
        [
            r#"spec "desk": instuctions is unknown; did you mean "instructions"?"#,
            "spec \"desk\": approvals is unknown; the members of a spec are version, name, description, model, \
             instructions, settings, tools, hosted_tools, handoffs, input_guardrails, output_guardrails, output",
            r#"spec "desk": settings.top_p is not valid: invalid type: string "much", expected f64"#,
            r#"spec "desk": settings.temprature is not a setting of model calls"#,
            r#"spec "desk": tools[1] is not valid: invalid type: integer `5`, expected struct SpecTool"#,
            "spec \"desk\": tools[2] is not valid: unknown field `approve`, expected one of `name`, `needs_approval`, \
             `input_guardrails`, `output_guardrails`",
            r#"spec "desk": tools[3] is not valid: missing field `name`"#,
            r#"spec "desk": output_guardrails must be a list"#,
            r#"spec "desk": model must not be empty; leave it out for the model of the workflow"#,
            r#"spec "desk": handoffs[0].tool_name must have 1 to 64 letters, digits, '_' and '-'"#,
            r#"spec "desk": handoffs[1].version must be at least 1"#,
            r#"spec "desk": output.name must have 1 to 64 letters, digits, '_' and '-'"#,
            r#"spec "desk": output.schema must be a JSON object"#,
            r#"spec "desk": settings.temperature must be between 0 and 2"#,
            r#"spec "desk": settings.timeout must be a number of seconds above 0"#,
            r#"spec "desk": settings.max_tokens must be at least 1"#,
        ]
    );
}

#[test]
fn a_spec_of_a_later_version_is_refused_for_that_alone() {
    for version in ["1.9", "2.0", "0.9"] {
        let found = problems(&json!({"version": version, "tools": 5, "a_later_member": 1}));
        let expected = format!(
            "spec \"desk\" has the wire version {version}, this build reads 1.2; write the spec for that version, or \
             deploy a newer worker"
        );
        assert_eq!(found, [expected]);
    }
    assert!(problems(&json!({"version": 3}))[0].contains("a wire version is a string like"));
}

#[test]
fn a_name_is_that_of_the_row_and_fits_into_paths() {
    assert_eq!(
        problems(&json!({"name": "other"})),
        [r#"spec "desk": name is "other", but the spec is stored as "desk"; make them equal"#]
    );
    for name in ["desk", "Desk 2", "büro", "a.b_c-d", &*"x".repeat(50)] {
        assert!(read(name, &json!({})).is_ok(), "{name}");
    }
    for name in ["", " desk", "desk ", "../x", ".", "a/b", "a\nb", "a\0b", "\"", &*"x".repeat(51)] {
        assert!(read(name, &json!({})).is_err(), "{name:?}");
    }
}

#[test]
fn hostile_specs_are_refused_with_one_short_message() {
    let tools: Vec<String> = (0..10_000).map(|number| format!("t{number}")).collect();
    let large = problems(&json!({"instructions": "x".repeat(1_000_000)}));
    assert_eq!(large.len(), 1);
    assert!(large[0].ends_with(&format!("has 1000019 bytes of JSON, the limit is {MAX_SPEC_BYTES}")), "{large:?}");
    assert_eq!(problems(&json!({"tools": tools})), [r#"spec "desk": tools has 10000 elements, the limit is 128"#]);
    let deep = (0..70).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}));
    let schema = json!({"type": "object", "properties": {"a": deep}});
    assert_eq!(
        problems(&json!({"output": {"schema": schema}})),
        [r#"spec "desk": output.schema has 65 levels, the limit is 64"#]
    );
    let unknown: Map<String, Value> = (0..5_000).map(|number| (format!("m{number}"), Value::Null)).collect();
    assert!(problems(&Value::Object(unknown)).len() <= 128);
    for json in [json!(null), json!([]), json!("desk"), json!(7)] {
        assert_eq!(problems(&json), [r#"spec "desk": the spec must be a JSON object"#]);
    }
}
