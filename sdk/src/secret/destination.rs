//! Destinations to which the value of an environment variable may be sent.

use std::fmt;

use serde_json::Value;

/// A destination to which the value of an environment variable may be sent; see
/// [`Resources::allow_env_for`](crate::Resources::allow_env_for).
///
/// ```
/// use temporal_agents::{Resources, worker::Destination};
///
/// let resources = Resources::new()
///     .allow_env_for(Destination::mcp_server("crm"), ["CRM_TOKEN"])
///     .allow_env_for(Destination::hosted_tool_host("mcp.example.com"), ["MCP_EXAMPLE_TOKEN"]);
/// # let _ = resources;
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
    /// The model provider of this name: `openai`, `genai`, or the name that
    /// [`ModelProvider::name`](crate::ModelProvider::name) returns. Covers references in extra
    /// headers, query, body and arguments of model settings, and in the configuration of hosted
    /// tools that contains no address.
    pub fn provider(name: impl Into<String>) -> Self {
        Self(Kind::Provider(name.into()))
    }

    /// The MCP server that the worker has under this name. Covers references in its transport, its
    /// argument and its set-up.
    pub fn mcp_server(name: impl Into<String>) -> Self {
        Self(Kind::McpServer(name.into()))
    }

    /// The tool of this name. Covers references in its settings.
    pub fn tool(name: impl Into<String>) -> Self {
        Self(Kind::Tool(name.into()))
    }

    /// The host that a hosted tool connects to from the provider's side: the host of `server_url`.
    /// Covers references in the same configuration, such as `authorization` and `headers`. The port
    /// is part of it unless it is 443: `mcp.example.com:8443`.
    ///
    /// Only `https` addresses count, without user name and password, of plain ASCII letters.
    /// Subdomains are other hosts. Redirects of the host are beyond this check, since the provider
    /// makes the connection.
    pub fn hosted_tool_host(host: impl AsRef<str>) -> Self {
        Self(Kind::HostedToolHost(normalized(host.as_ref())))
    }

    /// Returns the destinations of a part of a request to the provider of this name: the hosts of
    /// the addresses in the part, or the provider itself if it contains no address.
    ///
    /// # Errors
    /// The destination cannot be determined: an address in the part cannot be parsed, or the
    /// provider has no name.
    pub(crate) fn of_request(part: &Value, provider: Option<&str>) -> Result<Vec<Self>, UnknownDestination> {
        let mut hosts = Vec::new();
        collect(None, part, &mut hosts)?;
        if hosts.is_empty() {
            hosts.push(Self::provider(provider.ok_or(UnknownDestination)?));
        }
        Ok(hosts)
    }

    /// Returns the Rust expression that creates this destination.
    pub(crate) fn to_rust_expression(&self) -> String {
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

/// The error for a destination that cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownDestination;

/// Collects the hosts of all addresses in a value.
fn collect(key: Option<&str>, value: &Value, hosts: &mut Vec<Destination>) -> Result<(), UnknownDestination> {
    let key = key.unwrap_or_default().to_ascii_lowercase();
    let is_address = key.ends_with("url") || key.ends_with("uri");
    match value {
        // Read by the model only; nothing connects to an address in it.
        Value::String(_) if key.ends_with("description") => Ok(()),
        Value::String(text) if is_address || text.contains("://") => {
            hosts.push(Destination(Kind::HostedToolHost(host_of(text).ok_or(UnknownDestination)?)));
            Ok(())
        }
        // The address is itself a reference, or not a string.
        _ if is_address && !value.is_null() => Err(UnknownDestination),
        Value::Array(values) => values.iter().try_for_each(|value| collect(None, value, hosts)),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| collect(Some(key), value, hosts)),
        _ => Ok(()),
    }
}

/// Returns the host of an address, with its port unless that is 443. Only the plainest form is
/// accepted, which every URL parser reads in the same way: the host for one parser must not be a
/// user name for another.
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

/// Converts to lower case, without the trailing dot of the root domain and without the default
/// port.
fn normalized(authority: &str) -> String {
    let authority = authority.trim().to_ascii_lowercase();
    let (host, port) = authority.split_once(':').unwrap_or((&authority, "443"));
    let host = host.strip_suffix('.').unwrap_or(host);
    if port == "443" { host.to_owned() } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests;
