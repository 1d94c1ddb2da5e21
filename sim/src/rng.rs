//! The only source of random numbers: SplitMix64, seeded, so that a run can be repeated. Published figures
//! and traces depend on these numbers, so it is not `fastrand`.

/// A generator.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n` (at least 1).
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(n.max(1))) >> 64) as u64
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability; draws no number when it is 0.
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.unit() < p
    }
}

/// Numbers below `n` where the k-th most frequent has weight `1 / k^s` (Zipf), spread over the range by a
/// fixed permutation.
#[derive(Debug, Clone)]
pub struct Zipf {
    cumulative: Vec<f64>,
    spread: u64,
}

impl Zipf {
    /// The distribution over `0..n`.
    pub fn new(n: usize, s: f64) -> Zipf {
        let mut sum = 0.0;
        let cumulative = (1..=n.max(1))
            .map(|k| {
                sum += (k as f64).powf(-s);
                sum
            })
            .collect();
        // A multiplier that shares no factor with n permutes the range.
        let n = n.max(1) as u64;
        let mut spread = (0x9e37_79b9 % n) | 1;
        while gcd(spread, n) != 1 {
            spread += 2;
        }
        Zipf { cumulative, spread }
    }

    /// Draws one.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let n = self.cumulative.len();
        let x = rng.unit() * self.cumulative[n - 1];
        let k = self.cumulative.partition_point(|c| *c <= x).min(n - 1);
        (k as u64 * self.spread) % n as u64
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_reaches_everything_and_favours_the_first() {
        for n in [1usize, 2, 8, 100, 1000] {
            let z = Zipf::new(n, 0.99);
            let mut rng = Rng::new(3);
            let mut seen = vec![0u32; n];
            for _ in 0..n * 400 {
                seen[z.draw(&mut rng) as usize] += 1;
            }
            assert!(seen.iter().all(|s| *s > 0), "n = {n}");
            assert_eq!(seen.iter().max(), Some(&seen[0]));
        }
    }
}
