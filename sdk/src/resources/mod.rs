//! The resources of a host: models, states, stores, MCP servers, and the environment variables that
//! definitions may refer to.
//!
//! They are declared once, and a worker, an inline runner and a tool registry take the same
//! declaration. Settings of one host, such as agents or the limits of a run, are not resources.
//! (`inline/mcp.rs` makes the calls to the MCP servers of a process without a worker.)
//!
//! # Design
//! **The declaration is an argument of each host's constructor.** Eight setters on each of three
//! hosts differed in their docs, and an agent that moved to another host needed them again. A model
//! provider alone is converted, since most programs have no other resource.

use std::{fmt, sync::Arc};

use temporal_agents_core::tool::{StateMap, remote_toolset::DEFAULT_TRANSPORT};

#[cfg(feature = "mcp")]
use crate::mcp::{McpServers, McpTransport};
use crate::{
    provider::{ModelProvider, PriceTable, providers::Providers},
    remote::{
        DEVICES, ToolTransport, ToolTransports, ToolsetSource, ToolsetSources, device::DeviceGateway,
        transport::Streams,
    },
    secret::Destination,
    store::{
        AgentStore, DecisionStore, OptionalAgentStore, OptionalDecisionStore, OptionalSpillStore, Session, Sessions,
        SpillStore,
    },
};

/// The resources that agents and tools use in a process:
/// [`AgentsPlugin::new`](crate::AgentsPlugin::new),
/// [`InlineRunner::new`](crate::inline::InlineRunner::new) and
/// [`ToolRegistry::new`](crate::worker::ToolRegistry::new) take them.
///
/// ```no_run
/// use temporal_agents::{AgentsPlugin, Resources, inline::InlineRunner, provider::OpenAi};
/// # #[derive(Clone)]
/// # struct WeatherApi;
/// # impl WeatherApi { fn new() -> Self { Self } }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let resources =
///     Resources::new().model_provider(OpenAi::from_env()?).state(WeatherApi::new());
/// let runner = InlineRunner::new(resources.clone());
/// let plugin = AgentsPlugin::new(resources);
///
/// // A model provider alone is converted.
/// let plugin_without_states = AgentsPlugin::new(OpenAi::from_env()?);
/// # let _ = (runner, plugin, plugin_without_states);
/// # Ok(())
/// # }
/// ```
///
/// A host ignores what it has no use for:
///
/// | resource | `AgentsPlugin` | `InlineRunner` | `ToolRegistry` |
/// |---|---|---|---|
/// | model providers | yes | yes | no |
/// | prices of models | yes | yes | no |
/// | states | yes | yes | yes |
/// | session stores | yes | yes | no |
/// | spill store | yes | yes | yes |
/// | store of agents as data | yes | no | no |
/// | store of decisions | yes | yes | no |
/// | environment variables | yes | yes | in settings of tools, and for MCP servers |
/// | MCP servers | yes | yes | with `register_mcp` |
/// | streams of remote tools | yes | yes | yes |
/// | devices, sources of selected toolsets | yes | yes | no |
///
/// Each host connects to the MCP servers by itself; a clone of a host shares its connections.
#[derive(Clone, Default)]
pub struct Resources {
    /// The model providers, and the environment variables that definitions may refer to.
    pub(crate) providers: Providers,
    pub(crate) states: StateMap,
    pub(crate) sessions: Sessions,
    pub(crate) spills: OptionalSpillStore,
    pub(crate) agents: OptionalAgentStore,
    pub(crate) decisions: OptionalDecisionStore,
    pub(crate) transports: ToolTransports,
    pub(crate) toolsets: ToolsetSources,
    #[cfg(feature = "mcp")]
    pub(crate) mcp: McpServers,
}

impl Resources {
    /// Creates a declaration without resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source of models. The sources are queried in the order in which they were added,
    /// until one serves the model.
    #[must_use]
    pub fn model_provider(mut self, provider: impl ModelProvider + 'static) -> Self {
        self.providers.add(provider);
        self
    }

    /// Sets the prices of models: the usage of each call then has its
    /// [cost](temporal_agents_core::wire::Usage::cost), and so do the usage of runs, events, transcripts, spans
    /// and metrics. Set again, the later table replaces the earlier one.
    #[must_use]
    pub fn prices(mut self, prices: PriceTable) -> Self {
        self.providers.prices = Some(Arc::new(prices));
        self
    }

