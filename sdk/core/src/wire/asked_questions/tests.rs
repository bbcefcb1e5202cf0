use super::*;

fn asked(id: &str, arguments: String) -> AgentInterruption {
    AgentInterruption {
        id: id.to_owned(),
        agent: "desk".to_owned(),
        tool: "refund".to_owned(),
        arguments,
        server: None,
        kind: InterruptionKind::Approval,
        question: None,
        expires_at: None,
    }
}

#[test]
fn long_arguments_are_cut_between_characters() {
    let questions = AskedQuestions::new("desk", 1, [asked("a", "é".repeat(400)), asked("b", "{}".to_owned())]);
    let found: Vec<_> = questions.questions.iter().map(|one| (one.arguments.len(), one.is_cut)).collect();
    assert_eq!(found, [(512, true), (2, false)]);
    let odd = AskedQuestions::new("desk", 1, [asked("a", format!("x{}", "é".repeat(400)))]);
    assert_eq!(odd.questions[0].arguments.len(), 511);
}

#[test]
fn what_does_not_fit_is_counted() {
    let many = (0..1000).map(|number| asked(&format!("call_{number}"), "x".repeat(1000)));
    let questions = AskedQuestions::new("desk", 1, [asked(&"i".repeat(10_000), String::new())].into_iter().chain(many));
    assert!(encoded_len(&questions).unwrap() < MOST_QUESTIONS + 200);
    assert_eq!(questions.questions[0].id, "call_0", "one that is too large takes no place");
    assert_eq!(questions.questions.len() + questions.left_out as usize, 1001);
}

#[test]
fn questions_of_other_runs_share_the_room() {
    let own = (0..4).map(|number| asked(&format!("own_{number}"), "x".repeat(500)));
    let others = (0..9).map(|number| asked(&format!("other_{number}"), "x".repeat(500)));
    let questions = AskedQuestions::beside("desk", 1, own, others);
    assert_eq!((questions.questions.len(), questions.of_others.len(), questions.left_out), (4, 3, 6));
    assert_eq!(questions.open().len(), 7);
}

#[test]
fn a_large_question_of_a_server_is_left_out() {
    let input = |message: String| {
        let question = Some(McpQuestion { message, schema: serde_json::Value::Null });
        PendingQuestion::from(AgentInterruption { question, ..asked("a", String::new()) })
    };
    assert!(!input("How many?".to_owned()).is_cut);
    let cut = input("x".repeat(2_000));
    assert_eq!((cut.question, cut.is_cut), (None, true));
}
