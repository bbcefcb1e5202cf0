//! The runs of a service without a database: there are none but those of the server.

use std::sync::Arc;

use futures::stream::BoxStream;
use temporal_agents_core::wire::{RunEvent, run_place::RunPlace};

use super::{
    list::{Filter, Rows},
    row::Row,
};
use crate::{
    client::{NewRun, StartRunError},
    http::{error::ApiError, service::Shared},
};

/// No database.
#[derive(Clone, Default)]
pub(in crate::http) struct RunStore;

/// Events of a run in a database.
pub(super) struct StoredEvents {
    pub(super) events: BoxStream<'static, Result<RunEvent, ApiError>>,
    pub(super) next: Option<String>,
}

/// No rows.
pub(super) enum StoredRows {}

impl Rows for StoredRows {
    type Place = RunPlace;

    async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        match *self {}
    }

    fn place(&self) -> RunPlace {
        match *self {}
    }
}

#[expect(clippy::unused_async, clippy::unused_self, reason = "the signatures are those of a service with a database")]
impl RunStore {
    pub(super) async fn run(&self, _shared: &Shared, _id: &str) -> Result<Option<Row>, ApiError> {
        Ok(None)
    }

    pub(super) fn rows(&self, _shared: &Shared, _place: RunPlace, _wanted: &Filter<'_>) -> Option<StoredRows> {
        None
    }

    pub(super) async fn events(
        &self,
        _shared: &Shared,
        _row: &Row,
        _from: Option<&str>,
    ) -> Result<Option<StoredEvents>, ApiError> {
        Ok(None)
    }

    pub(super) fn describe(_run: &NewRun) {}

    pub(super) async fn record_start(&self, _shared: &Arc<Shared>, _id: &str) {}

    pub(super) async fn record_failed_start(&self, _shared: &Shared, (): (), _error: &StartRunError) {}
}
