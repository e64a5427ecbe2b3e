// Maps a device of this process to a GPU of the limits. Any thread. All functions require that
// begin() has succeeded (process.hpp).
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

inline constexpr int kMaxDevices = 64;

// Index into the limits of a device's GPU; -1 if the container has no share of it.
int gpu_of(CUdevice device);
// The context that is current on this thread.
struct Current {
    CUcontext context = nullptr;
    int gpu = -1;
};
// The driver's error if there is none; kNotGuarded if its GPU is not in the container's share.
CUresult find_current(Current& current);

// A null, per-thread or legacy stream handle: it means a different stream in each context or
// thread.
bool is_default(CUstream stream);
// The context of a stream. Calls may be given a stream of another context, also when no context is
// current. For streams that do not report their context, the errors are those of find_current().
CUresult find_owner(CUstream stream, Current& owner);
// The same; GPU -1 if it is unknown.
Current owner_of(CUstream stream);

// Reports on stderr, once per process, that the container has no share of the device's GPU, and
// returns kNotGuarded.
CUresult refuse_gpu_of_others(CUdevice device);
// Whether the device exists and the container has no share of its GPU.
bool is_of_others(CUdevice device);
// The device of a GPU; -1 if no call has asked for one.
CUdevice device_of(int gpu);

}  // namespace tessera::guard
