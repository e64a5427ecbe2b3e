// The links between the GPUs of this node, as NVML reports them.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "adapters/nvml/nvml_library.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

// A link that was found stays: it is hardware, and a failed GPU does not report it. A missing link
// may appear later, because NVSwitch starts some time after the driver. Missing links are queried
// again only now and then, because each pair of GPUs needs a call. Used by one thread. `nvml` must
// outlive it.
class LinkReader {
  public:
    static constexpr int kReadingsBetween = 30;

    explicit LinkReader(const Nvml& nvml) : nvml_(&nvml) {}

    // Fills in the links of the GPUs; `devices` and `readings` are parallel. A GPU without a handle
    // (null) has none.
    void read(std::span<const nvmlDevice_t> devices, std::span<GpuReading> readings);

  private:
    struct Pair {
        bool pcie = false;
        bool nvlink = false;
        int asked = 0;  // number of the reading with the last query
    };

    Pair pair(nvmlDevice_t a, nvmlDevice_t b);
    [[nodiscard]] bool are_behind_one_switch(nvmlDevice_t a, nvmlDevice_t b) const;
    [[nodiscard]] bool are_by_nvlink(nvmlDevice_t a, nvmlDevice_t b) const;
    int numa(nvmlDevice_t device);

    const Nvml* nvml_;
    int reading_ = 0;
    std::map<std::pair<nvmlDevice_t, nvmlDevice_t>, Pair> pairs_;
    std::map<nvmlDevice_t, int> numas_;  // of the devices that reported one
};

}  // namespace tessera
