//! The device: offers tools in one directory over a WebSocket.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use temporal_agents::{
    gate::GateMode,
    remote::{
        device::{FromDevice, ToDevice},
        message::{CallMessage, ToolOutputDeltaMessage, ToolResultMessage},
    },
    wire::RemoteTool,
};
use tokio::sync::mpsc;
use tokio_tungstenite::{
    connect_async,
    tungstenite::{Message, client::IntoClientRequest, http::header::AUTHORIZATION},
};

use super::Device;
use crate::serve::termination;

/// Pause before the device connects again.
const PAUSE: Duration = Duration::from_millis(300);

/// Connects, and connects again whenever the connection is lost, until Ctrl-C or SIGTERM.
pub(super) async fn serve(device: Device) -> anyhow::Result<()> {
    tokio::select! {
        () = termination()? => Ok(()),
        never = connections(&device) => never,
    }
}

async fn connections(device: &Device) -> anyhow::Result<()> {
    loop {
        if let Err(error) = connection(device).await {
            eprintln!("the connection is lost: {error:#}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Works on one connection.
async fn connection(device: &Device) -> anyhow::Result<()> {
    let mut request = device.gateway.as_str().into_client_request()?;
    request.headers_mut().insert(AUTHORIZATION, format!("Bearer {}", device.token).parse()?);
    let (mut socket, _) = connect_async(request).await?;
    let hello = FromDevice::Hello { device: device.name.clone(), tools: tools(), mode: Some(GateMode::ApproveUnknown) };
    socket.send(Message::text(json!(hello).to_string())).await?;
    let (answers, mut answered) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            message = socket.next() => match message.context("the gateway has left")?? {
                Message::Text(text) => match serde_json::from_str(&text)? {
                    ToDevice::Call(call) => {
                        let (directory, answers) = (device.directory.clone(), answers.clone());
                        tokio::spawn(async move { work(&directory, &call, &answers).await });
                    }
                    ToDevice::Cancel { tool_use_id } => eprintln!("nobody waits for {tool_use_id} any more"),
                    // The first text says that the device is known.
                    _ => println!("READY"),
                },
                Message::Close(_) => return Ok(()),
                _ => {}
            },
            Some(answer) = answered.recv() => socket.send(Message::text(json!(answer).to_string())).await?,
        }
    }
}

fn tools() -> Vec<RemoteTool> {
    let nothing = json!({"type": "object", "properties": {}});
    let file = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "text": {"type": "string"}},
        "required": ["name", "text"],
    });
    vec![
        RemoteTool::new("list_files", "Lists the files.", nothing).read_only(),
        RemoteTool::new("write_file", "Adds text to a file.", file),
    ]
}

async fn work(directory: &Path, call: &CallMessage, answers: &mpsc::UnboundedSender<FromDevice>) {
    let id = &*call.tool_use_id;
    let arguments = call.payload.clone().unwrap_or_default();
    for step in ["begun", "half"] {
        let delta = ToolOutputDeltaMessage::new(id, "progress", format!("{} {step}", call.tool));
        let _ = answers.send(FromDevice::OutputDelta(delta));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let result = match &*call.tool {
        "list_files" => files(directory),
        "write_file" => write(directory, &arguments),
        other => Err(anyhow::anyhow!("there is no tool {other:?}")),
    };
    let result = match result {
        Ok(value) => ToolResultMessage::new(id, value),
        Err(error) => ToolResultMessage::error(id, "execution_failed", format!("{error:#}")),
    };
    let _ = answers.send(FromDevice::Result(result));
}

fn files(directory: &Path) -> anyhow::Result<Value> {
    let names = fs::read_dir(directory)?.map(|file| Ok(file?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<std::io::Result<Vec<String>>>()?;
    names.sort();
    Ok(json!(names))
}

fn write(directory: &Path, arguments: &Value) -> anyhow::Result<Value> {
    let (name, text) = (arguments["name"].as_str(), arguments["text"].as_str());
    let (name, text) = name.zip(text).context("name and text are strings")?;
    let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    anyhow::ensure!(is_plain, "{name:?} is not a plain file name");
    let path: PathBuf = directory.join(name);
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, format!("{before}{text}\n"))?;
    Ok(json!(format!("{name} has {} lines", before.lines().count() + 1)))
}
