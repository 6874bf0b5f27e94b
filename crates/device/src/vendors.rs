//! The vendors: tables of libraries that have the shape of CUDA, and a row of the registry for each backend.
//!
//! Sources: cuda.h 13.0 for CUDA; hip_runtime_api.h of ROCm 5.2 to 7.x for HIP; for MACA the calls of open projects that use `libmcruntime.so`, as
//! its headers are not public. What is assumed there is marked.

use crate::ccl::{self, Beside, Ccl, CclNames, Proof, ccl_names};
use crate::management::{AMDGPU, MXSML, NVML};
use crate::registry::{GpuVendor, PciVendor, registry};
use crate::runtime::{
    Attributes, Compiler, CompilerNames, DriverNames, HostFlags, Kernels, Names, Runtime, Table,
    Vendor, Version, any_is_gone, compiler_names, driver_names, grouped_uuid, names, plain_uuid,
};

registry! {
    /// NVIDIA's driver.
    Cuda: Runtime<Nvidia>, Ccl<Nccl>, Some(&GpuVendor {
        pci: PciVendor { id: 0x10de, name: "NVIDIA" },
        in_boxes: "nvidia",
        soft_libraries: &["libcuda.so.1", "libnvidia-ml.so.1"],
        collective_files: <Nccl as ccl::Vendor>::TABLE.files,
        managed: Some(&NVML),
        copies_obey_access: true,
        copies_by_kernel: None,
        // CUDA C++ Programming Guide, environment variables: 8 by default, 32 at most.
        queues: Some("CUDA_DEVICE_MAX_CONNECTIONS"),
    });
    /// AMD's runtime.
    Hip: Runtime<Amd>, Ccl<Rccl>, Some(&GpuVendor {
        pci: PciVendor { id: 0x1002, name: "AMD" },
        in_boxes: "amd",
        soft_libraries: &["libamdhip64.so.7"],
        collective_files: <Rccl as ccl::Vendor>::TABLE.files,
        managed: Some(&AMDGPU),
        // ROCm's clr: hipDeviceEnablePeerAccess adds to a list, the copy looks at the devices that the hardware connects.
        copies_obey_access: false,
        copies_by_kernel: Some(
            "AMD's runtime copies within a device, and between devices up to 1 MiB (ROC_P2P_SDMA_SIZE), by kernel, so \
             `_ce` there is not the copy engine",
        ),
        // Streams beyond this many share queues: 4 by default.
        queues: Some("GPU_MAX_HW_QUEUES"),
    });
    /// MetaX's runtime.
    Maca: Runtime<MetaX>, Ccl<Mccl>, Some(&GpuVendor {
        pci: PciVendor { id: 0x9999, name: "MetaX" },
        in_boxes: "metax",
        soft_libraries: &["libmcruntime.so"],
        collective_files: <Mccl as ccl::Vendor>::TABLE.files,
        managed: Some(&MXSML),
        // Assumed, as nothing is public.
        copies_obey_access: true,
        copies_by_kernel: None,
        queues: None,
    });
    /// Host memory: asked last, and only where there is no GPU.
    Host: crate::host::Host, crate::host::HostCollectives, None;
}

/// NVIDIA.
#[derive(Debug, Clone, Copy)]
pub enum Nvidia {}

/// AMD.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Amd {}

/// MetaX.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MetaX {}

