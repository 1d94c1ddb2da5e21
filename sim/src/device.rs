//! Hardware that is not a rank's NIC: a device with events of its own, in the world's time.
//!
//! A [`Device`] is one object for all hosts of a simulation ([`Bare`](crate::Bare)). It asks for events with
//! [`Clock::at`], and tells programs that something has happened with [`Clock::tell`]. It shares the world's
//! queue, so time, order and trace are those of every simulation.

use crate::event::WorldEvent;
use crate::time::Time;
use crate::world::World;
use core::any::Any;
use slab::Slab;

/// The hardware of a simulation.
pub trait Device: Send + 'static {
    /// The device's events.
    type Event: Send + 'static;

    /// An event that it has asked for.
    fn happen(&mut self, clock: &mut Clock<'_, Self::Event>, event: Self::Event);
}

/// Virtual time from the side of a device.
pub struct Clock<'a, E> {
    world: &'a mut World,
    events: &'a mut Slab<E>,
}

impl<E> Clock<'_, E> {
    /// The time.
    pub fn now(&self) -> Time {
        self.world.now
    }

    /// Makes an event; one in the past happens now.
    pub fn at(&mut self, at: Time, event: E) {
        let tag = self.events.insert(event);
        self.world.at(at, WorldEvent::Device(tag as u64));
    }

    /// Something has happened to a program: if it waits, it looks again. A host may have no program.
    pub fn tell(&mut self, program: u32) {
        if (program as usize) < self.world.ranks.len() {
            self.world.tell(program);
        }
    }
}

/// A device and the events it has asked for, behind one face for the world.
pub(crate) trait Events: Any + Send {
    fn happen(&mut self, world: &mut World, tag: u64);
}

pub(crate) struct Holder<D: Device> {
    device: D,
    events: Slab<D::Event>,
}

impl<D: Device> Holder<D> {
    pub(crate) fn new(device: D) -> Holder<D> {
        Holder { device, events: Slab::new() }
    }

    /// Calls `f` with the device and its clock.
    pub(crate) fn with<R>(
        &mut self,
        world: &mut World,
        f: impl FnOnce(&mut D, &mut Clock<'_, D::Event>) -> R,
    ) -> R {
        f(&mut self.device, &mut Clock { world, events: &mut self.events })
    }
}

impl<D: Device> Events for Holder<D> {
    fn happen(&mut self, world: &mut World, tag: u64) {
        if let Some(event) = self.events.try_remove(tag as usize) {
            self.with(world, |device, clock| device.happen(clock, event));
        }
    }
}

/// A part that does one piece of work after the other: a processor, a bus, a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct Station {
    free: Time,
    worked: Time,
}

impl Station {
    /// Begins work of that length as soon as it is free, at `from` at the earliest; returns the end.
    pub fn take(&mut self, from: Time, length: Time) -> Time {
        self.free = from.max(self.free) + length;
        self.worked += length;
        self.free
    }

    /// When it is free.
    pub fn free(&self) -> Time {
        self.free
    }

    /// Length of all its work.
    pub fn worked(&self) -> Time {
        self.worked
    }
}
