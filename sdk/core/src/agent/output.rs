//! Output types: the schema and the parser of a final output.
//!
//! A final output is the model's value, with integers for numbers such as `3.0` where the schema
//! asks for integers; the conversation keeps the model's text.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    tool::schema::{self, Conversions, NotStrict, Validate},
    wire::OutputSpec,
};

/// A type of a final output: derive `Deserialize` and `JsonSchema` for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output of an agent",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it"
)]
pub trait OutputType: DeserializeOwned + JsonSchema + 'static {}

impl<T: DeserializeOwned + JsonSchema + 'static> OutputType for T {}

type Parse = Arc<dyn Fn(Validate, &str) -> Result<Value, String> + Send + Sync>;

/// The definition of a final output: the schema for the model, and the parser of the model's
/// answer.
#[derive(Clone)]
pub struct OutputDef {
    spec: OutputSpec,
    type_name: String,
    parse: Parse,
    wrapped: bool,
    issue: Option<NotStrict>,
}

impl OutputDef {
    /// Returns the definition for a Rust type. A schema that is not an object is wrapped as
    /// `{"response": ..}` for the model.
    pub fn of<T: OutputType>() -> Self {
        let (schema, wrapped) = schema::wrap_output(schema::schema_of::<T>());
        let (schema, issue) = match schema::strict(schema.clone()) {
            Ok(strict) => (strict, None),
            Err(issue) => (schema, Some(issue)),
        };
        let accepts = schema.clone();
        let parse = move |_: Validate, text: &str| {
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let value = unwrapped(schema::with_integers(&accepts, value), wrapped)?;
            // The model's own value is the output; deserializing it only checks that it is a `T`.
            schema::deserialize::<T>(&value).map_err(|error| error.to_string())?;
            Ok(value)
        };
        Self {
            spec: OutputSpec { name: "final_output".to_owned(), schema: schema.into(), strict: true },
            type_name: T::schema_name().into_owned(),
            parse: Arc::new(parse),
            wrapped,
            issue,
        }
    }

    /// Returns the definition for a JSON schema; the final output is a JSON value that fits it.
    /// Members that the schema does not require may be missing. A schema that is not an object is
    /// wrapped as `{"response": ..}` for the model. `strict` makes the schema fit OpenAI strict
    /// mode; without it the schema goes to the model unchanged, and values of other types are
    /// converted if the conversion is unambiguous (see [`conform`](schema::conform)). Members that
    /// the schema does not declare are left out.
    pub fn from_schema(name: impl Into<String>, schema: Value, strict: bool) -> Self {
        let (accepts, wrapped) = schema::wrap_output(schema);
        let (schema, issue) = match strict.then(|| schema::strict(accepts.clone())) {
            None => (accepts.clone(), None),
            Some(Ok(strict)) => (strict, None),
            Some(Err(issue)) => (accepts.clone(), Some(issue)),
        };
        let name = name.into();
        let conversions = if strict { Conversions::None } else { Conversions::Lax };
        let parse = move |validate: Validate, text: &str| {
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            let value = schema::conform(&accepts, value, conversions);
            validate(&accepts, &value)
                .map_err(|issues| issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
            unwrapped(schema::with_integers(&accepts, value), wrapped)
        };
        Self {
            spec: OutputSpec { name: name.clone(), schema: schema.into(), strict },
            type_name: name,
            parse: Arc::new(parse),
            wrapped,
            issue,
        }
    }

    /// Returns the schema in the form for the model.
    pub fn spec(&self) -> &OutputSpec {
        &self.spec
    }

    /// Name of the output type, for errors.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The reason for which the schema does not fit OpenAI strict mode, if it does not.
    pub(crate) fn issue(&self) -> Option<&NotStrict> {
        self.issue.as_ref()
    }

    /// Returns a value as a model would write it, for [`parse`](Self::parse).
    pub fn text_of(&self, value: Value) -> String {
        let is_wrapped = value.as_object().is_some_and(|object| object.contains_key(schema::RESPONSE_KEY));
        if !self.wrapped || is_wrapped {
            return value.to_string();
        }
        Value::Object(serde_json::Map::from_iter([(schema::RESPONSE_KEY.to_owned(), value)])).to_string()
    }

    /// Parses the model's answer.
    ///
    /// # Errors
    /// The issues of the answer, as a sentence fragment.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        (self.parse)(schema::validate, text)
    }

    /// Parses the model's answer, and validates only the schema keywords that earlier builds
    /// checked.
    pub(crate) fn parse_by_earlier_keywords(&self, text: &str) -> Option<Value> {
        (self.parse)(schema::validate_earlier_keywords, text).ok()
    }
}

/// Returns a final output as a `T`. The output of a tool is a string by the time it ends a run, so
/// a string that does not deserialize as a `T` is parsed as the JSON of one.
///
/// # Errors
/// The error of serde for the output itself, not for the parsed string.
pub fn read_output<T: DeserializeOwned>(output: &Value) -> Result<T, serde_json::Error> {
    T::deserialize(output).or_else(|error| match output {
        Value::String(text) => serde_json::from_str(text).map_err(|_| error),
        _ => Err(error),
    })
}

fn unwrapped(value: Value, wrapped: bool) -> Result<Value, String> {
    if !wrapped {
        return Ok(value);
    }
    match value {
        Value::Object(mut map) => {
            map.shift_remove("response").ok_or_else(|| "could not find key \"response\"".to_owned())
        }
        _ => Err("expected an object with the key \"response\"".to_owned()),
    }
}

impl fmt::Debug for OutputDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputDef")
            .field("spec", &self.spec)
            .field("type_name", &self.type_name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
