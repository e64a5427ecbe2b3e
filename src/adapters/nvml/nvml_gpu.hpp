// Reads one GPU through NVML.
#pragma once

#include <map>
#include <vector>

#include "adapters/nvml/nvml_library.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

ComputeMode compute_mode_of(nvmlComputeMode_t mode);

// Used by one thread. `nvml` must outlive it.
class GpuReader {
  public:
    explicit GpuReader(const Nvml& nvml) : nvml_(nvml) {}

    // NVML_SUCCESS, or the error of a call that every driver must answer: the GPU has failed then.
    // Values that a driver need not report (minor number, model, memory size, modes, fault counts)
    // are no error. LinkReader reads the links.
    nvmlReturn_t read(nvmlDevice_t device, unsigned index, GpuReading& out);

    // Adds the compute processes of the GPU; a lost GPU has none. Errors: unsupported if the driver
    // does not report memory use per process; unavailable.
    Result<> add_processes(nvmlDevice_t device, const GpuUuid& uuid,
                           std::vector<GpuProcess>& found) const;

  private:
    nvmlReturn_t read_memory(nvmlDevice_t device, GpuReading& out);
    [[nodiscard]] Bytes reserve_of(nvmlDevice_t device, const GpuReading& reading);
    [[nodiscard]] RecoveryAction read_recovery(nvmlDevice_t device) const;
    [[nodiscard]] MemoryFaults read_faults(nvmlDevice_t device) const;
    void read_modes(nvmlDevice_t device, GpuSetup& out) const;
    void read_multiprocessors(nvmlDevice_t device, GpuReading& out) const;

    const Nvml& nvml_;
    // For drivers that do not report the reserve separately from used memory: the first value
    // found. It must not change while pods have shares of the rest.
    std::map<GpuUuid, Bytes> reserves_;
};

}  // namespace tessera
