//! The largest allowed manifest: 1,000 mixed steps in just under 1 MiB of YAML.
//!
//! It always consists of the same bytes, so that figures from different days can be compared.

const BYTES_MAX: usize = 1_048_576;
const BLOCKS: usize = 100;

/// Ten steps that look up an order, make a decision and settle it.
const BLOCK: &str = include_str!("block.yaml");
const BLOCK_NUMBER: &str = "NNN";
const PADDING_MARK: &str = "PADDING\n";
/// Sentences that make the prompts as long as real ones.
const SENTENCES: &str = include_str!("padding.txt");
const INDENT: &str = "      ";

const HEAD: &str = "\
workflow: refund-orders
title: Refund a batch of orders
description: Looks orders up, lets an agent decide, a person approve, and refunds each once.
version: 1.0.0
category: support
tags: [orders, batch]
requires:
  catalogs: [{vendor: shop, title: Shop API}]
concurrency: 8
timeout: 24h
inputs:
  order_ids: {type: array, description: The orders to refund, validate: {min_items: 1}}
  region: {type: string, enum: [eu, us, none], description: Where the shop is}
  reason: {type: string, optional: true, default: {from: literal, value: customer request}}
steps:
";

const TAIL: &str = r#"final_output:
  last: "${{ steps.settle_100.output }}"
  region: "${{ inputs.region }}"
"#;

pub(crate) fn generate() -> String {
    let prompts = BLOCK.matches(PADDING_MARK).count();
    let block_bytes = BLOCK.len() - prompts * PADDING_MARK.len();
    let fixed = HEAD.len() + TAIL.len() + BLOCKS * block_bytes;
    let mut padding = padding(BLOCKS * prompts, BYTES_MAX - fixed).into_iter();

    let mut manifest = HEAD.to_owned();
    for number in 1..=BLOCKS {
        let block = BLOCK.replace(BLOCK_NUMBER, &format!("{number:03}"));
        for (index, piece) in block.split(PADDING_MARK).enumerate() {
            if index > 0 {
                manifest.push_str(&padding.next().unwrap_or_default());
            }
            manifest.push_str(piece);
        }
    }
    manifest.push_str(TAIL);
    manifest
}

/// Appends sentences to the prompts in turn, as long as they fit in the remaining bytes.
fn padding(prompts: usize, bytes_left: usize) -> Vec<String> {
    let mut padding = vec![String::new(); prompts];
    let mut left = bytes_left;
    for (turn, sentence) in SENTENCES.lines().cycle().enumerate() {
        let line = format!("{INDENT}{sentence}\n");
        if line.len() >= left {
            break;
        }
        left -= line.len();
        padding[turn % prompts].push_str(&line);
    }
    padding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_large_as_a_manifest_may_be() {
        let manifest = generate();
        assert!(manifest.len() < BYTES_MAX);
        assert!(manifest.len() > BYTES_MAX - 200, "{}", manifest.len());
        assert_eq!(manifest.matches("\n  - id: ").count(), 1_000);
        assert_eq!(manifest, generate());
    }

    #[test]
    fn every_prompt_is_padded_and_no_mark_is_left() {
        let manifest = generate();
        assert!(!manifest.contains(BLOCK_NUMBER) && !manifest.contains("PADDING"));
        assert!(padding(300, 500_000).iter().all(|text| text.len() > 1_000));
    }
}
