//! Two secrets that a run needs, and that its history never contains.
//!
//! | secret | source | recorded value |
//! |---|---|---|
//! | the token of the CRM, which the model's provider needs to call it | an environment variable of the worker, `CRM_TOKEN`, which the worker allows | `{"$worker_env": "CRM_TOKEN"}` |
//! | the card number of a customer | the output of the tool `customer` | `[card number]`: the tool's output is redacted on the worker |

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use std::collections::BTreeMap;

use temporal_agents::{
    Agent, Runner, State, Tool, ToolError, tool,
    tool::{HostedTool, RequireApproval},
    worker_env,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Name of the variable with the token. `Resources::allow_env` also names it: an agent cannot
/// use a variable that the worker does not allow.
pub const TOKEN: &str = "CRM_TOKEN";

/// The records of the customers, by name: a state of the worker.
#[derive(Clone, Debug, Default)]
pub struct Customers(pub BTreeMap<String, String>);

/// Looks up the record of a customer.
#[tool(start_to_close = "5s")]
async fn customer(State(customers): State<Customers>, name: String) -> Result<String, ToolError> {
    let known = customers.0.get(&name).cloned();
    known.ok_or_else(|| ToolError::tell_model(format!("there is no customer {name:?}")))
}

pub fn desk() -> Agent {
    // The provider calls this server, not the worker. The provider receives the value; history
    // contains the reference.
    let crm = HostedTool::mcp("crm", "https://crm.example/mcp")
        .require_approval(RequireApproval::Never)
        .set("authorization", worker_env!("CRM_TOKEN"));
    Agent::new("desk")
        .model("gpt-5-mini")
        .instructions("You answer the customers of a shop.")
        .hosted(crm)
        .tool(customer.redact(without_card_numbers))
}

/// Returns the text without numbers of twelve or more digits, with or without spaces between the
/// digits.
pub fn without_card_numbers(text: &str) -> String {
    const FEWEST_DIGITS: usize = 12;
    let (mut clean, mut number) = (String::new(), String::new());
    let end = '\0';
    for c in text.chars().chain([end]) {
        if c.is_ascii_digit() || c == ' ' && !number.is_empty() {
            number.push(c);
            continue;
        }
        let digits = number.chars().filter(char::is_ascii_digit).count();
        if digits < FEWEST_DIGITS {
            clean.push_str(&number);
        } else {
            clean.push_str("[card number]");
            clean.push_str(&number[number.trim_end().len()..]);
        }
        number.clear();
        clean.extend(Some(c).filter(|c| *c != end));
    }
    clean
}

#[workflow]
#[derive(Default)]
pub struct Desk;

#[workflow_methods]
impl Desk {
    #[run(name = "secrets")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(), question).await?.final_output)
    }
}

#[cfg(test)]
mod tests {
    use super::without_card_numbers;

    #[test]
    fn card_numbers_are_taken_out_and_other_numbers_stay() {
        let text = "Ada, born 1815, card 4111 1111 1111 1111 until 12/30; also 4111111111111111";
        let clean = "Ada, born 1815, card [card number] until 12/30; also [card number]";
        assert_eq!(without_card_numbers(text), clean);
    }
}
