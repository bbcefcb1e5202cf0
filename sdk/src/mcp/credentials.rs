//! The strings of a transport that are redacted in the responses of its server, if they are literal
//! and not references.
//!
//! A program cannot distinguish a credential from a setting, and either mistake is expensive: a
//! credential in history stays there for good, and a response without the name of a region may be
//! useless. So values of headers and variables count as credentials unless their name, their shape
//! or their author ([`McpValue::plain`](super::McpValue::plain)) says otherwise. Program arguments
//! are usually settings, and count as credentials only if their name or shape says so.

/// The minimum length, in bytes, of a value that is redacted. A shorter value may be part of
/// ordinary words, which redaction cannot distinguish from it.
const SHORTEST: usize = 8;
/// The length, in bytes, from which letters mixed with digits count as a key, whatever their name.
const SHORTEST_KEY: usize = 16;

/// Headers that by their standards hold no credential.
const PLAIN_HEADERS: [&str; 9] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "content-type",
    "origin",
    "traceparent",
    "user-agent",
    "x-request-id",
];
/// Schemes that precede a credential, also in headers other than `Authorization`.
const SCHEMES: [&str; 5] = ["apikey", "basic", "bearer", "key", "token"];
/// Endings of words in names of credentials.
const CREDENTIALS: [&str; 18] = [
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "key",
    "keys",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "secrets",
    "session",
    "token",
    "tokens",
];
/// Words in names of credentials; other words also end with them, so they must match entirely.
const SHORT_CREDENTIALS: [&str; 4] = ["pass", "pat", "pw", "pwd"];
/// Last words in names of variables that specify how or where a program runs.
const SETTINGS: [&str; 16] = [
    "dir",
    "directory",
    "env",
    "file",
    "home",
    "host",
    "lang",
    "level",
    "locale",
    "log",
    "mode",
    "path",
    "port",
    "region",
    "shell",
    "tz",
];

/// Returns the credentials in the value of a header.
pub(super) fn of_header(name: &str, value: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    if PLAIN_HEADERS.contains(&&*name) {
        return Vec::new();
    }
    if name == "cookie" {
        let cookies = value.split(';').map(|cookie| cookie.split_once('=').map_or(cookie, |(_, value)| value).trim());
        return long_enough(cookies);
    }
    let is_scheme = |word: &str| name.ends_with("authorization") || SCHEMES.contains(&&*word.to_ascii_lowercase());
    match value.split_once(' ') {
        Some((scheme, credential)) if is_scheme(scheme) => long_enough([credential.trim()]),
        _ => long_enough([value]),
    }
}

/// Returns the credentials in the value of a variable.
pub(super) fn of_variable(name: &str, value: &str) -> Vec<String> {
    if !names_credential(name) {
        if value.contains("://") {
            return of_address(value);
        }
        if names_setting(name) || is_path(value) || is_number(value) {
            return Vec::new();
        }
    }
    long_enough([value])
}

/// Returns the credentials among program arguments: `--token x`, `--token=x`, `-e API_KEY=x`,
/// `--header "Authorization: Bearer x"`, the password of an address, and strings that look like a
/// key.
pub(super) fn of_arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found = Vec::new();
    let mut follows_name = false;
    for argument in arguments {
        let is_flag = argument.starts_with('-');
        if follows_name && !is_flag {
            found.extend(long_enough([argument]));
        } else {
            found.extend(of_argument(argument));
        }
        follows_name = is_flag && !argument.contains('=') && names_credential(argument);
    }
    found
}

fn of_argument(argument: &str) -> Vec<String> {
    if let Some((name, value)) = argument.split_once(": ").filter(|(name, _)| names_credential(name)) {
        return of_header(name, value);
    }
    if let Some((name, value)) = argument.split_once('=')
        && is_name(name)
    {
        return if names_credential(name) { long_enough([value]) } else { of_argument(value) };
    }
    if argument.contains("://") {
        return of_address(argument);
    }
    if !is_path(argument) && looks_like_key(argument) { vec![argument.to_owned()] } else { Vec::new() }
}

/// Returns the credentials in an address: its password, values of its query, and segments of its
/// path that look like keys.
pub(super) fn of_address(address: &str) -> Vec<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = values.filter(|(name, value)| names_credential(name) || looks_like_key(value)).map(|(_, value)| value);
    let segments = path.split('/').filter(|segment| looks_like_key(segment));
    long_enough(password.into_iter().chain(values).chain(segments))
}

fn long_enough<'v>(values: impl IntoIterator<Item = &'v str>) -> Vec<String> {
    values.into_iter().filter(|value| value.len() >= SHORTEST).map(str::to_owned).collect()
}

/// Returns the words of a name such as `API_KEY`, `--api-key` or `apiKey`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = !c.is_ascii_alphanumeric() || (was_small && c.is_ascii_uppercase());
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            word.push(c.to_ascii_lowercase());
        }
        was_small = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// `true` if a value of this name is a credential itself, and not its location or its name.
fn names_credential(name: &str) -> bool {
    let words = words(name);
    let is_setting =
        words.last().is_none_or(|last| SETTINGS.contains(&&**last) || matches!(&**last, "id" | "name" | "url"));
    let is_credential =
        |word: &String| CREDENTIALS.iter().any(|end| word.ends_with(end)) || SHORT_CREDENTIALS.contains(&&**word);
    !is_setting && words.iter().any(is_credential)
}

fn names_setting(name: &str) -> bool {
    words(name).last().is_some_and(|last| SETTINGS.contains(&&**last))
}

/// `true` if this can be a name before `=`: of a flag or of a variable.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn is_path(value: &str) -> bool {
    let is_drive = value.as_bytes().get(1..3).is_some_and(|after| matches!(after, b":\\" | b":/"));
    is_drive || ["/", "./", "../", "~/", "\\\\"].iter().any(|start| value.starts_with(start))
}

fn is_number(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-' | '_' | ' '))
}

/// `true` if the value has a sequence of letters mixed with digits that is longer than words of
/// that kind are.
fn looks_like_key(value: &str) -> bool {
    let runs = value.split(|c: char| !c.is_ascii_alphanumeric());
    runs.filter(|run| run.len() >= SHORTEST_KEY)
        .any(|run| run.bytes().any(|c| c.is_ascii_digit()) && run.bytes().any(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests;
