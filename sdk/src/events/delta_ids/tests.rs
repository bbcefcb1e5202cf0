use super::*;

#[test]
fn a_call_is_named_by_its_activity() {
    let call = CallOfRun::of("k3x9q2ab-2-model").unwrap();
    assert_eq!((call.place.run, call.effect, &*call.id), ("k3x9q2ab", "2-model", "k3x9q2ab/2-model"));
    assert!(CallOfRun::of("my-activity").is_none());
}

#[test]
fn an_id_names_its_call_and_attempt() {
    assert_eq!(delta_of("k3x9q2ab/2-model#3.17"), Some(("k3x9q2ab/2-model", 3, 17)));
    for id in ["", "#", "k3x9q2ab/2-model", "k3x9q2ab/2-model#3", "k3x9q2ab/2-model#x.1", "k3x9q2ab/2-model#-1.0"] {
        assert_eq!(delta_of(id), None, "{id}");
    }
}

#[test]
fn after_a_reset_the_ids_of_deltas_have_the_suffix_of_the_facts() {
    let (id, suffix) = without_suffix("k3x9q2ab~1f2e3d4c/2-model");
    assert_eq!((&*id, suffix), ("k3x9q2ab/2-model", "~1f2e3d4c"));
    assert_eq!(without_suffix("k3x9q2ab/2~model"), ("k3x9q2ab/2~model".to_owned(), ""));
    let text = EventKind::TextDelta { message_id: "k3x9q2ab/2-model/0".to_owned(), attempt: 1, delta: "Hi".to_owned() };
    let mut delta = RunEvent::new(text);
    (delta.run, delta.id) = ("k3x9q2ab".to_owned(), "k3x9q2ab/2-model#1.0".to_owned());
    assert_eq!(with_suffix(delta.clone(), ""), delta);
    let delta = with_suffix(delta, suffix);
    assert_eq!(delta.id, "k3x9q2ab~1f2e3d4c/2-model#1.0");
    let EventKind::TextDelta { message_id, .. } = delta.kind else { panic!("a text") };
    assert_eq!(message_id, "k3x9q2ab~1f2e3d4c/2-model/0");
}
