//! Where the value of an environment variable may go.

use std::fmt;

use serde_json::Value;

/// Where the value of an environment variable may go; see [`AgentsPlugin::allow_env_for`](crate::worker::AgentsPlugin::allow_env_for).
///
/// ```
/// use temporal_agents::{AgentsPlugin, worker::Destination};
///
/// let plugin = AgentsPlugin::new()
///     .allow_env_for(Destination::mcp_server("crm"), ["CRM_TOKEN"])
///     .allow_env_for(Destination::hosted_tool_host("mcp.example.com"), ["MCP_EXAMPLE_TOKEN"]);
/// # let _ = plugin;
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination(Kind);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Provider(String),
    McpServer(String),
    Tool(String),
    HostedToolHost(String),
}

impl Destination {
    /// The model provider of this name: `openai`, `genai`, or what [`ModelProvider::name`](crate::provider::ModelProvider::name) returns. References in
    /// extra headers, query, body and arguments of model settings, and in the configuration of hosted tools, where no address
    /// is beside them.
    pub fn provider(name: impl Into<String>) -> Self {
        Self(Kind::Provider(name.into()))
    }

    /// The MCP server that the worker has under this name. References in its transport, its argument and its set-up.
    pub fn mcp_server(name: impl Into<String>) -> Self {
        Self(Kind::McpServer(name.into()))
    }

    /// The tool of this name. References in its settings.
    pub fn tool(name: impl Into<String>) -> Self {
        Self(Kind::Tool(name.into()))
    }

    /// The host that a hosted tool connects to on the provider's side: that of `server_url`. References in the same configuration, such as
    /// `authorization` and `headers`. With the port where it is not 443: `mcp.example.com:8443`.
    ///
    /// Only `https` addresses count, without user name and password, of plain ASCII letters. Subdomains are other hosts. Where the host
    /// redirects to is beyond this check: the provider makes the connection.
    pub fn hosted_tool_host(host: impl AsRef<str>) -> Self {
        Self(Kind::HostedToolHost(normalized(host.as_ref())))
    }

    /// Where a value goes that is part of this, on its way through the provider of this name: to the hosts of the addresses that are in
    /// it, else to the provider.
    ///
    /// # Errors
    /// There is no saying where to: an address in it cannot be read, or the provider has no name.
    pub(crate) fn of_request(part: &Value, provider: Option<&str>) -> Result<Vec<Self>, Unclear> {
        let mut hosts = Vec::new();
        collect(None, part, &mut hosts)?;
        if hosts.is_empty() {
            hosts.push(Self::provider(provider.ok_or(Unclear)?));
        }
        Ok(hosts)
    }

    /// The call that makes it, in Rust.
    pub(crate) fn in_code(&self) -> String {
        let (function, name) = match &self.0 {
            Kind::Provider(name) => ("provider", name),
            Kind::McpServer(name) => ("mcp_server", name),
            Kind::Tool(name) => ("tool", name),
            Kind::HostedToolHost(host) => ("hosted_tool_host", host),
        };
        format!("Destination::{function}({name:?})")
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Provider(name) => write!(f, "the model provider {name:?}"),
            Kind::McpServer(name) => write!(f, "the MCP server {name:?}"),
            Kind::Tool(name) => write!(f, "the tool {name:?}"),
            Kind::HostedToolHost(host) => write!(f, "the host {host:?} of a hosted tool"),
        }
    }
}

/// A destination that cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unclear;

/// The hosts of all addresses of a value.
fn collect(key: Option<&str>, value: &Value, hosts: &mut Vec<Destination>) -> Result<(), Unclear> {
    let key = key.unwrap_or_default().to_ascii_lowercase();
    let is_address = key.ends_with("url") || key.ends_with("uri");
    match value {
        // For the model to read; nothing connects to what is in it.
        Value::String(_) if key.ends_with("description") => Ok(()),
        Value::String(text) if is_address || text.contains("://") => {
            hosts.push(Destination(Kind::HostedToolHost(host_of(text).ok_or(Unclear)?)));
            Ok(())
        }
        // An address that is itself a reference, or none.
        _ if is_address && !value.is_null() => Err(Unclear),
        Value::Array(values) => values.iter().try_for_each(|value| collect(None, value, hosts)),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| collect(Some(key), value, hosts)),
        _ => Ok(()),
    }
}

/// The host of an address, and its port where it is not 443. Only the plainest form is read, of which all readers of addresses think the
/// same: what one takes for the host must not be a user name for another.
fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_at_checked("https://".len())?;
    if !scheme.eq_ignore_ascii_case("https://") || !address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    {
        return None;
    }
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
    let is_port = !port.starts_with('0') && port.parse::<u16>().is_ok_and(|number| number.to_string() == port);
    let is_host = host.strip_suffix('.').unwrap_or(host).split('.').all(|label| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    });
    (is_host && is_port).then(|| normalized(authority))
}

/// In small letters, without the dot of the root and the usual port.
fn normalized(authority: &str) -> String {
    let authority = authority.trim().to_ascii_lowercase();
    let (host, port) = authority.split_once(':').unwrap_or((&authority, "443"));
    let host = host.strip_suffix('.').unwrap_or(host);
    if port == "443" { host.to_owned() } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests;
