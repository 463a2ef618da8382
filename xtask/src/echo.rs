//! `cargo xtask echo`: writes each line back. This is the minimum that a server over pipes must do,
//! and the baseline for the benches.

use std::io::{self, BufRead, BufReader, Write};

pub(crate) fn run() -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let mut answers = Vec::new();
    loop {
        // Everything that has arrived is answered in one write.
        if input.read_until(b'\n', &mut answers)? == 0 {
            return Ok(());
        }
        if !input.buffer().contains(&b'\n') {
            output.write_all(&answers)?;
            output.flush()?;
            answers.clear();
        }
    }
}
