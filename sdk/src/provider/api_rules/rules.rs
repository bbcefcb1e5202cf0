//! What each API accepts, as data.
//!
//! The guide's chapter on providers has this table, with links to the documentation; the checker of the
//! tests (`tests/tests/it/dialects/rules`) is written from the documentation of the APIs on its own.

use super::schema::{Formats, Keywords, SchemaRules};

/// What an API accepts in a request.
#[derive(Debug)]
pub(crate) struct ApiRules {
    /// Name of the API, for logs and errors.
    pub(crate) name: &'static str,
    pub(super) form: ConversationForm,
    /// Schemas of functions that are not strict.
    pub(super) schemas: SchemaRules,
    /// `None` if the API has no strict mode.
    pub(super) strict: Option<StrictRules>,
    pub(super) output: OutputForm,
    /// `true` if the output of a tool may not be empty.
    pub(super) refuses_empty_output: bool,
    pub(super) media: MediaRules,
    pub(super) ids: IdRules,
    /// `true` if a conversation may neither begin nor end with the model.
    pub(super) user_at_both_ends: bool,
    /// `true` if the first call of each step needs a signature.
    pub(super) signs_calls: bool,
}

/// The form in which an API takes a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConversationForm {
    /// Items, one after another, that refer to each other by ids.
    Items,
    /// Messages: a model's calls are one message, and their outputs follow it.
    Messages,
}

/// How an output schema is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// Strict, or as advice.
    StrictOrLenient,
    /// Strict; what does not fit is described in the instructions.
    StrictOrInstructions,
    /// As the schemas of functions. Models before Gemini 3 take it only without functions.
    AsFunctions,
}

/// What strict mode accepts.
#[derive(Debug)]
pub(super) struct StrictRules {
    pub(super) schemas: SchemaRules,
    /// `true` if each member must be required.
    pub(super) requires_all: bool,
    pub(super) accepts_recursion: bool,
    /// Limits of one schema.
    pub(super) of_schema: SchemaLimits,
    /// Limits of all strict schemas of a request together.
    pub(super) of_request: RequestLimits,
}

/// Limits of one strict schema.
#[derive(Debug)]
pub(super) struct SchemaLimits {
    pub(super) properties: usize,
    pub(super) depth: usize,
    pub(super) enum_values: usize,
    pub(super) long_enum_chars: usize,
    pub(super) chars: usize,
}

/// Limits of all strict schemas of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestLimits {
    pub(super) tools: usize,
    pub(super) optional: usize,
    pub(super) unions: usize,
}

/// Images and files in the results of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "a row of a table: each column is a yes or a no")]
pub(super) struct MediaRules {
    /// `true` if the result of a tool may have images.
    pub(super) images_in_results: bool,
    /// `true` if a message may have images by address.
    pub(super) image_addresses: bool,
    /// `true` if a message may have files by address.
    pub(super) file_addresses: bool,
    /// `true` if a message may have files as data.
    pub(super) file_data: bool,
    /// `true` if a message may have files by id.
    pub(super) file_ids: bool,
    /// The media types of images as data; empty: any.
    pub(super) image_types: &'static [&'static str],
    /// The media types of files as data; empty: any.
    pub(super) file_types: &'static [&'static str],
}

/// The ids of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdRules {
    /// Maximum length in characters; `None`: any.
    pub(super) max_len: Option<usize>,
    /// `true` if only ASCII letters, digits, `_` and `-` are accepted.
    pub(super) is_narrow: bool,
}

const NO_LIMIT: usize = usize::MAX;
const NO_REQUEST_LIMIT: RequestLimits = RequestLimits { tools: NO_LIMIT, optional: NO_LIMIT, unions: NO_LIMIT };

/// The formats of strings that OpenAI's strict mode knows.
const OPENAI_FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];
/// The formats of strings that Anthropic's grammars know.
const ANTHROPIC_FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Every valid schema, with what all APIs need.
const ANY_SCHEMA: SchemaRules = SchemaRules {
    keywords: Keywords::All,
    formats: Formats::Any,
    plain_patterns: false,
    max_min_items: None,
    lone_references: false,
    breaks_cycles: false,
    arrays_need_items: false,
    is_member_name: |_| true,
};

/// The keywords of OpenAI's strict mode.
const OPENAI_KEYWORDS: [&str; 22] = [
    "description",
    "title",
    "type",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
];
/// The keywords of Azure's strict mode, which has no constraints of single types.
const AZURE_KEYWORDS: [&str; 13] = [
    "description",
    "title",
    "type",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "properties",
    "required",
    "additionalProperties",
    "items",
];
/// The keywords of Anthropic's structured outputs.
const ANTHROPIC_KEYWORDS: [&str; 16] = [
    "description",
    "title",
    "type",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
    "definitions",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "pattern",
    "format",
];

const OPENAI_STRICT: StrictRules = StrictRules {
    schemas: SchemaRules {
        keywords: Keywords::Only(&OPENAI_KEYWORDS),
        formats: Formats::Only(&OPENAI_FORMATS),
        plain_patterns: true,
        lone_references: true,
        ..ANY_SCHEMA
    },
    requires_all: true,
    accepts_recursion: true,
    of_schema: SchemaLimits {
        properties: 5_000,
        depth: 10,
        enum_values: 1_000,
        long_enum_chars: 15_000,
        chars: 120_000,
    },
    of_request: NO_REQUEST_LIMIT,
};

/// The images that OpenAI and Anthropic read.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const OPENAI_MEDIA: MediaRules = MediaRules {
    images_in_results: false,
    image_addresses: true,
    file_addresses: false,
    file_data: true,
    file_ids: true,
    image_types: &IMAGE_TYPES,
    file_types: &[],
};

