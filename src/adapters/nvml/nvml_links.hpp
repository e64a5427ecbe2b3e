// How the cards of this node are linked, as NVML tells it.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "adapters/nvml/nvml_library.hpp"
#include "ports/gpu_inventory.hpp"

namespace tessera {

// A pair of cards is asked about once: their links are soldered and slotted, and a card in trouble
// does not say. One thread. `nvml` outlives it.
class LinkReader {
  public:
    explicit LinkReader(const Nvml& nvml) : nvml_(nvml) {}

    // Of the card at `position`; `devices` and `readings` are parallel.
    [[nodiscard]] CardLinks of(std::size_t position, std::span<const nvmlDevice_t> devices,
                               std::span<const GpuReading> readings);

  private:
    struct Pair {
        bool pcie = false;
        bool nvlink = false;
    };

    Pair pair(nvmlDevice_t a, nvmlDevice_t b);
    int numa(nvmlDevice_t device);

    const Nvml& nvml_;
    std::map<std::pair<nvmlDevice_t, nvmlDevice_t>, Pair> pairs_;
    std::map<nvmlDevice_t, int> numas_;
};

}  // namespace tessera
