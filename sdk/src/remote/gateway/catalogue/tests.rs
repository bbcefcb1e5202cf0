//! Registrations that are accepted and refused, lists and searches.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::RemoteTool;

use super::{Catalogue, Toolset};
use crate::remote::gateway::{RegistrationError, limits::MAX_TOOLSETS};

fn tool(name: &str, description: &str) -> RemoteTool {
    RemoteTool::new(name, description, json!({"type": "object"}))
}

fn toolset(name: &str, tags: &[&str]) -> Toolset {
    Toolset::new(name, "1.0.0").tags(tags.iter().copied()).tools([tool("read", "Reads.")])
}

fn catalogue(toolsets: impl IntoIterator<Item = Toolset>) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for toolset in toolsets {
        catalogue.register(toolset).expect("it is valid");
    }
    catalogue
}

fn names(toolsets: Vec<&Toolset>) -> Vec<&str> {
    toolsets.into_iter().map(|toolset| &*toolset.name).collect()
}

#[test]
fn a_registration_replaces_that_of_the_same_name_until_it_is_unregistered() {
    let mut catalogue =
        catalogue([toolset("files", &[]), Toolset { version: "1.1.0".into(), ..toolset("files", &[]) }]);
    assert_eq!(catalogue.get("files").map(|files| &*files.version), Some("1.1.0"));
    assert_eq!(catalogue.get("file"), None);
    assert!(catalogue.unregister("files"));
    assert!(!catalogue.unregister("files"));
    assert_eq!(catalogue.get("files"), None);
}

#[test]
fn a_list_has_the_toolsets_with_all_tags_by_name() {
    let catalogue = catalogue([toolset("b", &["x", "y"]), toolset("a", &["y", "x", "z"]), toolset("c", &["x"])]);
    assert_eq!(names(catalogue.list(&[])), ["a", "b", "c"]);
    assert_eq!(names(catalogue.list(&["x", "y"])), ["a", "b"]);
    assert_eq!(names(catalogue.list(&["X"])), [""; 0]);
}

#[rstest]
#[case::no_words("  ", &["calendar", "files", "mail", "reports"])]
#[case::names_before_tools_tags_and_descriptions("mail", &["mail", "calendar", "reports", "files"])]
#[case::case("MAIL", &["mail", "calendar", "reports", "files"])]
#[case::all_words_are_found("mail send", &["mail"])]
#[case::parts_of_words("calen", &["calendar"])]
#[case::letters_outside_of_ascii("ÜBERSICHT", &["reports"])]
#[case::equal_ones_by_name("read", &["files", "mail"])]
#[case::nothing("invoice", &[])]
#[case::more_words_than_are_read("a a a a a a a a a a a a a a a a invoice", &["calendar", "mail", "files", "reports"])]
fn a_search_finds_words_without_regard_to_case_the_best_place_first(#[case] query: &str, #[case] found: &[&str]) {
    let catalogue = catalogue([
        Toolset::new("reports", "1.0.0").description("Die Übersicht.").tags(["mail"]).tools([tool("sum", "Adds.")]),
        Toolset::new("files", "1.0.0").tools([tool("read", "Reads an attachment of a mail.")]),
        Toolset::new("mail", "1.0.0").tools([tool("read", ""), tool("send", "")]).description("Mailbox."),
        Toolset::new("calendar", "1.0.0").tools([tool("mail_invitation", "")]),
    ]);
    assert_eq!(names(catalogue.search(query)), found);
}

const NAME: &str = "use a name of 1 to 128 characters without spaces, control characters and \"*?[]\"";

#[rstest]
#[case::no_name(json!({"name": ""}), NAME)]
#[case::a_space(json!({"name": "my files"}), NAME)]
#[case::a_pattern(json!({"name": "files*"}), NAME)]
#[case::a_long_name(json!({"name": "n".repeat(129)}), NAME)]
#[case::no_version(
    json!({"version": null}),
    "its version \"\" is not a semantic version (empty string, expected a semver version); write it as in \"1.2.0\""
)]
#[case::two_numbers(
    json!({"version": "1.2"}),
    "its version \"1.2\" is not a semantic version (unexpected end of input while parsing minor version number); write \
     it as in \"1.2.0\""
)]
#[case::a_long_description(
    json!({"description": "d".repeat(16_385)}), "its description has 16385 bytes, the limit is 16384; shorten it"
)]
#[case::many_tags(json!({"tags": vec!["tag"; 33]}), "use at most 32 tags of 1 to 64 characters")]
#[case::an_empty_tag(json!({"tags": [""]}), "use at most 32 tags of 1 to 64 characters")]
#[case::no_tools(json!({"tools": null}), "it has no tools; describe at least one")]
#[case::many_tools(
    json!({"tools": vec![json!({"name": "read"}); 257]}), "it has 257 tools, the limit is 256; split it"
)]
#[case::a_large_one(
    json!({"tools": (0..20).map(|number| json!({"name": format!("t{number}"), "description": "d".repeat(16_000)}))
        .collect::<Vec<_>>()}),
    "it has 321694 bytes as JSON, the limit is 262144; split it"
)]
fn a_bad_toolset_is_refused_with_what_to_do(#[case] members: Value, #[case] problem: &str) {
    let mut json = json!({"name": "files", "version": "1.0.0", "tools": [{"name": "read"}]});
    for (name, value) in members.as_object().expect("an object") {
        json[name] = value.clone();
    }
    let toolset: Toolset = serde_json::from_value(json).expect("a toolset");
    let name = toolset.name.chars().take(100).collect();
    let error = Catalogue::default().register(toolset).expect_err("it is refused");
    assert_eq!(error, RegistrationError::Toolset { toolset: name, problem: problem.to_owned() });
}

#[rstest]
#[case::no_name(json!({"name": ""}), NAME)]
#[case::a_second_one(json!({"name": "read"}), "another tool has the same name; name each tool once")]
#[case::a_tag(json!({"tags": ["t".repeat(65)]}), "use at most 32 tags of 1 to 64 characters")]
#[case::no_schema(
    json!({"payload_schema": 7}), "its payload_schema is not a JSON object; describe the value in JSON Schema"
)]
#[case::a_large_schema(
    json!({"result_schema": {"description": "d".repeat(70_000)}}),
    "its result_schema has 70018 bytes, the limit is 65536; describe it with a smaller schema"
)]
fn a_bad_tool_is_named(#[case] members: Value, #[case] problem: &str) {
    let mut bad = json!({"name": "write"});
    for (name, value) in members.as_object().expect("an object") {
        bad[name] = value.clone();
    }
    let tool = bad["name"].as_str().expect("a name").to_owned();
    let json = json!({"name": "files", "version": "1.0.0", "tools": [{"name": "read"}, bad]});
    let toolset: Toolset = serde_json::from_value(json).expect("a toolset");
    let error = Catalogue::default().register(toolset).expect_err("it is refused");
    let message = format!("toolset \"files\" cannot be registered with its tool {tool:?}: {problem}");
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_full_catalogue_refuses_new_toolsets_and_replaces_known_ones() {
    let mut catalogue = catalogue((0..MAX_TOOLSETS).map(|number| toolset(&format!("t{number}"), &[])));
    let error = catalogue.register(toolset("one_more", &[])).expect_err("it is full");
    assert_eq!(
        error.to_string(),
        "toolset \"one_more\" cannot be registered: the catalogue has 1000 toolsets, the limit; unregister another one"
    );
    catalogue.register(toolset("t7", &["new"])).expect("it is known");
    assert_eq!(names(catalogue.list(&["new"])), ["t7"]);
}
