//! Random schemas: of the shapes that `schemars` writes, and any JSON Schema.

use serde_json::{Map, Value, json};
use temporal_agents::wire::{Definitions, HandoffSpec, Item, ModelCall, OutputSpec, ToolSpec};
use temporal_agents_core::tool::schema::{strict, wrap_output};

use super::{
    apis::{APIS, Door},
    dice::{Dice, cases, seed},
};

/// Functions of one request.
const FUNCTIONS: u64 = 25;

#[tokio::test]
async fn random_schemas_are_accepted_by_each_api() -> anyhow::Result<()> {
    for (api, models) in APIS {
        let door = Door::open(api).await?;
        for request in 0..cases(1_000).div_ceil(FUNCTIONS) {
            let mut dice = Dice::new(seed(request));
            let definitions = definitions(&mut dice);
            let model = dice.pick(models);
            let call = ModelCall::new("agent", *model, definitions.clone(), vec![Item::user("hi")]);
            let (refusals, _) = door.refusals(model, call, &[]).await?;
            assert!(
                refusals.is_empty(),
                "{api:?}, request {request}: {refusals:#?}\n{}",
                blamed(&definitions, &refusals)
            );
        }
    }
    Ok(())
}

/// The definitions at which a refusal points.
fn blamed(definitions: &Definitions, refusals: &[super::rules::Refusal]) -> String {
    let json = serde_json::to_value(definitions).expect("definitions are JSON");
    let place = refusals[0].at.split('/').find_map(|step| step.parse::<usize>().ok());
    match place.and_then(|place| json["tools"].get(place)) {
        Some(tool) => format!("{tool:#}"),
        None => format!("{:#}", json["output"]),
    }
}

fn definitions(dice: &mut Dice) -> Definitions {
    let mut definitions = Definitions::default();
    for place in 0..FUNCTIONS {
        let (parameters, strict) = schema(dice);
        definitions.tools.push(ToolSpec::Function {
            name: format!("tool_{place}"),
            description: "A tool.".to_owned(),
            parameters: parameters.into(),
            strict,
        });
    }
    if dice.chance(50) {
        let (schema, strict) = schema(dice);
        let handoff = json!({"tool_name": "transfer_to_b", "tool_description": "", "input_json_schema": schema,
            "strict": strict, "agent_name": "b"});
        definitions.handoffs.push(serde_json::from_value::<HandoffSpec>(handoff).expect("a handoff"));
    }
    if dice.chance(60) {
        let (mut schema, mut is_strict) = schema(dice);
        if !is_strict {
            schema = wrap_output(schema).0;
            if let Ok(form) = strict(schema.clone()) {
                (schema, is_strict) = (form, true);
            }
        }
        let output = json!({"name": "final_output", "schema": schema, "strict": is_strict});
        definitions.output = Some(serde_json::from_value::<OutputSpec>(output).expect("an output"));
    }
    definitions
}

/// A schema, and whether a definition says that it is strict.
fn schema(dice: &mut Dice) -> (Value, bool) {
    if dice.chance(50) {
        let schema = derived(dice);
        return match strict(schema.clone()) {
            Ok(strict) => (strict, true),
            Err(_) => (schema, false),
        };
    }
    // Specs of agents say so of any schema.
    (any_root(dice), dice.chance(20))
}

/// A schema as `schemars` derives it of a struct.
fn derived(dice: &mut Dice) -> Value {
    let mut names = Vec::new();
    let mut root = derived_object(dice, 0, &mut names);
    let mut definitions = Map::new();
    let mut at = 0;
    while at < names.len() {
        let name = names[at].clone();
        at += 1;
        let definition = match dice.below(0..4) {
            0 => json!({"type": "string", "enum": ["Celsius", "Fahrenheit"]}),
            1 => json!({"oneOf": [
                {"type": "object", "properties": {"kind": {"type": "string", "const": "circle"}, "r": {"type": "number"}}, "required": ["kind", "r"]},
                {"type": "object", "properties": {"kind": {"type": "string", "const": "none"}}, "required": ["kind"]}]}),
            2 => {
                json!({"description": "A name.", "oneOf": [{"type": "string", "const": "A"}, {"description": "b", "type": "string", "const": "B"}]})
            }
            _ => derived_object(dice, 2, &mut names),
        };
        definitions.insert(name, definition);
    }
    if !definitions.is_empty() {
        root["$defs"] = Value::Object(definitions);
    }
    root
}

