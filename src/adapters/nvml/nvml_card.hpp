// What NVML says of one card at one moment.
#pragma once

#include <map>
#include <vector>

#include "adapters/nvml/nvml_library.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

// One thread. `nvml` outlives it.
class CardReader {
  public:
    explicit CardReader(const Nvml& nvml) : nvml_(nvml) {}

    // NVML_SUCCESS, or what came in place of an answer: then the card is in trouble. What a driver
    // need not answer (minor number, model, memory size, modes, fault counts) is no trouble. The
    // links are LinkReader's.
    nvmlReturn_t read(nvmlDevice_t device, unsigned index, GpuReading& out);

    // Adds the processes that compute on the card; of a lost one there are none. Errors:
    // unsupported where the driver does not say who uses what, unavailable.
    Result<> add_processes(nvmlDevice_t device, const GpuUuid& uuid,
                           std::vector<GpuProcess>& found) const;

  private:
    nvmlReturn_t read_memory(nvmlDevice_t device, GpuReading& out);
    [[nodiscard]] Bytes reserve_of(nvmlDevice_t device, const GpuReading& reading);
    [[nodiscard]] RecoveryAction read_recovery(nvmlDevice_t device) const;
    [[nodiscard]] MemoryFaults read_faults(nvmlDevice_t device) const;
    void read_modes(nvmlDevice_t device, GpuSetup& out) const;

    const Nvml& nvml_;
    // Of drivers that do not tell the reserve from what is in use: as first found. It must not
    // change while pods hold shares of the rest.
    std::map<GpuUuid, Bytes> reserves_;
};

}  // namespace tessera
