// What the cluster as a whole is short of, and the value that this gives a node. Two things can be
// scarce: nodes with space for tasks of several whole GPUs, and models that some tasks require. The
// sums are over the mix's classes m. D(m) is the number of tasks of class m to expect until the
// GPUs that are idle now are used up, if no task leaves:
//
//     D(m) = idle share(m) / sum over all m of share(m) milli(m) count(m)
//
// R(n) is the reserve for classes of several whole GPUs, in thousandths of a GPU:
//
//     R(n) = sum over m of 1000 count(m) min(2, renewal D(m) / C(m)) (copies(m, n) - drain(m, n))
//
//     copies(m, n) = min(free whole GPUs / count(m), free CPU / cpu(m)), rounded down
//
//     C(m) = sum of copies(m, n) over the cluster
//
//     leaving = recently released / recently taken: 0 if no task leaves, 1 in a steady state
//
//     renewal = 1 / (1 - leaving)
//
// If tasks leave as fast as they come, the idle GPUs last for ever, and so do the requests for
// spaces. Released GPUs are mostly parts of nodes, so releases renew GPUs, but not spaces.
//
// drain(m, n) is `leaving` times the sum, over the missing spaces for m on n, of the time until
// enough of the node's GPUs are free, if no task is added. The unit is the mean time for which a
// GPU stays in use. The first of b GPUs in use is free after 1 / b of that, the next after 1 / (b -
// 1) more. (Exponential times: Renyi, On the theory of order statistics, Acta Math. Acad. Sci.
// Hung. 4, 1953.) With a GPUs in use at the end, the time is
//
//     1 / b + 1 / (b - 1) + ... + 1 / (a + 1)
//
// So a task on one more GPU costs a space 1 / (b + 1) of its value, in addition to the space that
// it takes. That is least on the fullest node, and everything on an empty one. This term empties
// nodes: by copies() alone, all nodes with a task are equal.
//
// The price of a model, per thousandth of a GPU that is taken of it, sums over the classes m that
// may use it but not all models:
//
//     price(model) = min(2, sum over m of
//                           D(m) milli(m) count(m) / what is idle of the models that m may use)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/engine/mix.hpp"
#include "domain/placement/engine/placement_engine.hpp"

namespace tessera {

// Used by one thread. All values are 0 before the first update().
class Scarcity {
  public:
    // Uses the mix, what is free in the cluster now, and what was taken and released since the last
    // update. Reads each node once.
    void update(std::span<const MixClass> mix, const PlacementEngine& engine);

    // Thousandths of a GPU.
    [[nodiscard]] double reserve(const NodeLoad& load) const;
    [[nodiscard]] double price(int model) const { return prices_[static_cast<std::size_t>(model)]; }

  private:
    struct WholeGpuClass {
        std::int32_t cpu_milli = 0;
        std::int32_t count = 0;
        ModelSet models = kAnyModel;
        double worth = 0;  // the value of one copy
    };
    void note_departures(const PlacementEngine& engine);
    static std::int32_t copies(const WholeGpuClass& tasks, const NodeLoad& load,
                               std::int32_t whole);
    [[nodiscard]] double drain(const WholeGpuClass& tasks, const NodeLoad& load,
                               std::int32_t whole) const;

    std::vector<WholeGpuClass> whole_gpu_classes_;
    // Totals at the last update, and since the earlier ones with a half-life of one update.
    std::int64_t allocated_milli_ = 0;
    std::int64_t released_milli_ = 0;
    double taken_ = 0;
    double given_back_ = 0;
    double leaving_ = 0;
    std::array<double, kMaxModels> prices_{};
};

}  // namespace tessera
