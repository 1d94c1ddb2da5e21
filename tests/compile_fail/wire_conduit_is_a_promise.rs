// error: E0200
//! The core fills a conduit's slots without looking: implementing one is unsafe.
use gasnet_wire::conduit::{Channel, Completion, RemoteAddr, Rma};
pub struct Mine(pub Channel);
#[cfg(not(fixed))]
impl Rma for Mine {
    unsafe fn put(&self, _: RemoteAddr, _: *const u8, _: usize, _: u64) -> bool {
        false
    }
    unsafe fn get(&self, _: *mut u8, _: RemoteAddr, _: usize, _: u64) -> bool {
        false
    }
    fn poll(&self, _: usize, _: &mut dyn FnMut(u64, Completion)) -> usize {
        0
    }
}
#[cfg(fixed)]
pub fn f(_: &dyn Rma, _: RemoteAddr, _: Completion) {}
