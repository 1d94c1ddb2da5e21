//! What the firmware of a NIC takes for each of its steps.

use crate::time::Time;

/// Steps of the firmware, and the DMA engine between NIC and host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FirmwareCosts {
    /// Finding and locking a page.
    pub lock: Time,
    /// Not finding it.
    pub lock_miss: Time,
    /// Unlocking.
    pub unlock: Time,
    /// Unlocking and marking dirty.
    pub unlock_dirty: Time,
}

impl FirmwareCosts {
    /// LANai 9.2 at 132 MHz (Table 24).
    pub const LANAI9: FirmwareCosts = FirmwareCosts {
        lock: Time::ns(330),
        lock_miss: Time::ns(390),
        unlock: Time::ns(130),
        unlock_dirty: Time::ns(270),
    };

    /// A present-day NIC: the same steps in on-chip memory.
    pub const MODERN: FirmwareCosts = FirmwareCosts {
        lock: Time::ns(30),
        lock_miss: Time::ns(35),
        unlock: Time::ns(12),
        unlock_dirty: Time::ns(20),
    };
}
