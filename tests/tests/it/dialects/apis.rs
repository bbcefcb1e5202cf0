//! The provider of each API, on loopback, and the body that it sends for a call.

use std::sync::{Arc, Mutex};

use anyhow::Context;
use serde_json::Value;
use temporal_agents::{
    provider::{Azure, Genai, ModelError, ModelProvider, OpenAi, OpenAiApi},
    wire::{ModelCall, ModelFailureKind},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::rules::{Api, Refusal, refusals_after};

/// The APIs, with models that differ in what they accept.
pub(super) const APIS: [(Api, &[&str]); 8] = [
    (Api::Responses, &["gpt-5-mini", "gpt-4.1", "gpt-5.2", "some-model"]),
    (Api::Chat, &["gpt-5-mini", "gpt-4.1", "gpt-5.4", "gpt-5.6"]),
    (Api::AzureResponses, &["gpt-5-mini", "gpt-4o"]),
    (Api::AzureChat, &["gpt-5-mini", "gpt-4o"]),
    (Api::Gemini, &["gemini-3-flash", "gemini-2.5-pro"]),
    (Api::Xai, &["grok-4-1-fast-reasoning", "grok-3", "grok-3-mini"]),
    (Api::Compatible, &["mistral-large-latest", "qwen3", "some-model"]),
    (
        Api::Anthropic,
        &["claude-sonnet-4-5", "claude-opus-4-1-20250805", "claude-opus-4-7", "claude-sonnet-4-6", "claude-opus-5-5"],
    ),
];

/// A provider whose server keeps what it is sent, and answers nothing.
pub(super) struct Door {
    pub(super) api: Api,
    provider: Box<dyn ModelProvider>,
    namespace: &'static str,
    body: Arc<Mutex<Option<Value>>>,
    server: JoinHandle<()>,
}

impl Door {
    pub(super) async fn open(api: Api) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let body = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&body);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let kept = Arc::clone(&kept);
                tokio::spawn(async move { drop(serve(stream, &kept).await) });
            }
        });
        let openai = |api: OpenAiApi| OpenAi::builder().api_key("none").api(api);
        let genai = |adapter: &str, path: &str| -> anyhow::Result<Box<dyn ModelProvider>> {
            let builder = Genai::builder().api_key(adapter, "none").base_url(adapter, format!("{url}/{path}"));
            Ok(Box::new(builder.serving(|_| true).build()?))
        };
        let azure = || Azure::new(&*url, "2025-04-01-preview");
        let v1 = format!("{url}/v1");
        let provider: Box<dyn ModelProvider> = match api {
            Api::Anthropic => genai("anthropic", "v1")?,
            Api::Gemini => genai("gemini", "v1beta")?,
            Api::Xai => genai("xai", "v1")?,
            Api::Responses => Box::new(openai(OpenAiApi::Responses).base_url(v1).build()?),
            Api::Chat | Api::Compatible => Box::new(openai(OpenAiApi::ChatCompletions).base_url(v1).build()?),
            Api::AzureResponses => Box::new(openai(OpenAiApi::Responses).azure(azure()).build()?),
            Api::AzureChat => Box::new(openai(OpenAiApi::ChatCompletions).azure(azure()).build()?),
        };
        let namespace = if api == Api::Xai { "xai::" } else { "" };
        Ok(Self { api, provider, namespace, body, server })
    }

    /// Returns the body of the request for a call of this model; the refusal of the provider if it
    /// sends none.
    pub(super) async fn body(&self, model: &str, call: ModelCall) -> anyhow::Result<Result<Value, ModelError>> {
        let name = format!("{}{model}", self.namespace);
        let model = self.provider.model(&name).await?.context("the name is served")?;
        let outcome = model.call(call).await;
        Ok(match (self.body.lock().expect("no panic").take(), outcome) {
            (Some(body), _) => Ok(body),
            (None, Err(error)) => Err(error),
            (None, Ok(_)) => unreachable!("the server answers nothing"),
        })
    }

    /// Returns the rules that the request for a call breaks, given earlier answers of the API, with
    /// the body. A call that the provider refuses by name breaks none.
    pub(super) async fn refusals(
        &self,
        model: &str,
        call: ModelCall,
        answers: &[Value],
    ) -> anyhow::Result<(Vec<Refusal>, Value)> {
        let body = match self.body(model, call).await? {
            Ok(body) => body,
            Err(error) if error.kind == ModelFailureKind::Unsupported => return Ok((Vec::new(), Value::Null)),
            Err(error) => return Err(error.into()),
        };
        Ok((refusals_after(self.api, model, &body, answers), body))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Reads requests, keeps the body of the last one, and answers each with an empty error.
async fn serve(stream: TcpStream, kept: &Mutex<Option<Value>>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        *kept.lock().expect("no panic") = Some(serde_json::from_slice(&body)?);
        stream.write_all(b"HTTP/1.1 403 No\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}").await?;
    }
}
