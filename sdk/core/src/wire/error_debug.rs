//! The `Debug` output of errors that a `main` or a test prints: the structure, and then the
//! message. `fn main() -> Result<(), Box<dyn Error>>` and `unwrap` print nothing else, and only the
//! message tells the user what to do.

use std::fmt;

/// An error that can write its structure without its message.
pub trait ErrorStructure {
    /// Writes the name and the fields, like a derived `Debug`.
    ///
    /// # Errors
    /// Errors of the formatter.
    fn structure(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Writes an error's structure and then its message: after a colon, or on lines of its own with
/// `{:#?}`.
///
/// # Errors
/// Errors of the formatter.
pub fn structure_and_message<E: ErrorStructure + fmt::Display>(error: &E, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    error.structure(f)?;
    f.write_str(if f.alternate() { "\n" } else { ": " })?;
    // Not with the given formatter, whose width and precision are for the structure.
    write!(f, "{error}")
}

/// A field of an error. A field that is itself an error with a structure is shown without its
/// message, which is in the outer message.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, T>(pub &'a T);

/// Shows only the structure of an error.
struct Structure<'a, T>(&'a T);

impl<T: ErrorStructure> fmt::Debug for Structure<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.structure(f)
    }
}

/// Fields that are errors with a structure. Method resolution prefers it to [`OtherField`], which
/// needs one more reference to call.
pub trait ErrorField {
    /// Returns the value to show for the field.
    fn shown(&self) -> impl fmt::Debug;
}

impl<T: ErrorStructure> ErrorField for Field<'_, T> {
    fn shown(&self) -> impl fmt::Debug {
        Structure(self.0)
    }
}

/// Fields of any other type.
pub trait OtherField {
    /// Returns the value to show for the field.
    fn shown(&self) -> impl fmt::Debug;
}

impl<T: fmt::Debug> OtherField for &Field<'_, T> {
    fn shown(&self) -> impl fmt::Debug {
        self.0
    }
}

/// Implements `Debug` for an error: its structure, then its message. The caller names all variants
/// and fields, so that a new one is not forgotten.
#[doc(hidden)]
#[macro_export]
macro_rules! __error_debug {
    (struct $name:ident { $($field:ident),* $(,)? }) => {
        $crate::__error_debug!(@impl $name, |error, f| {
            let Self { $($field),* } = error;
            f.debug_struct(stringify!($name))
                $(.field(stringify!($field), &(&$crate::wire::error_debug::Field($field)).shown()))*
                .finish()
        });
    };
    (enum $name:ident {
        $($(#[$cfg:meta])? $variant:ident $({ $($field:ident),* $(,)? })? $(( $($place:ident),* ))?),* $(,)?
    }) => {
        $crate::__error_debug!(@impl $name, |error, f| {
            match error {
                $($(#[$cfg])? Self::$variant $({ $($field),* })? $(( $($place),* ))? => {
                    $crate::__error_debug!(@variant f, $variant $({ $($field),* })? $(( $($place),* ))?)
                })*
            }
        });
    };
    (@variant $f:ident, $variant:ident) => { $f.write_str(stringify!($variant)) };
    (@variant $f:ident, $variant:ident { $($field:ident),* }) => {
        $f.debug_struct(stringify!($variant))
            $(.field(stringify!($field), &(&$crate::wire::error_debug::Field($field)).shown()))*
            .finish()
    };
    (@variant $f:ident, $variant:ident ( $($place:ident),* )) => {
        $f.debug_tuple(stringify!($variant))
            $(.field(&(&$crate::wire::error_debug::Field($place)).shown()))*
            .finish()
    };
    (@impl $name:ident, |$error:ident, $f:ident| $body:block) => {
        impl $crate::wire::error_debug::ErrorStructure for $name {
            fn structure(&self, $f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                #[allow(unused_imports, reason = "which one is used depends on the fields")]
                use $crate::wire::error_debug::{ErrorField as _, OtherField as _};

                let $error = self;
                $body
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::wire::error_debug::structure_and_message(self, f)
            }
        }
    };
}

pub use __error_debug as error_debug;

#[cfg(test)]
mod tests;
