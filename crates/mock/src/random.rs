//! Pseudorandom numbers that depend only on the seed and the location. Every location in a response
//! has its own stream, so that a change in one leaves the others unchanged.

/// A stream of pseudorandom numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The stream for a seed and a location.
    pub(crate) fn new(seed: u64, place: &[&str]) -> Random {
        // FNV-1a, with a separator after each part so that `ab`, `c` and `a`, `bc` differ.
        let mut state = seed ^ 0xcbf2_9ce4_8422_2325;
        for part in place {
            for byte in part.bytes().chain([0xff]) {
                state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        Random { state }
    }

    /// The next number (`SplitMix64`).
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    /// A number from `low` to `high`, inclusive.
    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// One of the given strings; empty if there are none.
    pub(crate) fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        let index = self.below(from.len());
        from.get(index).copied().unwrap_or_default()
    }

    /// The given number of hexadecimal digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        self.chars(b"0123456789abcdef", digits)
    }

    /// The given number of characters from an alphabet.
    pub(crate) fn chars(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    /// A number from 0 (inclusive) to 1 (exclusive).
    #[expect(clippy::cast_precision_loss, reason = "a float represents 53-bit integers exactly")]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
