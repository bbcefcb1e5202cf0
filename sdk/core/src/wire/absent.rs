//! Members that a message omits because their value is the one that an absent member stands for,
//! and members that other implementations write as `null` instead.

use serde::{Deserialize, Deserializer};

/// Returns `true` if the member has the value that an absent member stands for.
pub(super) fn is_default<T: Default + PartialEq>(member: &T) -> bool {
    *member == T::default()
}

/// Reads a member; `null` is its default.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(member: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(member)?.unwrap_or_default())
}

/// Reads a list; `null` is the empty list, and its elements that are `null` are left out.
pub fn list_or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(member: D) -> Result<Vec<T>, D::Error> {
    let elements: Option<Vec<Option<T>>> = Option::deserialize(member)?;
    Ok(elements.unwrap_or_default().into_iter().flatten().collect())
}
