//! The programs that are killed: projector, API, worker and database.

use std::{
    io::{BufRead, BufReader},
    net::{Ipv4Addr, TcpListener},
    process::{Child, Command, Stdio},
    time::Duration,
};

use temporal_agents_testing::{DevServer, PostgresServer};
use tokio::time::sleep;

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // On Unix this is SIGKILL.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The programs around one Temporal server.
pub(super) struct Programs {
    address: String,
    namespace: String,
    /// Port of the API, also of the next one.
    pub(super) port: u16,
    postgres: PostgresServer,
    projector: Program,
    api: Program,
    worker: Program,
}

impl Programs {
    pub(super) async fn start(server: &DevServer) -> Self {
        let postgres = PostgresServer::start().await.expect("a database");
        let (address, namespace) = (server.address().to_owned(), server.namespace().to_owned());
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.expect("a free port").port();
        let url = postgres.url("postgres");
        let run = |flags: &[&str]| start(&address, &namespace, &url, flags);
        let worker = run(&["--worker-only"]);
        let api = run(&["--api-only", "--port", &port.to_string()]);
        let projector = run(&["--projector-only"]);
        let mut programs = Self { address, namespace, port, postgres, projector, api, worker };
        for program in [&mut programs.worker, &mut programs.api, &mut programs.projector] {
            wait_until_ready(program);
        }
        programs
    }

    pub(super) fn database(&self) -> String {
        self.postgres.url("postgres")
    }

    /// Kills one of the programs, and starts it again after a pause.
    pub(super) async fn kill_one(&mut self, which: u64, pause: Duration) {
        let port = self.port.to_string();
        let url = self.database();
        let (program, flags): (_, &[&str]) = match which {
            0 => {
                self.postgres.kill();
                sleep(pause).await;
                return self.postgres.restart().await.expect("the database starts again");
            }
            1 => (&mut self.projector, &["--projector-only"]),
            2 => (&mut self.api, &["--api-only", "--port", &port]),
            _ => (&mut self.worker, &["--worker-only"]),
        };
        program.0.kill().expect("the program is killed");
        program.0.wait().expect("the program has ended");
        sleep(pause).await;
        *program = start(&self.address, &self.namespace, &url, flags);
    }

    /// Checks that all programs run.
    pub(super) async fn check(&mut self) {
        // A program that was started a moment ago has ended by then, if it cannot run.
        sleep(Duration::from_millis(500)).await;
        for (name, program) in
            [("projector", &mut self.projector), ("API", &mut self.api), ("worker", &mut self.worker)]
        {
            let ended = program.0.try_wait().expect("the state of the program");
            assert!(ended.is_none(), "the {name} has ended by itself: {ended:?}");
        }
    }
}

/// Starts the program, without settings from the environment of the tests.
fn start(address: &str, namespace: &str, database: &str, flags: &[&str]) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_serve"));
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("TEMPORAL_") {
            command.env_remove(&variable);
        }
    }
    command.env("TEMPORAL_CONFIG_FILE", "/dev/null").env_remove("AGENTS_TOKEN");
    command.args(["--address", address, "--namespace", namespace, "--database", database]).args(flags);
    Program(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("serve starts"))
}

fn wait_until_ready(program: &mut Program) {
    let lines = BufReader::new(program.0.stdout.take().expect("an output")).lines();
    let is_ready = lines.map_while(Result::ok).any(|line| line.starts_with("READY"));
    assert!(is_ready, "serve has ended before it was ready");
}

/// Numbers that a seed decides.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns the next number below this one (xorshift64*).
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}
