//! Exports: initialisation, versions and what can be asked of a device.
#![expect(
    unsafe_code,
    reason = "exports C functions that write through their callers' pointers"
)]

use crate::abi::{Status, call, ordinal, present, put, put_text, with};
use softbox::{Code, Outcome, SoftDriver};
use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::LazyLock;

static BOX_NAME: LazyLock<CString> = LazyLock::new(|| {
    softbox::box_name()
        .and_then(|name| CString::new(name).ok())
        .unwrap_or_default()
});

/// The name of the box behind this library, empty without one; its presence says that no GPU is here.
#[unsafe(no_mangle)]
extern "C" fn tplens_soft_box() -> *const c_char {
    BOX_NAME.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> Status {
    call(|| {
        if flags == 0 {
            with(SoftDriver::init)
        } else {
            Err(Code::INVALID_VALUE.into())
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Status {
    call(|| {
        let api = softbox::described()?.driver_api;
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(version, api as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Status {
    call(|| {
        let found = with(|driver| Ok(driver.devices()?.len()))?;
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(count, found as c_int) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, number: c_int) -> Status {
    call(|| {
        with(|driver| driver.device(ordinal(number)?).map(|_| ()))?;
        // SAFETY: cuda.h: the caller passes a place for one CUdevice, an int.
        unsafe { put(device, number) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) -> Status {
    call(|| {
        let text = with(|driver| Ok(driver.device(ordinal(device)?)?.name.clone()))?;
        // SAFETY: cuda.h: the caller passes a place for `room` bytes.
        unsafe { put_text(name, room, &text, true) }
    })
}

/// The GPU's own id, also for a MIG instance (`cuda.h` since 11.4).
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) -> Status {
    call(|| {
        let bytes = with(|driver| {
            let physical = driver.device(ordinal(device)?)?.physical;
            Ok(driver.described().device[physical]
                .uuid_bytes()
                .unwrap_or_default())
        })?;
        // SAFETY: cuda.h: the caller passes a place for one CUuuid, 16 bytes.
        unsafe { put(uuid, bytes) }
    })
}

/// The id of the MIG instance where the device is one.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> Status {
    call(|| {
        let bytes = with(|driver| Ok(driver.device(ordinal(device)?)?.uuid_bytes))?;
        // SAFETY: cuda.h: the caller passes a place for one CUuuid, 16 bytes.
        unsafe { put(uuid, bytes) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) -> Status {
    call(|| {
        let total = with(|driver| Ok(driver.device(ordinal(device)?)?.memory_bytes))?;
        // SAFETY: cuda.h: the caller passes a place for one size_t.
        unsafe { put(bytes, total as usize) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: c_uint,
    device: c_int,
) -> Status {
    call(|| {
        let found = with(|driver| attribute_of(driver, ordinal(device)?, attribute))?;
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(value, found) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetPCIBusId(text: *mut c_char, room: c_int, device: c_int) -> Status {
    call(|| {
        let address = with(|driver| {
            let physical = driver.device(ordinal(device)?)?.physical;
            Ok(driver.described().device[physical].address.to_uppercase())
        })?;
        // SAFETY: cuda.h: the caller passes a place for `room` bytes.
        unsafe { put_text(text, room, &address, false) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> Status {
    call(|| {
        let found = with(|driver| driver.can_access_peer(ordinal(device)?, ordinal(peer)?))?;
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(can, c_int::from(found)) }
    })
}

/// Performance rank (1) is 0, access (2) as reported, native atomics (3) and array access (4) are 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetP2PAttribute(
    value: *mut c_int,
    attribute: c_uint,
    from: c_int,
    to: c_int,
) -> Status {
    call(|| {
        present(value)?;
        let access = with(|driver| driver.can_access_peer(ordinal(from)?, ordinal(to)?))?;
        let found = match attribute {
            2 => c_int::from(access),
            1 | 3 | 4 if from != to => 0,
            _ => return Err(Code::INVALID_VALUE.into()),
        };
        // SAFETY: cuda.h: the caller passes a place for one int.
        unsafe { put(value, found) }
    })
}

/// Attributes by their number in `cuda.h`, enum `CUdevice_attribute`; what the box does not say is refused, never made up.
fn attribute_of(driver: &SoftDriver, ordinal: usize, attribute: c_uint) -> Outcome<c_int> {
    let physical = driver.device(ordinal)?.physical;
    let device = &driver.described().device[physical];
    let address: Vec<c_int> = device
        .address
        .split([':', '.'])
        .filter_map(|part| c_int::from_str_radix(part, 16).ok())
        .collect();
    // Compute capability of the GPUs of the built-in boxes (CUDA C programming guide).
    let capability = match device.pci_id.as_str() {
        "10de:26b5" => Some((8, 9)),
        "10de:2335" => Some((9, 0)),
        "10de:2bb5" => Some((12, 0)),
        _ => None,
    };
    let found = match attribute {
        10 => Some(32),                                            // WARP_SIZE
        15 => Some(c_int::from(device.copy_engines > 0)),          // GPU_OVERLAP
        16 => device.multiprocessors.map(|count| count as c_int),  // MULTIPROCESSOR_COUNT
        31 => Some(c_int::from(device.kernels.is_some())),         // CONCURRENT_KERNELS
        18 | 20 | 35 | 83 | 115 => Some(0), // INTEGRATED, COMPUTE_MODE, TCC_DRIVER, MANAGED_MEMORY, MEMORY_POOLS_SUPPORTED
        19 | 41 => Some(1),                 // CAN_MAP_HOST_MEMORY, UNIFIED_ADDRESSING
        33 => address.get(1).copied(),      // PCI_BUS_ID
        34 => address.get(2).copied(),      // PCI_DEVICE_ID
        40 => Some(device.copy_engines as c_int), // ASYNC_ENGINE_COUNT
        50 => address.first().copied(),     // PCI_DOMAIN_ID
        75 => capability.map(|(major, _)| major), // COMPUTE_CAPABILITY_MAJOR
        76 => capability.map(|(_, minor)| minor), // COMPUTE_CAPABILITY_MINOR
        134 => Some(device.node.map_or(-1, |node| node as c_int)), // HOST_NUMA_ID
        _ => None,
    };
    found.ok_or(Code::INVALID_VALUE.into())
}
