#include "domain/placement/engine/clustering.hpp"

#include <algorithm>

namespace tessera {
namespace {

constexpr int kBand = 25;
constexpr int kLargestGpu = 8'000;

int bands_below(TaskKinds running, TaskKinds kind) {
    if (running == kind) return 3;
    if ((running & kind) != 0) return 2;
    return running == 0 ? 1 : 0;
}

class Clustering final : public PlacementPolicy {
  public:
    [[nodiscard]] std::unique_ptr<PlacementPolicy> copy() const override {
        return std::make_unique<Clustering>(*this);
    }

    [[nodiscard]] PolicyScore score(const NodeLoad& load, const PlacementTask& task,
                                    std::uint64_t) override {
        if (task.count == 0) return {};
        return {kBand * bands_below(load.kinds, kind_of(task)) + within_band(load),
                tightest_gpus(load, task)};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load,
                                               const PlacementTask& task) override {
        const double affinity = kBand * bands_below(load.kinds, kind_of(task));
        const double fullness = within_band(load);
        return {{"affinity", affinity}, {"fullness", fullness}};
    }
    [[nodiscard]] bool sees_kinds() const override { return true; }

  private:
    // Never negative, even for a node with more than the artefact's eight GPUs.
    static int within_band(const NodeLoad& load) {
        const int all = std::max(kLargestGpu, load.gpus * kMilliPerGpu);
        return kBand * (all - load.free_milli()) / all;
    }
};

}  // namespace

std::unique_ptr<PlacementPolicy> clustering_policy(const PolicyInputs&) {
    return std::make_unique<Clustering>();
}

}  // namespace tessera
