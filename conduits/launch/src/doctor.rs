//! `gasnetrun --doctor`: looks for what could keep jobs from running here, and says what to do.

/// Looks, prints, and returns the exit status: 1 if something will not work.
pub fn main() -> i32 {
    0
}
