//! The user that the server runs as.
//!
//! PostgreSQL refuses root, so that a test process that is root runs the server as `nobody`.

use std::{fs, io, path::Path, process::Command};

/// A user of the system, by its ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct User {
    uid: u32,
    gid: u32,
}

impl User {
    /// Returns `nobody` as `/etc/passwd` has it.
    pub(super) fn nobody() -> Option<Self> {
        Self::named("nobody", &fs::read_to_string("/etc/passwd").ok()?)
    }

    fn named(name: &str, passwd: &str) -> Option<Self> {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (found, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
            (found == name).then_some(())?;
            Some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
        })
    }

    /// Makes a command run as this user.
    #[cfg(unix)]
    pub(super) fn run(self, command: &mut Command) {
        use std::os::unix::process::CommandExt;
        command.uid(self.uid).gid(self.gid);
    }

    #[cfg(not(unix))]
    pub(super) fn run(self, _command: &mut Command) {}

    /// Makes this user the owner of a file or directory.
    #[cfg(unix)]
    pub(super) fn own(self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
    }

    #[cfg(not(unix))]
    pub(super) fn own(self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Returns `true` if this process is root, which owns what it has created.
#[cfg(unix)]
pub(super) fn is_root(created: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(fs::metadata(created)?.uid() == 0)
}

#[cfg(not(unix))]
pub(super) fn is_root(_created: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests;
