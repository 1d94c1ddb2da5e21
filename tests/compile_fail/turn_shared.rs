// error: E0277
//! Who shares the turn shares what it guards.
pub fn f(turns: &gasnet::Turns<T>) {
    let turn = turns.take();
    std::thread::scope(|s| {
        s.spawn(|| turn.get());
    });
}
#[cfg(not(fixed))]
type T = std::cell::Cell<u32>;
#[cfg(fixed)]
type T = Own;
/// A cell that threads may share.
pub struct Own(u32);
impl Own {
    pub fn get(&self) -> u32 {
        self.0
    }
}
