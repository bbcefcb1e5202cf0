use serde_json::json;

use super::*;
use crate::{
    agent::{Agent, Handoff, InputGuardrail},
    tool::ToolDef,
    wire::ToolOutput,
};

fn tool(name: &str) -> ToolDef {
    ToolDef::inline(name, "Works.", |_ctx, _: serde_json::Map<String, serde_json::Value>| Ok(ToolOutput::from("done")))
        .not_strict()
}

/// A desk with a handoff back, a nested agent, and names that are syntax elsewhere.
fn desk() -> Agent {
    let billing = Agent::new("billing").model("gpt-5").tool(tool("refund")).tool(tool("invoice"));
    let translator: Agent = Agent::new("translator <b>\"x\"]").model("gpt-5-mini");
    let law = Agent::new("law").handoff(Handoff::to("triage"));
    Agent::new("triage").model("gpt-5-mini").tool(translator.as_tool().name("translate")).handoff(billing).handoff(law)
}

#[test]
fn a_flowchart_has_agents_tools_and_arrows() {
    let chart = Graph::of_agent(&desk()).to_mermaid();
    assert!(chart.contains("a0[\"<b>triage</b><br/><i>gpt-5-mini</i>\"]"), "{chart}");
    assert!(chart.contains("\u{2699} refund"), "{chart}");
    assert!(!chart.contains("\"x\""), "{chart}");
    assert!(chart.contains("|\"translate\"|"), "{chart}");
}

#[test]
fn an_image_is_xml_whatever_the_names_are() {
    let image = Graph::of_agent(&desk()).to_svg();
    assert!(image.contains("translator &lt;b&gt;&quot;x&quot;]"), "{image}");
    assert_eq!(image.matches("<text").count(), image.matches("</text>").count());
}

#[test]
fn boxes_do_not_overlap_and_stay_in_the_image() {
    let mut agents: Vec<Agent> = Vec::new();
    for number in (0..12).rev() {
        let mut agent = Agent::new(format!("agent {number}")).model("gpt-5");
        for tools in 0..=number % 5 {
            agent = agent.tool(tool(&format!("tool_{number}_{tools}")));
        }
        if number == 0 {
            for other in &agents {
                agent = agent.handoff(other.clone());
            }
        }
        agents.push(agent);
    }
    let picture = Picture::of(&Graph::of_agent(agents.last().expect("twelve")));
    assert_eq!((picture.boxes.len(), picture.arrows.len()), (12, 11));
    let layout = layout::Layout::of(&picture);
    for (at, one) in layout.places.iter().enumerate() {
        assert!(one.left + layout::WIDTH <= layout.width && one.top + one.height <= layout.height);
        for other in &layout.places[at + 1..] {
            let apart =
                one.column != other.column || one.top + one.height <= other.top || other.top + other.height <= one.top;
            assert!(apart, "{one:?} {other:?}");
        }
    }
    assert_eq!(json!(picture.boxes[0].name), json!("agent 0"));
}

#[test]
fn long_names_are_cut_and_stay_on_one_line() {
    assert_eq!(cut("a\nb"), "a b");
    assert_eq!(cut(&"x".repeat(100)).chars().count(), LONGEST_LINE);
}

#[test]
fn guardrails_are_lines() {
    let checks = InputGuardrail::new("no_secrets", |_, _| Ok(crate::agent::GuardrailOutput::pass()));
    let agent: Agent = Agent::new("desk").model("gpt-5").input_guardrail(checks);
    assert!(Graph::of_agent(&agent).to_mermaid().contains("in: no_secrets"));
}

/// A desk with a judge and nine departments, of which some hand back, and one calls a translator.
fn departments() -> Agent {
    let judge: Agent = Agent::new("judge of answers").model("gpt-5-nano");
    let mut desk = Agent::new("triage").model("gpt-5-mini");
    for number in 0..9 {
        let mut agent = Agent::new(format!("department {number}")).model("gpt-5");
        for tools in 0..=number % 4 {
            agent = agent.tool(tool(&format!("look_up_{number}_{tools}")));
        }
        if number % 3 == 0 {
            agent = agent.handoff(Handoff::to("triage"));
        }
        if number == 4 {
            let helper: Agent = Agent::new("translator of letters").model("gpt-5-nano").tool(tool("dictionary"));
            agent = agent.tool(helper.as_tool().name("translate_letter")).handoff(Handoff::to("department 2"));
        }
        desk = if number == 5 {
            desk.handoff(Handoff::to_agent(agent).tool_name("ask_a_person_of_department_five"))
        } else {
            desk.handoff(agent)
        };
    }
    desk.output_guardrail(crate::agent::OutputGuardrail::by_agent("judge", judge, |_| {
        crate::agent::GuardrailOutput::pass()
    }))
}

#[test]
fn ends_and_labels_of_arrows_are_apart() {
    let picture = Picture::of(&Graph::of_agent(&departments()));
    assert_eq!((picture.boxes.len(), picture.arrows.len()), (12, 15));
    let layout = layout::Layout::of(&picture);
    let mut ends: Vec<(usize, usize)> =
        layout.ends.iter().flat_map(|(from, to)| [from, to]).map(|end| (end.x, end.y)).collect();
    ends.sort_unstable();
    for pair in ends.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        assert!(pair[1].1 - pair[0].1 >= 12, "{pair:?}");
    }
    for (arrow, (from, to)) in picture.arrows.iter().zip(&layout.ends) {
        let columns = (layout.places[arrow.from].column, layout.places[arrow.to].column);
        assert!(columns.1 <= columns.0 + 1, "an arrow leads over a box: {from:?} {to:?}");
    }
    let image = Graph::of_agent(&departments()).to_svg();
    assert!(!image.contains("transfer_to_"), "usual names say nothing: {image}");
    assert!(image.contains(">translate_letter<") && image.contains(">ask_a_person_of_depar\u{2026}<"), "{image}");
}

#[test]
fn a_box_has_a_bounded_number_of_lines() {
    let agent = (0..60).fold(Agent::new("desk"), |agent, number| agent.tool(tool(&format!("tool_{number}"))));
    let picture = Picture::of(&Graph::of_agent(&agent));
    assert_eq!(picture.boxes[0].lines.len(), MOST_LINES);
    assert_eq!(picture.boxes[0].lines.last().map(|line| &*line.text), Some("and 45 more"));
}
