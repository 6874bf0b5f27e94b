//! What can be asked of the backends that there are: programs name a backend and visit it, and know no vendor. The rows stand in
//! `vendors`.

use crate::backend::Backend;
use crate::collectives::Collectives;
use crate::management::Managed;

/// Work for whichever backend is meant: a closure that is generic.
pub trait Visit {
    /// What it gives.
    type Output;

    /// Does it.
    fn visit<B: Backend>(self) -> Self::Output;
}

/// Work for the collectives of whichever backend is meant.
pub trait VisitCollectives {
    /// What it gives.
    type Output;

    /// Does it.
    fn visit<C: Collectives>(self) -> Self::Output;
}

/// A vendor's number on the PCI bus, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PciVendor {
    /// The number, such as 0x10de.
    pub id: u16,
    /// The name in messages.
    pub name: &'static str,
}

/// What is to be known of a backend that drives GPUs, besides its library.
#[derive(Debug)]
pub(crate) struct GpuVendor {
    /// The vendor of its devices.
    pub(crate) pci: PciVendor,
    /// The vendor's word in box files.
    pub(crate) in_boxes: &'static str,
    /// Files of the simulated libraries that play such a box.
    pub(crate) soft_libraries: &'static [&'static str],
    /// The file names of its library of collectives, which a simulated one has, too.
    pub(crate) collective_files: &'static [&'static str],
    /// What tells who uses its devices; `None` where nothing does.
    pub(crate) managed: Option<&'static Managed>,
    /// Whether copies between devices go direct only where access was enabled.
    pub(crate) copies_obey_access: bool,
    /// Which copies a kernel does instead of the copy engine, in words; `None` where none is known.
    pub(crate) copies_by_kernel: Option<&'static str>,
    /// The variable that limits how many streams run at once, read when a process begins; `None` where none is known.
    pub(crate) queues: Option<&'static str>,
}

/// Makes [`Built`] of the rows of `vendors`.
macro_rules! registry {
    ($($(#[$doc:meta])* $variant:ident: $backend:ty, $collectives:ty, $gpu:expr;)+) => {
        /// A backend that is built.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Built {
            $($(#[$doc])* $variant,)+
        }

        impl Built {
            /// Every backend, in the order in which they are asked.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its name on the command line.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => <$backend as $crate::Backend>::NAME,)+
                }
            }

            /// Does `work` on its backend.
            pub fn visit<V: $crate::Visit>(self, work: V) -> V::Output {
                match self {
                    $(Self::$variant => work.visit::<$backend>(),)+
                }
            }

            /// Does `work` on the library of collectives for its backend's memory and streams.
            pub fn visit_collectives<V: $crate::VisitCollectives>(self, work: V) -> V::Output {
                match self {
                    $(Self::$variant => work.visit::<$collectives>(),)+
                }
            }

            pub(crate) fn gpu_vendor(self) -> Option<&'static GpuVendor> {
                match self {
                    $(Self::$variant => const { $gpu },)+
                }
            }
        }
    };
}
pub(crate) use registry;
