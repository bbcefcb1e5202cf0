use serde_json::json;

use super::*;
use crate::wire::RemoteTool;

fn tool(name: &str) -> RemoteTool {
    RemoteTool::new(name, "", json!({"type": "object", "properties": {}}))
}

fn snapshot(selected: impl IntoIterator<Item = SelectedToolset>) -> ToolsetSnapshot {
    ToolsetSnapshot { selected: selected.into_iter().collect(), ..ToolsetSnapshot::default() }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_toolset_that_is_not_there_is_named() {
    let mut found = snapshot([SelectedToolset::of_provider("files", "streams", [tool("read")])]);
    found.user = Some("ada".to_owned());
    let refused = check(&found, &names(&["files", "laptop"]), false).expect_err("one is missing");
    assert!(refused.contains("not there for user \"ada\": [\"laptop\"]"), "{refused}");
}

#[test]
fn a_toolset_that_nobody_asked_for_is_refused() {
    let found = snapshot(["files", "more"].map(|name| SelectedToolset::of_provider(name, "streams", [tool("read")])));
    let refused = check(&found, &names(&["files"]), false).expect_err("one is too many");
    assert_eq!(refused, "toolset \"more\" was found, and is not selected");
}

#[test]
fn a_run_with_untrusted_content_gets_no_device_and_may_have_providers() {
    let device = snapshot([SelectedToolset::of_device("laptop", "devices", [tool("run")])]);
    let refused = check(&device, &names(&["laptop"]), true).expect_err("it is a device");
    assert!(refused.contains("\"laptop\"") && refused.contains("no devices"), "{refused}");
    assert_eq!(check(&device, &names(&["laptop"]), false), Ok(()));
    let provider = snapshot([SelectedToolset::of_provider("files", "streams", [tool("read")])]);
    assert_eq!(check(&provider, &names(&["files"]), true), Ok(()));
}

#[test]
fn lists_and_schemas_are_bounded() {
    let many = (0..=MOST_TOOLS).map(|number| tool(&format!("tool_{number}")));
    let found = snapshot([SelectedToolset::of_provider("files", "streams", many)]);
    let refused = check(&found, &names(&["files"]), false).expect_err("it has too many tools");
    assert!(refused.contains("129 tools, the limit is 128"), "{refused}");

    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"type": "object", "properties": {"inner": deep}});
    }
    let found = snapshot([SelectedToolset::of_provider("files", "streams", [RemoteTool::new("deep", "", deep)])]);
    let refused = check(&found, &names(&["files"]), false).expect_err("its schema is too deep");
    assert!(refused.contains("tool \"deep\" of toolset \"files\" cannot be used"), "{refused}");
}

#[test]
fn tools_of_a_device_have_its_prefix_and_its_user() {
    let mut found = snapshot([SelectedToolset::of_device("my laptop", "devices", [tool("run.it")])]);
    found.user = Some("ada".to_owned());
    let tools = tools_of(&found);
    let crate::tool::ToolBinding::Remote(binding) = tools[0].binding() else { panic!("it is remote") };
    assert_eq!(tools[0].name(), "dev_my_laptop_run_it");
    assert_eq!(binding.toolset(), "my laptop");
    assert_eq!(binding.target(None, None).user.as_deref(), Some("ada"));
    assert!(!binding.is_idempotent());
}
