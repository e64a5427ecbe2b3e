// Device memory with its place in the address book: the base of cuMemAlloc and of arrays.
#pragma once

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/memory/blocks.hpp"

namespace gpusim {

struct DeviceRange : Range {
    Piece piece;
};

struct DeviceRequest {
    std::size_t bytes;
    RangeKind kind = RangeKind::device;
    Reach reach = Reach::anywhere;
};

// Requires a Session. `bytes` is not 0; errors as for take_piece.
CUresult allocate(Context& context, const DeviceRequest& request, DeviceRange** range);

// The range that begins there and that cuMemFree may free; null if there is none.
Range* find_freeable(CUdeviceptr pointer);

struct Pitched {
    std::size_t width;  // bytes
    std::size_t height;
    unsigned element;  // bytes
};

// The bytes of a row and of all rows, as cuMemAllocPitch lays them out.
CUresult pitched(const Pitched& wanted, std::size_t* row, std::size_t* bytes);

}  // namespace gpusim
