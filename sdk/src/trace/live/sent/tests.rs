use super::*;

#[test]
fn a_field_that_is_too_long_is_not_passed_on_to_each_activity() {
    let own = Caller::of_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").expect("a context");
    let fields = json!({
        TRACEPARENT: own.to_traceparent(),
        TRACESTATE: "vendor=a1",
        BAGGAGE: format!("user={}", "a".repeat(1_000_000)),
    });
    let payload = Payload { data: fields.to_string().into_bytes(), ..Payload::default() };
    let sent = SentContext::or_own(&HashMap::from([(TRACER_DATA.to_owned(), payload)]), own);
    assert_eq!((sent.tracestate.as_deref(), sent.baggage.as_deref()), (Some("vendor=a1"), None));
    assert!(sent.to_payload().data.len() < 200, "{}", sent.to_payload().data.len());
}
