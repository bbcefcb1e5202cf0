//! A store for checkpoints: a directory that all workers can access.

use std::{io, path::PathBuf};

use futures::{FutureExt, future::BoxFuture};
use temporal_agents::{agentic_session::CheckpointStore, tool::BoxError};
use tokio::fs;

/// A directory with one file for each checkpoint. In production this is a bucket or a table, whose
/// entries expire.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Returns the store in this directory, which is created with the first checkpoint.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the sizes of the checkpoints in bytes.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn sizes(&self) -> io::Result<Vec<u64>> {
        std::fs::read_dir(&self.path)?.map(|entry| Ok(entry?.metadata()?.len())).collect()
    }
}

impl CheckpointStore for Directory {
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), BoxError>> {
        async move {
            fs::create_dir_all(&self.path).await?;
            // Renamed when it is complete, so that no reader sees a part of it.
            let partial = self.path.join(format!("{key}.partial"));
            fs::write(&partial, checkpoint).await?;
            Ok(fs::rename(partial, self.path.join(key)).await?)
        }
        .boxed()
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, BoxError>> {
        async move {
            match fs::read_to_string(self.path.join(key)).await {
                Ok(checkpoint) => Ok(Some(checkpoint)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()> {
        // A checkpoint that stays does no harm but for its size.
        async move { drop(fs::remove_file(self.path.join(key)).await) }.boxed()
    }
}
