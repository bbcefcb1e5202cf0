//! The process that holds the WebSockets of devices.

use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc, time::Duration};

use anyhow::Context;
use axum::{
    Router,
    extract::{
        State,
        ws::{Message, WebSocket, WebSocketUpgrade},
    },
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    response::{IntoResponse, Response},
    routing::get,
};
use temporal_agents::remote::{
    device::{Device, DeviceGateway},
    transport::RedisTransport,
};
use tokio::{net::TcpListener, time::timeout};

use super::Gateway;
use crate::serve::termination;

/// Longest time until a device has announced itself.
const HELLO: Duration = Duration::from_secs(10);

/// Time between two pings of a device. One that does not answer between them counts as gone.
const PING: Duration = Duration::from_secs(15);

/// Most bytes of one text.
const LONGEST_TEXT: usize = 4 << 20;

#[derive(Clone)]
struct Shared {
    gateway: DeviceGateway,
    /// Users by their tokens.
    users: Arc<BTreeMap<String, String>>,
}

/// Serves until Ctrl-C or SIGTERM.
pub(super) async fn serve(Gateway { redis, port, users }: Gateway) -> anyhow::Result<()> {
    let of_token = |user: &String| {
        let (name, token) = user.split_once('=').context("--user is not of the form NAME=TOKEN")?;
        anyhow::Ok((token.to_owned(), name.to_owned()))
    };
    let users = users.iter().map(of_token).collect::<Result<BTreeMap<_, _>, _>>()?;
    let gateway = DeviceGateway::new(RedisTransport::new(&redis)?);
    let routes = Router::new().route("/devices", get(connect)).with_state(Shared { gateway, users: Arc::new(users) });
    let terminated = termination()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("READY ws://{}/devices", listener.local_addr()?);
    // Open WebSockets end with the process; their devices connect to another one.
    tokio::select! {
        ended = axum::serve(listener, routes).into_future() => ended?,
        () = terminated => {}
    }
    Ok(())
}

async fn connect(State(shared): State<Shared>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    match token.and_then(|token| shared.users.get(token)).cloned() {
        None => StatusCode::UNAUTHORIZED.into_response(),
        Some(user) => upgrade.max_message_size(LONGEST_TEXT).on_upgrade(move |socket| async move {
            if let Err(error) = hold(shared.gateway, socket, &user).await {
                eprintln!("a device of {user} has left: {error:#}");
            }
        }),
    }
}

/// Moves texts between a device and the gateway, until one of them leaves.
async fn hold(gateway: DeviceGateway, mut socket: WebSocket, user: &str) -> anyhow::Result<()> {
    let hello = timeout(HELLO, socket.recv()).await.context("it has not announced itself")?;
    let hello = hello.context("it has closed its connection")??.into_text()?;
    let mut connection = gateway.connect(Device::announced(&hello, user)?).await?;
    socket.send(Message::text(r#"{"type": "welcome"}"#)).await?;
    let mut ping = tokio::time::interval(PING);
    let mut has_answered = true;
    loop {
        tokio::select! {
            text = connection.next() => match text {
                Some(text) => socket.send(Message::text(text)).await?,
                None => return Ok(()),
            },
            message = socket.recv() => match message {
                None | Some(Ok(Message::Close(_))) => return Ok(()),
                Some(Ok(Message::Text(text))) => connection.receive(&text)?,
                Some(Ok(_)) => has_answered = true,
                Some(Err(error)) => return Err(error.into()),
            },
            _ = ping.tick() => {
                anyhow::ensure!(has_answered, "it does not answer");
                has_answered = false;
                socket.send(Message::Ping(Vec::new().into())).await?;
            },
        }
    }
}
