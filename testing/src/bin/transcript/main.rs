//! Prints the transcript of a workflow, by agent and turn: from a live workflow, or from a saved
//! history.
//!
//! `transcript --workflow ID | --history FILE [--format markdown|json] [--request N [--openai
//! responses|chat]]`; `--help` lists all options.
//!
//! Payloads that a codec has encoded are readable only if this program has the codec (feature
//! `compression`). With a codec of your own, call [`Transcript`] with your client.

mod follow;
#[cfg(feature = "otel")]
mod otlp;

use std::{error::Error, io::Write, path::Path, process::ExitCode};

use serde_json::Value;
use temporal_agents::{
    __internal::transcript::{openai_request_body, request_json},
    client::{event_lines::visible, transcript::Transcript},
    provider::OpenAiApi,
};
use temporal_agents_testing::{
    ServerAddress,
    history::{self, History},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_common::data_converters::DataConverter;

const USAGE: &str = "\
usage: transcript --workflow ID [--run-id RUN] [--chain] [--address ADDRESS] [--namespace NAME] [output]
       transcript --workflow ID --follow [--address ADDRESS] [--namespace NAME]
       transcript --workflow ID --otlp URL [--address ADDRESS] [--namespace NAME]
       transcript --history FILE [output] [--otlp URL]

  --workflow ID     a workflow, up to its current end
  --run-id RUN      a run of the workflow; default: the latest
  --chain           also the earlier runs of a workflow that continued as new
  --follow          the events of all its runs as they happen, until the workflow has ended
  --otlp URL        the trace of all its runs, sent to a collector of OpenTelemetry: protobuf over HTTP, or
                    gRPC with OTEL_EXPORTER_OTLP_PROTOCOL=grpc
  --address ADDRESS the server, as HOST:PORT or as a URL; default $TEMPORAL_ADDRESS, otherwise http://localhost:7233
  --namespace NAME  default $TEMPORAL_NAMESPACE, otherwise `default`
                    An API key is taken from $TEMPORAL_API_KEY.
  --history FILE    a saved history: JSON of the UI, the CLI or an SDK, or, with the extension `.bin`, protobuf

output:
  --format markdown|json          default markdown
  --svg                           instead of the transcript: a timeline of the run, as an SVG image
  --request N                     instead of the transcript: the request of model call N (JSON)
  --openai responses|chat         with --request: the body that the OpenAI provider sends for it";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::of(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if arguments.follow {
        return match followed(&arguments).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}", visible(&in_full(&*error)));
                ExitCode::FAILURE
            }
        };
    }
    match output(&arguments).await {
        Ok(text) => {
            // A reader that has closed the pipe needs no more output.
            let _ = writeln!(std::io::stdout(), "{}", visible(text.trim_end()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", visible(&in_full(&*error)));
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn Error>;

/// The form of a transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    #[default]
    Markdown,
    Json,
    Svg,
}

#[derive(Debug, Default)]
struct Arguments {
    workflow: Option<String>,
    run_id: Option<String>,
    chain: bool,
    follow: bool,
    address: Option<ServerAddress>,
    namespace: Option<String>,
    history: Option<String>,
    format: Format,
    request: Option<u32>,
    openai: Option<OpenAiApi>,
    otlp: Option<String>,
}

impl Arguments {
    /// Parses the command line; `None` if it requests help.
    fn of(mut given: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut arguments = Self::default();
        while let Some(name) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{name} needs a value"));
            match &*name {
                "-h" | "--help" => return Ok(None),
                "--workflow" => arguments.workflow = Some(value()?),
                "--run-id" => arguments.run_id = Some(value()?),
                "--chain" => arguments.chain = true,
                "--follow" => arguments.follow = true,
                "--address" => arguments.address = Some(address(&value()?)?),
                "--svg" => arguments.format = Format::Svg,
                "--otlp" => arguments.otlp = Some(value()?),
                "--namespace" => arguments.namespace = Some(value()?),
                "--history" => arguments.history = Some(value()?),
                "--format" => {
                    arguments.format = match &*value()? {
                        "json" => Format::Json,
                        "markdown" => Format::Markdown,
                        other => return Err(format!("--format must be markdown or json, not {other:?}")),
                    }
                }
                "--request" => {
                    let number = value()?;
                    let parsed = number.parse().map_err(|_| format!("--request needs a number, not {number:?}"))?;
                    arguments.request = Some(parsed);
                }
                "--openai" => {
                    arguments.openai = Some(match &*value()? {
                        "responses" => OpenAiApi::Responses,
                        "chat" => OpenAiApi::ChatCompletions,
                        other => return Err(format!("--openai must be responses or chat, not {other:?}")),
                    });
                }
                other => return Err(format!("unknown argument {other:?}")),
            }
        }
        arguments.checked().map(Some)
    }

    fn has_output(&self) -> bool {
        self.format != Format::Markdown || self.request.is_some() || self.openai.is_some()
    }

    /// Refuses combinations of arguments that exclude each other.
    fn checked(self) -> Result<Self, String> {
        let of_server = self.run_id.is_some() || self.chain || self.address.is_some() || self.namespace.is_some();
        match (&self.workflow, &self.history) {
            (None, None) => Err("missing source: pass --workflow ID or --history FILE".to_owned()),
            (Some(_), Some(_)) => Err("--workflow and --history cannot be used together".to_owned()),
            (None, Some(_)) if self.follow => {
                Err("--follow requires --workflow, and takes only --address and --namespace".to_owned())
            }
            (None, Some(_)) if of_server => {
                Err("--run-id, --chain, --address and --namespace require --workflow".to_owned())
            }
            _ if self.follow
                && (self.history.is_some() || self.run_id.is_some() || self.chain || self.has_output()) =>
            {
                Err("--follow requires --workflow, and takes only --address and --namespace".to_owned())
            }
            _ if self.otlp.is_some() && (self.follow || self.run_id.is_some() || self.chain || self.has_output()) => {
                Err("--otlp sends all runs of a workflow, and excludes --run-id, --chain and other output".to_owned())
            }
            _ if self.openai.is_some() && self.request.is_none() => Err("--openai requires --request N".to_owned()),
            _ if self.format == Format::Svg && self.request.is_some() => {
                Err("--svg and --request cannot be used together".to_owned())
            }
            _ if self.chain && self.request.is_some() => {
                Err("--request counts the calls of one run: use --run-id instead of --chain".to_owned())
            }
            _ => Ok(self),
        }
    }
}

async fn followed(arguments: &Arguments) -> Result<(), Failure> {
    let client = connect(arguments).await?;
    Ok(follow::follow(&client, arguments.workflow.as_deref().unwrap_or_default()).await?)
}

fn address(value: &str) -> Result<ServerAddress, String> {
    ServerAddress::parse("--address", value).map_err(|error| error.to_string())
}

async fn output(arguments: &Arguments) -> Result<String, Failure> {
    if let Some(url) = &arguments.otlp {
        #[cfg(feature = "otel")]
        return otlp::export(arguments, url).await;
        #[cfg(not(feature = "otel"))]
        return Err(format!("cannot export to {url}: this program was built without the feature `otel`").into());
    }
    let transcripts = transcripts(arguments).await?;
    // `transcripts` returns one transcript unless `--chain` is set, and `--request` excludes
    // `--chain`.
    if let (Some(number), Some(transcript)) = (arguments.request, transcripts.first()) {
        let call = transcript.request_of(number)?;
        let json = match arguments.openai {
            Some(api) => openai_request_body(api, call)?,
            None => request_json(&call),
        };
        return Ok(format!("{json:#}"));
    }
    match arguments.format {
        Format::Svg => return Ok(Transcript::chain_to_svg(&transcripts)),
        Format::Markdown => {
            return Ok(transcripts.iter().map(Transcript::to_markdown).collect::<Vec<_>>().join("\n"));
        }
        Format::Json => {}
    }
    let mut json: Vec<Value> = transcripts.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
    let json = if arguments.chain { Value::Array(json) } else { json.remove(0) };
    Ok(format!("{json:#}"))
}

async fn transcripts(arguments: &Arguments) -> Result<Vec<Transcript>, Failure> {
    if let Some(path) = &arguments.history {
        return Ok(vec![Transcript::of_history(saved(path)?, &data_converter()).await?]);
    }
    let client = connect(arguments).await?;
    let workflow = arguments.workflow.as_deref().unwrap_or_default();
    if arguments.chain {
        return Ok(Transcript::of_chain(&client, workflow, arguments.run_id.as_deref()).await?);
    }
    Ok(vec![Transcript::of_workflow(&client, workflow, arguments.run_id.as_deref()).await?])
}

/// Reads a saved history.
fn saved(path: &str) -> Result<History, Failure> {
    let is_binary = Path::new(path).extension().is_some_and(|ending| ending == "bin");
    Ok(if is_binary { history::load_binary(path)? } else { history::load(path)? })
}

async fn connect(arguments: &Arguments) -> Result<Client, Failure> {
    let setting = |given: &Option<String>, name: &str, default: &str| {
        given.clone().or_else(|| std::env::var(name).ok()).unwrap_or_else(|| default.to_owned())
    };
    let api_key = std::env::var("TEMPORAL_API_KEY").ok();
    let address = ServerAddress::or_env(arguments.address.clone())?;
    let address = if api_key.is_some() { address.with_tls_by_default() } else { address };
    let options = ConnectionOptions::new(address.url()).identity("transcript").maybe_api_key(api_key).build();
    let connection = Connection::connect(options).await.map_err(|error| {
        format!(
            "no Temporal server answers at {address}: {error}; start a server, or pass another address with --address"
        )
    })?;
    let namespace = setting(&arguments.namespace, "TEMPORAL_NAMESPACE", "default");
    Ok(Client::new(connection, ClientOptions::new(namespace).data_converter(data_converter()).build())?)
}

/// Formats an error with its causes, without the causes that its own message already contains.
fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// Returns the data converter of the client and of saved histories, which also decodes compressed
/// payloads.
#[cfg(feature = "compression")]
fn data_converter() -> DataConverter {
    use temporal_agents::worker::codec::ZstdCodec;
    use temporalio_common::data_converters::{DefaultFailureConverter, PayloadConverter};
    DataConverter::new(PayloadConverter::default(), DefaultFailureConverter::default(), ZstdCodec::default())
}

/// Returns the data converter of the client and of saved histories, which decodes no codec.
#[cfg(not(feature = "compression"))]
fn data_converter() -> DataConverter {
    DataConverter::default()
}

#[cfg(test)]
mod tests {
    use super::{Arguments, output};

    const HISTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/histories/v0.1/handoffs.json");

    fn arguments(given: &[&str]) -> Result<Arguments, String> {
        let parsed = Arguments::of(given.iter().map(|&word| word.to_owned()))?;
        parsed.ok_or_else(|| "help".to_owned())
    }

    #[test]
    fn arguments_that_do_not_go_together_are_refused_with_what_does() {
        let refused = |given: &[&str]| arguments(given).expect_err("they do not go together");
        assert_eq!(refused(&[]), "missing source: pass --workflow ID or --history FILE");
        assert_eq!(refused(&["--workflow", "a", "--history", "b"]), "--workflow and --history cannot be used together");
        assert_eq!(
            refused(&["--history", "b", "--chain"]),
            "--run-id, --chain, --address and --namespace require --workflow"
        );
        assert_eq!(refused(&["--workflow", "a", "--openai", "chat"]), "--openai requires --request N");
        assert_eq!(refused(&["--workflow", "a", "--request", "two"]), "--request needs a number, not \"two\"");
        assert_eq!(
            refused(&["--workflow", "a", "--follow", "--chain"]),
            "--follow requires --workflow, and takes only --address and --namespace"
        );
        assert_eq!(refused(&["--workflow"]), "--workflow needs a value");
        assert_eq!(refused(&["--format", "html"]), "--format must be markdown or json, not \"html\"");
        assert_eq!(refused(&["--verbose"]), "unknown argument \"--verbose\"");
        assert_eq!(refused(&["--help", "--nonsense"]), "help");
    }

    #[test]
    fn an_address_is_host_and_port_or_a_url() {
        for address in ["localhost:7233", "http://localhost:7233"] {
            let parsed = arguments(&["--workflow", "a", "--address", address]).expect("it is an address");
            assert_eq!(parsed.address.map(|address| address.to_string()).as_deref(), Some(address));
        }
        for address in ["", "localhost"] {
            let error = arguments(&["--workflow", "a", "--address", address]).expect_err("it is not an address");
            let expected = format!("--address: {address:?} is not the address of a server: ");
            assert!(error.starts_with(&expected) && error.contains("HOST:PORT"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_saved_history_is_printed_as_text_and_as_json() {
        let text = output(&arguments(&["--history", HISTORY]).expect("they are right")).await.expect("it is a history");
        assert!(text.starts_with("# handoffs `handoffs-0`\n"), "{text}");
        let json = output(&arguments(&["--history", HISTORY, "--format", "json"]).expect("they are right")).await;
        let json: serde_json::Value = serde_json::from_str(&json.expect("it is a history")).expect("it is JSON");
        assert_eq!(json["runs"][0]["turns"][0]["number"], 1);
    }

    #[tokio::test]
    async fn a_workflow_and_a_server_that_are_not_there_are_errors_that_say_so() {
        let server = temporal_agents_testing::DevServer::start().await.expect("a dev server");
        let failed = async |address: &str| {
            let given = arguments(&["--workflow", "refund-7", "--address", address]).expect("they are right");
            output(&given).await.expect_err("there is none").to_string()
        };
        let no_workflow = failed(server.address()).await;
        assert!(no_workflow.starts_with("there is no workflow \"refund-7\""), "{no_workflow}");
        server.shutdown().await;
        let no_server = failed("localhost:1").await;
        assert!(no_server.starts_with("no Temporal server answers at localhost:1: "), "{no_server}");
        assert!(no_server.ends_with("start a server, or pass another address with --address"), "{no_server}");
    }

    #[tokio::test]
    async fn a_file_that_holds_no_history_is_an_error_with_its_name() {
        let failure = output(&arguments(&["--history", "no-such.json"]).expect("they are right")).await;
        let failure = failure.expect_err("it is not there").to_string();
        assert_eq!(failure, "cannot access no-such.json");
    }
}
