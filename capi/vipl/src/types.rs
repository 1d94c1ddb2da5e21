//! The structures of `vipl.h`, and pointers as C hands them over.
#![expect(unsafe_code, reason = "reads and writes what C points to")]

use crate::handle::{Handle, HandleKind};
use crate::results::{
    INVALID_MTU, INVALID_PARAMETER, INVALID_PTAG, INVALID_QOS, INVALID_RELIABILITY_LEVEL, Return,
};
use core::ffi::{c_int, c_uint, c_ulong, c_ushort};
use core::time::Duration;
use gasnet_via::{
    Address, MAX_DISCRIMINATOR, MAX_TRANSFER, MemoryAttributes, Reliability, RemoteAttributes, TagId,
    ViAttributes, ViState,
};

/// A time limit: none, if it is that of `VIP_INFINITE` or longer than 32 bits of milliseconds.
pub fn limit(milliseconds: c_ulong) -> Option<Duration> {
    u32::try_from(milliseconds).ok().filter(|&m| m != u32::MAX).map(|m| Duration::from_millis(m.into()))
}

/// A pointer that C hands over to read from. C alone makes one, and owes that it is null, misaligned, or
/// valid while the call lasts.
#[derive(Debug)]
#[repr(transparent)]
pub struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// The place of an output, as one of an input: it is read first.
    pub fn of(out: &Out<T>) -> In<T> {
        In(out.0)
    }

    pub fn get(&self) -> Result<T, Return> {
        if self.0.is_null() || !self.0.is_aligned() {
            return Err(INVALID_PARAMETER);
        }
        // SAFETY: valid, as C owes.
        Ok(unsafe { self.0.read() })
    }
}

/// The same to write to.
#[derive(Debug)]
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Whether it can be written to. Asked before anything is done.
    pub fn check(&self) -> Result<(), Return> {
        if self.0.is_null() || !self.0.is_aligned() { Err(INVALID_PARAMETER) } else { Ok(()) }
    }

    /// Writes to it, if it can be.
    pub fn set(&self, value: T) {
        if self.check().is_ok() {
            // SAFETY: valid, as C owes.
            unsafe { self.0.write(value) };
        }
    }
}

/// Octets of a host's address: its rank.
pub const HOST_BYTES: usize = size_of::<u32>();

/// A pointer to a `VIP_NET_ADDRESS`, whose octets follow its two lengths. Owed by C as for [`In`]; one that
/// is written to has room for the longest address.
#[derive(Debug)]
#[repr(transparent)]
pub struct NetAddress(*mut c_ushort);

impl NetAddress {
    pub fn check(&self) -> Result<(), Return> {
        if self.0.is_null() || !self.0.is_aligned() { Err(INVALID_PARAMETER) } else { Ok(()) }
    }

    pub fn get(&self) -> Result<Address, Return> {
        self.check()?;
        // SAFETY: valid, as C owes.
        let (host, rest) = unsafe { (self.0.read(), self.0.add(1).read()) };
        if usize::from(host) != HOST_BYTES || usize::from(rest) > MAX_DISCRIMINATOR {
            return Err(INVALID_PARAMETER);
        }
        let (mut rank, mut discriminator) = ([0; HOST_BYTES], vec![0; rest.into()]);
        // SAFETY: this many octets follow the lengths, by the rules of the C interface.
        unsafe {
            let octets = self.0.add(2).cast::<u8>();
            octets.copy_to_nonoverlapping(rank.as_mut_ptr(), HOST_BYTES);
            octets.add(HOST_BYTES).copy_to_nonoverlapping(discriminator.as_mut_ptr(), rest.into());
        }
        Ok(Address::new(u32::from_ne_bytes(rank), discriminator))
    }

    pub fn set(&self, address: &Address) {
        let (rank, rest) = (address.rank.to_ne_bytes(), &address.discriminator);
        if self.check().is_ok() {
            // SAFETY: there is room, as C owes.
            unsafe {
                self.0.write(HOST_BYTES as c_ushort);
                self.0.add(1).write(rest.len() as c_ushort);
                let octets = self.0.add(2).cast::<u8>();
                octets.copy_from_nonoverlapping(rank.as_ptr(), HOST_BYTES);
                octets.add(HOST_BYTES).copy_from_nonoverlapping(rest.as_ptr(), rest.len());
            }
        }
    }
}

