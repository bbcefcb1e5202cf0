//! One entry of an attribute, and the types of values that it may have.

use std::{fmt::Display, time::Duration};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Expr, ExprLit, Ident, Lit, LitBool, LitInt, LitStr, Path, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
};

use super::duration;

/// `key`, `key = value` or `key(values)`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    value: Value,
}

enum Value {
    None,
    Assigned(TokenStream),
    List(TokenStream),
}

/// Splits at the commas between entries. A trailing comma is allowed.
pub(crate) fn split(attribute: TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = attribute.into_iter().collect();
    trees
        .split(|tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ','))
        .filter(|entry| !entry.is_empty())
        .map(|entry| entry.iter().cloned().collect())
        .collect()
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(Ident::peek_any) {
            return Err(input.error("expected a key: `key = value`, or `key` alone"));
        }
        let key = input.call(Ident::parse_any)?;
        let value = if input.is_empty() {
            Value::None
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::Assigned(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            Value::List(content.parse()?)
        } else {
            return Err(input.error(format_args!("expected `=` or `,` after `{key}`")));
        };
        if !input.is_empty() {
            return Err(input.error("expected `,`"));
        }
        Ok(Self { key, value })
    }
}

impl Entry {
    /// Returns `true` for a key without a value.
    pub(crate) fn flag(&self) -> syn::Result<bool> {
        match &self.value {
            Value::None => Ok(true),
            Value::Assigned(value) | Value::List(value) => {
                Err(self.error(value, format_args!("`{0}` takes no value: write `{0}`, or remove it", self.key)))
            }
        }
    }

    /// Returns the value as a string that is not empty.
    pub(crate) fn text(&self) -> syn::Result<LitStr> {
        let text: LitStr = self.assigned("a string literal", "\"..\"")?;
        if text.value().trim().is_empty() {
            return Err(syn::Error::new(text.span(), format!("`{}` is empty", self.key)));
        }
        Ok(text)
    }

    /// Returns the value as a duration.
    pub(crate) fn duration(&self) -> syn::Result<Duration> {
        let text: LitStr = self.assigned("a duration in quotes", "\"20s\"")?;
        duration::parse(&text.value()).map_err(|error| syn::Error::new(text.span(), error))
    }

    /// Returns the value as a number of at least 1.
    pub(crate) fn count(&self) -> syn::Result<u32> {
        let number: LitInt = self.assigned("a number", "3")?;
        match number.base10_parse() {
            Ok(0) => Err(syn::Error::new(number.span(), format!("`{}` must be at least 1", self.key))),
            other => other,
        }
    }

    /// Returns the value as `true` or `false`.
    pub(crate) fn boolean(&self) -> syn::Result<bool> {
        Ok(self.assigned::<LitBool>("`true` or `false`", "false")?.value)
    }

    /// Returns the value as a name without quotes, such as `example`.
    pub(crate) fn ident(&self, example: &str) -> syn::Result<Ident> {
        self.assigned("a name without quotes", example)
    }

    /// Returns the value as a condition over the arguments, or `None` for a key without a value.
    pub(crate) fn condition(&self) -> syn::Result<Option<Expr>> {
        let key = &self.key;
        let written = match &self.value {
            Value::None => return Ok(None),
            Value::Assigned(value) => value,
            Value::List(values) => {
                let message =
                    format!("`{key}` takes no value, or a condition over the arguments: `{key} = euros > 50`");
                return Err(self.error(values, message));
            }
        };
        let message =
            |expected: &str| format!("`{key}` takes a condition over the arguments{expected}: `{key} = euros > 50`");
        match syn::parse2(written.clone()) {
            Ok(Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) => Err(self.error(written, message(", without quotes"))),
            Ok(Expr::Lit(ExprLit { lit: Lit::Bool(_), .. })) => {
                let message = format!("write `{key}` alone for all calls, `{key} = euros > 50` for some, or remove it");
                Err(self.error(written, message))
            }
            Ok(condition) => Ok(Some(condition)),
            Err(_) => Err(self.error(written, message(""))),
        }
    }

    /// Returns the value as the path of a module.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        let expected = format!("a path without quotes: `{} = my_crate::agents`", self.key);
        match &self.value {
            Value::Assigned(value) => Path::parse_mod_style
                .parse2(value.clone())
                .map_err(|_| self.error(value, format_args!("`{}` takes {expected}", self.key))),
            Value::None | Value::List(_) => {
                Err(syn::Error::new(self.key.span(), format!("`{}` takes {expected}", self.key)))
            }
        }
    }

    /// Returns the values as strings in parentheses.
    pub(crate) fn texts(&self) -> syn::Result<Vec<LitStr>> {
        let expected = format!("`{0}` takes strings in parentheses: `{0}(\"user\", \"locale\")`", self.key);
        let Value::List(values) = &self.value else {
            return Err(syn::Error::new(self.key.span(), expected));
        };
        let texts = Punctuated::<LitStr, Token![,]>::parse_terminated
            .parse2(values.clone())
            .map_err(|_| self.error(values, &expected))?;
        if texts.is_empty() {
            return Err(syn::Error::new(self.key.span(), expected));
        }
        Ok(texts.into_iter().collect())
    }

    fn assigned<T: Parse>(&self, expected: &str, example: &str) -> syn::Result<T> {
        let message = format!("`{0}` takes {expected}: `{0} = {example}`", self.key);
        match &self.value {
            Value::Assigned(value) => syn::parse2(value.clone()).map_err(|_| self.error(value, message)),
            Value::None | Value::List(_) => Err(syn::Error::new(self.key.span(), message)),
        }
    }

    /// Returns an error on the value, or on the key if there is no value.
    fn error(&self, value: &TokenStream, message: impl Display) -> syn::Error {
        if value.is_empty() {
            syn::Error::new(self.key.span(), message)
        } else {
            syn::Error::new_spanned(value, message)
        }
    }
}
