//! Tests of both forms of an address, of refused values, and of the order of flag and variable.

use super::ServerAddress;

#[test]
fn both_forms_become_a_url() {
    let forms = [
        ("localhost:7233", "http://localhost:7233/"),
        ("127.0.0.1:7233", "http://127.0.0.1:7233/"),
        ("[::1]:7233", "http://[::1]:7233/"),
        ("temporal.internal:80", "http://temporal.internal/"),
        ("http://localhost:7233", "http://localhost:7233/"),
        ("http://localhost:7233/", "http://localhost:7233/"),
        ("HTTP://localhost:7233", "http://localhost:7233/"),
        ("http://[::1]:7233", "http://[::1]:7233/"),
        ("https://agents.tmprl.cloud:7233", "https://agents.tmprl.cloud:7233/"),
        ("https://agents.tmprl.cloud", "https://agents.tmprl.cloud/"),
    ];
    for (value, url) in forms {
        let address: ServerAddress = value.parse().expect("it is an address");
        assert_eq!((address.url().as_str(), &*address.to_string()), (url, value));
    }
}

#[test]
fn other_values_are_refused_with_the_reason() {
    let refused = [
        ("", "it is empty"),
        (" ", "it contains whitespace or control characters"),
        (" localhost:7233", "it contains whitespace or control characters"),
        ("localhost:7233\n", "it contains whitespace or control characters"),
        ("http://local\thost:7233", "it contains whitespace or control characters"),
        ("localhost", "it does not end in a port"),
        ("localhost:", "it does not end in a port"),
        ("localhost:temporal", "it does not end in a port"),
        ("localhost:72330", "it does not end in a port"),
        ("localhost:7233/path", "it does not end in a port"),
        ("[::1]", "it does not end in a port"),
        ("::1:7233", "it cannot be parsed (empty host)"),
        (":7233", "it cannot be parsed (empty host)"),
        ("http://", "it cannot be parsed (empty host)"),
        ("http://localhost:temporal", "it cannot be parsed (invalid port number)"),
        ("://localhost:7233", "it cannot be parsed (relative URL without a base)"),
        ("grpc://localhost:7233", "its scheme \"grpc\" is neither http nor https"),
        ("http://localhost:7233/path", "it contains more than a host and a port"),
        ("http://localhost:7233?tls", "it contains more than a host and a port"),
        ("http://localhost:7233#tls", "it contains more than a host and a port"),
        ("http://ada@localhost:7233", "it contains more than a host and a port"),
        ("ada:secret@localhost:7233", "it contains more than a host and a port"),
    ];
    for (value, reason) in refused {
        let error = value.parse::<ServerAddress>().expect_err(value).to_string();
        let expected = format!(
            "{value:?} is not the address of a server: {reason}; write HOST:PORT, such as localhost:7233, or a URL, such as \
             http://localhost:7233"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn a_flag_has_precedence_over_the_variable_and_the_variable_over_the_default() {
    let flag = || Some("flag:1".parse().expect("it is an address"));
    let chosen = |flag, variable: Option<&str>| {
        ServerAddress::or_variable(flag, variable.map(str::to_owned)).map(|address| address.to_string())
    };
    assert_eq!(chosen(flag(), Some("")).ok().as_deref(), Some("flag:1"));
    assert_eq!(chosen(None, Some("variable:2")).ok().as_deref(), Some("variable:2"));
    assert_eq!(chosen(None, None).ok().as_deref(), Some("http://localhost:7233"));
    let empty = chosen(None, Some("")).expect_err("it is empty").to_string();
    assert!(empty.starts_with("TEMPORAL_ADDRESS: \"\" is not the address of a server: it is empty; "), "{empty}");
}

#[test]
fn tls_is_used_where_the_address_does_not_say() {
    for (value, url) in [
        ("localhost:7233", "https://localhost:7233/"),
        ("localhost:80", "https://localhost:80/"),
        ("localhost:443", "https://localhost/"),
        ("http://localhost:7233", "http://localhost:7233/"),
        ("https://localhost:7233", "https://localhost:7233/"),
    ] {
        let address = value.parse::<ServerAddress>().expect("it is an address").with_tls_by_default();
        assert_eq!((address.url().as_str(), &*address.to_string()), (url, value));
    }
}