impl Vendor for Nvidia {
    const TABLE: &'static Table = &Table {
        backend: "cuda",
        interface: "CUDA",
        library: "libcuda.so.1",
        // The second is the toolkit's name of it.
        files: &["libcuda.so.1", "libcuda.so"],
        variable: "",
        folders: &[],
        packages: &[],
        install: "install NVIDIA's driver, or use --backend host",
        visible: "CUDA_VISIBLE_DEVICES",
        without_device: "where there is a GPU, see that nvidia-smi -L lists it",
        names: Names {
            runtime_version: "cuDriverGetVersion",
            device_count: "cuDeviceGetCount",
            error_name: "",
            error_string: "",
            device_uuid: "cuDeviceGetUuid_v2",
            device_memory: "cuDeviceTotalMem_v2",
            device_properties: "",
            set_device: "",
            enable_peer: "",
            disable_peer: "",
            memory_info: "cuMemGetInfo_v2",
            alloc: "cuMemAlloc_v2",
            free: "cuMemFree_v2",
            host_alloc: "cuMemHostAlloc",
            host_free: "cuMemFreeHost",
            host_address: "cuMemHostGetDevicePointer_v2",
            copy: "",
            copy_peer: "",
            stream_create: "cuStreamCreate",
            stream_destroy: "cuStreamDestroy_v2",
            event_create: "cuEventCreate",
            event_destroy: "cuEventDestroy_v2",
            event_elapsed: "cuEventElapsedTime_v2",
            capture_begin: "cuStreamBeginCapture_v2",
            graph_instantiate: "",
            launch_kernel: "cuLaunchKernel",
            ..names!("cu")
        },
        driver: Some(driver_names!("cu")),
        // Uncorrectable link errors, a contained fault, and those of which cuda.h says that the process must be ended.
        lost: &[220, 226, 714, 715, 716, 717, 718],
        any_is_gone,
        version: Version::Thousands,
        uuid: grouped_uuid,
        host_flags: HostFlags {
            pinned: 1 | 2, // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
            on_node: 0,
            coherent: 0,
        },
        // cuda.h, `CUdevice_attribute`.
        attributes: Some(Attributes {
            integrated: 18,
            l2_bytes: 38,
            multiprocessors: 16,
        }),
        kernels: Some(Kernels::Ptx),
    };
}

impl Vendor for Amd {
    const TABLE: &'static Table = &Table {
        backend: "hip",
        interface: "HIP",
        library: "libamdhip64.so",
        // The number is HIP's major version.
        files: &[
            "libamdhip64.so",
            "libamdhip64.so.7",
            "libamdhip64.so.6",
            "libamdhip64.so.5",
        ],
        variable: "ROCM_PATH",
        folders: &["/opt/rocm*"],
        // PyTorch's wheels for ROCm, and the wheels of ROCm itself: the kernel's driver is all that they need besides.
        packages: &["torch/lib", "_rocm_sdk_core/lib"],
        install: "install ROCm's HIP runtime, set ROCM_PATH to its folder, activate the engine's Python environment, or use --backend host",
        visible: "HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES",
        without_device: "where there is a GPU, see that this user may open /dev/kfd (groups render and video)",
        names: names!("hip"),
        driver: None,
        lost: &[],
        any_is_gone: || false,
        version: Version::Decimal,
        uuid: plain_uuid,
        host_flags: HostFlags {
            // hipHostMallocPortable and hipHostMallocCoherent (hip_runtime_api.h). Portable alone is coarse-grained memory, of
            // which kernels may read stale words, and NumaUser makes it fine-grained (ROCm's clr, hip_memory.cpp): with
            // Coherent it is fine-grained with a node and without.
            pinned: 1 | 0x4000_0000,
            // hipHostMallocNumaUser: without it the runtime chooses a node near the GPU, whatever the thread's policy.
            on_node: 0x2000_0000,
            // hipHostMallocCoherent: whatever HIP_HOST_COHERENT says, host and kernel see each other's words.
            coherent: 0x4000_0000,
        },
        // hip_runtime_api.h, `hipDeviceAttribute_t`: unchanged from 5.0 on.
        attributes: Some(Attributes {
            integrated: 16,
            l2_bytes: 19,
            multiprocessors: 63,
        }),
        kernels: Some(Kernels::Compiled(Compiler {
            source: |code| code.hip,
            names: compiler_names!("hiprtc"),
            prefix: "libhiprtc.so",
            files: &[
                "libhiprtc.so",
                "libhiprtc.so.7",
                "libhiprtc.so.6",
                "libhiprtc.so.5",
            ],
        })),
    };
}

