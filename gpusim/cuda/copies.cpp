// cuMemcpy* and cuMemset*, those that return when they are done.
#include <cstring>

#include "gpusim/cuda/address_book.hpp"
#include "gpusim/cuda/managed_memory.hpp"

using gpusim::address;
using gpusim::Context;
using gpusim::Session;
using gpusim::Side;
using gpusim::Use;

namespace {

struct Copy {
    CUdeviceptr to;
    Side to_side;
    CUdeviceptr from;
    Side from_side;
    std::size_t bytes;
};

// The bytes move without the mutex held: a program that frees what it copies is wrong in any case.
CUresult copy(const Copy& wanted) {
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        Context* context = nullptr;
        if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
            return error;
        }
        const auto [to, to_side, from, from_side, bytes] = wanted;
        if (bytes == 0) return CUDA_SUCCESS;
        if (to == 0 || !gpusim::is_reachable(*context, to, bytes, to_side, Use::write) ||
            from == 0 || !gpusim::is_reachable(*context, from, bytes, from_side, Use::read)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        gpusim::touch_managed(to, bytes);
        gpusim::touch_managed(from, bytes);
    }
    std::memmove(address(wanted.to), address(wanted.from), wanted.bytes);
    return CUDA_SUCCESS;
}

CUdeviceptr pointer_of(const void* host) {
    return reinterpret_cast<CUdeviceptr>(host);
}

}  // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy({to, Side::either, from, Side::either, bytes});
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return copy({to, Side::device, pointer_of(from), Side::either, bytes});
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return copy({pointer_of(to), Side::either, from, Side::device, bytes});
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return copy({to, Side::device, from, Side::device, bytes});
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    {
        const Session session;
        if (session.error() != CUDA_SUCCESS) return session.error();
        Context* context = nullptr;
        if (const CUresult error = gpusim::current_context(&context); error != CUDA_SUCCESS) {
            return error;
        }
        if (count == 0) return CUDA_SUCCESS;
        if (!gpusim::is_reachable(*context, to, count, Side::device, Use::write)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        gpusim::touch_managed(to, count);
    }
    std::memset(address(to), value, count);
    return CUDA_SUCCESS;
}
