//! The setting of the smp conduit.

use gasnet_wire::Error;
use gasnet_wire::config::{Reader, Setting, setting};

/// The rows of this crate's settings.
pub const SETTINGS: &[Setting] = &[setting(
    "GASNET_SMP_DELAY",
    "time: 0 (default), 500ns, 20us, 1ms",
    "Time by which the smp conduit delays every frame.",
)];

/// The delay in nanoseconds.
///
/// # Errors
/// It is not understood.
pub fn delay_ns() -> Result<u64, Error> {
    Ok(Reader::environment(SETTINGS).time("GASNET_SMP_DELAY")?.unwrap_or(0))
}
