//! Objects whose member `kind` determines their other members. An unknown kind can be kept by its
//! name.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserializer,
    de::{Error, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::{Map, Value};

/// A type that is read from an object of one of several kinds.
pub(super) trait ByKind: Sized {
    /// Reads the other members of an object of this kind.
    fn read<'de, D: Deserializer<'de>>(kind: &str, members: D) -> Result<Self, D::Error>;
}

/// Reads an object in one pass if its kind comes first, as it is written. In any other order, all
/// members are kept until the kind is found. (No release writes a kind twice: of two, the first
/// counts where it comes first.)
pub(super) fn by_kind<'de, D: Deserializer<'de>, T: ByKind>(deserializer: D) -> Result<T, D::Error> {
    struct Members<T>(PhantomData<T>);

    impl<'de, T: ByKind> Visitor<'de> for Members<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object with a kind")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
            let Some(first) = members.next_key::<String>()? else {
                return Err(Error::missing_field("kind"));
            };
            if first == "kind" {
                let kind: String = members.next_value()?;
                return T::read(&kind, MapAccessDeserializer::new(members));
            }
            let mut object = Map::from_iter([(first, members.next_value()?)]);
            while let Some((name, value)) = members.next_entry::<String, Value>()? {
                object.insert(name, value);
            }
            let Some(Value::String(kind)) = object.shift_remove("kind") else {
                return Err(Error::missing_field("kind"));
            };
            T::read(&kind, Value::Object(object)).map_err(Error::custom)
        }
    }

    deserializer.deserialize_map(Members(PhantomData))
}

#[cfg(test)]
mod tests;
