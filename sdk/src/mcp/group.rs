//! The program of a server and the processes that it has started: they end together.
//!
//! Servers are often started by a wrapper (`npx`, `uvx`, `sh`), and a signal to the wrapper alone leaves the server behind. On Unix each
//! program leads a process group of its own; a process that leaves the group is left alone. Elsewhere the program ends alone.

use process_wrap::tokio::CommandWrap;
use tokio::process::Command;

/// The command, whose process ends with all that it has started.
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

    /// The leader of a group, whose signals reach the whole group.
    #[derive(Debug)]
    struct Group {
        /// None once it was taken out.
        leader: Option<Box<dyn ChildWrapper>>,
        is_killed: bool,
    }

    impl Group {
        /// Kills what is left of the group. Once only: later its number may belong to another.
        fn kill_rest(&mut self) {
            if let Some(leader) = self.leader.as_mut()
                && !mem::replace(&mut self.is_killed, true)
            {
                // It fails where nothing is left.
                let _ = leader.start_kill();
            }
        }
    }

    impl ChildWrapper for Group {
        fn inner(&self) -> &dyn ChildWrapper {
            &**self.leader.as_ref().expect("it is taken out by value")
        }

        fn inner_mut(&mut self) -> &mut dyn ChildWrapper {
            &mut **self.leader.as_mut().expect("it is taken out by value")
        }

        fn into_inner(mut self: Box<Self>) -> Box<dyn ChildWrapper> {
            self.leader.take().expect("it is taken out by value")
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
