//! What goes wrong around a model call, on a real dev server: which failure ends the run, after how many attempts, and
//! what history says of it. Every run is replayed by the environment.

mod answers;
mod authors;
mod first_line;
mod install;
mod options;
mod provider;
mod registration;
mod run;
mod secrets;
mod silence;
mod wire_versions;
mod workers;
