//! Servers over pipes that are timed alternately, so that noise affects them alike.

use anyhow::{Context, Result};

use super::figure::{Figure, Limit};
use super::talk::Server;
use crate::tools::shout;

pub(crate) const ROUNDS: usize = 7;
const CALLS: usize = 4_000;
/// Calls per round for a server that takes more than half a millisecond per call.
const CALLS_SLOW: usize = 400;

/// A server and the request that it is timed with.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) server: Server,
    pub(crate) request: Vec<u8>,
    /// Calls per round; a quarter as many warm up the server before the first round.
    calls: usize,
}

impl Subject {
    pub(crate) fn new(name: &'static str, server: Server, request: &[u8]) -> Result<Subject> {
        Subject::warmed(name, server, request, CALLS)
    }

    pub(crate) fn slow(name: &'static str, server: Server, request: &[u8]) -> Result<Subject> {
        Subject::warmed(name, server, request, CALLS_SLOW)
    }

    fn warmed(
        name: &'static str,
        mut server: Server,
        request: &[u8],
        calls: usize,
    ) -> Result<Subject> {
        server.rate(request, calls / 4, 1).with_context(|| name)?;
        Ok(Subject { name, server, request: request.to_owned(), calls })
    }
}

pub(crate) struct Timed {
    /// Calls per second, round by round.
    pub(crate) rates: Vec<f64>,
    pub(crate) cpu_us: Option<f64>,
}

impl Timed {
    pub(crate) fn rate(&self) -> f64 {
        median(&mut self.rates.clone())
    }

    /// How many times faster the subject is than another that was timed alternately with it.
    pub(crate) fn ratio(&self, other: &Timed) -> f64 {
        let ratios = self.rates.iter().zip(&other.rates).map(|(own, other)| own / other);
        median(&mut ratios.collect::<Vec<_>>())
    }
}

/// Times each subject in every round; processor time is summed over all rounds.
pub(crate) fn in_turns(subjects: &mut [Subject], window: usize) -> Result<Vec<Timed>> {
    let before: Vec<_> = subjects.iter().map(|subject| subject.server.cpu_s()).collect();
    let mut rates = vec![Vec::with_capacity(ROUNDS); subjects.len()];
    for _ in 0..ROUNDS {
        for (subject, rates) in subjects.iter_mut().zip(&mut rates) {
            rates.push(subject.server.rate(&subject.request, subject.calls, window)?);
        }
    }
    let timed = subjects.iter().zip(before).zip(rates).map(|((subject, before), rates)| {
        let seconds = subject.server.cpu_s().zip(before).map(|(after, before)| after - before);
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let cpu_us = seconds.map(|seconds| seconds * 1e6 / (ROUNDS * subject.calls) as f64);
        Timed { rates, cpu_us }
    });
    Ok(timed.collect())
}

pub(crate) fn figure(name: &'static str, value: f64, unit: &'static str, limit: Limit) -> Figure {
    Figure { name, value, unit, limit }
}

/// A figure that only some systems report; prints a note if this one does not.
pub(crate) fn tell(
    value: Option<f64>,
    name: &'static str,
    unit: &'static str,
    limit: Limit,
) -> Option<Figure> {
    if value.is_none() {
        shout(&format!("{name} skipped: not reported on this system"));
    }
    value.map(|value| figure(name, value, unit, limit))
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(rates: [f64; 3]) -> Timed {
        Timed { rates: rates.into(), cpu_us: None }
    }

    #[test]
    fn one_odd_round_does_not_decide() {
        let (own, other) = (timed([9.0, 1.0, 3.0]), timed([3.0, 1.0, 1.0]));
        assert!((own.rate() - 3.0).abs() < 1e-9);
        assert!((own.ratio(&other) - 3.0).abs() < 1e-9);
    }
}
