// cuPointerGetAttribute: what the address book says about an address.
#include <cstring>

#include "gpusim/cuda/memory/address_book.hpp"
#include "gpusim/cuda/pools/pools.hpp"
#include "gpusim/cuda/virtual_memory/virtual_memory.hpp"

using gpusim::Range;
using gpusim::RangeKind;
using gpusim::Session;

namespace {

bool is_host(const Range& range) {
    return range.kind == RangeKind::host || range.kind == RangeKind::registered || range.device < 0;
}

template <class Value>
CUresult give(void* data, Value value) {
    *static_cast<Value*>(data) = value;
    return CUDA_SUCCESS;
}

// The size of the answer in bytes; 0 for an attribute that is not modelled.
std::size_t width_of(CUpointer_attribute attribute) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return sizeof(int);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return sizeof(bool);
        case CU_POINTER_ATTRIBUTE_CONTEXT:
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return sizeof(std::uint64_t);
        default:
            return 0;
    }
}

CUresult handle_types_of(void* data, CUdeviceptr pointer) {
    const gpusim::Physical* physical = gpusim::mapped_at(pointer);
    return give(data, physical != nullptr ? std::uint64_t{physical->properties.requestedHandleTypes}
                                          : std::uint64_t{CU_MEM_HANDLE_TYPE_NONE});
}

CUresult attribute_of(const Range& range, CUdeviceptr pointer, CUpointer_attribute attribute,
                      void* data) {
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            return give(data, reinterpret_cast<CUcontext>(range.context));
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return give(data, unsigned{is_host(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE});
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return give(data, pointer);
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!is_host(range) && range.kind != RangeKind::managed) {
                return CUDA_ERROR_INVALID_VALUE;
            }
            return give(data, gpusim::address(pointer));
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            return give(data, range.id);
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            return give(data,
                        range.kind == RangeKind::managed || gpusim::is_of_managed_pool(range));
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give(data, int{range.device});
        case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
            return give(data, range.kind == RangeKind::device);
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return give(data, range.base);
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            return give(data, range.bytes);
        case CU_POINTER_ATTRIBUTE_MAPPED:
            return give(data, true);
        case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
            return handle_types_of(data, pointer);
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            return give(data, gpusim::pool_of(range));
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Range* range = gpusim::find_range(pointer);
    if (range == nullptr) {
        const bool is_asked = attribute == CU_POINTER_ATTRIBUTE_MAPPED;
        return is_asked && gpusim::is_reserved(pointer) ? give(data, false)
                                                        : CUDA_ERROR_INVALID_VALUE;
    }
    return attribute_of(*range, pointer, attribute, data);
}

// Unlike the function above it takes any address: for one that is not the driver's, all values are
// 0.
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr pointer) {
    const Session session;
    if (session.error() != CUDA_SUCCESS) return session.error();
    if (count == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Range* range = gpusim::find_range(pointer);
    for (unsigned i = 0; i < count; i++) {
        std::uint64_t answer = 0;
        if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
        const std::size_t bytes = width_of(attributes[i]);
        if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
        if (range != nullptr) attribute_of(*range, pointer, attributes[i], &answer);
        std::memcpy(data[i], &answer, bytes);
    }
    return CUDA_SUCCESS;
}
