use rstest::rstest;

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
