//! Bytes on their way out: copies, so that a session may queue more while
//! the kernel still reads what it was handed before.

use super::super::driver::Token;
use crate::clock::Ns;

/// A send takes at most so much; the rest goes with the next.
pub(super) const MOST: usize = 64 * 1024;

/// The bytes of one send.
#[derive(Debug, Default)]
pub(super) struct Parcel {
    pub(super) bytes: Vec<u8>,
    /// Whose.
    pub(super) token: Token,
    /// When it was handed to the kernel.
    pub(super) at: Ns,
    /// Whether the kernel has it.
    out: bool,
}

/// The parcels of one thread. A connection has one only while the kernel
/// does, and those that come back go out first, so few are ever touched.
#[derive(Debug, Default)]
pub(super) struct Parcels {
    all: Vec<Parcel>,
    free: Vec<u32>,
}

impl Parcels {
    /// An empty parcel and its number.
    #[inline]
    pub(super) fn take(&mut self, token: Token) -> (u32, &mut Parcel) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Parcel::default());
            self.all.len() as u32 - 1
        });
        let parcel = &mut self.all[number as usize];
        parcel.bytes.clear();
        parcel.token = token;
        parcel.out = true;
        (number, parcel)
    }

    #[inline]
    pub(super) fn get(&mut self, number: u32) -> &mut Parcel {
        &mut self.all[number as usize]
    }

    /// The kernel is done with it.
    #[inline]
    pub(super) fn put(&mut self, number: u32) {
        self.all[number as usize].out = false;
        self.free.push(number);
    }

    /// The numbers of those the kernel has.
    pub(super) fn out(&self) -> Vec<u32> {
        let all = (0..).zip(&self.all);
        all.filter(|(_, p)| p.out).map(|(number, _)| number).collect()
    }
}
