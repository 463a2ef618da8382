//! Counters that never decrease.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::text::MetricsText;

/// Upper bounds of the buckets of [`Durations`], in microseconds, and in seconds as Prometheus
/// prints them.
const BUCKETS: [(u64, &str); 12] = [
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
    (30_000_000, "30"),
];

/// A single counter.
#[derive(Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A counter for each value of a label.
#[derive(Debug)]
pub struct Counts<const N: usize> {
    words: [&'static str; N],
    counts: [Counter; N],
}

impl<const N: usize> Counts<N> {
    pub(crate) const fn of(words: [&'static str; N]) -> Counts<N> {
        Counts { words, counts: [const { Counter::new() }; N] }
    }

    /// Increments the count for a label value.
    pub fn add(&self, word: &str) {
        self.counts[place(&self.words, word)].add(1);
    }

    /// The count for a label value.
    pub fn get(&self, word: &str) -> u64 {
        self.counts[place(&self.words, word)].get()
    }

    pub(crate) fn write(&self, text: &mut MetricsText, name: &str, label: &str, help: &str) {
        text.family(name, "counter", help);
        for (word, count) in self.words.iter().zip(&self.counts) {
            text.sample(name, &[(label, word)], count.get());
        }
    }
}

/// A counter for each combination of two labels.
#[derive(Debug)]
pub struct CountTable<const R: usize, const C: usize> {
    rows: [&'static str; R],
    columns: [&'static str; C],
    counts: [[Counter; C]; R],
}

impl<const R: usize, const C: usize> CountTable<R, C> {
    pub(crate) const fn of(
        rows: [&'static str; R],
        columns: [&'static str; C],
    ) -> CountTable<R, C> {
        CountTable { rows, columns, counts: [const { [const { Counter::new() }; C] }; R] }
    }

    /// Increments the count for a combination.
    pub fn add(&self, row: &str, column: &str) {
        self.counts[place(&self.rows, row)][place(&self.columns, column)].add(1);
    }

    /// The count for a combination.
    pub fn get(&self, row: &str, column: &str) -> u64 {
        self.counts[place(&self.rows, row)][place(&self.columns, column)].get()
    }

    /// The label value that a row is counted under.
    pub fn row(&self, row: &str) -> &'static str {
        self.rows[place(&self.rows, row)]
    }

    /// Combinations with a count of zero are omitted, because most never occur.
    pub(crate) fn write(&self, text: &mut MetricsText, name: &str, labels: [&str; 2], help: &str) {
        text.family(name, "counter", help);
        for (row, counts) in self.rows.iter().zip(&self.counts) {
            for (column, count) in self.columns.iter().zip(counts) {
                if count.get() > 0 {
                    text.sample(name, &[(labels[0], row), (labels[1], column)], count.get());
                }
            }
        }
    }
}

/// The index of a label value; unknown values share the last index.
fn place(words: &[&'static str], word: &str) -> usize {
    let found = words.iter().position(|known| *known == word);
    found.unwrap_or(words.len() - 1)
}

/// A histogram of durations.
#[derive(Debug)]
pub struct Durations {
    /// The last counter is for durations beyond the largest bucket.
    counts: [Counter; BUCKETS.len() + 1],
    sum_us: Counter,
}

impl Durations {
    pub(crate) const fn new() -> Durations {
        Durations { counts: [const { Counter::new() }; _], sum_us: Counter::new() }
    }

    /// Adds a duration.
    pub fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BUCKETS.iter().position(|(end, _)| us <= *end).unwrap_or(BUCKETS.len());
        self.counts[bucket].add(1);
        self.sum_us.add(us);
    }

    pub(crate) fn write(&self, text: &mut MetricsText, name: &str, help: &str) {
        text.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        let ends = BUCKETS.iter().map(|(_, end)| *end).chain(["+Inf"]);
        for (end, count) in ends.zip(&self.counts) {
            below += count.get();
            text.sample(&bucket, &[("le", end)], below);
        }
        let sum = Duration::from_micros(self.sum_us.get()).as_secs_f64();
        text.sample(&format!("{name}_sum"), &[], sum);
        // The counters are not read again, because the count must equal the last bucket.
        text.sample(&format!("{name}_count"), &[], below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_all_that_took_no_longer() {
        let durations = Durations::new();
        for ms in [1, 5, 6, 700, 60_000] {
            durations.add(Duration::from_millis(ms));
        }
        let mut text = MetricsText::default();
        durations.write(&mut text, "took", "How long.");
        let text = text.finish();
        for line in [
            "# TYPE took histogram",
            "took_bucket{le=\"0.005\"} 2",
            "took_bucket{le=\"0.01\"} 3",
            "took_bucket{le=\"0.5\"} 3",
            "took_bucket{le=\"1\"} 4",
            "took_bucket{le=\"30\"} 4",
            "took_bucket{le=\"+Inf\"} 5",
            "took_sum 60.712",
            "took_count 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }

    #[test]
    fn the_buckets_are_what_they_are_called() {
        for (us, name) in BUCKETS {
            let seconds: f64 = name.parse().expect("a number");
            assert_eq!(Duration::from_secs_f64(seconds), Duration::from_micros(us), "{name}");
        }
    }
}