    /// Adds a state for tools that take `State<T>`; there is one per type.
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, state: T) -> Self {
        self.states.insert(state);
        self
    }

    /// Adds a session store under this name; `SessionRef::stored(name, ..)` makes a run use it.
    #[must_use]
    pub fn session_store(mut self, name: impl Into<String>, store: impl Session + 'static) -> Self {
        self.sessions.add(name, store);
        self
    }

    /// Sets the store for outputs that are too large, of tools with
    /// [`OversizedOutput::Spill`](temporal_agents_core::tool::OversizedOutput::Spill).
    #[must_use]
    pub fn spill_store(mut self, store: impl SpillStore + 'static) -> Self {
        self.spills = OptionalSpillStore(Some(Arc::new(store)));
        self
    }

    /// Sets the store from which the worker loads agents as data, for workflows whose `AgentSet`
    /// has [specs](crate::workflow::AgentSet::specs).
    #[must_use]
    pub fn agent_store(mut self, store: impl AgentStore + 'static) -> Self {
        self.agents = OptionalAgentStore(Some(Arc::new(store)));
        self
    }

    /// Sets the store of decisions that hold beyond their run
    /// ([`RunConfig::keep_decisions`](temporal_agents_core::drive::RunConfig::keep_decisions)).
    #[must_use]
    pub fn decision_store(mut self, store: impl DecisionStore + 'static) -> Self {
        self.decisions = OptionalDecisionStore(Some(Arc::new(store)));
        self
    }

    /// Allows agents and tools to refer to these environment variables of the process with
    /// [`worker_env!`](crate::worker_env), for **any** destination: their values are sent wherever
    /// a definition has the reference, to each model provider, tool and MCP server, and to each
    /// address that a hosted tool names. Everyone with write access to a definition chooses the
    /// destination, so prefer [`allow_env_for`](Self::allow_env_for). No variable is allowed by
    /// default.
    #[must_use]
    pub fn allow_env(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.providers.env.allow(names);
        #[cfg(feature = "mcp")]
        self.mcp.allow(&self.providers.env);
        self
    }

    /// Allows agents and tools to refer to these environment variables of the process with
    /// [`worker_env!`](crate::worker_env), for this destination only. A reference elsewhere fails
    /// the call, which is not retried; the failure names the variable, the destination and the
    /// method that would allow it. Further calls add destinations and names.
    #[must_use]
    pub fn allow_env_for(mut self, to: Destination, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.providers.env.allow_for(&to, names);
        #[cfg(feature = "mcp")]
        self.mcp.allow(&self.providers.env);
        self
    }

    /// Adds the streams through which this process reaches the providers of remote tools
    /// ([`RemoteToolset`](temporal_agents_core::tool::RemoteToolset)), as the transport `streams`.
    #[must_use]
    pub fn tool_streams(self, streams: impl Streams) -> Self {
        self.named_tool_streams(DEFAULT_TRANSPORT, streams)
    }

    /// Adds streams as the transport of this name, for toolsets that name it
    /// ([`RemoteToolset::transport`](temporal_agents_core::tool::RemoteToolset::transport)).
    #[must_use]
    pub fn named_tool_streams(mut self, name: impl Into<String>, streams: impl Streams) -> Self {
        self.transports.add(name.into(), ToolTransport::from_streams(streams));
        self
    }

    /// Adds the devices that are connected to this process or to others, as the transport `devices`
    /// and as a [source](Self::toolset_source): a run of their owner can select them.
    #[must_use]
    pub fn devices(mut self, gateway: DeviceGateway) -> Self {
        self.transports.add(DEVICES.to_owned(), ToolTransport::Devices(gateway.clone()));
        self.toolset_source(gateway)
    }

    /// Adds a source of the toolsets and devices that can be selected for a run
    /// ([`RunConfig::toolsets`](temporal_agents_core::drive::RunConfig::toolsets)). Several are asked one after another.
    #[must_use]
    pub fn toolset_source(mut self, source: impl ToolsetSource) -> Self {
        self.toolsets.add(source);
        self
    }

    /// Adds an MCP server under this name; `Agent::mcp_server` adds its tools to an agent, and
    /// `ToolRegistry::register_mcp` to a registry.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_server(mut self, name: impl Into<String>, transport: impl Into<McpTransport>) -> Self {
        self.mcp.add(name.into(), transport.into());
        self
    }

    /// Sets the time after which an unused connection to an MCP server is closed. Default 5
    /// minutes.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_idle_timeout(mut self, idle: std::time::Duration) -> Self {
        self.mcp.close_after(idle);
        self
    }
}

impl Resources {
    /// Returns the resources with connections to MCP servers that no other host uses: a connection
    /// ends with the runtime that opened it, which may be that of one host alone.
    #[cfg_attr(not(feature = "mcp"), expect(unused_mut, reason = "with feature `mcp` it is changed"))]
    pub(crate) fn of_one_host(mut self) -> Self {
        #[cfg(feature = "mcp")]
        self.mcp.serve(crate::mcp::McpSessions::default());
        self
    }
}

impl<P: ModelProvider + 'static> From<P> for Resources {
    fn from(provider: P) -> Self {
        Self::new().model_provider(provider)
    }
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources")
            .field("providers", &self.providers.len())
            .field("states", &self.states)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
