//! Which calls of a response may run at the same time.

/// How many calls of a tool run side by side, and with the calls of which other tools they do not.
///
/// It holds among the calls of one response. Calls of another run (of an agent used as a tool, say) know nothing of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SideBySide {
    /// Most calls of the tool at a time; absent = all.
    pub(crate) most: Option<usize>,
    /// The class of tools whose calls run one after another.
    pub(crate) class: Option<String>,
}
