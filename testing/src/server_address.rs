//! The address of a Temporal server, as flags and environment variables of programs contain it.
//!
//! All programs of the workspace that connect to a server parse its address here, so all of them
//! accept both forms: `HOST:PORT`, which the `temporal` command and `TEMPORAL_ADDRESS` use, and a
//! URL, which the connection options of the client use. An address that is neither is refused
//! before a connection is attempted. Connecting is up to the program.

use std::{env, fmt, str::FromStr};

use temporal_agents::__private::error_debug;
use temporalio_client::Url;
use thiserror::Error;

/// The address of a Temporal server: `HOST:PORT` or a URL.
///
/// It is `Display`ed as it was given. For a flag of a `clap` parser, [`FromStr`] is enough:
///
/// ```
/// use temporal_agents_testing::ServerAddress;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let address: ServerAddress = "localhost:7233".parse()?;
/// assert_eq!(address.url().as_str(), "http://localhost:7233/");
/// assert_eq!(address.to_string(), "localhost:7233");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    given: String,
    url: Url,
}

impl ServerAddress {
    /// Name of the environment variable that contains the address where no flag does.
    pub const VARIABLE: &str = "TEMPORAL_ADDRESS";

    /// The address of a server on this machine with the default port.
    const DEFAULT: &str = "http://localhost:7233";

    /// Parses the value of a setting, whose name (`--address`, for example) is part of the error.
    ///
    /// # Errors
    /// [`ServerAddressError`] if the value is neither `HOST:PORT` nor a URL.
    pub fn parse(setting: &str, value: &str) -> Result<Self, ServerAddressError> {
        value.parse().map_err(|error| ServerAddressError { setting: Some(setting.to_owned()), ..error })
    }

    /// Returns the address of the flag, if there is one, or else that of the variable
    /// `TEMPORAL_ADDRESS`, or else `http://localhost:7233`.
    ///
    /// # Errors
    /// [`ServerAddressError`] if the variable is used and is empty or malformed.
    pub fn or_env(flag: Option<Self>) -> Result<Self, ServerAddressError> {
        Self::or_variable(flag, env::var_os(Self::VARIABLE).map(|value| value.to_string_lossy().into_owned()))
    }

    fn or_variable(flag: Option<Self>, variable: Option<String>) -> Result<Self, ServerAddressError> {
        match (flag, variable) {
            (Some(address), _) => Ok(address),
            (None, Some(value)) => Self::parse(Self::VARIABLE, &value),
            (None, None) => Ok(Self::DEFAULT.parse().expect("the default is a URL")),
        }
    }

    /// Uses TLS if the address was given as `HOST:PORT`, for servers that require it. The scheme of
    /// a URL is kept.
    #[must_use]
    pub fn with_tls_by_default(mut self) -> Self {
        // Parsed again, because a URL forgets a port that is the default of its scheme. An address
        // that is valid with one scheme is valid with the other.
        if let Ok(url) = url_of(&self.given, "https") {
            self.url = url;
        }
        self
    }

    /// Returns the address as a URL, the form that the client's connection options take.
    /// `HOST:PORT` becomes `http://HOST:PORT`.
    pub fn url(&self) -> Url {
        self.url.clone()
    }
}

impl FromStr for ServerAddress {
    type Err = ServerAddressError;

    /// Parses a value whose setting the caller names in its own message.
    fn from_str(value: &str) -> Result<Self, ServerAddressError> {
        let given = value.to_owned();
        match url_of(value, "http") {
            Ok(url) => Ok(Self { given, url }),
            Err(reason) => Err(ServerAddressError { setting: None, value: given, reason }),
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.given)
    }
}

/// Returns the URL of an address in either form; `HOST:PORT` gets this scheme.
fn url_of(value: &str, scheme: &str) -> Result<Url, Reason> {
    if value.is_empty() {
        return Err(Reason::Empty);
    }
    // The parser of URLs removes some of these characters and escapes others.
    if value.contains(|character: char| character.is_whitespace() || character.is_control()) {
        return Err(Reason::Whitespace);
    }
    let url = if value.contains("://") {
        Url::parse(value)
    } else {
        // The port of a parsed URL is absent if it is the default of the scheme.
        value.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).ok_or(Reason::NoPort)?;
        Url::parse(&format!("{scheme}://{value}"))
    };
    let url = url.map_err(|error| Reason::Malformed(error.to_string()))?;
    let is_alone = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    match url.scheme() {
        "http" | "https" if is_alone && url.username().is_empty() && url.password().is_none() => Ok(url),
        "http" | "https" => Err(Reason::NotAlone),
        scheme => Err(Reason::Scheme(scheme.to_owned())),
    }
}

/// The error of an address that is neither `HOST:PORT` nor a URL. Its message names the setting,
/// the value and both forms.
#[derive(Error)]
#[error(
    "{}{value:?} is not the address of a server: {reason}; write HOST:PORT, such as localhost:7233, or a URL, such as \
     http://localhost:7233", prefix(setting.as_deref())
)]
pub struct ServerAddressError {
    setting: Option<String>,
    value: String,
    reason: Reason,
}

error_debug!(struct ServerAddressError { setting, value, reason });

fn prefix(setting: Option<&str>) -> String {
    setting.map(|setting| format!("{setting}: ")).unwrap_or_default()
}

/// The reason that a value is not an address.
#[derive(Debug, Error)]
enum Reason {
    #[error("it is empty")]
    Empty,
    #[error("it contains whitespace or control characters")]
    Whitespace,
    #[error("it does not end in a port")]
    NoPort,
    #[error("it cannot be parsed ({0})")]
    Malformed(String),
    #[error("its scheme {0:?} is neither http nor https")]
    Scheme(String),
    #[error("it contains more than a host and a port")]
    NotAlone,
}

#[cfg(test)]
mod tests;