impl Vendor for MetaX {
    const TABLE: &'static Table = &Table {
        backend: "maca",
        interface: "MACA",
        library: "libmcruntime.so",
        files: &["libmcruntime.so"],
        variable: "MACA_PATH",
        folders: &["/opt/maca"],
        packages: &[],
        install: "install MetaX's MACA, set MACA_PATH to its folder, or use --backend host",
        visible: "MACA_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES",
        without_device: "where there is a GPU, see that this user may open /dev/mxcd and that no other process has it",
        names: Names {
            host_alloc: "mcMallocHost",
            host_free: "mcFreeHost",
            ..names!("mc")
        },
        driver: None,
        // The kernel's driver does not answer, a kernel ran too long.
        lost: &[10_014, 10_032],
        any_is_gone: || false,
        version: Version::File("Version.txt"),
        uuid: plain_uuid,
        host_flags: HostFlags {
            pinned: 0, // mcMallocHostDefault
            on_node: 0,
            coherent: 0,
        },
        // The numbers are neither CUDA's nor today's HIP's, and not public.
        attributes: None,
        kernels: None,
    };
}

/// NVIDIA's library of collectives.
pub(crate) enum Nccl {}

/// AMD's, whose functions have the names of NVIDIA's.
pub(crate) enum Rccl {}

/// MetaX's.
pub(crate) enum Mccl {}

impl ccl::Vendor for Nccl {
    type Backend = Runtime<Nvidia>;

    const TABLE: &'static ccl::Table = &ccl::Table {
        name: "nccl",
        interface: "NCCL",
        library: "libnccl.so.2",
        prefix: "libnccl.so",
        files: &["libnccl.so.2", "libnccl.so"],
        variable: "TPLENS_NCCL",
        beside: Beside {
            variable: None,
            folders: &[],
        },
        // The wheels nvidia-nccl-cu12 and nvidia-nccl-cu13, which engines bring.
        packages: &["nvidia/nccl/lib"],
        install: "install NCCL, set TPLENS_NCCL to the file, or activate the Python environment of the engine",
        names: ccl_names!("nccl"),
        proof: None,
    };
}

impl ccl::Vendor for Rccl {
    type Backend = Runtime<Amd>;

    const TABLE: &'static ccl::Table = &ccl::Table {
        name: "rccl",
        interface: "RCCL",
        library: "librccl.so.1",
        prefix: "librccl.so",
        files: &["librccl.so.1", "librccl.so"],
        variable: "TPLENS_RCCL",
        beside: Beside {
            variable: Some(Amd::TABLE.variable),
            folders: Amd::TABLE.folders,
        },
        // PyTorch's wheels for ROCm, and the wheels of ROCm itself, whose name ends in the GPUs that they are for.
        packages: &["torch/lib", "_rocm_sdk_libraries*/lib"],
        install: "install RCCL, set TPLENS_RCCL to the file, or activate the Python environment of the engine",
        names: ccl_names!("nccl"),
        proof: None,
    };
}

impl ccl::Vendor for Mccl {
    type Backend = Runtime<MetaX>;

    const TABLE: &'static ccl::Table = &ccl::Table {
        name: "mccl",
        interface: "MCCL",
        library: "libmccl.so",
        prefix: "libmccl.so",
        files: &["libmccl.so"],
        variable: "TPLENS_MCCL",
        beside: Beside {
            variable: Some(MetaX::TABLE.variable),
            folders: MetaX::TABLE.folders,
        },
        packages: &[],
        install: "install MetaX's MACA, or set TPLENS_MCCL to the file",
        names: ccl_names!("mccl"),
        // Moore Threads has a library of this name too, with functions of the same names.
        proof: Some(Proof {
            symbol: "mcclCommMcDevice",
            neighbour: "libmcruntime.so",
        }),
    };
}
