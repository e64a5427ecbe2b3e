// The limits of a client of MPS: the lower ones of the server's and the client's environment. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpusim::mps {

// The multiprocessors that a percentage leaves: an even number, rounded down, and at least 2,
// because the hardware gives them in pairs, but never more than `all`. 100 % and more leave all.
// The rule follows from numbers of two GPUs (limits_test.cpp).
unsigned multiprocessors_of(unsigned all, double percentage);

// `text` is $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE or null. One that is no number from 0 (excluded) to
// 100 changes nothing.
double lower_percentage(double percentage, const char* text);

// One entry of $CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
struct PinnedLimit {
    const char* device = nullptr;  // an ordinal or a UUID, not terminated
    std::size_t length = 0;
    std::uint64_t bytes = 0;
};

// Removes the next entry from `text`, as in "0=1G,GPU-01234567-89ab-cdef-0123-456789abcdef=512MB".
// False if there is none; `text` may be null. An entry without a size has 0 bytes.
bool next_pinned_limit(const char*& text, PinnedLimit& limit);

// -1: the entry does not name its device by a number.
int ordinal_of(const PinnedLimit& limit);

}  // namespace gpusim::mps
