//! Sixty Rust types, as `schemars` describes them: as parameters of tools and as output types.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    net::{IpAddr, Ipv4Addr},
    num::NonZeroU8,
    path::PathBuf,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use temporal_agents::wire::{Definitions, Item, ModelCall, OutputSpec, ToolSpec};
use temporal_agents_core::tool::schema::{schema_of, strict, wrap_output};

use super::{
    apis::{APIS, Door},
    rules::Api,
};

/// A member of a tool's parameters with this type.
fn parameters_of<T: JsonSchema>() -> Value {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is read")]
    struct Parameters<T> {
        /// What it is.
        value: T,
    }
    schema_of::<Parameters<T>>()
}

macro_rules! types {
    ($($kind:ident: $($type:ty),+ $(,)?;)+) => {
        /// The types by kind: schema as parameters, schema as output.
        fn types() -> Vec<(Kind, &'static str, Value, Value)> {
            vec![$($((Kind::$kind, stringify!($type), parameters_of::<$type>(), schema_of::<$type>())),+),+]
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Strict on each API that has a strict mode.
    Plain,
    /// Strict where recursion is.
    Recursive,
    /// Not strict anywhere: maps, tuples, any value.
    Open,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Point {
    /// From the left.
    x: f64,
    y: f64,
}

#[derive(Deserialize, JsonSchema)]
enum Unit {
    Celsius,
    /// As in the United States.
    Fahrenheit,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only their schemas are read")]
enum External {
    Circle { radius: f64 },
    Square { side: u16 },
    Nothing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(dead_code, reason = "only their schemas are read")]
enum Internal {
    Circle { radius: f64 },
    Text { text: String, size: Option<u8> },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "t", content = "c")]
#[expect(dead_code, reason = "only their schemas are read")]
enum Adjacent {
    A(u32),
    B(Point),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only their schemas are read")]
enum Untagged {
    Number(i64),
    Text(String),
    Point(Point),
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Tree {
    label: String,
    children: Vec<Tree>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Chain {
    value: u32,
    next: Option<Box<Chain>>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Bounds {
    #[schemars(range(min = 1, max = 10))]
    stars: u8,
    #[schemars(length(min = 1, max = 20))]
    name: String,
    #[schemars(length(min = 2, max = 3))]
    tags: Vec<String>,
    #[schemars(regex(pattern = r"^[a-z]+$"))]
    word: String,
    #[schemars(email)]
    mail: String,
    #[schemars(url)]
    page: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is read")]
struct Defaults {
    #[serde(default = "ten")]
    page_size: u32,
    #[serde(default)]
    is_exact: bool,
    sort_by: Option<Unit>,
}

fn ten() -> u32 {
    10
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Flattened {
    id: u64,
    #[serde(flatten)]
    point: Point,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Extra {
    id: u64,
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Newtype(String);

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Generic<T> {
    items: Vec<T>,
    total: usize,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is read")]
struct Nested {
    outer: Generic<Generic<Option<Unit>>>,
    also: Box<Point>,
}

types! {
    Plain: String, bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, isize, f32, f64, NonZeroU8, PathBuf,
        Option<String>, Option<u32>, Option<bool>, Option<f64>, Option<Unit>, Option<Point>,
        Vec<String>, Vec<u8>, Vec<Option<u8>>, Vec<Point>, Vec<Vec<i32>>, BTreeSet<String>, VecDeque<u16>, Option<Vec<String>>,
        Point, Unit, External, Internal, Adjacent, Untagged, Bounds, Defaults, Flattened, Newtype, Generic<Point>,
        Generic<String>, Nested, Duration, IpAddr, Ipv4Addr, Box<Point>, Option<Box<Internal>>, Vec<External>, [f32; 3];
    Recursive: Tree, Chain, Vec<Tree>;
    Open: BTreeMap<String, u32>, HashMap<String, Point>, (String, u8), Value, Extra;
}

/// The definitions with one type: as a tool if it has no strict form, a tool is lenient.
fn definitions(parameters: Value, output: Value) -> Definitions {
    let (parameters, is_strict) = match strict(parameters.clone()) {
        Ok(form) => (form, true),
        Err(_) => (parameters, false),
    };
    let output = wrap_output(output).0;
    let (output, is_output_strict) = match strict(output.clone()) {
        Ok(form) => (form, true),
        Err(_) => (output, false),
    };
    let mut definitions = Definitions::default();
    definitions.tools.push(ToolSpec::Function {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: parameters.into(),
        strict: is_strict,
    });
    let output = json!({"name": "final_output", "schema": output, "strict": is_output_strict});
    definitions.output = Some(serde_json::from_value::<OutputSpec>(output).expect("an output"));
    definitions
}

#[tokio::test]
async fn rust_types_are_accepted_and_plain_ones_stay_strict() -> anyhow::Result<()> {
    let types = types();
    assert_eq!(types.len(), 60);
    for (api, models) in APIS {
        let door = Door::open(api).await?;
        for (kind, name, parameters, output) in &types {
            let definitions = definitions(parameters.clone(), output.clone());
            let call = ModelCall::new("agent", models[0], definitions.clone(), vec![Item::user("hi")]);
            let (refusals, body) = door.refusals(models[0], call, &[]).await?;
            assert!(refusals.is_empty(), "{api:?}, {name}: {refusals:#?}\n{body:#}");
            let tool = &body["tools"][0];
            let is_strict = tool["strict"] == true || tool["function"]["strict"] == true;
            let expected = match (kind, api) {
                (_, Api::Gemini) | (Kind::Open, _) => false,
                (Kind::Plain, _) => true,
                (Kind::Recursive, api) => !matches!(api, Api::Anthropic | Api::Xai),
            };
            assert_eq!(is_strict, expected, "{api:?}, {name}: {tool:#}");
        }
    }
    Ok(())
}
