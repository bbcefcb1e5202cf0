//! The program of a server and its child processes, which end together.
//!
//! Servers are often started by a wrapper (`npx`, `uvx`, `sh`), and a signal to the wrapper alone
//! does not stop the server. On Unix, each program leads its own process group; a process that
//! leaves the group is not stopped. On other platforms, only the program itself is stopped.

use process_wrap::tokio::CommandWrap;
use tokio::process::Command;

/// Returns the command in its own process group, so that its process ends together with all
/// processes that it has started.
pub(super) fn grouped(command: Command) -> CommandWrap {
    #[cfg(unix)]
    return unix::grouped(command);
    #[cfg(not(unix))]
    command.into()
}

#[cfg(unix)]
mod unix {
    use std::{future::Future, io, mem, pin::Pin, process::ExitStatus};

    use process_wrap::tokio::{ChildWrapper, CommandWrap, CommandWrapper, ProcessGroup};
    use tokio::process::Command;

    pub(super) fn grouped(command: Command) -> CommandWrap {
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessGroup::leader()).wrap(WholeGroup);
        command
    }

    #[derive(Debug)]
    struct WholeGroup;

    impl CommandWrapper for WholeGroup {
        fn wrap_child(
            &mut self,
            leader: Box<dyn ChildWrapper>,
            _command: &CommandWrap,
        ) -> io::Result<Box<dyn ChildWrapper>> {
            Ok(Box::new(Group { leader: Some(leader), is_killed: false }))
        }
    }

    /// The leader of a process group; its signals reach the entire group.
    #[derive(Debug)]
    struct Group {
        /// `None` after `into_inner`.
        leader: Option<Box<dyn ChildWrapper>>,
        is_killed: bool,
    }

    impl Group {
        /// Kills the remaining processes of the group. Once only: later, the group's id may belong
        /// to other processes.
        fn kill_rest(&mut self) {
            if let Some(leader) = self.leader.as_mut()
                && !mem::replace(&mut self.is_killed, true)
            {
                // It fails if no process is left.
                let _ = leader.start_kill();
            }
        }
    }

    impl ChildWrapper for Group {
        fn inner(&self) -> &dyn ChildWrapper {
            &**self.leader.as_ref().expect("the leader is present until into_inner")
        }

        fn inner_mut(&mut self) -> &mut dyn ChildWrapper {
            &mut **self.leader.as_mut().expect("the leader is present until into_inner")
        }

        fn into_inner(mut self: Box<Self>) -> Box<dyn ChildWrapper> {
            self.leader.take().expect("the leader is present until into_inner")
        }

        fn wait(&mut self) -> Pin<Box<dyn Future<Output = io::Result<ExitStatus>> + Send + '_>> {
            Box::pin(async move {
                let status = self.inner_mut().wait().await?;
                self.kill_rest();
                Ok(status)
            })
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.kill_rest();
        }
    }
}
