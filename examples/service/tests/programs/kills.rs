//! The rows of runs while projector, API, worker and database are killed.
//!
//! Each seed starts runs and kills some of the four programs with SIGKILL, at random points. In the
//! end, after visibility has caught up, the rows say what the histories say: no event twice, none
//! missing, and each message of a stored thread once. `SEEDS=50` runs the full count, and
//! `AGENTS_TEST_SEED` other ones.
#![cfg(unix)]

mod http;
mod programs;
mod rows;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use temporal_agents_testing::DevServer;
use tokio::time::{sleep, timeout};

use self::{
    programs::{Programs, Random},
    rows::Rows,
};

/// The longest time from the last kill to the end of all runs.
const PATIENCE: Duration = Duration::from_mins(5);
/// Number of kills of a seed, and the longest time between two of them.
const KILLS: u64 = 3;
const LONGEST_PAUSE_MS: u64 = 1_200;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Runs of one seed: their ids.
struct Started {
    plain: Vec<String>,
    refund: String,
    chat: String,
    /// Two runs of one thread, one after the other.
    thread: String,
    in_thread: [String; 2],
}

impl Started {
    fn of(seed: u64) -> Self {
        let id = |name: &str| format!("{name}-{seed}");
        Self {
            plain: vec![id("weather"), id("parcel")],
            refund: id("refund"),
            chat: id("chat"),
            thread: id("thread"),
            in_thread: [id("first"), id("second")],
        }
    }

    fn ids(&self) -> Vec<&str> {
        let others = [&self.refund, &self.chat, &self.in_thread[0], &self.in_thread[1]];
        self.plain.iter().chain(others).map(String::as_str).collect()
    }

    /// Starts the runs that wait for nothing.
    async fn begin(&self, port: u16) {
        for (id, input) in self.plain.iter().zip(["How is the weather?", "Where is my parcel?"]) {
            start(port, json!({"agent": "desk", "input": input, "id": id})).await;
        }
        start(port, json!({"agent": "clerk", "input": "I want a refund.", "id": self.refund})).await;
        start(port, json!({"agent": "desk", "chat": true, "id": self.chat})).await;
        self.begin_in_thread(port, 0).await;
        for number in 1..=2 {
            let message = json!({"id": format!("m{number}"), "text": format!("Good morning {number}!")});
            let sent = format!("/runs/{}/messages", self.chat);
            until(port, "POST", &sent, &message, |status, _| status == 202).await;
        }
    }

    async fn begin_in_thread(&self, port: u16, number: usize) {
        let input = format!("Hello {number}!");
        let id = &self.in_thread[number];
        start(port, json!({"agent": "desk", "input": input, "id": id, "thread": self.thread})).await;
    }

    /// Decides, and waits until all runs have ended.
    async fn end(&self, port: u16) {
        ended(port, &self.in_thread[0]).await;
        self.begin_in_thread(port, 1).await;
        let refund = format!("/runs/{}", self.refund);
        let waiting = until(port, "GET", &refund, &Value::Null, |_, run| run["status"] == "waiting").await;
        let decision = json!({"question_id": waiting["questions"][0]["question_id"], "approved": true});
        until(port, "POST", &format!("{refund}/decisions"), &decision, |status, _| status == 200).await;
        // A chat that is cancelled ends after its open messages have failed; these are answered.
        let chat = format!("/runs/{}/cancel", self.chat);
        until(port, "POST", &chat, &json!({}), |status, _| status == 202 || status == 409).await;
        for id in self.ids() {
            ended(port, id).await;
        }
    }
}

async fn start(port: u16, run: Value) {
    until(port, "POST", "/runs", &run, |status, _| status == 201).await;
}

async fn ended(port: u16, id: &str) {
    let is_over = |_, run: &Value| ["completed", "cancelled"].iter().any(|status| run["status"] == *status);
    until(port, "GET", &format!("/runs/{id}"), &Value::Null, is_over).await;
}

/// Sends a request until its answer fits: the API may be killed at any time.
async fn until(port: u16, method: &str, path: &str, body: &Value, fits: impl Fn(u16, &Value) -> bool) -> Value {
    let mut latest = None;
    let asking = async {
        loop {
            match http::request(port, method, path, body).await {
                Ok((status, answer)) if fits(status, &answer) => return answer,
                other => latest = Some(other),
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let answer = timeout(PATIENCE, asking).await;
    answer.unwrap_or_else(|_| panic!("{method} {path} is not answered as expected: {latest:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_what_the_histories_say_whatever_is_killed() {
    let seeds = setting("SEEDS", 2);
    let first = setting("AGENTS_TEST_SEED", 1);
    let server = DevServer::start().await.expect("a dev server");
    let client = server.client().await.expect("a client");
    let mut programs = Programs::start(&server).await;
    let port = programs.port;
    let (began, mut kills) = (Instant::now(), 0);
    let mut all = Vec::new();
    for seed in first..first + seeds {
        let runs = Started::of(seed);
        let mut random = Random::new(seed);
        let chaos = async {
            for _ in 0..KILLS {
                sleep(Duration::from_millis(random.below(LONGEST_PAUSE_MS))).await;
                let pause = Duration::from_millis(random.below(500));
                programs.kill_one(random.below(4), pause).await;
                kills += 1;
            }
        };
        tokio::join!(chaos, runs.begin(port));
        all.push(runs);
    }
    programs.check().await;
    futures::future::join_all(all.iter().map(|runs| runs.end(port))).await;
    let rows = Rows::open(&programs.database()).await;
    let mut events = 0;
    for runs in &all {
        for id in runs.ids() {
            events += rows.check(&client, id, PATIENCE).await;
        }
        let thread = rows.thread(&runs.thread).await;
        let roles: Vec<&str> = thread.iter().filter_map(|item| item["role"].as_str()).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant"], "thread {}: {thread:?}", runs.thread);
    }
    assert_eq!(rows.count().await, all.iter().map(|runs| runs.ids().len()).sum::<usize>());
    programs.check().await;
    let took = began.elapsed().as_secs();
    println!("{seeds} seeds, {kills} kills, {events} events in {} runs, {took} s", all.len() * 6);
    drop(programs);
    server.shutdown().await;
}
