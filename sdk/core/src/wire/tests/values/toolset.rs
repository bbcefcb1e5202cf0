//! Toolsets that are selected for a run.

use serde_json::json;

use crate::wire::{
    GateMode, RemoteTool, SelectedToolset, WIRE_VERSION,
    find_toolsets::{FindToolsetsReply, FindToolsetsRequest},
};

pub(super) fn selected() -> Vec<SelectedToolset> {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    let run = RemoteTool::new("run_command", "Runs a command.", schema);
    let list = RemoteTool::new("list", "", json!({"type": "object", "properties": {}})).read_only();
    let laptop = SelectedToolset::of_device("laptop", "devices", [run, list.clone()]).mode(GateMode::ApproveEach);
    let files = SelectedToolset::of_provider("files", "streams", [list]);
    vec![laptop.timeout(std::time::Duration::from_mins(1)), files.prefix("f_")]
}

pub(in crate::wire::tests) fn find_toolsets_requests() -> Vec<(&'static str, FindToolsetsRequest)> {
    let of_nobody = FindToolsetsRequest { version: WIRE_VERSION, names: vec!["files".to_owned()], user: None };
    let of_user = FindToolsetsRequest {
        names: vec!["laptop".to_owned(), "files".to_owned()],
        user: Some("ada".to_owned()),
        ..of_nobody.clone()
    };
    vec![("of_nobody", of_nobody), ("of_user", of_user)]
}

pub(in crate::wire::tests) fn find_toolsets_replies() -> Vec<(&'static str, FindToolsetsReply)> {
    let none = FindToolsetsReply { version: WIRE_VERSION, found: Vec::new() };
    vec![("none", none.clone()), ("found", FindToolsetsReply { found: selected(), ..none })]
}
