//! Web searches.

use serde_json::{Map, Value};

use super::{HostedTool, builder, texts};

/// A web search; created by [`HostedTool::web_search`].
#[derive(Clone, Debug, PartialEq)]
pub struct WebSearch(pub(super) HostedTool);

builder!(WebSearch);

impl WebSearch {
    /// Sets the amount of search results that the model sees: `low`, `medium` (the provider's
    /// default) or `high`.
    #[must_use]
    pub fn search_context_size(self, size: impl Into<String>) -> Self {
        self.set("search_context_size", size.into())
    }

    /// Searches only these domains and their subdomains.
    #[must_use]
    pub fn allowed_domains(self, domains: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(self.0.with_in("filters", "allowed_domains", texts(domains)))
    }

    /// Sets the approximate location of the user.
    #[must_use]
    pub fn user_location(self, location: UserLocation) -> Self {
        self.set("user_location", location.0)
    }
}

/// The approximate location of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserLocation(Map<String, Value>);

impl Default for UserLocation {
    fn default() -> Self {
        Self(Map::from_iter([("type".to_owned(), "approximate".into())]))
    }
}

impl UserLocation {
    /// Creates a location in a country, named by two letters of ISO 3166: `NO`.
    pub fn country(country: impl Into<String>) -> Self {
        Self::default().with("country", country)
    }

    /// Sets a city in the country: `Oslo`.
    #[must_use]
    pub fn city(self, city: impl Into<String>) -> Self {
        self.with("city", city)
    }

    /// Sets a region of the country: `Vestland`.
    #[must_use]
    pub fn region(self, region: impl Into<String>) -> Self {
        self.with("region", region)
    }

    /// Sets the time zone, by its IANA name: `Europe/Oslo`.
    #[must_use]
    pub fn timezone(self, timezone: impl Into<String>) -> Self {
        self.with("timezone", timezone)
    }

    fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.0.insert(key.to_owned(), Value::String(value.into()));
        self
    }
}
