// cuGetProcAddress, answered from entry_points.def. Works before cuInit.
#include <cstring>

#include "api/nvidia/cuda.h"
#include "gpusim/cuda/driver/newer.h"

namespace {

struct EntryPoint {
    const char* name;
    void* function;
    int since;
    bool is_per_thread;
};

const EntryPoint kEntryPoints[] = {
#define ENTRY_POINT(name, symbol, since) {#name, reinterpret_cast<void*>(symbol), since, false},
#define PER_THREAD_ENTRY_POINT(name, symbol, since) \
    {#name, reinterpret_cast<void*>(symbol), since, true},
#include "gpusim/cuda/driver/entry_points.def"
#undef PER_THREAD_ENTRY_POINT
#undef ENTRY_POINT
};

constexpr cuuint64_t kKnownFlags =
    CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

struct Answer {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

Answer look_up(const char* symbol, int cuda_version, bool is_per_thread) {
    Answer answer;
    int best = 0;
    for (const EntryPoint& entry : kEntryPoints) {
        if (std::strcmp(entry.name, symbol) != 0 || entry.is_per_thread != is_per_thread) continue;
        if (entry.since <= cuda_version && entry.since > best) {
            best = entry.since;
            answer = {entry.function, CU_GET_PROC_ADDRESS_SUCCESS};
        } else if (answer.function == nullptr) {
            answer.status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
        }
    }
    return answer;
}

}  // namespace

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int cuda_version,
                             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    if (symbol == nullptr || function == nullptr || (flags & ~kKnownFlags) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const bool is_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    Answer answer = look_up(symbol, cuda_version, is_per_thread);
    if (answer.function == nullptr && is_per_thread) answer = look_up(symbol, cuda_version, false);
    *function = answer.function;
    if (status != nullptr) *status = answer.status;
    return CUDA_SUCCESS;
}

// The first version has no status to report that there is no such function, so its result reports
// it.
CUresult cuGetProcAddress(const char* symbol, void** function, int cuda_version, cuuint64_t flags) {
    const CUresult result = cuGetProcAddress_v2(symbol, function, cuda_version, flags, nullptr);
    if (result != CUDA_SUCCESS) return result;
    return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
