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

#[cfg(feature = "nexus")]
#[test]
fn headers_of_a_nexus_operation_are_small_and_visible() {
    let own = Caller::of_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").expect("a context");
    let names = |baggage: String| {
        let sent =
            SentContext { caller: own, workflow: None, tracestate: Some("a=1".to_owned()), baggage: Some(baggage) };
        let mut names: Vec<String> = sent.to_nexus_fields().into_keys().collect();
        names.sort();
        names
    };
    assert_eq!(names("user=ada".to_owned()), [BAGGAGE, TRACEPARENT, TRACESTATE]);
    assert_eq!(names("a".repeat(MAX_NEXUS_BYTES)), [TRACEPARENT]);
    assert_eq!(names("user=ada\u{7}".to_owned()), [TRACEPARENT]);
}
