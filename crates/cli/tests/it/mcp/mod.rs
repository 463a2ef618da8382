//! Golden transcripts of the guide contract, played against the real binary.

pub(crate) mod differences;
mod framing;
mod listing;
mod server;
mod tools;
pub(crate) mod transcript;

use transcript::{Transcript, names};

/// The total number of exchanges in the transcripts.
const EXCHANGES: usize = 440;

/// Defines one test per file of `transcripts/`, with its number of exchanges.
macro_rules! transcripts {
    ($($name:ident: $file:literal, $exchanges:literal;)*) => {
        $(#[test]
        fn $name() {
            Transcript::read($file).play();
        })*

        const ALL: &[(&str, usize)] = &[$(($file, $exchanges)),*];
    };
}

transcripts! {
    auto_later: "auto-later.txt", 2;
    auto: "auto.txt", 4;
    batch_2024_11_05: "batch-2024-11-05.txt", 8;
    batch_2025_03_26: "batch-2025-03-26.txt", 8;
    batch_2025_06_18: "batch-2025-06-18.txt", 5;
    batch_2025_11_25: "batch-2025-11-25.txt", 5;
    branches: "branches.txt", 19;
    conditions: "conditions.txt", 36;
    criteria: "criteria.txt", 16;
    crlf: "crlf.txt", 6;
    envelope: "envelope.txt", 32;
    files: "files.txt", 12;
    lifecycle: "lifecycle.txt", 31;
    locked_directory: "locked-directory.txt", 5;
    locked_file: "locked-file.txt", 4;
    loops: "loops.txt", 42;
    manifests: "manifests.txt", 12;
    params: "params.txt", 27;
    prompts: "prompts.txt", 13;
    rules: "rules.txt", 46;
    security: "security.txt", 14;
    seed_handshake: "seed-handshake.txt", 16;
    seed_tools: "seed-tools.txt", 25;
    tools_call: "tools-call.txt", 23;
    validate_json: "validate-json.txt", 29;
}

#[test]
fn every_transcript_is_played_and_counted() {
    let counted: Vec<(&str, usize)> =
        ALL.iter().map(|(name, _)| (*name, Transcript::read(name).exchanges())).collect();
    assert_eq!(counted, ALL);
    let mut listed: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
    listed.sort_unstable();
    assert_eq!(listed, names());
    assert_eq!(ALL.iter().map(|(_, exchanges)| exchanges).sum::<usize>(), EXCHANGES);
}
