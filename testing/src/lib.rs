//! x

pub mod dev_server;
pub mod history;

pub use dev_server::{DevServer, DevServerError, DevServerOptions};
