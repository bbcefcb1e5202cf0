//! Histories in files, such as golden histories of replay tests.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use prost::Message;
use temporal_agents::__private::error_debug;
use temporalio_common::protos::temporal::api::history::v1::History;
use thiserror::Error;

use super::{HistoryJsonError, from_json, to_json};

/// The error if a history file could not be read or written.
#[derive(Error)]
#[non_exhaustive]
pub enum HistoryFileError {
    /// The file could not be read or written.
    #[error("cannot access {}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file does not contain a history.
    #[error("{} does not contain a history", path.display())]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// The error in the file's content.
        source: HistoryJsonError,
    },
    /// The file does not contain a history as a protobuf message.
    #[error("{} does not contain a history as a protobuf message", path.display())]
    Binary {
        /// Path of the file.
        path: PathBuf,
        /// The error in the file's content.
        source: prost::DecodeError,
    },
}

error_debug!(enum HistoryFileError {
    Io { path, source },
    Json { path, source },
    Binary { path, source },
});

/// Reads a history from a JSON file of any form that [`from_json`] reads.
pub fn load(path: impl AsRef<Path>) -> Result<History, HistoryFileError> {
    let path = path.as_ref();
    let json = fs::read(path).map_err(io_error(path))?;
    from_json(json).map_err(|source| HistoryFileError::Json { path: path.to_owned(), source })
}

/// Reads a history from a file that contains the protobuf message.
pub fn load_binary(path: impl AsRef<Path>) -> Result<History, HistoryFileError> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(io_error(path))?;
    History::decode(&*bytes).map_err(|source| HistoryFileError::Binary { path: path.to_owned(), source })
}

/// Writes a history to a file, as [`to_json`] with a final line break. The directory must exist.
pub fn save(path: impl AsRef<Path>, history: &History) -> Result<(), HistoryFileError> {
    let path = path.as_ref();
    fs::write(path, to_json(history) + "\n").map_err(io_error(path))
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> HistoryFileError {
    let path = path.to_owned();
    move |source| HistoryFileError::Io { path, source }
}
