// Which card of the limits a device of this process is. Any thread. All want begin() to have
// succeeded (process.hpp).
#pragma once

#include "api/nvidia/cuda.h"

namespace tessera::guard {

inline constexpr int kMaxDevices = 64;

// Index into the limits of the card of a device; -1 where the container has no share of it.
int card_of(CUdevice device);
// Of the context that is current on this thread.
struct Current {
    CUcontext context = nullptr;
    int card = -1;
};
// The driver's error where there is none; kNotGuarded where it is of a card without a share.
CUresult find_current(Current& current);

// Null, per thread or legacy: not one stream but one of each context, or of each thread of it.
bool is_default(CUstream stream);
// Whose stream it is: calls may be given one that is not of the current context, and where there
// is none. Errors of find_current(), of streams that say nothing of themselves.
CUresult find_owner(CUstream stream, Current& owner);
// The same; card -1 where it is not known.
Current owner_of(CUstream stream);

// Says on stderr, once in a process, that the container has no share of the device's card, and
// returns kNotGuarded.
CUresult refuse_card_of_others(CUdevice device);
// Whether the device exists and is of a card that the container has no share of.
bool is_of_others(CUdevice device);
// The device of a card; -1 where none was asked for.
CUdevice device_of(int card);

}  // namespace tessera::guard
