use rstest::rstest;
use serde_json::json;

use super::*;

fn table() -> PriceTable {
    let models = json!([
        {"model": "gpt-5-mini*", "input": "0.25", "cached_input": "0.025", "output": 2},
        {"provider": "openai", "model": "gpt-5", "input": 1.25, "output": "10", "reasoning": "11", "cache_write": "2.5"},
        {"provider": "local*", "model": "*", "input": 0, "output": 0},
    ]);
    serde_json::from_value(json!({"currency": "USD", "models": models})).expect("a table")
}

fn usage(input: u64, cached: u64, written: u64, output: u64, reasoning: u64) -> Usage {
    let mut usage = Usage::of_tokens(input, output);
    (usage.input_tokens_details.cached_tokens, usage.input_tokens_details.cache_write_tokens) = (cached, written);
    usage.output_tokens_details.reasoning_tokens = reasoning;
    usage
}

#[rstest]
#[case::plain("openai", "gpt-5", usage(1_000_000, 0, 0, 100_000, 0), Some(2_250_000_000))]
#[case::each_kind("openai", "gpt-5", usage(1_000, 400, 100, 200, 50), Some(625_000 + 500_000 + 250_000 + 1_500_000 + 550_000))]
#[case::cached("other", "gpt-5-mini-2026", usage(1_000, 1_000, 0, 0, 0), Some(25_000))]
#[case::rounded_once("x", "gpt-5-mini", usage(1, 1, 0, 0, 0), Some(25))]
#[case::another_provider("azure", "gpt-5", usage(1_000, 0, 0, 0, 0), None)]
#[case::free("local-llama", "qwen", usage(1_000, 0, 0, 10, 0), Some(0))]
#[case::unknown("openai", "gpt-9", usage(1_000, 0, 0, 10, 0), None)]
#[case::nothing_reported("openai", "gpt-5", usage(0, 0, 0, 0, 0), None)]
#[case::more_cached_than_read("openai", "gpt-5", usage(10, 100, 0, 0, 0), Some(125_000))]
#[case::enormous("openai", "gpt-5", usage(u64::MAX, 0, 0, u64::MAX, 0), Some(u64::MAX))]
fn a_call_costs_what_the_first_matching_entry_says(
    #[case] provider: &str,
    #[case] model: &str,
    #[case] mut usage: Usage,
    #[case] cost: Option<u64>,
) {
    table().add_cost(provider, model, &mut usage);
    assert_eq!(usage.cost.billionths("USD"), cost);
    assert_eq!(usage.unpriced_requests, u64::from(cost.is_none()));
}

#[test]
fn a_cost_that_the_provider_reports_stays() {
    let mut usage = Usage { cost: Cost::of_billionths("EUR", 7), ..Usage::of_tokens(10, 10) };
    table().add_cost("openai", "gpt-5", &mut usage);
    assert_eq!((usage.cost, usage.unpriced_requests), (Cost::of_billionths("EUR", 7), 0));
}

#[rstest]
#[case("*", "", true)]
#[case("a*", "abc", true)]
#[case("*c", "abc", true)]
#[case("a*b*c", "a--b--c", true)]
#[case("a*b*c", "a--c", false)]
#[case("ab*b", "ab", false)]
#[case("gpt-5", "gpt-5-mini", false)]
fn a_star_stands_for_any_characters(#[case] pattern: &str, #[case] text: &str, #[case] matches: bool) {
    assert_eq!(is_match(pattern, text), matches);
}

#[rstest]
#[case(json!("1,5"))]
#[case(json!("-1"))]
#[case(json!(""))]
#[case(json!("."))]
#[case(json!(1e-12))]
#[case(json!("0.0000000001"))]
#[case(json!("99999999999999999999"))]
fn a_malformed_price_is_an_error(#[case] price: serde_json::Value) {
    let table = json!({"currency": "USD", "models": [{"model": "*", "input": price, "output": "1"}]});
    let error = serde_json::from_value::<PriceTable>(table).expect_err("no price").to_string();
    assert!(error.contains("is not a price"), "{error}");
}
