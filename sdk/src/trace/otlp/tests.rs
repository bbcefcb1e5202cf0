use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
};

use opentelemetry_http::{HttpClient, Request};
use rstest::rstest;
use tonic::service::Interceptor;

use super::*;

fn of_settings(settings: &[(&str, &str)]) -> Result<bool, String> {
    let set = |name: &str| settings.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned());
    Otlp::of_settings(set).map(|otlp| otlp.is_some()).map_err(|error| error.to_string())
}

#[rstest]
#[case::nothing(&[], false)]
#[case::endpoint(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")], true)]
#[case::endpoint_of_traces(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/v1/traces")], true)]
#[case::protocol(
    &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
    true
)]
#[case::grpc(
    &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
    true
)]
#[case::disabled(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "true")], false)]
#[case::no_exporter(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"), ("OTEL_TRACES_EXPORTER", "none")], false)]
fn the_environment_turns_traces_on(#[case] settings: &[(&str, &str)], #[case] is_on: bool) {
    assert_eq!(of_settings(settings), Ok(is_on));
}

#[test]
fn another_protocol_and_a_malformed_url_are_errors_that_say_what_to_do() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    assert_eq!(
        of_settings(&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")]),
        Err("the exporter for \"http://127.0.0.1:4318\" cannot be set up: OTEL_EXPORTER_OTLP_PROTOCOL is \"http/json\"; \
             set it to http/protobuf, usually on port 4318, or to grpc, usually on port 4317"
            .to_owned())
    );
    assert_eq!(
        of_settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]),
        Err("the exporter for \"127.0.0.1:4317\" cannot be set up: it starts with neither https:// nor http://"
            .to_owned())
    );
    assert_eq!(
        of_settings(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318")]),
        Err("the exporter for \"localhost:4318/v1/traces\" cannot be set up: it starts with neither https:// nor \
             http://"
            .to_owned())
    );
}

#[test]
fn a_malformed_header_is_named() {
    let error = Otlp::grpc_with_headers("http://127.0.0.1:4317", [("not a name", "value")])
        .map(|_| ())
        .map_err(|e| e.to_string());
    assert_eq!(
        error,
        Err(
            "the exporter for \"http://127.0.0.1:4317\" cannot be set up: the name or the value of the header \"not a \
             name\" is malformed"
                .to_owned()
        )
    );
}

fn own_headers() -> OwnHeaders {
    OwnHeaders::parse([("Authorization", "Bearer own")]).expect("they are headers")
}

#[test]
fn own_headers_replace_those_of_the_environment_over_grpc() {
    let mut request = tonic::Request::new(());
    for (name, value) in [("authorization", "Bearer environment"), ("x-team", "a"), ("user-agent", "exporter")] {
        request.metadata_mut().insert(name, value.parse().expect("it is a value"));
    }
    let sent = own_headers().call(request).expect("nothing is refused").into_parts().0.into_headers();
    let mut names: Vec<&str> = sent.keys().map(reqwest::header::HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["authorization", "user-agent"]);
    assert_eq!(sent["authorization"], "Bearer own");
}

#[test]
fn own_headers_replace_those_of_the_environment_over_http() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let url = format!("http://{}/v1/traces", listener.local_addr().expect("it is bound"));
    let receiving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client connects");
        let lines = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
        let lines: Vec<String> = lines.map(|line| line.to_ascii_lowercase()).collect();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").expect("the client reads");
        lines
    });
    let client =
        reqwest::blocking::Client::builder().tls_backend_preconfigured(http_client::tls(false).expect("it is"));
    let client = WithHeaders { client: client.build().expect("it is complete"), headers: own_headers() };
    let request = Request::post(&url).header("authorization", "Bearer environment").header("x-team", "a");
    let request = request.header("content-type", "application/x-protobuf").body(Vec::new().into());
    futures::executor::block_on(client.send_bytes(request.expect("it is a request"))).expect("it is answered");
    let lines = receiving.join().expect("it does not panic");
    let has = |line: &str| lines.iter().any(|other| other == line);
    assert!(has("authorization: bearer own") && has("content-type: application/x-protobuf"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("environment") || line.starts_with("x-team")), "{lines:?}");
}
