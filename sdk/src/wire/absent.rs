//! Members that a message omits because their value is the one that an absent member stands for.

/// Returns `true` if the member has the value that an absent member stands for.
pub(super) fn is_default<T: Default + PartialEq>(member: &T) -> bool {
    *member == T::default()
}
