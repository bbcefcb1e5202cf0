//! Values that JSON Schema allows: which of them a tool takes, and what the model is told of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    net::IpAddr,
    num::{NonZeroI32, NonZeroU8},
    path::PathBuf,
    time::Duration,
};

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Handoff, Runner, ToolDef,
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    tool,
    wire::{Decision, Item},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, histories};

/// What the model was told, in the order of the calls.
fn tool_outputs(items: &[Item]) -> Vec<String> {
    let outputs = items.iter().filter_map(|item| item.get("output")?.as_str());
    outputs.map(str::to_owned).collect()
}

#[derive(Deserialize, JsonSchema)]
struct Given<T> {
    value: T,
}

/// Adds a line for each text: what the model writes for a `T`, and what it is told. An accepted value is told as JSON.
async fn add<T>(table: &mut String, name: &str, written: &[&str]) -> anyhow::Result<()>
where
    T: Serialize + DeserializeOwned + JsonSchema + 'static,
{
    let take = ToolDef::inline("take", "Takes a value.", |_ctx, Given::<T> { value }| {
        Ok(serde_json::to_string(&value)?.into())
    });
    let agent = Agent::new("clerk").model("gpt-5").tool(take.not_strict());
    let calls = written.iter().map(|text| ("take", json!(format!(r#"{{"value": {text}}}"#))));
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let result = InlineRunner::new(model).run(&agent, "Take them.").await?;
    for (text, told) in written.iter().zip(tool_outputs(&result.to_input_list())) {
        let told = told.replace("Invalid JSON input for tool take: ", "");
        writeln!(table, "{name:<24} {text:<44} {told}")?;
    }
    Ok(())
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Zone {
    Inland,
    Abroad,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Load {
    Grams(u32),
    Box { height: u8 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by")]
enum Route {
    Air { hours: u8 },
    Sea,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Floor {
    Number(u32),
    Name(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Amount {
    Whole(i64),
    Part(f64),
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
struct Grams(u32);

#[derive(Serialize, Deserialize, JsonSchema)]
struct Stop {
    #[serde(default)]
    floor: u32,
    #[serde(alias = "label")]
    name: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Parcel {
    #[serde(flatten)]
    stop: Stop,
    grams: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Chain {
    link: u8,
    next: Option<Box<Chain>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Sku(String);

impl TryFrom<String> for Sku {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.len() == 4 { Ok(Self(text)) } else { Err(format!("{text} is not in /var/lib/catalogue")) }
    }
}

#[tokio::test]
async fn types_take_values_or_say_which_field_is_refused() -> anyhow::Result<()> {
    let mut table = String::new();
    let to = &mut table;
    add::<u8>(to, "u8", &["255.0", "256"]).await?;
    add::<u32>(to, "u32", &["3.0", "1e3", "1099511627776", "3.5", "-1", "1e300", "\"3\"", "true", "null"]).await?;
    add::<i64>(to, "i64", &["-0.0", "-7.0", "9007199254740991.0", "9007199254740993.0", "9223372036854775808"]).await?;
    add::<u64>(to, "u64", &["18446744073709551615", "18446744073709551616"]).await?;
    add::<i128>(to, "i128", &["-3.0", "1180591620717411303424"]).await?;
    add::<f64>(to, "f64", &["3", "3.0", "1e300", "1e400"]).await?;
    add::<NonZeroU8>(to, "NonZeroU8", &["1.0", "0.0"]).await?;
    add::<NonZeroI32>(to, "NonZeroI32", &["-1.0", "0.0"]).await?;
    add::<char>(to, "char", &["\"ø\"", "\"øå\"", "\"\""]).await?;
    add::<bool>(to, "bool", &["true", "1"]).await?;
    add::<Option<u32>>(to, "Option<u32>", &["3.0", "null", "\"\""]).await?;
    add::<Vec<u16>>(to, "Vec<u16>", &["[1.0, 2]", "[1, 70000]"]).await?;
    add::<[u8; 2]>(to, "[u8; 2]", &["[1.0, 2.0]", "[1]"]).await?;
    add::<(u8, f64)>(to, "(u8, f64)", &["[1.0, 2.0]", "[1.5, 2]"]).await?;
    add::<BTreeSet<u8>>(to, "BTreeSet<u8>", &["[1, 1.0]", "[-1]"]).await?;
    add::<BTreeMap<String, u32>>(to, "BTreeMap<String, u32>", &[r#"{"a": 1.0}"#, r#"{"a": 1099511627776}"#]).await?;
    add::<BTreeMap<u32, u8>>(to, "BTreeMap<u32, u8>", &[r#"{"7": 1.0}"#, r#"{"a": 1}"#, r#"{"99999999999": 1}"#])
        .await?;
    let (fits, overflows) = (r#"{"secs": 1.0, "nanos": 0}"#, r#"{"secs": 18446744073709551615, "nanos": 4e9}"#);
    add::<Duration>(to, "Duration", &[fits, overflows, r#"{"secs": 1, "nanos": 1e10}"#]).await?;
    add::<IpAddr>(to, "IpAddr", &["\"::1\"", "\"nowhere\""]).await?;
    add::<PathBuf>(to, "PathBuf", &["\"/tmp\"", "3"]).await?;
    add::<Value>(to, "Value", &["3.0", "null"]).await?;
    add::<Zone>(to, "enum", &["\"Inland\"", "\"Moon\""]).await?;
    let (grams, height) = (r#"{"Grams": 3.0}"#, r#"{"Box": {"height": 300}}"#);
    add::<Load>(to, "tagged outside", &[grams, r#"{"Grams": 1099511627776}"#, height]).await?;
    add::<Route>(to, "tagged inside", &[r#"{"by": "Air", "hours": 3.0}"#, r#"{"by": "Rail"}"#]).await?;
    add::<Floor>(to, "untagged", &["3.0", "\"attic\"", "1099511627776"]).await?;
    add::<Amount>(to, "untagged numbers", &["3", "3.0", "3.5"]).await?;
    add::<Grams>(to, "transparent", &["3.0", "1099511627776"]).await?;
    let twice = r#"{"name": "a", "label": "b"}"#;
    add::<Stop>(to, "default and alias", &["{}", r#"{"floor": 3.0}"#, r#"{"floor": null}"#, twice]).await?;
    let wide = r#"{"floor": 1, "grams": 1099511627776}"#;
    add::<Parcel>(
        to,
        "flattened",
        &[r#"{"floor": 1.0, "grams": 3.0}"#, wide, r#"{"floor": 1099511627776, "grams": 1}"#],
    )
    .await?;
    let (links, broken) =
        (r#"{"link": 1.0, "next": {"link": 2.0}}"#, r#"{"link": 1, "next": {"link": 2, "next": {"link": 300}}}"#);
    add::<Chain>(to, "recursive", &[links, broken]).await?;
    add::<Sku>(to, "try_from", &["\"A123\"", "\"B4\""]).await?;
    insta::assert_snapshot!(table);
    Ok(())
}

/// Weighs a parcel.
#[tool(inline, needs_approval = grams > 100)]
fn weigh(grams: u32) -> String {
    format!("{grams} g")
}

/// Stamps letters.
#[tool]
async fn stamp(letters: Vec<u32>) -> String {
    format!("{letters:?}")
}

/// A sum.
#[derive(Serialize, Deserialize, JsonSchema, PartialEq, Debug)]
struct Sum {
    euros: u32,
}

fn clerk() -> Agent<Sum> {
    Agent::new("clerk").model("gpt-5").tool(weigh).tool(stamp).output::<Sum>()
}

fn script() -> FakeModel {
    let calls = [
        ("weigh", json!({"grams": 3.0})),
        ("stamp", json!({"letters": [1.0, 2e1]})),
        ("stamp", json!({"letters": [1_u64 << 40]})),
        ("stamp", json!("null")),
    ];
    FakeModel::script([tool_calls(calls), text(r#"{"euros": 7.0}"#)])
}

const WIDE: &str =
    "Invalid JSON input for tool stamp: letters.0: fails value, allowed: \"an integer from 0 to 4294967295\"";
const MISSING: &str = "Invalid JSON input for tool stamp: letters: missing, allowed: \"array\"";

fn check(model: &FakeModel) {
    let calls = model.calls();
    let last = &calls.last().expect("the model was asked").input;
    assert_eq!(tool_outputs(last), ["3 g", "[1, 20]", WIDE, MISSING]);
    let written: Vec<_> = last.iter().filter_map(|item| item.get("arguments")?.as_str()).collect();
    let expected = [r#"{"grams":3.0}"#, r#"{"letters":[1.0,20.0]}"#, r#"{"letters":[1099511627776]}"#, "null"];
    assert_eq!(written, expected, "the conversation has what the model wrote");
}

#[tokio::test]
async fn inline_run_takes_whole_floats_as_integers() -> anyhow::Result<()> {
    let model = script();
    let result = InlineRunner::new(model.clone()).run(&clerk(), "Go.").await?;
    assert_eq!(result.final_output, Sum { euros: 7 });
    check(&model);
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct WholeNumbers;

#[workflow_methods]
impl WholeNumbers {
    #[run(name = "whole numbers")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<u32> {
        Ok(Runner::new(ctx).run(&clerk(), "Go.").await?.final_output.euros)
    }
}

#[rstest]
#[tokio::test]
async fn workflow_takes_whole_floats_and_replays(#[values(Cache::On, Cache::Off)] cache: Cache) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<WholeNumbers>()?.model(&model).agents((clerk,)).start().await?;
    let run = env.run(WholeNumbers::run, ()).await?;
    histories::<WholeNumbers>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, 7);
    check(&model);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn approval_rule_and_edited_arguments_read_whole_floats() -> anyhow::Result<()> {
    let calls = [("weigh", json!({"grams": 100.0})), ("weigh", json!({"grams": 101.0})), ("weigh", json!("null"))];
    let model = FakeModel::script([tool_calls(calls), text(r#"{"euros": 1}"#)]);
    let runner = InlineRunner::new(model.clone());
    let RunOutcome::Paused(PausedRun { mut state, .. }) = runner.run(&clerk(), "Go.").until_paused().await? else {
        panic!("it waits")
    };
    let waiting: Vec<_> = state.interruptions().into_iter().map(|call| (call.id, call.raw)).collect();
    let arguments: Vec<_> = waiting.iter().map(|(_, raw)| raw.get("arguments").cloned()).collect();
    assert_eq!(arguments, [Some(json!(r#"{"grams":101.0}"#)), Some(json!("null"))]);
    let edited = json!({"grams": 102.0}).as_object().expect("an object").clone();
    state.decide(&waiting[0].0, Decision::approve_with(edited))?;
    state.decide(&waiting[1].0, Decision::approve())?;
    runner.run(&clerk(), state).await?;
    let mut told = tool_outputs(&model.calls().last().expect("the model was asked").input);
    told.sort();
    let missing = "Invalid JSON input for tool weigh: grams: missing, allowed: \"integer\"";
    assert_eq!(told, ["100 g", "102 g", missing]);
    Ok(())
}

#[tokio::test]
async fn handoff_input_reads_whole_floats_and_nothing() -> anyhow::Result<()> {
    #[derive(Deserialize, JsonSchema)]
    struct Reason {
        order: Option<u32>,
    }
    let billing = Agent::new("billing").model("gpt-5");
    let handoff = Handoff::to_agent(billing).on_handoff(|run, Reason { order }| Ok(run.set("order", order)?));
    let agent = Agent::new("triage").model("gpt-5").handoff(handoff);
    for (written, order) in [(json!({"order": 7.0}), json!(7)), (json!(""), Value::Null), (json!(" null"), Value::Null)]
    {
        let model = FakeModel::script([tool_call("transfer_to_billing", written), text("done")]);
        let result = InlineRunner::new(model).run(&agent, "Go.").await?;
        assert_eq!(result.context.get("order").cloned().unwrap_or_default(), order);
    }
    Ok(())
}
