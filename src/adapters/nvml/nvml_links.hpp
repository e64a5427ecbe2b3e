// How the cards of this node are linked, as NVML tells it.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "adapters/nvml/nvml_library.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

// A link that was found is there for good: it is soldered or slotted, and a card in trouble does
// not tell of it. One that was not may come: NVSwitch is up some time after the driver. It is asked
// for again now and then, as that is a call for each two cards. One thread. `nvml` outlives it.
class LinkReader {
  public:
    static constexpr int kReadingsBetween = 30;

    explicit LinkReader(const Nvml& nvml) : nvml_(&nvml) {}

    // Writes the links of the cards; `devices` and `readings` are parallel. A card without a handle
    // (null) has none.
    void read(std::span<const nvmlDevice_t> devices, std::span<GpuReading> readings);

  private:
    struct Pair {
        bool pcie = false;
        bool nvlink = false;
        int asked = 0;  // in which reading
    };

    Pair pair(nvmlDevice_t a, nvmlDevice_t b);
    [[nodiscard]] bool are_behind_one_switch(nvmlDevice_t a, nvmlDevice_t b) const;
    [[nodiscard]] bool are_by_nvlink(nvmlDevice_t a, nvmlDevice_t b) const;
    int numa(nvmlDevice_t device);

    const Nvml* nvml_;
    int reading_ = 0;
    std::map<std::pair<nvmlDevice_t, nvmlDevice_t>, Pair> pairs_;
    std::map<nvmlDevice_t, int> numas_;  // of those that have told
};

}  // namespace tessera
