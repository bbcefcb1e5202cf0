//! The argument types of the setters that add guardrails.

use super::guardrail::{InputGuardrail, OutputGuardrail};

/// An [`InputGuardrail`], or a function with `#[guardrail(input)]`.
///
/// Not for manual implementation: every type that converts into the guardrail implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input guardrail",
    label = "not an input guardrail",
    note = "write `#[guardrail(input)]` above the function, or build an `InputGuardrail` by hand"
)]
pub trait IntoInputGuardrail {
    /// Returns the guardrail.
    fn into_input_guardrail(self) -> InputGuardrail;
}

#[diagnostic::do_not_recommend]
impl<G: Into<InputGuardrail>> IntoInputGuardrail for G {
    fn into_input_guardrail(self) -> InputGuardrail {
        self.into()
    }
}

/// An [`OutputGuardrail`], or a function with `#[guardrail(output)]`.
///
/// Not for manual implementation: every type that converts into the guardrail implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output guardrail",
    label = "not an output guardrail",
    note = "write `#[guardrail(output)]` above the function, or build an `OutputGuardrail` by hand"
)]
pub trait IntoOutputGuardrail {
    /// Returns the guardrail.
    fn into_output_guardrail(self) -> OutputGuardrail;
}

#[diagnostic::do_not_recommend]
impl<G: Into<OutputGuardrail>> IntoOutputGuardrail for G {
    fn into_output_guardrail(self) -> OutputGuardrail {
        self.into()
    }
}
