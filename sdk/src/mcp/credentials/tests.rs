use rstest::rstest;

use super::{of_address, of_arguments, of_header, of_variable};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae17";

#[rstest]
#[case::scheme("authorization", "Bearer tok-123456", &["tok-123456"])]
#[case::any_scheme("Proxy-Authorization", "Custom tok-123456", &["tok-123456"])]
#[case::scheme_elsewhere("x-forwarded-auth", "Bearer tok-123456", &["tok-123456"])]
#[case::whole("x-api-key", "open sesame", &["open sesame"])]
#[case::unnamed("x-tenant", "production", &["production"])]
#[case::cookie("Cookie", "id=1; session=abcdefgh", &["abcdefgh"])]
#[case::short("authorization", "Bearer x", &[])]
#[case::plain("Accept", "application/json", &[])]
fn a_header_is_a_credential_without_its_scheme(#[case] name: &str, #[case] value: &str, #[case] found: &[&str]) {
    assert_eq!(of_header(name, value), found);
}

#[rstest]
#[case::named("API_TOKEN", "sesame-open", &["sesame-open"])]
#[case::unnamed("GREETING", "sesame-open", &["sesame-open"])]
#[case::named_with_slash("AWS_SECRET_KEY", "/abc+def/ghi", &["/abc+def/ghi"])]
#[case::password_of_an_address("DATABASE_URL", "postgres://ada:enchantress@db/shop", &["enchantress"])]
#[case::short("TOKEN", "sesame", &[])]
#[case::path("DATA", "/srv/papers", &[])]
#[case::path_list("PATH", "/usr/bin:/bin", &[])]
#[case::region("AWS_REGION", "us-east-1", &[])]
#[case::environment("NODE_ENV", "production", &[])]
#[case::number("LIMIT", "100000000", &[])]
#[case::address("BASE", "https://api.example.com/v1", &[])]
#[case::where_a_token_is("TOKEN_FILE", "/run/secrets/token", &[])]
fn a_variable_is_a_credential_unless_its_name_or_shape_says_otherwise(
    #[case] name: &str,
    #[case] value: &str,
    #[case] found: &[&str],
) {
    assert_eq!(of_variable(name, value), found);
}

#[rstest]
#[case::after_a_flag(&["--token", "sesame-open", "--verbose-mode"], &["sesame-open"])]
#[case::in_a_flag(&["--apiKey=sesame-open"], &["sesame-open"])]
#[case::variable_of_a_container(&["run", "-e", "API_KEY=sesame-open", "-e", "MODE=read-only", "image"], &["sesame-open"])]
#[case::header(&["mcp-remote", "--header", "Authorization: Bearer sesame-open"], &["sesame-open"])]
#[case::address(&["postgres://ada:enchantress@db/shop"], &["enchantress"])]
#[case::key(&[KEY], &[KEY])]
#[case::key_of_an_unknown_flag(&["--use", KEY], &[KEY])]
#[case::flags(&["--token", "--verbose-mode", "--read-only"], &[])]
#[case::settings(&["-y", "@modelcontextprotocol/server-filesystem@2025.8.21", "/srv/3f2b8c7d9e1a4b5c6d7e", "--port=8080"], &[])]
#[case::file(&["--token-file", "/run/secrets/token"], &[])]
fn a_program_argument_is_a_credential_where_its_name_or_shape_says_so(
    #[case] arguments: &[&str],
    #[case] found: &[&str],
) {
    assert_eq!(of_arguments(arguments.iter().copied()), found);
}

#[rstest]
#[case::password("https://user:enchantress@example.com/mcp", &["enchantress"])]
#[case::query("https://example.com/mcp?api_key=sesame-open&page=overview", &["sesame-open"])]
#[case::path("https://example.com/s/16C7e42F292c6912E77/mcp", &["16C7e42F292c6912E77"])]
#[case::none("https://tickets.example.com/mcp", &[])]
fn an_address_may_hold_credentials(#[case] address: &str, #[case] found: &[&str]) {
    assert_eq!(of_address(address), found);
}
