//! Programs on a device without the runtime: what a paper measured on its own hardware and library.
//!
//! ```
//! use gasnet_sim::{Bare, Clock, Device, Time};
//!
//! /// A lamp that goes on by itself.
//! struct Lamp(bool);
//! impl Device for Lamp {
//!     type Event = ();
//!     fn happen(&mut self, clock: &mut Clock<'_, ()>, (): ()) {
//!         self.0 = true;
//!         clock.tell(0);
//!     }
//! }
//! let report = Bare::new(1, 1)
//!     .run(Lamp(false), |machine| {
//!         machine.device(|_, clock| clock.at(Time::us(3.0), ()));
//!         machine.until("light", |lamp, _| lamp.0.then_some(()));
//!         machine.now()
//!     })
//!     .unwrap();
//! assert_eq!(report.results, [Time::us(3.0)]);
//! ```

use crate::cluster::{Cluster, Report};
use crate::cost::CostModel;
use crate::device::{Clock, Device, Holder};
use crate::failure::Failure;
use crate::shared::Simulation;
use crate::time::Time;
use core::any::Any;
use core::marker::PhantomData;
use std::cell::RefCell;
use std::sync::Arc;

/// A simulation of so many programs, each with a processor of its own, on one device.
#[derive(Debug, Clone)]
pub struct Bare {
    cluster: Cluster,
}

/// A program's side of the simulation.
pub struct Machine<'a, D> {
    shared: &'a Arc<Simulation>,
    program: u32,
    _device: PhantomData<D>,
}

impl Bare {
    /// So many programs. The seed becomes part of the trace; devices have random numbers of their own.
    pub fn new(programs: u32, seed: u64) -> Bare {
        Bare { cluster: Cluster::new(programs, CostModel::modern_ib()).seed(seed) }
    }

    /// Runs `program` on every machine.
    ///
    /// # Errors
    /// A deadlock or a panic. All messages contain the seed.
    pub fn run<D: Device, T>(
        &self,
        device: D,
        program: impl Fn(&Machine<'_, D>) -> T,
    ) -> Result<Report<T>, Failure> {
        let shared = self.cluster.world();
        shared.world().device = Some(Box::new(Holder::new(device)));
        let results: Vec<RefCell<Option<T>>> = (0..self.cluster.ranks).map(|_| RefCell::new(None)).collect();
        let report = self.cluster.drive(&shared, &|r: u32| -> Result<(), String> {
            let value = program(&Machine { shared: &shared, program: r, _device: PhantomData });
            *results[r as usize].borrow_mut() = Some(value);
            Ok(())
        })?;
        let results = results.into_iter().filter_map(RefCell::into_inner).collect();
        Ok(Report {
            results,
            time: report.time,
            stats: report.stats,
            trace: report.trace,
            wall: report.wall,
            stalls: report.stalls,
            chooser: report.chooser,
        })
    }
}

impl<D: Device> Machine<'_, D> {
    /// The number of the program.
    pub fn id(&self) -> u32 {
        self.program
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.shared.world().now
    }

    /// The program computes for this long.
    pub fn work(&self, length: Time) {
        self.shared.alive();
        self.shared.work(self.program, length);
    }

    /// Calls `f` with the device. It takes no time.
    pub fn device<R>(&self, f: impl FnOnce(&mut D, &mut Clock<'_, D::Event>) -> R) -> R {
        self.shared.alive();
        let mut world = self.shared.world();
        let mut device = world.device.take().expect("a simulation of this kind has a device");
        let holder: &mut dyn Any = &mut *device;
        let holder = holder.downcast_mut::<Holder<D>>().expect("a machine is of its device's type");
        let result = holder.with(&mut world, f);
        world.device = Some(device);
        result
    }

    /// Waits until `f` has a value. It looks again whenever the device tells this program.
    pub fn until<R>(
        &self,
        why: &'static str,
        mut f: impl FnMut(&mut D, &mut Clock<'_, D::Event>) -> Option<R>,
    ) -> R {
        loop {
            if let Some(value) = self.device(&mut f) {
                return value;
            }
            self.shared.wait(self.program, why, false);
        }
    }
}
