//! The programs of examples/README.md as a user runs them, without a key.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

fn program(path: &str) -> Command {
    let mut program = Command::new(path);
    program.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL").env_remove("CRM_TOKEN");
    program
}

/// Runs a program, which must succeed and print these lines in this order, among others.
#[track_caller]
fn prints(path: &str, lines: &[&str]) {
    let output = program(path).output().expect("the program can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let mut rest = &*text;
    for line in lines {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is missing, or comes too early, in:\n{text}"));
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn the_first_agent_answers() {
    prints(env!("CARGO_BIN_EXE_first_agent"), &["12 degrees, and clear."]);
}

#[test]
fn structured_output_files_a_ticket() {
    let lines = ["mail clerk · turn 1 · asks", "Used 1 model call,", "Filed at the warehouse", "concern: Delivery"];
    prints(env!("CARGO_BIN_EXE_structured_output"), &lines);
}

#[test]
fn handoffs_go_round() {
    let lines = [
        "  => desk hands off to billing",
        "  <- open_invoices = [39,59]",
        "  => billing hands off to desk",
        "  => desk hands off to technician",
        "The technician has the last word: The fault is in our street cabinet",
    ];
    prints(env!("CARGO_BIN_EXE_handoffs"), &lines);
}

#[test]
fn deterministic_chain_asks_the_cook_again() {
    let lines = ["pine nuts", "lemon", "menu writer · turn 1 · asks", "On the menu: Linguine al limone"];
    prints(env!("CARGO_BIN_EXE_deterministic_chain"), &lines);
}

#[test]
fn parallel_agents_are_asked_together() {
    let lines = [
        "warm writer · turn 1 · asks",
        "brief writer · turn 1 · asks",
        "formal writer · turn 1 · asks",
        "brief writer has finished",
        "The warm draft is sent",
    ];
    prints(env!("CARGO_BIN_EXE_parallel_agents"), &lines);
}

#[test]
fn agents_as_tools_stand_below_their_caller() {
    let lines = [
        "curator · turn 1 · asks",
        "    French translator · turn 1 · asks",
        "<- glossary = ",
        "  <- to_french = Plat au lièvre",
        "The label:",
    ];
    prints(env!("CARGO_BIN_EXE_agents_as_tools"), &lines);
}

#[test]
fn sessions_outlive_their_histories() {
    let lines =
        ["Which of the two", "~ continues as new", "That one, please.", "-> reserve(", "The session holds 10 items."];
    prints(env!("CARGO_BIN_EXE_sessions"), &lines);
}

#[test]
fn guardrails_stop_four_questions() {
    let lines = [
        "Answered: A passport, and ten minutes.",
        "  ! guardrail no_card_numbers has tripped",
        "Used 0 model calls",
        "Declined by no_card_numbers",
        "    topic judge · turn 1 · asks",
        "Declined by about_banking: \"poetry\"",
        "teller · turn 1 · asks",
        "  ! guardrail no_abuse has tripped",
        "Declined by no_abuse",
        "withheld by no_promises",
    ];
    prints(env!("CARGO_BIN_EXE_guardrails"), &lines);
}

#[test]
fn approval_decides_by_itself_after_a_second_history_has_begun() {
    let lines = [
        "? clerk wants to call refund",
        "~ the workflow continues as new",
        "! Approve for call_1_0: Accepted",
        "<- refund = 240 euros for A-1042 are paid",
        "The ledger says [\"A-1042 240\"]",
    ];
    prints(env!("CARGO_BIN_EXE_approval"), &lines);
}

#[test]
fn approval_waits_for_another_process() {
    let path = env!("CARGO_BIN_EXE_approval");
    let mut waits = program(path).arg("--wait").stdout(Stdio::piped()).spawn().expect("the program can be started");
    let mut lines = BufReader::new(waits.stdout.take().expect("it is piped")).lines().map(|line| line.expect("UTF-8"));
    let command = lines.find(|line| line.ends_with(" approve")).expect("it prints the command");
    let (_, arguments) = command.split_once("--bin approval -- ").expect("the command runs this program");
    let decision = program(path).args(arguments.split(' ')).output().expect("the program can be started");
    let told = String::from_utf8_lossy(&decision.stdout).into_owned();
    assert_eq!(told, "! Approve for call_1_0: Accepted\n", "{}", String::from_utf8_lossy(&decision.stderr));
    let rest: Vec<String> = lines.collect();
    assert!(waits.wait().expect("it ends").success(), "{rest:#?}");
    assert!(rest.iter().any(|line| line == "Settled: 240 euros for A-1042 are paid."), "{rest:#?}");
}

#[test]
fn tools_run_where_they_belong() {
    let lines = [
        "  <- parts_on_shelf (failed) = no \"bike chain\"; there are [\"chain\", \"tyre\"]",
        "  ? mechanic wants to call order_part({\"part\":\"chain\",\"euros\":35})",
        "! Approved: Accepted",
        "  <- order_part = chain is ordered for 35 euros (attempt 2, the one before failed: ",
        "Booked: [\"Thursday\"]",
    ];
    prints(env!("CARGO_BIN_EXE_tools"), &lines);
}

#[test]
fn client_tools_ask_again_when_the_output_is_none() {
    let lines = [
        "  ? host waits for the output of choose_table({\"tables\":[3,5,8]})",
        "! the one by the window: Accepted",
        "  ? host waits for the output of choose_table({\"tables\":[3,5,8]})",
        "! 5: Accepted",
        "Table 5 is yours.",
    ];
    prints(env!("CARGO_BIN_EXE_client_tools"), &lines);
}

#[test]
fn client_tools_are_answered_by_another_process() {
    let path = env!("CARGO_BIN_EXE_client_tools");
    let mut waits = program(path).arg("--wait").stdout(Stdio::piped()).spawn().expect("the program can be started");
    let mut lines = BufReader::new(waits.stdout.take().expect("it is piped")).lines().map(|line| line.expect("UTF-8"));
    let command = lines.find(|line| line.contains(" --answer ")).expect("it prints the command");
    let (_, arguments) = command.split_once("--bin client_tools -- ").expect("the command runs this program");
    let answered = program(path).args(arguments.split(' ')).output().expect("the program can be started");
    let told = String::from_utf8_lossy(&answered.stdout).into_owned();
    assert_eq!(told, "! 5: Accepted\n", "{}", String::from_utf8_lossy(&answered.stderr));
    let rest: Vec<String> = lines.collect();
    assert!(waits.wait().expect("it ends").success(), "{rest:#?}");
    assert!(rest.iter().any(|line| line == "Table 5 is yours."), "{rest:#?}");
}

#[test]
fn mcp_lists_and_calls_a_tool_of_the_built_in_server() {
    let lines = [
        "The server has these tools:\n  roman - Writes a number",
        "  -> roman(",
        "  <- roman = MCMLXXXVII",
        "The model received:\nMCMLXXXVII",
    ];
    prints(env!("CARGO_BIN_EXE_mcp"), &lines);
}

#[test]
fn nexus_sends_goods_with_a_service_in_python() {
    let lines = [
        "  -> quote(",
        "  <- quote = {\"euros\":160}",
        "  <- quote (failed) = The freight company does not go there.",
        "  -> carry(",
        "  <- carry = ",
        "Sent: {\"pallets\":2,\"to\":\"Oslo\",\"waybill\":\"waybill-",
    ];
    prints(env!("CARGO_BIN_EXE_nexus"), &lines);
}

#[test]
fn secrets_are_in_no_history() {
    let lines = [
        "Ada buys lamps and pays with card [card number]. My token is [redacted].",
        "The provider received the token: yes",
        "  the reference to CRM_TOKEN: yes",
        "  the token: no",
        "  what the tool found: yes",
        "  the card number: no",
    ];
    prints(env!("CARGO_BIN_EXE_secrets"), &lines);
}

#[test]
fn code_review_posts_what_somebody_agrees_to() {
    let lines = [
        "The workflow calls one activity",
        "  ? reviewer wants to call post_comment(",
        "! post_comment approved: Accepted",
        "The retry loop needs a limit; I have commented on it.",
        "Comments: [\"src/retry.rs:1: This never gives up.",
    ];
    prints(env!("CARGO_BIN_EXE_code_review"), &lines);
}

#[test]
fn incident_triage_restarts_when_the_person_on_call_agrees() {
    let lines = [
        "> checkout: one order in five fails",
        "  ? triage wants to call restart(",
        "! restart approved: Accepted",
        "High: v42 leaks connections. restarted; roll v42 back.",
        "- the connections to the database run out",
        "- v42 keeps connections open",
    ];
    prints(env!("CARGO_BIN_EXE_incident_triage"), &lines);
}

#[test]
fn provider_switch_goes_on_with_another_provider() {
    let lines = [
        "> Where is my parcel NO-71?",
        "claude-sonnet-4-6 continues",
        "Your parcel waits in Bergen.",
        "The parcel was looked up 1 time(s).",
    ];
    prints(env!("CARGO_BIN_EXE_provider_switch"), &lines);
}

#[test]
fn versions_keep_open_orders_on_their_tool() {
    let lines = [
        "Before the deploy.",
        "  ? desk wants to call order({\"article\":\"scarf\"})",
        "The new worker is deployed; the order waits.",
        "  ? desk wants to call order({\"article\":\"scarf\",\"colour\":\"red\"})",
        "The new order: Done: scarf is ordered in red.",
        "  <- order = scarf is ordered\n",
        "The open order: Done: scarf is ordered.",
    ];
    prints(env!("CARGO_BIN_EXE_versions"), &lines);
}
