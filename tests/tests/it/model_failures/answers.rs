//! Providers that answer, but not with what was asked for.

use temporal_agents_testing::environment::ActivityOutcome;
use wiremock::{MockServer, ResponseTemplate};

use super::{
    provider::{answer, asked_for, failure, open_ai, requests_for},
    run::{Ask, Asking, asking, attempts, model_failure},
};

/// A model, what the provider answers when it is asked, and the failure of the run: its kind and message.
struct Refusal {
    model: &'static str,
    answer: ResponseTemplate,
    kind: &'static str,
    message: &'static str,
}

fn refusals() -> [Refusal; 7] {
    let refusal = |model, answer, kind, message| Refusal { model, answer, kind, message };
    [
        refusal("wrong", failure(400, "no such field"), "BadRequest", "bad request (400): no such field"),
        refusal(
            "locked",
            failure(401, "Incorrect API key provided: a-key-that-no-one-checks."),
            "Authentication",
            "authentication failed (401): Incorrect API key provided: [redacted].",
        ),
        refusal("private", failure(403, "not yours"), "PermissionDenied", "permission denied (403): not yours"),
        refusal("gone", failure(404, "no such model"), "NotFound", "not found (404): no such model"),
        refusal("narrow", failure(413, "too long"), "RequestTooLarge", "request too large (413): too long"),
        refusal(
            "unpaid",
            ResponseTemplate::new(429)
                .set_body_json(serde_json::json!({"error": {"message": "no quota", "code": "insufficient_quota"}})),
            "RateLimit",
            "rate limited (429): no quota",
        ),
        refusal(
            "hopeless",
            failure(500, "broken for good").insert_header("x-should-retry", "false"),
            "ServerError",
            "server error (500): broken for good",
        ),
    ]
}

#[tokio::test]
async fn a_request_that_no_repetition_helps_is_made_once() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let env = asking()?.model_provider(open_ai(&server.uri())).start().await?;
    for Refusal { model, answer, kind, message } in refusals() {
        asked_for(model).respond_with(answer).mount(&server).await;
        let run = env.run(Asking::run, Ask::model(model)).await?;
        assert_eq!(run.failure_chain(), model_failure(model, kind, message));
        let failed = ActivityOutcome::Failed(format!("ModelInvocationError.{kind}"));
        assert_eq!((model, attempts(&run)), (model, vec![(1, failed)]));
        assert_eq!((model, requests_for(&server, model).await), (model, 1));
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_failure_that_passes_is_one_more_request_per_attempt() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let busy = failure(429, "slow down").insert_header("retry-after-ms", "20");
    asked_for("busy").respond_with(busy).up_to_n_times(1).mount(&server).await;
    asked_for("busy").respond_with(answer("at last")).mount(&server).await;
    asked_for("unsteady").respond_with(failure(500, "sorry")).up_to_n_times(2).mount(&server).await;
    asked_for("unsteady").respond_with(answer("at last")).mount(&server).await;
    let env = asking()?.model_provider(open_ai(&server.uri())).start().await?;
    for (model, requests, attempt) in [("busy", 2, 2), ("unsteady", 3, 3)] {
        let run = env.run(Asking::run, Ask::model(model)).await?;
        assert_eq!((model, attempts(&run)), (model, vec![(attempt, ActivityOutcome::Completed)]));
        assert_eq!((model, requests_for(&server, model).await), (model, requests));
        assert_eq!(run.output()?, "at last");
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_failure_that_does_not_pass_ends_the_run_after_its_attempts() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    let busy = failure(429, "slow down").insert_header("retry-after-ms", "20");
    asked_for("busy").respond_with(busy).mount(&server).await;
    let env = asking()?.model_provider(open_ai(&server.uri())).start().await?;
    let run = env.run(Asking::run, Ask::model("busy").attempts(2)).await?;
    assert_eq!(run.failure_chain(), model_failure("busy", "RateLimit", "rate limited (429): slow down"));
    let failed = ActivityOutcome::Failed("ModelInvocationError.RateLimit".to_owned());
    assert_eq!(attempts(&run), [(2, failed)]);
    assert_eq!(requests_for(&server, "busy").await, 2);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_success_without_a_response_is_asked_for_again() -> anyhow::Result<()> {
    let bodies = [
        ("empty", "", "invalid response (200): the body is empty"),
        ("broken", "{\"output\": [", "invalid response (200): the body is not JSON: {\"output\": ["),
        ("hollow", "{}", "invalid response (200): the response has no output: {}"),
    ];
    let server = MockServer::start().await;
    let env = asking()?.model_provider(open_ai(&server.uri())).start().await?;
    for (model, body, message) in bodies {
        let no_response = ResponseTemplate::new(200).set_body_raw(body, "application/json");
        // Two for the run that gives up, one for the run that is answered at its second attempt.
        asked_for(model).respond_with(no_response).up_to_n_times(3).mount(&server).await;
        asked_for(model).respond_with(answer("at last")).mount(&server).await;

        let run = env.run(Asking::run, Ask::model(model).attempts(2)).await?;
        assert_eq!(run.failure_chain(), model_failure(model, "InvalidResponse", message));
        let failed = ActivityOutcome::Failed("ModelInvocationError.InvalidResponse".to_owned());
        assert_eq!((model, attempts(&run)), (model, vec![(2, failed)]));

        let run = env.run(Asking::run, Ask::model(model).attempts(2)).await?;
        assert_eq!((model, attempts(&run)), (model, vec![(2, ActivityOutcome::Completed)]));
        assert_eq!(run.output()?, "at last");
    }
    env.finish().await?;
    Ok(())
}
