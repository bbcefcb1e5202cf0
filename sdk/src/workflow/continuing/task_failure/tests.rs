use super::message;

#[test]
fn the_message_names_agent_cause_and_cure() {
    let message =
        message("desk", "chat-7", "agent \"desk\" has no tool \"refund\", but call \"call_1\" of it is pending");
    assert_eq!(
        message,
        "the run of agent \"desk\" that workflow \"chat-7\" continues cannot be continued by this worker: agent \
         \"desk\" has no tool \"refund\", but call \"call_1\" of it is pending\n\
         Nothing is lost: this workflow task fails and is retried until a worker can continue the run. Roll back to \
         the build that had what is missing, or deploy one that has it again."
    );
}
