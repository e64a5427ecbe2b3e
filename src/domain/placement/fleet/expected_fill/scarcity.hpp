// What the cluster as a whole is short of, and what that makes a node worth: room for tasks of
// several whole cards, and models that some tasks insist on. Sums over the mix's classes m, with
//     D(m) = idle share(m) / sum over all m of share(m) milli(m) count(m)
// the tasks of class m to expect before what is idle now is used up.
//
// R(n), the reserve for classes of several whole cards, in thousandths of a card:
//     R(n) = sum over m of 1000 count(m) min(2, D(m) / C(m)) copies(m, n)
//     copies(m, n) = min(free whole cards / count(m), free CPU / cpu(m)), rounded down
//     C(m) = sum of copies(m, n) over the cluster
// The price of a model, per thousandth of a card that is taken of it:
//     price(model) = min(2, sum over classes m that may use it, but not all models, of
//                           D(m) milli(m) count(m) / what is idle of the models that m may use)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "domain/placement/fleet/fleet.hpp"
#include "domain/placement/fleet/mix.hpp"

namespace tessera {

// One thread. All is 0 before the first update().
class Scarcity {
  public:
    // From the mix and from what is free in the cluster now. Looks at each node once.
    void update(std::span<const MixClass> mix, const Fleet& fleet);

    // Thousandths of a card.
    [[nodiscard]] double reserve(const NodeLoad& load) const;
    [[nodiscard]] double price(int model) const { return prices_[static_cast<std::size_t>(model)]; }

  private:
    struct Room {
        std::int32_t cpu_milli = 0;
        std::int32_t count = 0;
        ModelSet models = kAnyModel;
        double worth = 0;  // of one copy
    };
    static std::int32_t copies(const Room& room, const NodeLoad& load, std::int32_t whole);

    std::vector<Room> rooms_;
    std::array<double, kMaxModels> prices_{};
};

}  // namespace tessera