fn derived_object(dice: &mut Dice, depth: usize, names: &mut Vec<String>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for place in 0..dice.below(0..6) {
        let name = format!("member_{place}");
        let mut member = derived_member(dice, depth + 1, names);
        if dice.chance(30) && member.get("$ref").is_none() {
            member["description"] = "What it is.".into();
        }
        if dice.chance(70) {
            required.push(json!(name));
        } else if dice.chance(50) {
            member["default"] = dice.pick(&[json!(7), json!("x"), json!(false), Value::Null, json!([])]).clone();
        }
        properties.insert(name, member);
    }
    let mut object = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        object["required"] = required.into();
    }
    if dice.chance(20) {
        object["additionalProperties"] = false.into();
    }
    object
}

fn derived_member(dice: &mut Dice, depth: usize, names: &mut Vec<String>) -> Value {
    match dice.below(0..if depth > 3 { 9 } else { 14 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "integer", "minimum": 0}),
        2 => json!({"type": ["integer", "null"], "minimum": 0, "maximum": 255}),
        3 => json!({"type": "number"}),
        4 => json!({"type": "boolean"}),
        5 => {
            let formats = ["uri", "ip", "uuid", "date-time", "partial-date-time", "email", "duration", "idn-email"];
            json!({"type": "string", "format": dice.pick(&formats)})
        }
        6 => {
            json!({"type": "string", "minLength": 1, "maxLength": 20, "pattern": dice.pick(&["^a+$", "(?=x)y", "\\bz\\b"])})
        }
        7 => json!({"type": "array", "items": {"type": "string"}, "minItems": dice.below(0..4), "maxItems": 9}),
        8 => json!({"type": ["string", "null"]}),
        9 => {
            let name = format!("Type{}", dice.below(0..4));
            let reference = json!({"$ref": format!("#/$defs/{name}")});
            if !names.contains(&name) {
                names.push(name);
            }
            match dice.below(0..3) {
                0 => reference,
                1 => json!({"anyOf": [reference, {"type": "null"}]}),
                _ => json!({"type": "array", "items": reference}),
            }
        }
        10 => derived_object(dice, depth + 1, names),
        11 => json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        12 => {
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 2, "maxItems": 2})
        }
        _ => {
            json!({"type": "object", "properties": {"secs": {"type": "integer", "minimum": 0}, "nanos": {"type": "integer", "minimum": 0}}, "required": ["secs", "nanos"]})
        }
    }
}

/// Any JSON, mostly an object, as a server may list it as the schema of a tool.
fn any_root(dice: &mut Dice) -> Value {
    match dice.below(0..12) {
        0 => json!({}),
        1 => json!(null),
        2 => json!(true),
        3 => json!({"$ref": "#/$defs/T0", "$defs": {"T0": any(dice, 1)}}),
        _ => {
            let mut schema = any(dice, 0);
            if let Value::Object(node) = &mut schema {
                if dice.chance(80) {
                    node.insert("type".to_owned(), json!("object"));
                }
                if dice.chance(50) {
                    node.insert("$defs".to_owned(), json!({"T0": any(dice, 2), "T1": any(dice, 2)}));
                }
            }
            schema
        }
    }
}

