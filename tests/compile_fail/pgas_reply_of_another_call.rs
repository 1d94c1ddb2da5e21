// error: E0308
// says: expected fn pointer, found closure
//! The answer has the type of the reply.
use pgas::{Pending, Reply};
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let pending: Pending<u64> = world.ask(1, |_, reply: Reply<u32>, ()| reply.answer(&1), ());
        drop(pending);
    }
    #[cfg(fixed)]
    {
        let pending: Pending<u32> = world.ask(1, |_, reply: Reply<u32>, ()| reply.answer(&1), ());
        drop(pending);
    }
}
