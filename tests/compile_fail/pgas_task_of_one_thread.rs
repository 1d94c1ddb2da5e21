// error: none
// says: future cannot be sent between threads safely
//! Any thread of the rank may give a task its turn.
pub fn case(world: pgas::World) {
    #[cfg(not(fixed))]
    {
        let n = std::rc::Rc::new(5u32);
        world.spawn(async move { println!("{n}") });
    }
    #[cfg(fixed)]
    {
        let n = std::sync::Arc::new(5u32);
        world.spawn(async move { println!("{n}") });
    }
}