/// A schema with keywords of all drafts, some with values that are not valid.
fn any(dice: &mut Dice, depth: usize) -> Value {
    const NAMES: [&str; 6] =
        ["a", "b", "$filter", "@type", "minimum", "a name that is longer than anyone needs it to be, with 66 letters"];
    let mut node = Map::new();
    for _ in 0..dice.below(0..5) {
        let (keyword, value) = match dice.below(0..42) {
            0..=5 => {
                let types = [
                    json!("object"),
                    json!("array"),
                    json!("string"),
                    json!("integer"),
                    json!("any"),
                    json!(["string", "null"]),
                    json!(["object", "array"]),
                    json!("STRING"),
                    json!([]),
                ];
                ("type", dice.pick(&types).clone())
            }
            6..=11 if depth < 4 => {
                let members = (0..dice.below(0..4))
                    .map(|_| ((*dice.pick(&NAMES)).to_owned(), Value::Null))
                    .collect::<Map<_, _>>();
                let members = members.into_iter().map(|(name, _)| (name, any(dice, depth + 1))).collect::<Map<_, _>>();
                ("properties", members.into())
            }
            12 | 13 => (
                "required",
                dice.pick(&[json!(["a"]), json!(["a", "b", "a"]), json!(null), json!(true), json!(["z"])]).clone(),
            ),
            14 | 15 if depth < 4 => ("items", any(dice, depth + 1)),
            16 if depth < 4 => ("items", json!([any(dice, depth + 1), any(dice, depth + 1)])),
            17 | 18 if depth < 4 => {
                let combinator = *dice.pick(&["anyOf", "oneOf", "allOf"]);
                let variants = (0..dice.below(0..4)).map(|_| any(dice, depth + 1)).collect();
                (combinator, variants)
            }
            19 if depth < 4 => {
                (*dice.pick(&["not", "if", "then", "else", "contains", "propertyNames"]), any(dice, depth + 1))
            }
            20 => (
                "$ref",
                dice.pick(&[
                    json!("#/$defs/T0"),
                    json!("#/$defs/T1"),
                    json!("#"),
                    json!("#/$defs/None"),
                    json!("https://example.com/s.json"),
                    json!(4),
                ])
                .clone(),
            ),
            21 => (
                "enum",
                dice.pick(&[
                    json!(["x", "y"]),
                    json!([1, 2.5]),
                    json!([]),
                    json!([{"a": 1}]),
                    json!(["x", "x", null]),
                    json!("x"),
                ])
                .clone(),
            ),
            22 => ("const", dice.pick(&[json!("x"), json!(4), json!(null), json!({"a": 1})]).clone()),
            23 => (
                "additionalProperties",
                dice.pick(&[json!(false), json!(true), json!({"type": "string"}), json!(3)]).clone(),
            ),
            24 => ("minimum", dice.pick(&[json!(0), json!(1.5), json!("0"), json!(null)]).clone()),
            25 => ("exclusiveMinimum", dice.pick(&[json!(true), json!(0), json!(false)]).clone()),
            26 => ("multipleOf", dice.pick(&[json!(0), json!(5)]).clone()),
            27 => ("minLength", dice.pick(&[json!(1), json!(2.0), json!(-1)]).clone()),
            28 => ("pattern", dice.pick(&[json!("^a$"), json!("(?<!a)b"), json!("("), json!(7)]).clone()),
            29 => ("format", dice.pick(&[json!("uri"), json!("int32"), json!("date"), json!(1)]).clone()),
            30 => ("minItems", dice.pick(&[json!(0), json!(5), json!("many")]).clone()),
            31 => ("uniqueItems", dice.pick(&[json!(true), json!("yes")]).clone()),
            32 => ("patternProperties", json!({"^x": {"type": "string"}})),
            33 => ("dependentRequired", dice.pick(&[json!({"a": ["b"]}), json!({"a": "b"})]).clone()),
            34 => ("dependencies", json!({"a": ["b"]})),
            35 => ("default", dice.pick(&[json!(null), json!(1), json!({})]).clone()),
            36 => ("nullable", json!(true)),
            37 => ("$schema", json!("http://json-schema.org/draft-07/schema#")),
            38 => ("$id", json!("https://example.com/x")),
            39 => ("description", dice.pick(&[json!("Text."), json!(""), json!(["no"])]).clone()),
            40 => (*dice.pick(&["minContains", "maxProperties", "unevaluatedProperties"]), json!(1)),
            _ => ("x-order", json!(3)),
        };
        node.insert(keyword.to_owned(), value);
    }
    Value::Object(node)
}
