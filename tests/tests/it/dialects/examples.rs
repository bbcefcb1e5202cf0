//! The agents of the examples: their tools and output types on each API, as the guide counts them.

use temporal_agents::{
    Agent,
    agent::OutputType,
    tool::ToolDef,
    wire::{Definitions, Item, ModelCall},
};
use temporal_agents_examples::{
    agents_as_tools, approval, client_tools, code_review, handoffs, incident_triage, quickstart, research, sessions,
    structured_output, tools,
};

use super::apis::{APIS, Door};

/// The definitions of an agent, without what a run computes.
fn definitions<O: OutputType>(agent: &Agent<O>) -> Definitions {
    let agent = agent.def();
    Definitions {
        tools: agent.tools.iter().map(ToolDef::spec).collect(),
        output: agent.output.as_ref().map(|output| output.spec().clone()),
        ..Definitions::default()
    }
}

fn agents() -> Vec<Definitions> {
    vec![
        definitions(&quickstart::trip::travel_desk()),
        definitions(&tools::mechanic()),
        definitions(&structured_output::mail_clerk()),
        definitions(&handoffs::desk()),
        definitions(&sessions::librarian()),
        definitions(&approval::clerk()),
        definitions(&client_tools::host()),
        definitions(&code_review::reviewer()),
        definitions(&agents_as_tools::curator()),
        definitions(&incident_triage::triage()),
        definitions(&research::researcher()),
    ]
}

/// The rows of the guide: API, strict tools, all tools.
fn counted() -> Vec<(String, usize, usize)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sdk/src/guide/providers.md");
    let guide = std::fs::read_to_string(path).expect("the guide");
    let rows = guide.lines().filter_map(|line| {
        let (api, counts) = line.strip_prefix("| ")?.split_once(" | ")?;
        let (strict, all) = counts.strip_suffix(" |")?.split_once(" of ")?;
        Some((api.to_owned(), strict.parse().ok()?, all.parse().ok()?))
    });
    rows.collect()
}

#[tokio::test]
async fn the_guide_counts_the_strict_tools_of_the_examples() -> anyhow::Result<()> {
    let mut found = Vec::new();
    for (api, models) in APIS {
        let door = Door::open(api).await?;
        let (mut strict, mut all) = (0, 0);
        for definitions in agents() {
            let call = ModelCall::new("agent", models[0], definitions, vec![Item::user("hi")]);
            let (refusals, body) = door.refusals(models[0], call, &[]).await?;
            assert!(refusals.is_empty(), "{api:?}: {refusals:#?}");
            let declared = body["tools"][0]["functionDeclarations"].as_array().or_else(|| body["tools"].as_array());
            for tool in declared.into_iter().flatten() {
                all += 1;
                strict += usize::from(tool["strict"] == true || tool["function"]["strict"] == true);
            }
        }
        found.push((format!("{api:?}"), strict, all));
    }
    assert_eq!(counted(), found);
    Ok(())
}
