//! Everything random in a world follows from the seed and the world's number.

use crate::random::Random;

/// The random numbers of one world, in the units of its clock.
#[derive(Clone, Debug)]
pub(super) struct Chance(Random);

impl Chance {
    pub(super) fn new(seed: u64, world: u64) -> Self {
        Self(Random::new(seed, world))
    }

    /// From 0 to one less than `end`.
    pub(super) fn below(&mut self, end: i64) -> i64 {
        let end = usize::try_from(end).unwrap_or(1);
        i64::try_from(self.0.below(end)).unwrap_or_default()
    }

    pub(super) fn between(&mut self, first: i64, last: i64) -> i64 {
        first + self.below(last - first + 1)
    }

    pub(super) fn one_in(&mut self, number: i64) -> bool {
        self.below(number) == 0
    }

    /// From a quarter to seven quarters of it.
    pub(super) fn around(&mut self, middle: i64) -> i64 {
        middle / 4 + self.below(middle * 3 / 2)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.0.below(from.len())]
    }
}
