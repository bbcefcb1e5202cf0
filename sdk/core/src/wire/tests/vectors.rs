//! Test vectors of canonical JSON and of digests, also for other implementations.

use serde_json::{Value, json};

use crate::wire::{Item, canonical, digest::Digest};

use super::values::item;

/// JSON text and its canonical form: the samples of RFC 8785, then the points where one could
/// differ.
const TEXTS: [(&str, &str); 16] = [
    (
        r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
        r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
    ),
    (
        r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
        "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    ),
    (r#"{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}"#, r#"{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}"#),
    (r#"{"aa":1,"a":2,"A":3,"":4}"#, r#"{"":4,"A":3,"a":2,"aa":1}"#),
    (" [ 1 , \t2\n, 3 ] ", "[1,2,3]"),
    (r#"["\b\t\n\f\r\u0000\u001F\u007f\u2028"]"#, "[\"\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}\u{2028}\"]"),
    ("[{},[],\"\"]", "[{},[],\"\"]"),
    ("[1.0,1e2,-0,-0.0,0.0]", "[1,100,0,0,0]"),
    // Integers of 64 bits keep their digits, unlike in the RFC.
    ("9007199254740993", "9007199254740993"),
    ("18446744073709551615", "18446744073709551615"),
    ("-9223372036854775808", "-9223372036854775808"),
    // Larger ones are doubles.
    ("18446744073709551616", "18446744073709552000"),
    ("-9223372036854775809", "-9223372036854776000"),
    ("100000000000000000000000000", "1e+26"),
    ("-12.783279292603929", "-12.783279292603929"),
    ("\"e\u{301} is not é\"", "\"e\u{301} is not é\""),
];

/// Doubles by their bits and their canonical form: RFC 8785, appendix B.
const DOUBLES: [(u64, &str); 24] = [
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

/// The vectors, every canonical form checked against what is written above.
pub(super) fn vectors() -> Value {
    let texts: Vec<Value> = TEXTS
        .iter()
        .map(|(json, expected)| {
            let value: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"));
            assert_eq!(canonical_form(&value), *expected, "{json}");
            json!({"json": json, "canonical": expected, "digest": Digest::of_value(&value)})
        })
        .collect();
    let doubles: Vec<Value> = DOUBLES
        .iter()
        .map(|(bits, expected)| {
            assert_eq!(canonical_form(&f64::from_bits(*bits).into()), *expected, "{bits:016x}");
            json!({"bits": format!("{bits:016x}"), "canonical": expected})
        })
        .collect();
    json!({"canonical": texts, "canonical_doubles": doubles, "conversation": conversation()})
}

/// A conversation and the digest after each item, the first being that of no items.
fn conversation() -> Value {
    let items = [
        Item::user("hi"),
        item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "😀 é"}]})),
        item(json!({"zeta": 1.0, "alpha": [-12.783_279_292_603_929, 18_446_744_073_709_551_615_u64], "type": "x"})),
        item(json!({})),
    ];
    let digests: Vec<Digest> = (0..=items.len()).map(|length| Digest::of_conversation(&items[..length])).collect();
    json!({"items": items, "digests": digests})
}

fn canonical_form(value: &Value) -> String {
    let mut bytes = Vec::new();
    canonical::write(value, &mut bytes);
    String::from_utf8(bytes).expect("canonical JSON is UTF-8")
}
