//! Members that a message leaves out: those that say what their absence says.

/// Whether this is what an absent member stands for.
pub(super) fn is_default<T: Default + PartialEq>(member: &T) -> bool {
    *member == T::default()
}
