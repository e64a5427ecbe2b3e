#include "gpusim/cuda/driver/driver.hpp"

#include <unistd.h>

#include <cstdlib>

#include "gpusim/cuda/driver/newer.h"

namespace gpusim {

constinit Driver driver = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                           .slot = -1,
                           .contexts = nullptr,
                           .mps = {.fd = -1, .active_thread_percentage = 100}};

namespace {

// The daemon must see the end of this process also while a fork child lives. If cuInit has not
// succeeded yet, the child may call it itself: another thread, which the child does not have, may
// hold the mutex.
void reset_in_fork_child() {
    disconnect_from_mps();
    if (driver.owner.load() == 0) driver.mutex = PTHREAD_MUTEX_INITIALIZER;
}

// Before the mutex is locked for the first time. Two threads may register the function twice, which
// does no harm.
void prepare_for_forks() {
    static constinit std::atomic<bool> is_prepared = false;
    if (is_prepared.load()) return;
    is_prepared.store(pthread_atfork(nullptr, nullptr, reset_in_fork_child) == 0);
}

CUresult result_of(OpenResult opened) {
    switch (opened) {
        case OpenResult::ok:
            return CUDA_SUCCESS;
        case OpenResult::absent:
            return CUDA_ERROR_NO_DEVICE;
        case OpenResult::not_permitted:
            return CUDA_ERROR_OPERATING_SYSTEM;
        case OpenResult::foreign:
            return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    }
    return CUDA_ERROR_UNKNOWN;
}

CUresult start() {
    char directory[kMaxPath];
    if (!find_directory(&driver, directory)) return CUDA_ERROR_NO_DEVICE;
    const CUresult opened = result_of(open_state(driver.state, directory, Access::read_write));
    if (opened != CUDA_SUCCESS) return opened;
    const CUresult connected = connect_to_mps();
    if (connected != CUDA_SUCCESS) return connected;
    const GpuList present =
        gpus_of_mps(present_gpus(driver.state, std::getenv("NVIDIA_VISIBLE_DEVICES")));
    driver.devices = cuda_gpus(driver.state, present, std::getenv("CUDA_VISIBLE_DEVICES"));
    for (int device = 0; device < driver.devices.count; device++) {
        Context& context = driver.primary[device].context;
        context.device = device;
        context.gpu = driver.devices.gpus[device];
    }
    read_mps_environment();
    if (driver.devices.count > 0) return CUDA_SUCCESS;
    disconnect_from_mps();
    return CUDA_ERROR_NO_DEVICE;
}

}  // namespace

// A fork child must not even try to lock the mutex: another thread of its parent may have held it.
Session::Session() : error_(CUDA_ERROR_NOT_INITIALIZED) {
    if (driver.owner.load() != getpid()) return;
    pthread_mutex_lock(&driver.mutex);
    error_ = CUDA_SUCCESS;
    if (driver.mps.fd >= 0) check_mps();
}

Session::~Session() {
    if (error_ == CUDA_SUCCESS) pthread_mutex_unlock(&driver.mutex);
}

Gpu& gpu_of(const Context& context) {
    return driver.state.file->gpus[context.gpu];
}

bool is_device(CUdevice device) {
    return device >= 0 && device < driver.devices.count;
}

bool is_lost(int gpu) {
    return driver.state.file->gpus[gpu].lost.load() != 0;
}

CUdevice device_of(int gpu) {
    for (int device = 0; device < driver.devices.count; device++) {
        if (driver.devices.gpus[device] == gpu) return device;
    }
    return -1;
}

}  // namespace gpusim

using gpusim::driver;

CUresult cuInit(unsigned int flags) {
    const pid_t owner = driver.owner.load();
    if (owner != 0 && owner != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    gpusim::prepare_for_forks();
    pthread_mutex_lock(&driver.mutex);
    CUresult result = CUDA_SUCCESS;
    if (driver.owner.load() == 0) {
        result = gpusim::start();
        if (result == CUDA_SUCCESS) driver.owner.store(getpid());
    }
    pthread_mutex_unlock(&driver.mutex);
    return result;
}

CUresult cuDriverGetVersion(int* version) {
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
#ifdef GPUSIM_NEWER
    *version = GPUSIM_NEWER_VERSION;
#else
    *version = gpusim::kCudaVersion;
#endif
    return CUDA_SUCCESS;
}
