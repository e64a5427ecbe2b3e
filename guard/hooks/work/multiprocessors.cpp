#include "guard/hooks/work/multiprocessors.hpp"

#include <cstdio>

#include "guard/inject/driver.hpp"
#include "guard/process/charges.hpp"
#include "guard/process/devices.hpp"
#include "guard/process/state.hpp"

namespace tessera::guard {

CUresult check_multiprocessors(int gpu) {
    const unsigned most = gpu_limit(gpu).most_multiprocessors.load(std::memory_order_relaxed);
    const auto& ask = driver()->cuDeviceGetAttribute;
    if (most == 0 || !ask) return CUDA_SUCCESS;
    int has = 0;
    const CUresult asked = ask(&has, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_of(gpu));
    if (asked != CUDA_SUCCESS) return asked;
    if (has <= static_cast<int>(most)) return CUDA_SUCCESS;
    Process& here = *process();
    here.process_slot.accounts->gpus[gpu].refused_contexts.fetch_add(1, std::memory_order_relaxed);
    char line[400];
    const int length = std::snprintf(
        line, sizeof line,
        "tessera-guard: this program gets no GPU: it has %d multiprocessors, and its container may "
        "have %u. Leave CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and CUDA_MPS_PIPE_DIRECTORY as the "
        "container got them. If they are unchanged, NVIDIA MPS did not serve the GPU: start the "
        "program again.\n",
        has, most);
    if (length > 0) say_once(here.has_told_of_multiprocessors, line);
    return CUDA_ERROR_NOT_PERMITTED;
}

}  // namespace tessera::guard
