//! A server that sends the headers of an answer, and never its body.

use temporal_agents::provider::OpenAi;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const HEADERS: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";

pub(super) struct HalfAnswer {
    address: String,
    /// Stops with the test.
    _serving: JoinSet<()>,
}

impl HalfAnswer {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}/v1", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                connections.spawn(answer_half(connection));
            }
        });
        Ok(Self { address, _serving: serving })
    }

    pub(super) fn provider(&self) -> OpenAi {
        let builder = OpenAi::builder().api_key("a-key-that-no-one-checks").base_url(&*self.address);
        builder.build().expect("a complete configuration")
    }
}

async fn answer_half(mut connection: TcpStream) {
    let mut request = [0; 4096];
    let _ = connection.read(&mut request).await;
    let _ = connection.write_all(HEADERS).await;
    // Until the client gives the request up.
    while connection.read(&mut request).await.is_ok_and(|read| read > 0) {}
}
