// error: E0593
// says: closure is expected to take 3 arguments, but it takes 2 arguments
//! A function that is asked is given the reply.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    let _ = world.ask::<_, u32>(1, |_, ()| (), ());
    #[cfg(fixed)]
    let _ = world.ask(1, |_, reply: pgas::Reply<u32>, ()| reply.answer(&1), ());
}
