// error: E0277
// says: the `?` operator cannot be applied to type `u32`
//! `.await` gives the plain result, like `.wait()`. `.result().await` gives a `Result`.
pub async fn case(world: pgas::World) -> Result<u32, pgas::CallError> {
    #[cfg(not(fixed))]
    let there = world.call(1, |_, x: u32| x + 1, 1).await?;
    #[cfg(fixed)]
    let there = world.call(1, |_, x: u32| x + 1, 1).result().await?;
    Ok(there)
}
