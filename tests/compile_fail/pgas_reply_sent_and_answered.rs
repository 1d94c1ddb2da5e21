// error: E0382
// says: use of moved value
//! Who has sent a reply on does not have it any more.
use pgas::Reply;
pub fn case(world: pgas::World, reply: Reply<u32>) {
    #[cfg(not(fixed))]
    {
        world.send(2, |_, reply: Reply<u32>| reply.answer(&1), reply);
        reply.answer(&2);
    }
    #[cfg(fixed)]
    world.send(2, |_, reply: Reply<u32>| reply.answer(&1), reply);
}
