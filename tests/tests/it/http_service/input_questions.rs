//! Questions of an MCP server over AG-UI.

use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    http::AgentsService,
    tool::McpServer,
    workflow::{AgentSet, ChatWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};

use super::{agui, find, request, stream, written};
use crate::mcp::support::By;

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").mcp_server(McpServer::named("workshop").allow_elicitation())
}

#[tokio::test]
async fn an_answer_that_is_sent_again_changes_nothing_while_other_questions_wait() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("order", json!({"item": "chairs"})), ("order", json!({"item": "tables"}))]),
        text("Ordered."),
    ]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(AgentSet::new((clerk,))))?
        .model(&model)
        .mcp_server("workshop", By::Stdio.reach().transport)
        .agents((clerk,))
        .start()
        .await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).into_router();
    let post = |run: &str, resume: Value| {
        let request = request("POST", "/agui/clerk", Some(&agui(run, resume)));
        let service = service.clone();
        async move { stream(&service, request).await }
    };
    let asked = post("r1", json!([])).await?;
    let interrupts = asked.last().expect("a last event")["outcome"]["interrupts"].clone();
    let ids: Vec<&Value> = interrupts.as_array().expect("a list").iter().map(|interrupt| &interrupt["id"]).collect();
    assert_eq!(ids.len(), 2, "{interrupts}");
    let answer = |id: &Value, quantity: u32| json!([{"interruptId": id, "status": "resolved", "payload": {"quantity": quantity}}]);
    let open = |events: &[Value]| {
        let interrupts = &events.last().expect("a last event")["outcome"]["interrupts"];
        let open = interrupts.as_array().unwrap_or_else(|| panic!("{events:#?}")).iter();
        open.map(|interrupt| (interrupt["id"].clone(), interrupt["message"].clone())).collect::<Vec<_>>()
    };
    let tables = |id: &Value| (id.clone(), json!("How many tables?"));
    // The same request twice: at the second its answer is known, and other questions are open.
    let mut sure = Value::Null;
    for _ in 0..2 {
        let asked = open(&post("r2", answer(ids[0], 4)).await?);
        assert_eq!((asked.len(), asked.contains(&tables(ids[1]))), (2, true), "{asked:?}");
        sure = asked.into_iter().find(|(_, message)| message == "Sure about 4?").expect("it is asked").0;
    }
    let asked = open(&post("r3", answer(ids[1], 2)).await?);
    assert!(asked.iter().any(|(id, _)| *id == sure) && asked.len() == 2, "{asked:?}");
    let agree = |(id, _): &(Value, Value)| json!({"interruptId": id, "status": "resolved", "payload": {"sure": true}});
    let events = post("r4", asked.iter().map(agree).collect()).await?;
    assert_eq!(written(&events, "TEXT_MESSAGE_CONTENT"), "Ordered.", "{events:#?}");
    let results = find(&events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 2, "{events:#?}");
    assert!(results[0]["content"].as_str().is_some_and(|text| text.contains("4 chairs ordered")), "{results:?}");
    env.finish().await?;
    Ok(())
}
