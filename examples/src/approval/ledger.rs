//! The ledger of refunds: a file with one line per payment. It stands in for a bank that takes an
//! idempotency key: here the order.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

/// A file of payments, one per order.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Path of the file.
    pub path: PathBuf,
    /// Delay of the confirmation after the payment.
    pub confirmation: Duration,
}

impl Ledger {
    /// Pays, unless this order was paid before, and waits for the confirmation.
    ///
    /// # Errors
    /// The file cannot be written.
    pub async fn pay(&self, order: &str, euros: u32) -> io::Result<()> {
        let mut file = File::options().append(true).create(true).open(&self.path)?;
        if !self.payments()?.iter().any(|payment| payment.split(' ').next() == Some(order)) {
            file.write_all(format!("{order} {euros}\n").as_bytes())?;
        }
        tokio::time::sleep(self.confirmation).await;
        Ok(())
    }

    /// Returns the payments, oldest first: `<order> <euros>`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn payments(&self) -> io::Result<Vec<String>> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            text => Ok(text?.lines().map(str::to_owned).collect()),
        }
    }
}
