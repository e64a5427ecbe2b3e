#include "domain/placement/fleet/clustering.hpp"

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

class Clustering final : public FleetPolicy {
  public:
    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<Clustering>(*this);
    }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t) override {
        if (task.count == 0) return {};
        return {kBand * bands_below(load.kinds, kind_of(task)) + within_band(load),
                tightest_cards(load, task)};
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load, const Task& task) override {
        const double company = kBand * bands_below(load.kinds, kind_of(task));
        const double fullness = within_band(load);
        return {{"company", company}, {"fullness", fullness}};
    }
    [[nodiscard]] bool sees_kinds() const override { return true; }

  private:
    // Not below 0 either where a node has more than the artefact's eight cards.
    static int within_band(const NodeLoad& load) {
        const int all = std::max(kLargestGpu, load.cards * kMilliPerCard);
        return kBand * (all - load.free_milli()) / all;
    }
};

}  // namespace

std::unique_ptr<FleetPolicy> clustering_policy(const PolicyInputs&) {
    return std::make_unique<Clustering>();
}

}  // namespace tessera
