// error: E0277
// says: `Team` cannot travel to another rank
//! A team is made by its members together; its ranks can be sent.
pub fn case(world: pgas::World, team: pgas::Team) {
    #[cfg(not(fixed))]
    world.send(1, |_, _: pgas::Team| (), team);
    #[cfg(fixed)]
    world.send(1, |_, _: Vec<u32>| (), team.ranks().collect::<Vec<_>>());
}
