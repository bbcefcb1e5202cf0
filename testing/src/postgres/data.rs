//! The directory of one server: its cluster, its log, and its programs where the server runs as
//! another user than the test.

use std::{
    collections::hash_map::RandomState,
    env, fs,
    hash::BuildHasher as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::{
    PostgresError,
    install::Install,
    user::{User, is_root},
};
use crate::child_server::install::set_mode;

/// A temporary directory with a cluster.
#[derive(Debug)]
pub(super) struct DataDirectory {
    /// The other user that the server runs as, if the test process is root.
    user: Option<User>,
    install: Install,
    password: String,
    /// Contains `data`, `server.log` and, for another user, `programs`.
    directory: TempDir,
}

impl DataDirectory {
    /// Creates a directory and a cluster in it. Blocks, at the first time until the server is
    /// fetched.
    pub(super) fn create() -> Result<Self, PostgresError> {
        let mut install = Install::find().map_err(|reason| PostgresError::Install { reason })?;
        let directory = TempDir::with_prefix("temporal-agents-postgres-").map_err(PostgresError::Directory)?;
        let mut user = None;
        if is_root(directory.path()).map_err(PostgresError::Directory)? {
            user = Some(User::nobody().ok_or(PostgresError::NoUser)?);
            set_mode(directory.path(), 0o711).map_err(PostgresError::Directory)?;
            let programs = directory.path().join("programs");
            install = install.staged_in(programs).map_err(PostgresError::Directory)?;
        }
        let data = Self { user, install, password: random_password(), directory };
        data.create_cluster()?;
        Ok(data)
    }

    pub(super) fn password(&self) -> &str {
        &self.password
    }

    pub(super) fn cluster(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }

    /// Returns a command that runs a program as the server's user, without the variables of the
    /// test that PostgreSQL would read.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.install.program(program));
        command
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([("LC_ALL", "C"), ("TZ", "UTC")])
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        if let Some(user) = self.user {
            user.run(&mut command);
        }
        command
    }

    fn create_cluster(&self) -> Result<(), PostgresError> {
        let cluster = self.cluster();
        fs::create_dir(&cluster).map_err(PostgresError::Directory)?;
        let password_file = self.directory.path().join("password");
        fs::write(&password_file, &self.password).map_err(PostgresError::Directory)?;
        for path in [cluster.as_path(), password_file.as_path()] {
            self.give(path, if path == cluster { 0o700 } else { 0o600 })?;
        }
        let output = self
            .command("initdb")
            .args(["--username=postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
            .arg("--pwfile")
            .arg(&password_file)
            .arg("--pgdata")
            .arg(&cluster)
            .output()
            .map_err(|source| PostgresError::Spawn { program: "initdb", source })?;
        let _ = fs::remove_file(&password_file);
        if output.status.success() {
            return Ok(());
        }
        let output_text =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        Err(PostgresError::InitDb { status: output.status, output: output_text })
    }

    fn give(&self, path: &Path, mode: u32) -> Result<(), PostgresError> {
        set_mode(path, mode).map_err(PostgresError::Directory)?;
        self.user.map_or(Ok(()), |user| user.own(path)).map_err(PostgresError::Directory)
    }
}

/// Returns 32 hexadecimal digits from the random keys that the standard library gives hashers.
fn random_password() -> String {
    let [first, second] = [0, 1].map(|number| RandomState::new().hash_one(number));
    format!("{first:016x}{second:016x}")
}
