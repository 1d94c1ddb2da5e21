//! The UPC compiler driver.

mod pool;

#[global_allocator]
static POOL: pool::Pool = pool::Pool;

fn main() -> std::process::ExitCode {
    upcc::driver::main()
}
