//! The verdicts of a table of cases (`cases.json`), and what no text may do.

use rstest::rstest;
use serde::Deserialize;
use serde_json::{Value, json};

mod callers;
#[cfg(unix)]
mod shells;

use super::{
    Gate, GateMode, GateVerdict, GatedCall, Rule, RuleDecision,
    command::{Part, commands},
};

#[derive(Deserialize)]
struct Table {
    privileged: Vec<String>,
    policies: std::collections::BTreeMap<String, Vec<Rule>>,
    cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    policy: String,
    mode: GateMode,
    tool: String,
    arguments: Value,
    verdict: String,
    rule: Option<String>,
    #[serde(default)]
    place: String,
    #[serde(default)]
    untrusted: bool,
}

fn table() -> Table {
    serde_json::from_str(include_str!("tests/cases.json")).expect("the table is JSON")
}

fn found(verdict: GateVerdict) -> (&'static str, Option<String>) {
    match verdict {
        GateVerdict::Run { rule } => ("run", rule),
        GateVerdict::Judge => ("judge", None),
        GateVerdict::Ask { rule, .. } => ("ask", rule),
        GateVerdict::Deny { rule, .. } => ("deny", rule),
    }
}

#[test]
fn each_case_of_the_table_has_its_verdict() {
    let Table { privileged, policies, cases } = table();
    let mut wrong = Vec::new();
    for case in &cases {
        let gate = Gate::new(case.mode)
            .rules(policies[&case.policy].clone())
            .privileged(privileged.clone())
            .untrusted(case.untrusted);
        assert_eq!(gate.unused_rules(), []);
        let arguments = case.arguments.to_string();
        let call = GatedCall { tool: &case.tool, place: &case.place, arguments: &arguments, mode: None };
        let found = found(gate.verdict(&call));
        if found != (&*case.verdict, case.rule.clone()) {
            wrong.push(format!("{case:?}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn a_denial_says_why() {
    let rules = table().policies.remove("ops").unwrap();
    let gate = Gate::new(GateMode::Autonomous).rules(rules);
    let arguments = json!({"command": "rm -rf x"}).to_string();
    let call = GatedCall { tool: "run_command", place: "", arguments: &arguments, mode: None };
    let reason = "ask for a backup first".to_owned();
    assert_eq!(gate.verdict(&call), GateVerdict::Deny { rule: Some("deny-rm-rf".to_owned()), reason });
}

#[rstest]
#[case::everything(json!({"id": "a", "decision": "deny"}), "it matches every call; to mean that, set tools to [\"*\"]")]
#[case::decision(json!({"id": "a", "decision": "maybe", "tools": ["*"]}), "none of allow, require_approval and deny")]
#[case::pattern(json!({"id": "a", "decision": "deny", "pattern": "("}), "its pattern is not a regular expression")]
#[case::large(json!({"id": "a", "decision": "deny", "program": "x".repeat(3_000)}), "longer than 2000 bytes")]
fn a_rule_that_makes_no_sense_is_named(#[case] rule: Value, #[case] reason: &str) {
    let rule: Rule = serde_json::from_value(rule).unwrap();
    let good = Rule { tools: vec!["*".to_owned()], ..Rule::new("good", RuleDecision::Deny) };
    let gate = Gate::new(GateMode::Autonomous).rules([rule, good]);
    let [unused] = gate.unused_rules() else { panic!("{:?}", gate.unused_rules()) };
    assert!(unused.id == "a" && unused.reason.contains(reason), "{unused}");
    let call = GatedCall { tool: "any", place: "", arguments: "{}", mode: None };
    assert_eq!(found(gate.verdict(&call)), ("deny", Some("good".to_owned())));
}

#[test]
fn arguments_that_are_no_object_are_judged_by_the_tool() {
    let rule = Rule { tools: vec!["pay*".to_owned()], ..Rule::new("no", RuleDecision::Deny) };
    let gate = Gate::new(GateMode::Autonomous).rules([rule]);
    for arguments in ["", "[]", "{", "\u{0}"] {
        let call = GatedCall { tool: "pay_all", place: "", arguments, mode: None };
        assert_eq!(found(gate.verdict(&call)).0, "deny", "{arguments:?}");
    }
}

/// Pieces of which a shell makes something.
const PIECES: [&str; 40] = [
    "ls", "rm", "-rf", "/", "sudo", "env", "A=1", "sh", "-c", "xargs", "find", "-exec", "{}", "\\;", "eval", "(", ")",
    "{", "}", "$(", "`", "\"", "'", "$'", "${X}", "$X", "<<E", "E", "\n", ";", "&&", "|", "&", ">", "2>&1", "<(",
    "case", "in", "esac", "\\",
];

/// A small generator of numbers, the same in each run.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap_or_default() % below
    }
}

#[test]
fn no_text_panics_and_what_is_allowed_has_known_programs_only() {
    let allow = Rule { program: "ls".to_owned(), ..Rule::new("ls", RuleDecision::Allow) };
    let gate = Gate::new(GateMode::ApproveUnknown).rules([allow]);
    let mut next = numbers(7);
    for _ in 0..20_000 {
        let text: Vec<&str> = (0..=next(9)).map(|_| PIECES[next(PIECES.len())]).collect();
        let text = text.join([" ", ""][next(2)]);
        let arguments = json!({"command": text});
        let call = GatedCall { tool: "run", place: "", arguments: &arguments.to_string(), mode: None };
        if found(gate.verdict(&call)).0 == "run" {
            let commands = commands(&arguments.to_string());
            let parts = commands.iter().flat_map(|command| &command.parts);
            for part in parts.filter(|part| !part.is_wrapper) {
                assert!(part.program == "ls" && !part.has_expansions(), "{text:?}: {part:?}");
            }
        }
    }
}

#[test]
fn nothing_around_a_denied_command_lets_it_run() {
    let deny = Rule { program: "rm".to_owned(), ..Rule::new("rm", RuleDecision::Deny) };
    let gate = Gate::new(GateMode::Autonomous).rules([deny]);
    let around: [fn(&str) -> String; 12] = [
        |text| format!("ls; {text}"),
        |text| format!("{text} && ls"),
        |text| format!("sudo {text}"),
        |text| format!("nice -n 3 {text}"),
        |text| format!("({text})"),
        |text| format!("{{ {text}; }}"),
        |text| format!("echo \"$({text})\""),
        |text| format!("if true; then {text}; fi"),
        |text| format!("timeout 5 {text} > out"),
        |text| format!("cat <<X\na\nX\n{text}"),
        |text| format!("sh -c '{}'", text.replace('\'', r"'\''")),
        |text| format!("env A=1 {text} | cat"),
    ];
    let mut next = numbers(11);
    for _ in 0..5_000 {
        let mut text = "rm x".to_owned();
        for _ in 0..=next(4) {
            text = around[next(around.len())](&text);
        }
        let arguments = json!({"command": text}).to_string();
        let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
        assert_eq!(found(gate.verdict(&call)).0, "deny", "{text}");
    }
}

#[rstest]
#[case::long(format!("rm victim #{}", "a".repeat(50_001)))]
#[case::late(format!("ls #{}\nr''m victim", "a".repeat(50_001)))]
#[case::many(format!("{}r''m victim", "ls;".repeat(600)))]
#[case::deep(format!("{}rm victim", "eval ".repeat(20)))]
fn padding_does_not_evade_a_denial(#[case] command: String) {
    let deny = Rule { program: "rm".to_owned(), ..Rule::new("no-rm", RuleDecision::Deny) };
    let arguments = json!({"command": command}).to_string();
    let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
    let gate = Gate::new(GateMode::Autonomous).rules([deny]);
    assert_eq!(found(gate.verdict(&call)), ("deny", Some("no-rm".to_owned())));
    assert_eq!(found(Gate::new(GateMode::Autonomous).verdict(&call)), ("run", None));
}

#[test]
fn a_possible_denial_says_what_to_write() {
    let deny = Rule {
        program: "git".to_owned(),
        contains_any: vec!["-f".to_owned()],
        reason: "history is shared".to_owned(),
        ..Rule::new("no-force", RuleDecision::Deny)
    };
    let verdict = |mode, command: &str| {
        let arguments = json!({"command": command}).to_string();
        let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
        Gate::new(mode).rules([deny.clone()]).verdict(&call)
    };
    let reason =
        "an argument is known only when the command runs; write its value (rule \"no-force\" may forbid it: history \
                  is shared)"
            .to_owned();
    let rule = Some("no-force".to_owned());
    assert_eq!(verdict(GateMode::Autonomous, "git push $X"), GateVerdict::Deny { rule, reason: reason.clone() });
    assert_eq!(verdict(GateMode::Judge, "git push $X"), GateVerdict::Ask { rule: None, reason });
    let reason =
        "the command has `&>`; write `> file 2>&1` (rule \"no-force\" may forbid it: history is shared)".to_owned();
    let rule = Some("no-force".to_owned());
    assert_eq!(verdict(GateMode::Autonomous, "make &> log"), GateVerdict::Deny { rule, reason });
}

#[test]
fn denial_of_a_tool_holds_for_unclear_commands() {
    let deny = Rule { tools: vec!["run".to_owned()], ..Rule::new("no", RuleDecision::Deny) };
    for command in ["", "# nothing", "ls &> out", "$X", "("] {
        let arguments = json!({"command": command}).to_string();
        let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
        let gate = Gate::new(GateMode::ApproveUnknown).rules([deny.clone()]);
        assert_eq!(found(gate.verdict(&call)), ("deny", Some("no".to_owned())), "{command:?}");
    }
}

#[rstest]
#[case::twice(r#"{"command": "rm x", "command": "ls"}"#)]
#[case::in_other_case(r#"{"CMD": "ls"}"#)]
#[case::words(r#"{"command": "ls", "Args": ["-l"]}"#)]
fn members_that_readers_differ_on_are_unclear(#[case] arguments: &str) {
    let allow = Rule { program: "ls".to_owned(), ..Rule::new("ls", RuleDecision::Allow) };
    let call = GatedCall { tool: "run", place: "", arguments, mode: None };
    assert!(call.has_command());
    assert_eq!(found(Gate::new(GateMode::ApproveUnknown).rules([allow]).verdict(&call)), ("ask", None));
}

#[test]
fn a_path_in_a_rule_allows_that_path_only() {
    let allow = Rule { program: "/opt/ls".to_owned(), ..Rule::new("ls", RuleDecision::Allow) };
    let gate = Gate::new(GateMode::ApproveUnknown).rules([allow]);
    for (command, verdict) in [("/opt/ls -l", "run"), ("ls -l", "ask"), ("/opt/./ls", "ask"), ("opt/ls", "ask")] {
        let arguments = json!({"command": command}).to_string();
        let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
        assert_eq!(found(gate.verdict(&call)).0, verdict, "{command}");
    }
}

#[rstest]
#[case::long("a ".repeat(60_000))]
#[case::many("a;".repeat(20_000))]
#[case::deep("(".repeat(20_000))]
#[case::nested("$(".repeat(20_000))]
#[case::closed(format!("{}ls{}", "$(".repeat(2_000), ")".repeat(2_000)))]
#[case::backticks("`".repeat(20_000))]
#[case::shells("sh -c ".repeat(5_000))]
#[case::wrappers("sudo ".repeat(9_000))]
#[case::documents("cat <<A\n".repeat(5_000))]
fn a_huge_command_ends_soon_and_needs_a_person(#[case] text: String) {
    let allow = Rule { pattern: ".".to_owned(), ..Rule::new("all", RuleDecision::Allow) };
    let gate = Gate::new(GateMode::ApproveUnknown).rules([allow]);
    let arguments = json!({"command": text}).to_string();
    let call = GatedCall { tool: "run", place: "", arguments: &arguments, mode: None };
    assert_eq!(found(gate.verdict(&call)).0, "ask");
}

/// Returns the parts that the gate sees in a call.
#[cfg(unix)]
fn parts(arguments: &str) -> Vec<Part> {
    commands(arguments).into_iter().flat_map(|command| command.parts).collect()
}
