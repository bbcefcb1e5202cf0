use serde_json::{Value, json};

use super::*;

fn object(tool: impl Into<HostedTool>) -> (String, Value) {
    match ToolSpec::from(tool.into()) {
        ToolSpec::Hosted { name, config } => (name, Value::Object(config)),
        ToolSpec::Function { .. } => panic!("it is hosted"),
    }
}

#[test]
fn without_options_only_what_the_provider_must_know_is_sent() {
    let of = |name: &str, config: Value| (name.to_owned(), config);
    assert_eq!(object(HostedTool::web_search()), of("web_search", json!({"type": "web_search"})));
    let searches = json!({"type": "file_search", "vector_store_ids": ["vs_1", "vs_2"]});
    assert_eq!(object(HostedTool::file_search(["vs_1", "vs_2"])), of("file_search", searches));
    let runs = json!({"type": "code_interpreter", "container": {"type": "auto"}});
    assert_eq!(object(HostedTool::code_interpreter()), of("code_interpreter", runs));
    assert_eq!(object(HostedTool::image_generation()), of("image_generation", json!({"type": "image_generation"})));
    let asks = json!({"type": "mcp", "server_label": "crm", "server_url": "https://crm.test/mcp"});
    assert_eq!(object(HostedTool::mcp("crm", "https://crm.test/mcp")), of("hosted_mcp", asks));
    let connects = json!({"type": "mcp", "server_label": "mail", "connector_id": "connector_gmail"});
    assert_eq!(object(HostedTool::mcp_connector("mail", "connector_gmail")), of("hosted_mcp", connects));
}

#[test]
fn options_are_members_of_the_object() {
    let location = UserLocation::country("NO").city("Oslo").region("Oslo").timezone("Europe/Oslo");
    let search = HostedTool::web_search()
        .search_context_size("high")
        .allowed_domains(["temporal.io"])
        .user_location(location)
        .set("external_web_access", false);
    assert_eq!(
        object(search).1,
        json!({
            "type": "web_search", "search_context_size": "high", "filters": {"allowed_domains": ["temporal.io"]},
            "user_location":
                {"type": "approximate", "country": "NO", "city": "Oslo", "region": "Oslo", "timezone": "Europe/Oslo"},
            "external_web_access": false,
        })
    );
    let filters = json!({"type": "eq", "key": "year", "value": 2026});
    let search =
        HostedTool::file_search(["vs"]).max_num_results(5).score_threshold(0.5).ranker("auto").filters(filters.clone());
    assert_eq!(
        object(search).1,
        json!({
            "type": "file_search", "vector_store_ids": ["vs"], "max_num_results": 5,
            "ranking_options": {"score_threshold": 0.5, "ranker": "auto"}, "filters": filters,
        })
    );
    let draws = HostedTool::image_generation()
        .model("gpt-image-1")
        .size("1024x1024")
        .quality("low")
        .background("opaque")
        .output_format("webp")
        .output_compression(80);
    assert_eq!(
        object(draws).1,
        json!({
            "type": "image_generation", "model": "gpt-image-1", "size": "1024x1024", "quality": "low",
            "background": "opaque", "output_format": "webp", "output_compression": 80,
        })
    );
}

#[test]
fn a_container_is_a_new_one_or_one_that_is_there() {
    let new = HostedTool::code_interpreter().file_ids(["file_1"]).memory_limit("4g");
    let container = json!({"type": "auto", "file_ids": ["file_1"], "memory_limit": "4g"});
    assert_eq!(object(new).1["container"], container);
    assert_eq!(object(HostedTool::code_interpreter().container("cntr_1")).1["container"], json!("cntr_1"));
    let new = HostedTool::code_interpreter().container("cntr_1").memory_limit("1g");
    assert_eq!(object(new).1["container"], json!({"type": "auto", "memory_limit": "1g"}), "the latest counts");
}

#[test]
fn approval_is_for_all_tools_of_a_server_or_for_some() {
    let asked =
        |approval| object(HostedTool::mcp("crm", "url").require_approval(approval)).1["require_approval"].clone();
    assert_eq!(asked(RequireApproval::Always), json!("always"));
    assert_eq!(asked(RequireApproval::Never), json!("never"));
    let tools = || vec!["delete".to_owned()];
    assert_eq!(asked(RequireApproval::AlwaysFor(tools())), json!({"always": {"tool_names": ["delete"]}}));
    assert_eq!(asked(RequireApproval::NeverFor(tools())), json!({"never": {"tool_names": ["delete"]}}));
    let server = HostedTool::mcp("crm", "url")
        .allowed_tools(["find"])
        .server_description("Customers.")
        .header("X-Tenant", "acme");
    assert_eq!(
        object(server).1,
        json!({
            "type": "mcp", "server_label": "crm", "server_url": "url", "allowed_tools": ["find"],
            "server_description": "Customers.", "headers": {"X-Tenant": "acme"},
        })
    );
}