/// `VIP_NIC_ATTRIBUTES`.
#[derive(Debug)]
#[repr(C)]
pub struct NicAttributes {
    pub name: [u8; 64],
    pub hardware_version: c_ulong,
    pub provider_version: c_ulong,
    pub address_len: u16,
    pub address: *const u8,
    pub thread_safe: c_int,
    pub max_discriminator: u16,
    pub max_register_bytes: c_ulong,
    pub max_regions: c_ulong,
    pub max_block_bytes: c_ulong,
    pub max_vi: c_ulong,
    pub max_posted: c_ulong,
    pub max_segments: c_ulong,
    pub max_cq: c_ulong,
    pub max_cq_entries: c_ulong,
    pub max_transfer: c_ulong,
    pub mtu: c_ulong,
    pub max_tags: c_ulong,
    pub levels: c_ushort,
    pub read_levels: c_ushort,
}

/// The bit of a level.
pub fn level(reliability: Reliability) -> c_ushort {
    match reliability {
        Reliability::Unreliable => 1,
        Reliability::Delivery => 2,
        Reliability::Reception => 4,
    }
}

/// `VIP_VI_ATTRIBUTES`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CViAttributes {
    level: c_ushort,
    max_transfer: c_ulong,
    qos: usize,
    tag: Handle,
    rdma_write: c_int,
    rdma_read: c_int,
}

impl CViAttributes {
    pub fn checked(&self) -> Result<ViAttributes, Return> {
        let levels = [Reliability::Unreliable, Reliability::Delivery, Reliability::Reception];
        let reliability = levels.into_iter().find(|&r| level(r) == self.level);
        let max_transfer = u32::try_from(self.max_transfer).ok().filter(|n| (1..=MAX_TRANSFER).contains(n));
        Ok(ViAttributes {
            reliability: reliability.ok_or(INVALID_RELIABILITY_LEVEL)?,
            max_transfer: max_transfer.ok_or(INVALID_MTU)?,
            qos: u32::try_from(self.qos).map_err(|_| INVALID_QOS)?,
            tag: tag(self.tag)?,
            rdma_write: self.rdma_write != 0,
            rdma_read: self.rdma_read != 0,
        })
    }
}

impl From<&ViAttributes> for CViAttributes {
    fn from(own: &ViAttributes) -> CViAttributes {
        CViAttributes {
            tag: Handle::new(HandleKind::Tag, own.tag.number()),
            ..(&RemoteAttributes::from(own)).into()
        }
    }
}

impl From<&RemoteAttributes> for CViAttributes {
    fn from(remote: &RemoteAttributes) -> CViAttributes {
        CViAttributes {
            level: level(remote.reliability),
            max_transfer: remote.max_transfer.into(),
            qos: remote.qos as usize,
            tag: Handle::NULL,
            rdma_write: remote.rdma_write.into(),
            rdma_read: remote.rdma_read.into(),
        }
    }
}

/// `VIP_MEM_ATTRIBUTES`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CMemoryAttributes {
    tag: Handle,
    rdma_write: c_int,
    rdma_read: c_int,
}

impl CMemoryAttributes {
    pub fn checked(&self) -> Result<MemoryAttributes, Return> {
        let (rdma_write, rdma_read) = (self.rdma_write != 0, self.rdma_read != 0);
        Ok(MemoryAttributes { tag: tag(self.tag)?, rdma_write, rdma_read })
    }
}

impl From<&MemoryAttributes> for CMemoryAttributes {
    fn from(own: &MemoryAttributes) -> CMemoryAttributes {
        let (rdma_write, rdma_read) = (own.rdma_write.into(), own.rdma_read.into());
        CMemoryAttributes { tag: Handle::new(HandleKind::Tag, own.tag.number()), rdma_write, rdma_read }
    }
}

/// The tag of a handle.
pub fn tag(handle: Handle) -> Result<TagId, Return> {
    handle.number(HandleKind::Tag).map(TagId::of).map_err(|_| INVALID_PTAG)
}

/// `VIP_VI_STATE`.
pub fn state(state: ViState) -> c_uint {
    match state {
        ViState::Idle => 0,
        ViState::Connected => 1,
        ViState::Pending => 2,
        ViState::Error => 3,
    }
}
