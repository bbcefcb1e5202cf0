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

fn smith() -> Agent {
    Agent::new("clerk").model("gpt-5").mcp_server(McpServer::named("workshop").allow_elicitation())
}

#[tokio::test]
async fn an_answer_that_is_sent_again_while_another_question_waits_changes_nothing() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("order", json!({"item": "chairs"})), ("order", json!({"item": "tables"}))]),
        text("Ordered."),
    ]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(AgentSet::new((smith,))))?
        .model(&model)
        .mcp_server("workshop", By::Stdio.reach().transport)
        .agents((smith,))
        .start()
        .await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((smith,)).into_router();
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
    // The same request twice: the second finds its answer given, and the other question open.
    for _ in 0..2 {
        let events = post("r2", answer(ids[0], 4)).await?;
        let open = &events.last().expect("a last event")["outcome"]["interrupts"];
        assert_eq!(open.as_array().map(Vec::len), Some(1), "{events:#?}");
        assert_eq!(open[0]["id"], *ids[1]);
    }
    // Each call then asks whether it is sure.
    let asked = post("r3", answer(ids[1], 2)).await?;
    let interrupts = asked.last().expect("a last event")["outcome"]["interrupts"].clone();
    let sure =
        |interrupt: &Value| json!({"interruptId": interrupt["id"], "status": "resolved", "payload": {"sure": true}});
    let all: Vec<Value> = interrupts.as_array().expect("a list").iter().map(sure).collect();
    let events = post("r4", json!(all)).await?;
    assert_eq!(written(&events, "TEXT_MESSAGE_CONTENT"), "Ordered.", "{events:#?}");
    let results = find(&events, "TOOL_CALL_RESULT");
    assert_eq!(results.len(), 2, "{events:#?}");
    assert!(results[0]["content"].as_str().is_some_and(|text| text.contains("4 chairs ordered")), "{results:?}");
    env.finish().await?;
    Ok(())
}
