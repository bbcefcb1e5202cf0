//! Programs that log how they are started, and the shells that start them.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::commands::{ELSEWHERE, PROGRAMS, STUBS};

/// How long a command may take.
const MAX_TIME: Duration = Duration::from_secs(2);

/// The user that root becomes: nobody.
const NOBODY: u32 = 65_534;

/// Programs that log, and then do what they do: start another program.
pub(super) const RUN_OTHERS: [&str; 8] = ["sh", "bash", "env", "timeout", "nice", "nohup", "xargs", "time"];

/// A program that was started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Started {
    /// The path by which it was started.
    pub(super) path: String,
    pub(super) arguments: Vec<String>,
}

impl Started {
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// A scratch directory with programs.
pub(super) struct Stubs {
    directory: TempDir,
    is_root: bool,
    /// A shell that ends process groups, which costs less than a program for each.
    ender: Child,
    /// What that shell says after each.
    answers: BufReader<ChildStdout>,
}

/// Returns the path of a shell of this machine.
pub(super) fn find_shell(name: &str) -> Option<String> {
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"]
        .into_iter()
        .map(|directory| format!("{directory}{name}"))
        .find(|path| Path::new(path).exists())
}

fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

impl Stubs {
    pub(super) fn new() -> io::Result<Self> {
        let directory = TempDir::new()?;
        let root = directory.path();
        fs::set_permissions(root, fs::Permissions::from_mode(0o755))?;
        let log = root.join("log");
        write(&log, "", 0o666)?;
        let logs = format!("#!/bin/sh\nIFS='\x1f'\nprintf '%s\\036' \"$0\x1f$*\" >>'{}'\n", log.display());
        let stub = |name: &str| match find_shell(name).filter(|_| RUN_OTHERS.contains(&name)) {
            // It stays in its process group.
            Some(path) if name == "timeout" => format!("{logs}unset IFS\nexec {path} --foreground \"$@\"\n"),
            Some(path) => format!("{logs}unset IFS\nexec {path} \"$@\"\n"),
            None => logs.clone(),
        };
        for (directory, programs) in [("bin", &PROGRAMS[..]), ("elsewhere", &["ls", "rm", "tool"][..])] {
            let directory = root.join(directory);
            fs::create_dir(&directory)?;
            for name in programs {
                write(&directory.join(name), &stub(name), 0o555)?;
            }
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o555))?;
        }
        fs::create_dir_all(root.join("a/b/c/d/e"))?;
        let mut ender =
            Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let answers = BufReader::new(ender.stdout.take().expect("it is piped"));
        let is_root = fs::metadata(root)?.uid() == 0;
        let stubs = Self { directory, is_root, ender, answers };
        stubs.lay_out()?;
        Ok(stubs)
    }

    /// Creates the directory in which the commands run.
    fn lay_out(&self) -> io::Result<()> {
        let here = self.here();
        let _ = fs::remove_dir_all(&here);
        fs::create_dir(&here)?;
        fs::set_permissions(&here, fs::Permissions::from_mode(0o777))?;
        let stub = fs::read(self.directory.path().join("elsewhere/ls"))?;
        for name in ["ls", "rm", "timeout"] {
            write(&Path::new(&here).join(name), &String::from_utf8_lossy(&stub), 0o555)?;
        }
        for name in ["file", "victim", "secret", "--force"] {
            write(&Path::new(&here).join(name), "rm victim\n", 0o666)?;
        }
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.directory.path().display())
    }

    fn here(&self) -> String {
        self.path("a/b/c/d/e/here")
    }

    /// Returns a directory that is not on `PATH`, with a slash.
    pub(super) fn elsewhere(&self) -> String {
        self.path("elsewhere/")
    }

    /// Returns `true` if the program is in the directory of `PATH`.
    pub(super) fn is_on_path(&self, path: &str) -> bool {
        path.starts_with(&self.path("bin/"))
    }

    /// Puts the directories into a generated command.
    pub(super) fn fill_in(&self, command: &str) -> String {
        command.replace(STUBS, &self.path("bin/")).replace(ELSEWHERE, &self.elsewhere())
    }

    /// Returns `true` if no path of the command leads out of the scratch directory.
    pub(super) fn is_within(&self, command: &str) -> bool {
        let mut text = command.replace("/dev/null", "").replace("/src/", "").replace("src/", "");
        for directory in [self.path("bin/"), self.elsewhere()] {
            text = text.replace(&directory, "");
        }
        let leads_up = text.contains("../") || text.contains("~r") || text.contains("$_") || text.contains("kill");
        !leads_up && !text.replace("./", "").contains('/')
    }

    /// Runs a command; returns what it has started, and whether it took too long.
    pub(super) fn run(&mut self, shell: &str, command: &str) -> io::Result<(Vec<Started>, bool)> {
        let log = self.path("log");
        fs::File::create(&log)?;
        let here = self.here();
        let (mut output, writer) = io::pipe()?;
        let mut shell = Command::new(shell);
        shell
            .args(["-c", command])
            .env_clear()
            .envs([
                ("PATH", &*self.path("bin")),
                ("HOME", &*here),
                ("X", "rm"),
                ("Y", "victim --force"),
                ("S", "secret"),
            ])
            .current_dir(&here)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        if self.is_root {
            shell.uid(NOBODY).gid(NOBODY);
        }
        let mut child = shell.spawn()?;
        // The command has the other end of the pipe.
        drop(shell);
        let group = child.id();
        let (sender, ends) = mpsc::channel();
        let timed_out = thread::scope(|scope| {
            scope.spawn(move || {
                // Ends when the last process that holds the pipe has ended.
                let mut buffer = [0; 4096];
                while output.read(&mut buffer).is_ok_and(|read| read > 0) {}
                let _ = sender.send(());
            });
            let timed_out = ends.recv_timeout(MAX_TIME).is_err();
            self.end(group).map(|()| timed_out)
        })?;
        child.wait()?;
        let started = fs::read(&log)?;
        if fs::read_dir(&here)?.count() != 7 {
            self.lay_out()?;
        }
        Ok((read_log(&String::from_utf8_lossy(&started)), timed_out))
    }

    /// Ends what is left of a process group, so that it does not log into the next command.
    fn end(&mut self, group: u32) -> io::Result<()> {
        writeln!(self.ender.stdin.as_mut().expect("it is piped"), "kill -9 -{group}; echo")?;
        self.answers.read_line(&mut String::new()).map(drop)
    }
}

fn read_log(log: &str) -> Vec<Started> {
    log.split_terminator('\x1e')
        .map(|line| {
            let mut words = line.split('\x1f').map(str::to_owned);
            let path = words.next().unwrap_or_default();
            Started { path, arguments: words.collect() }
        })
        .collect()
}

impl Drop for Stubs {
    fn drop(&mut self) {
        drop(self.ender.stdin.take());
        let _ = self.ender.wait();
        for directory in ["bin", "elsewhere"] {
            let _ = fs::set_permissions(self.path(directory), fs::Permissions::from_mode(0o755));
        }
    }
}
