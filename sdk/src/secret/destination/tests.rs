//! Tests of the host of an address, and of the destinations of a part of a request.

use rstest::rstest;
use serde_json::{Value, json};

use super::{Destination, UnknownDestination, host_of};

#[rstest]
#[case("https://mcp.example.com", Some("mcp.example.com"))]
#[case("HTTPS://MCP.Example.com./sse?x=https://other.test", Some("mcp.example.com"))]
#[case("https://mcp.example.com:443/", Some("mcp.example.com"))]
#[case("https://mcp.example.com:8443#a", Some("mcp.example.com:8443"))]
#[case("https://127.0.0.1:8443", Some("127.0.0.1:8443"))]
#[case("http://mcp.example.com", None)]
#[case("https:mcp.example.com", None)]
#[case("https:/mcp.example.com", None)]
#[case("//mcp.example.com", None)]
#[case("mcp.example.com", None)]
#[case("https://user@mcp.example.com", None)]
#[case("https://mcp.example.com@evil.test", None)]
#[case("https://mcp.example.com:443@evil.test", None)]
#[case("https://mcp.example.com\\@evil.test", None)]
#[case("https://mcp.example.com\\.evil.test/", None)]
#[case("https://evil.test\\mcp.example.com", None)]
#[case("https://mcp.example.com\t.evil.test", None)]
#[case(" https://mcp.example.com", None)]
#[case("https://mcp%2eexample.com", None)]
#[case("https://mcp.example.com..", None)]
#[case("https://mcp..example.com", None)]
#[case("https://", None)]
#[case("https://mcp.example.com:", None)]
#[case("https://mcp.example.com:0443", None)]
#[case("https://mcp.example.com:+443", None)]
#[case("https://mcp.example.com:99999", None)]
#[case("https://[::1]/", None)]
#[case("https://mcp\u{3002}example.com", None)]
#[case("https://mcp.example.com, https://evil.test", None)]
fn the_host_of_an_address_is_read_only_where_all_readers_agree(#[case] address: &str, #[case] host: Option<&str>) {
    assert_eq!(host_of(address).as_deref(), host);
}

#[rstest]
#[case::no_address(json!({"type": "container", "env": {}}), Ok(vec![Destination::provider("openai")]))]
#[case::one(json!({"server_url": "https://a.test/sse", "headers": {}}), Ok(vec![Destination::hosted_tool_host("A.test.")]))]
#[case::two(
    json!({"server_url": "https://a.test", "filters": [{"callbackUrl": "https://b.test:444"}]}),
    Ok(vec![Destination::hosted_tool_host("a.test"), Destination::hosted_tool_host("b.test:444")])
)]
#[case::under_another_key(json!({"server_url": "https://a.test", "note": "see http://b.test"}), Err(UnknownDestination))]
#[case::of_words(json!({"server_description": "see http://b.test"}), Ok(vec![Destination::provider("openai")]))]
#[case::by_reference(json!({"server_url": {"$worker_env": "SERVER"}}), Err(UnknownDestination))]
#[case::not_read(json!({"server_url": "wss://a.test"}), Err(UnknownDestination))]
fn a_part_of_a_request_goes_to_the_hosts_in_it_or_to_the_provider(
    #[case] part: Value,
    #[case] destinations: Result<Vec<Destination>, UnknownDestination>,
) {
    assert_eq!(Destination::of_request(&part, Some("openai")), destinations);
}

#[test]
fn a_provider_without_a_name_is_no_destination() {
    assert_eq!(Destination::of_request(&json!({}), None), Err(UnknownDestination));
    let hosted = Destination::of_request(&json!({"server_url": "https://a.test"}), None);
    assert_eq!(hosted, Ok(vec![Destination::hosted_tool_host("a.test")]));
}
