use super::error_debug;

#[derive(thiserror::Error)]
#[error("the key is not set; set it")]
struct NoKey {
    name: &'static str,
}

error_debug!(struct NoKey { name });

#[derive(thiserror::Error)]
enum Refused {
    #[error("there is no provider: {0}")]
    NoProvider(#[from] NoKey),
    #[error("agent {agent:?} is wrong")]
    Wrong { agent: String },
    #[error("nothing was given")]
    Empty,
}

error_debug!(enum Refused { NoProvider(source), Wrong { agent }, Empty });

#[test]
fn an_error_is_its_structure_and_then_its_message() {
    let debug = |error: Refused| format!("{error:?}");
    assert_eq!(debug(Refused::Empty), "Empty: nothing was given");
    assert_eq!(
        debug(Refused::Wrong { agent: "clerk".to_owned() }),
        r#"Wrong { agent: "clerk" }: agent "clerk" is wrong"#
    );
}

#[test]
fn an_error_inside_another_has_its_message_once() {
    let error = Refused::NoProvider(NoKey { name: "KEY" });
    assert_eq!(
        format!("{error:?}"),
        r#"NoProvider(NoKey { name: "KEY" }): there is no provider: the key is not set; set it"#
    );
}

#[test]
fn the_pretty_form_has_the_message_on_lines_of_its_own() {
    let error = NoKey { name: "KEY" };
    assert_eq!(format!("{error:#?}"), "NoKey {\n    name: \"KEY\",\n}\nthe key is not set; set it");
}