/// OpenAI's Responses API.
pub(crate) const RESPONSES: ApiRules = ApiRules {
    name: "Responses",
    form: ConversationForm::Items,
    schemas: SchemaRules { arrays_need_items: true, ..ANY_SCHEMA },
    strict: Some(OPENAI_STRICT),
    output: OutputForm::StrictOrLenient,
    refuses_empty_output: false,
    media: MediaRules { images_in_results: true, ..OPENAI_MEDIA },
    ids: IdRules { max_len: Some(64), is_narrow: false },
    user_at_both_ends: false,
    signs_calls: false,
};

/// OpenAI's Chat Completions, and the servers that imitate it.
pub(crate) const CHAT_COMPLETIONS: ApiRules = ApiRules {
    name: "Chat Completions",
    form: ConversationForm::Messages,
    schemas: SchemaRules { arrays_need_items: true, ..ANY_SCHEMA },
    strict: Some(OPENAI_STRICT),
    output: OutputForm::StrictOrLenient,
    refuses_empty_output: false,
    media: OPENAI_MEDIA,
    // Other servers keep data in long ids. OpenAI's limit is in `families`.
    ids: IdRules { max_len: None, is_narrow: false },
    user_at_both_ends: false,
    signs_calls: false,
};

const AZURE_STRICT: StrictRules = StrictRules {
    schemas: SchemaRules { keywords: Keywords::Only(&AZURE_KEYWORDS), lone_references: true, ..ANY_SCHEMA },
    of_schema: SchemaLimits { properties: 100, depth: 5, enum_values: 500, long_enum_chars: 7_500, chars: 15_000 },
    ..OPENAI_STRICT
};

/// The Responses API of Azure OpenAI.
pub(crate) const AZURE_RESPONSES: ApiRules =
    ApiRules { name: "Azure's Responses", strict: Some(AZURE_STRICT), ..RESPONSES };

/// The Chat Completions of Azure OpenAI.
pub(crate) const AZURE_CHAT_COMPLETIONS: ApiRules =
    ApiRules { name: "Azure's Chat Completions", strict: Some(AZURE_STRICT), ..CHAT_COMPLETIONS };

/// The Chat Completions of xAI, which enforce the schema of each function.
pub(crate) const XAI: ApiRules = ApiRules {
    name: "xAI's Chat Completions",
    schemas: SchemaRules {
        keywords: Keywords::AllBut(&["minContains", "maxContains"]),
        arrays_need_items: true,
        breaks_cycles: true,
        ..ANY_SCHEMA
    },
    strict: Some(StrictRules {
        schemas: SchemaRules { breaks_cycles: true, ..OPENAI_STRICT.schemas },
        accepts_recursion: false,
        ..OPENAI_STRICT
    }),
    refuses_empty_output: true,
    ..CHAT_COMPLETIONS
};

/// Anthropic's Messages.
pub(crate) const ANTHROPIC: ApiRules = ApiRules {
    name: "Anthropic's Messages",
    form: ConversationForm::Messages,
    schemas: SchemaRules { is_member_name: is_anthropic_member, ..ANY_SCHEMA },
    strict: Some(StrictRules {
        schemas: SchemaRules {
            keywords: Keywords::Only(&ANTHROPIC_KEYWORDS),
            formats: Formats::Only(&ANTHROPIC_FORMATS),
            plain_patterns: true,
            max_min_items: Some(1),
            lone_references: true,
            is_member_name: is_anthropic_member,
            ..ANY_SCHEMA
        },
        requires_all: false,
        accepts_recursion: false,
        of_schema: SchemaLimits {
            properties: NO_LIMIT,
            depth: NO_LIMIT,
            enum_values: NO_LIMIT,
            long_enum_chars: NO_LIMIT,
            chars: NO_LIMIT,
        },
        of_request: RequestLimits { tools: 20, optional: 24, unions: 16 },
    }),
    output: OutputForm::StrictOrInstructions,
    refuses_empty_output: false,
    media: MediaRules {
        images_in_results: true,
        image_addresses: true,
        file_addresses: true,
        file_data: true,
        file_ids: false,
        image_types: &IMAGE_TYPES,
        file_types: &["application/pdf", "text/", "image/"],
    },
    ids: IdRules { max_len: Some(64), is_narrow: true },
    user_at_both_ends: true,
    signs_calls: false,
};

/// Google's `generateContent`.
pub(crate) const GEMINI: ApiRules = ApiRules {
    name: "Google's generateContent",
    form: ConversationForm::Messages,
    schemas: SchemaRules { lone_references: true, breaks_cycles: true, ..ANY_SCHEMA },
    strict: None,
    output: OutputForm::AsFunctions,
    refuses_empty_output: false,
    media: MediaRules {
        images_in_results: false,
        image_addresses: false,
        file_addresses: false,
        file_data: true,
        file_ids: false,
        image_types: &[],
        file_types: &[],
    },
    ids: IdRules { max_len: None, is_narrow: false },
    user_at_both_ends: true,
    signs_calls: true,
};

/// APIs of other adapters of genai: functions, results as text, and nothing else.
#[cfg(feature = "genai")]
pub(crate) const OTHER: ApiRules = ApiRules {
    name: "this adapter's",
    strict: None,
    media: MediaRules { image_addresses: false, file_data: false, file_ids: false, ..OPENAI_MEDIA },
    ..CHAT_COMPLETIONS
};

/// Returns `true` if Anthropic accepts a member of this name.
fn is_anthropic_member(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}
