//! A collector that nobody here wrote reads the spans: the messages of OpenTelemetry's own package for Python.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::python_worker::with_otlp;

const PATIENCE: Duration = Duration::from_mins(1);

/// A span as the collector has read it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty for a root.
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) attributes: Map<String, Value>,
    pub(super) status: String,
    pub(super) message: String,
    pub(super) service: Option<String>,
}

impl Span {
    /// The operation: `chat` of `chat gpt-5-mini`.
    pub(super) fn operation(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

/// A running collector; dropping it ends its process.
pub(super) struct Collector {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub(super) url: String,
}

impl Collector {
    /// Starts a collector over HTTP.
    pub(super) async fn start() -> anyhow::Result<Self> {
        Self::of(with_otlp("otlp_receiver.py").await?).await
    }

    /// Starts a collector over gRPC.
    pub(super) async fn start_grpc() -> anyhow::Result<Self> {
        let mut program = with_otlp("otlp_receiver.py").await?;
        program.arg("grpc");
        Self::of(program).await
    }

    async fn of(mut program: Command) -> anyhow::Result<Self> {
        let mut process = program.spawn()?;
        let mut lines = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        let first = timeout(PATIENCE, lines.next_line()).await??.unwrap_or_default();
        let port = first.strip_prefix("ready ").ok_or_else(|| anyhow::anyhow!("the collector says {first:?}"))?;
        Ok(Self { process, url: format!("http://127.0.0.1:{port}"), lines })
    }

    /// The next spans, as many as these.
    pub(super) async fn spans(&mut self, count: usize) -> anyhow::Result<Vec<Span>> {
        let mut spans = Vec::new();
        while spans.len() < count {
            let line = timeout(PATIENCE, self.lines.next_line()).await??;
            let line = line.ok_or_else(|| anyhow::anyhow!("the collector ended after {} spans", spans.len()))?;
            spans.push(serde_json::from_str(&line)?);
        }
        Ok(spans)
    }

    /// Ends it; returns the spans that were received and not returned yet.
    pub(super) async fn end(mut self) -> anyhow::Result<Vec<Span>> {
        drop(self.process.stdin.take());
        let mut spans = Vec::new();
        while let Some(line) = timeout(PATIENCE, self.lines.next_line()).await?? {
            spans.push(serde_json::from_str(&line)?);
        }
        Ok(spans)
    }
}

/// Checks that the spans are one tree: each id once, one root, no orphan, and children within the time in which their parent
/// begins. Returns it with one span a line.
pub(super) fn tree(spans: &[Span]) -> String {
    let ids: BTreeMap<&str, &Span> = spans.iter().map(|span| (&*span.id, span)).collect();
    assert_eq!(ids.len(), spans.len(), "each id is there once: {spans:#?}");
    let roots: Vec<&Span> = spans.iter().filter(|span| !ids.contains_key(&*span.parent)).collect();
    assert_eq!(roots.len(), 1, "one root, no orphan: {roots:#?}");
    for span in spans {
        assert!(span.start <= span.end && span.trace == roots[0].trace, "{span:?}");
        if let Some(parent) = ids.get(&*span.parent) {
            assert!(parent.start <= span.start && span.end <= parent.end, "{span:?} is within {parent:?}");
        }
    }
    let mut lines = Vec::new();
    draw(spans, roots[0], 0, &mut lines);
    lines.join("\n")
}

fn draw(spans: &[Span], span: &Span, depth: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}{}", "  ".repeat(depth), span.name));
    let mut children: Vec<&Span> = spans.iter().filter(|child| child.parent == span.id).collect();
    children.sort_by_key(|child| (child.start, child.name.clone()));
    for child in children {
        draw(spans, child, depth + 1, lines);
    }
}

/// Checks names, kinds and attributes against the conventions: `tests/conventions/spans.json`.
pub(super) fn check_conventions(spans: &[Span]) {
    let conventions: Value = serde_json::from_str(include_str!("../../../conventions/spans.json")).expect("JSON");
    let names = |of: &Value, member: &str| -> Vec<String> {
        let list = of[member].as_array().unwrap_or_else(|| panic!("{member} is a list in {of}"));
        list.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
    };
    for span in spans {
        let convention = &conventions["spans"][span.operation()];
        assert!(convention.is_object(), "no convention for {span:?}");
        assert_eq!(span.kind, format!("SPAN_KIND_{}", convention["kind"].as_str().expect("a kind")), "{span:?}");
        let mut allowed = Vec::new();
        for part in [&conventions["every"], convention] {
            for name in names(part, "required") {
                assert!(span.attributes.contains_key(&name), "{name} is missing: {span:?}");
                allowed.push(name);
            }
            allowed.extend(names(part, "optional"));
        }
        for name in span.attributes.keys() {
            assert!(allowed.contains(name), "{name} is in no convention: {span:?}");
        }
        assert_eq!(span.status == "STATUS_CODE_ERROR", span.attributes.contains_key("error.type"), "{span:?}");
    }
}
