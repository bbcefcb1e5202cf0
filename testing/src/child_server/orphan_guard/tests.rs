//! Tests with a process that sleeps in place of the server.

use std::{
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
};

use super::{EndSignal, OrphanGuard};

fn server() -> Child {
    Command::new("sleep").arg("600").spawn().unwrap()
}

#[test]
fn the_end_of_the_test_process_ends_the_server() {
    let mut server = server();
    let mut guard = OrphanGuard::watch_over(server.id(), EndSignal::Kill).unwrap().unwrap();
    // The kernel closes the pipe in the same way when the test process ends.
    drop(guard.0.stdin.take());
    assert_eq!(server.wait().unwrap().signal(), Some(9));
}

#[test]
fn a_guard_that_is_called_off_leaves_the_server_alone() {
    let mut server = server();
    drop(OrphanGuard::watch_over(server.id(), EndSignal::Kill).unwrap());
    assert_eq!(server.try_wait().unwrap(), None);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_server_that_cleans_up_gets_the_signal_for_it() {
    // A shell that starts the tests in the background lets them, and all that they start, ignore
    // the signal. A server has a handler of its own.
    let handles =
        "import signal, time; signal.signal(signal.SIGQUIT, signal.SIG_DFL); print(flush=True); time.sleep(600)";
    let mut server = Command::new("python3").args(["-c", handles]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = [0];
    server.stdout.take().unwrap().read_exact(&mut line).unwrap();
    let mut guard = OrphanGuard::watch_over(server.id(), EndSignal::Quit).unwrap().unwrap();
    drop(guard.0.stdin.take());
    assert_eq!(server.wait().unwrap().signal(), Some(3));
}
