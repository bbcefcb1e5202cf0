//! Runs of agents over HTTP: a router for any axum service. [`guide::service`](crate::guide::service)
//! shows how to use it.
//!
//! ```no_run
//! use temporal_agents::{Agent, http::{AgentsService, BearerToken}};
//! # async fn serve(client: &temporalio_client::Client) -> std::io::Result<()> {
//!
//! fn triage() -> Agent {
//!     Agent::new("triage").model("gpt-5")
//! }
//!
//! let token = BearerToken::new("a long random string", "ann");
//! let service = AgentsService::new(client, "support").agents((triage,)).access(token);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! service.serve(listener, std::future::pending()).await
//! # }
//! ```
//!
//! | path | content |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /openapi.json` | the OpenAPI 3.1 description of these paths |
//! | `GET /agents` | the agents |
//! | `GET`, `PUT /agents/{name}`, `GET /agents/{name}/versions` | agents as data, with versions |
//! | `GET /agents/{name}/picture.svg` | an agent and the agents that it reaches, as an image |
//! | `POST /runs` | starts a run, also one that continues a stored `thread`, or a chat |
//! | `GET /runs` | runs with status, title and problem, by `status`, `agent`, `title`, `open`; in pages |
//! | `GET /runs/{id}` | a run with its result, or its questions in full |
//! | `GET /runs/{id}/events` | the events of a run (SSE); `Last-Event-ID` or `?from=` continues |
//! | `GET /runs/{id}/timeline.svg`, `/usage` | the calls and waits of a run, as an image; its tokens and cost |
//! | `POST /runs/{id}/decisions`, `/outputs`, `/messages`, `/cancel` | acts on a run |
//! | `GET /questions`, `GET /questions/events` | the calls of all runs that wait for people; in pages |
//! | `GET /kept-decisions`, `DELETE /kept-decisions/{id}` | the caller's decisions for later runs |
//! | `POST /agui/{agent}`, `GET /agui/{agent}/{thread}` | AG-UI 1.0 |
//! | `POST /chat/{agent}`, `GET /chat/{agent}/{chat}/stream` | the AI SDK |
//!
//! # Design
//! **The service holds nothing of a workflow.** A run is a workflow, a thread is a `ChatWorkflow`,
//! a message is its update, and a reader is a cursor. Any replica answers any request, also after a
//! crash. A run of mode `inprocess` is a task of one process, and rows that all replicas read.
//!
//! **A client that leaves cancels nothing.** Readers follow the history; `POST /runs/{id}/cancel`
//! cancels. A reader that takes nothing for 30 seconds is cut, and continues from its last cursor.
//!
//! **What every service needs comes from `tower-http`:** limits of bodies and of time, request ids
//! (`x-request-id`), CORS. They surround the API and not its streams.
//!
//! **Lists need no worker.** Who waits for people is in the memo of each workflow, or in the row of
//! each task, and a list of many runs is a list of records. A page has a cursor (`next`) as long as
//! there may be more, and a list that lacks something says so.
//!
//! **A run of another service is not visible.** `/runs/{id}` knows the workflows of types
//! `AgentWorkflow`, `ChatWorkflow` and `ApprovalWorkflow`, and of the types that an author adds, on
//! the service's task queue, the tasks in its database, and the rows of such workflows that the server
//! has deleted; for all others it answers 404.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod access;
mod agents;
mod agui;
mod agui_routes;
mod ai_sdk;
mod answers;
mod chat_routes;
mod connections;
mod door;
mod error;
mod kept_decisions;
mod openapi;
mod page;
mod places;
mod problems;
mod questions;
mod runs;
mod service;
mod sse;
mod svg;
mod thread;
mod turn;

pub use access::{AccessPolicy, BearerToken, Caller};
pub use service::AgentsService;
