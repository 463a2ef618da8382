//! Spreads work on many files over a few threads.

use std::thread;

use crate::limits;

/// Applies `work` to each item and returns the results in order. A small number of items is handled
/// on the calling thread.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.len() <= limits::FILES_ON_ONE_THREAD {
        return items.iter().map(work).collect();
    }
    // Queried only when it is needed, because the system has to read several files to answer.
    let threads = thread::available_parallelism().map_or(1, usize::from).min(limits::THREADS);
    let work = &work;
    thread::scope(|scope| {
        let parts = items.chunks(items.len().div_ceil(threads));
        let started: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<R>>()))
            .collect();
        let mut results = Vec::with_capacity(items.len());
        for thread in started {
            match thread.join() {
                Ok(part) => results.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays() {
        for count in [0, 1, 64, 65, 66, 67, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
            assert_eq!(map(&items, |item| item * 2), doubled);
        }
    }
}
