//! Limits on calls of one response that run at the same time.

/// The limits on a tool's calls that run at the same time, alone and with calls of other tools.
///
/// The limits apply to the calls of one response. They do not apply across runs (for example the
/// run of an agent that is used as a tool).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SideBySide {
    /// Most calls of the tool at the same time; `None` means no limit.
    pub(crate) most: Option<usize>,
    /// Name of the class of tools whose calls run one after another.
    pub(crate) class: Option<String>,
}

impl SideBySide {
    /// Returns `true` if there is no limit.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.most.is_none() && self.class.is_none()
    }
}
