//! Parts for the tests and benchmarks of this repository, and types that public items contain
//! without naming them. Not covered by semantic versioning.

pub mod drive {
    pub use crate::drive::*;
}

pub mod engine {
    pub use crate::engine::*;
}

pub mod wire {
    pub mod agent_handlers {
        pub use crate::wire::agent_handlers::*;
    }
    pub mod agent_spec {
        pub use crate::wire::agent_spec::*;
    }
    pub mod approval {
        pub use crate::wire::approval::*;
    }
    pub mod asked_questions {
        pub use crate::wire::asked_questions::*;
    }
    pub mod canonical {
        pub use crate::wire::canonical::*;
    }
    pub mod carried {
        pub use crate::wire::carried::*;
    }
    pub mod conversation {
        pub use crate::wire::conversation::*;
    }
    pub mod definitions {
        pub use crate::wire::definitions::*;
    }
    #[cfg(any(feature = "worker", test))]
    pub mod delta_window {
        pub use crate::wire::delta_window::*;
    }
    pub mod digest {
        pub use crate::wire::digest::*;
    }
    pub mod event {
        pub use crate::wire::event::*;
    }
    pub mod failure {
        pub use crate::wire::failure::*;
    }
    pub mod find_toolsets {
        pub use crate::wire::find_toolsets::*;
    }
    pub mod item {
        pub use crate::wire::item::*;
    }
    pub mod kept_decision {
        pub use crate::wire::kept_decision::*;
    }
    pub mod load_agent {
        pub use crate::wire::load_agent::*;
    }
    pub mod mcp_call {
        pub use crate::wire::mcp_call::*;
    }
    pub mod model_call {
        pub use crate::wire::model_call::*;
    }
    pub mod nexus_endpoint {
        pub use crate::wire::nexus_endpoint::*;
    }
    pub mod ready_made {
        pub use crate::wire::ready_made::*;
    }
    pub mod run_state {
        pub use crate::wire::run_state::*;
    }
    pub mod schema {
        pub use crate::wire::schema::*;
    }
    pub mod session_call {
        pub use crate::wire::session_call::*;
    }
    pub mod session_checkpoint {
        pub use crate::wire::session_checkpoint::*;
    }
    pub mod settings {
        pub use crate::wire::settings::*;
    }
    pub mod stream {
        pub use crate::wire::stream::*;
    }
    pub mod tool_batch {
        pub use crate::wire::tool_batch::*;
    }
    pub mod tool_call {
        pub use crate::wire::tool_call::*;
    }
    pub mod tool_error {
        pub use crate::wire::tool_error::*;
    }
    pub mod usage {
        pub use crate::wire::usage::*;
    }
    pub mod version {
        pub use crate::wire::version::*;
    }
}

pub mod agent {
    pub use crate::agent::as_tool::ExtractOutput;
    pub use crate::agent::child_agent::ChildAgentTool;
    pub use crate::agent::graph::Graph;
    pub use crate::agent::guardrail::{Check, CheckInput, CheckOutput, Judge, parse_guardrail_output};
    pub use crate::agent::handoff::{HandoffError, HandoffTarget, OnHandoff, to_tool_name};
    pub use crate::agent::handoff_history::nest_history_with;
    pub use crate::agent::instructions::ComputeInstructions;
    pub use crate::agent::mcp_approval::AnswerApproval;
    pub use crate::agent::output::OutputDef;
    pub use crate::agent::tool_use::DecideToolUse;
}

pub mod tool {
    pub use crate::tool::approval::{ApprovalPredicate, ApprovalRule};
    pub use crate::tool::binding::{ActivityBody, InlineBody, ToolBinding, WorkflowBody};
    pub use crate::tool::child_workflow::ComputeId;
    pub use crate::tool::mcp::{McpBinding, McpToolFilter};
    pub use crate::tool::on_error::{DescribeFailure, DescribeFailureByKind};
    pub use crate::tool::output::{ResultKind, ValueKind, text_of};
    pub use crate::tool::run_context::merge_patch_between;
    pub use crate::tool::state::StateRequirement;
    pub use crate::tool::workflow_context::WorkflowEffects;
    pub mod schema {
        pub use crate::tool::schema::*;
    }
}

#[cfg(feature = "worker")]
pub mod transcript {
    pub use crate::client::transcript::request::*;
}

#[cfg(feature = "worker")]
pub mod replay {
    pub use crate::replay::{Command, Entry, Journal, Record, ReplayChange, explain, read};
}
