#include "gpusim/nvml/session.hpp"

#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace gpusim {

constinit Nvml nvml = {};

namespace {

constinit pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
constinit std::atomic<int> users = 0;

nvmlReturn_t result_of(OpenResult opened) {
    switch (opened) {
        case OpenResult::ok:
            return NVML_SUCCESS;
        case OpenResult::absent:
            return NVML_ERROR_DRIVER_NOT_LOADED;
        case OpenResult::not_permitted:
            return NVML_ERROR_NO_PERMISSION;
        case OpenResult::foreign:
            return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    }
    return NVML_ERROR_UNKNOWN;
}

nvmlReturn_t start() {
    char directory[kMaxPath];
    if (!find_directory(&nvml, directory)) return NVML_ERROR_DRIVER_NOT_LOADED;
    const nvmlReturn_t opened = result_of(open_state(nvml.state, directory, Access::read_only));
    if (opened != NVML_SUCCESS) return opened;
    nvml.driver_loads = nvml.state.file->driver_loads.load();
    nvml.present = present_gpus(nvml.state, std::getenv("NVIDIA_VISIBLE_DEVICES"));
    for (int i = 0; i < nvml.present.count; i++) {
        const int gpu = nvml.present.gpus[i];
        nvml.devices[gpu] = {gpu, static_cast<unsigned>(i)};
    }
    return NVML_SUCCESS;
}

int is_cuda(dl_phdr_info* library, std::size_t, void*) {
    return std::strstr(library->dlpi_name, "libcuda") != nullptr ? 1 : 0;
}

// libcuda of the same process may hold locks, which closing would drop.
void stop() {
    if (dl_iterate_phdr(is_cuda, nullptr) == 0) close_state(nvml.state);
}

}  // namespace

nvmlReturn_t initialize() {
    pthread_mutex_lock(&mutex);
    const nvmlReturn_t result = users.load() == 0 ? start() : NVML_SUCCESS;
    if (result == NVML_SUCCESS) users.fetch_add(1);
    pthread_mutex_unlock(&mutex);
    return result;
}

nvmlReturn_t shut_down() {
    pthread_mutex_lock(&mutex);
    const bool was_up = users.load() > 0;
    if (was_up && users.fetch_sub(1) == 1) stop();
    pthread_mutex_unlock(&mutex);
    return was_up ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t ready() {
    if (users.load() <= 0) return NVML_ERROR_UNINITIALIZED;
    const bool answers = nvml.state.file->nvml_kind.load() != NvmlKind::dead &&
                         nvml.state.file->driver_loads.load() == nvml.driver_loads;
    return answers ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t gpu_error(const Gpu& gpu) {
    if (gpu.lost.load() != 0) return NVML_ERROR_GPU_IS_LOST;
    return static_cast<nvmlReturn_t>(gpu.nvml_error.load());
}

nvmlReturn_t find_gpu(nvmlDevice_t device, const Gpu** gpu) {
    if (const nvmlReturn_t error = ready(); error != NVML_SUCCESS) return error;
    for (int i = 0; i < nvml.present.count; i++) {
        const int candidate = nvml.present.gpus[i];
        if (device != &nvml.devices[candidate]) continue;
        *gpu = &nvml.state.file->gpus[candidate];
        return gpu_error(**gpu);
    }
    return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t copy_text(const char* text, char* out, unsigned length) {
    if (out == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    const std::size_t wanted = std::strlen(text) + 1;
    if (length < wanted) return NVML_ERROR_INSUFFICIENT_SIZE;
    std::memcpy(out, text, wanted);
    return NVML_SUCCESS;
}

}  // namespace gpusim
