//! The provider: tools of this library, offered to callers in any language.

use std::time::Duration;

use temporal_agents::{
    ToolContext, ToolError,
    remote::transport::RedisTransport,
    tool,
    worker::{ToolProvider, ToolRegistry},
};

use crate::serve::termination;

/// Returns its text.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// Works for some seconds, and reports its progress.
#[tool(start_to_close = "10m")]
async fn slow(ctx: &ToolContext, seconds: u32) -> String {
    for second in 0..seconds {
        ctx.output_delta("progress", format!("{second} of {seconds} seconds"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    format!("{seconds} seconds have passed")
}

/// Fails, with a message.
#[tool(idempotent = false)]
async fn fail(message: String) -> Result<String, ToolError> {
    Err(ToolError::tell_model(message))
}

/// Returns the tools of the provider.
pub(super) fn registry() -> anyhow::Result<ToolRegistry> {
    Ok(ToolRegistry::default().register(echo)?.register(slow)?.register(fail)?)
}

/// Serves the tools until Ctrl-C or SIGTERM. Prints `READY` once calls are accepted.
pub(super) async fn until_stopped(redis: &str, toolset: &str) -> anyhow::Result<()> {
    let provider = ToolProvider::new(toolset, registry()?, RedisTransport::new(redis)?);
    provider.serve_with(termination()?, || println!("READY")).await;
    Ok(())
}
