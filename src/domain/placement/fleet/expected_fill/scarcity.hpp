// What the cluster as a whole is short of, and what that makes a node worth: room for tasks of
// several whole cards, and models that some tasks insist on. Sums over the mix's classes m, with
//     D(m) = idle share(m) / sum over all m of share(m) milli(m) count(m)
// the tasks of class m to expect before what is idle now is used up, if nobody leaves.
//
// R(n), the reserve for classes of several whole cards, in thousandths of a card:
//     R(n) = sum over m of 1000 count(m) min(2, renewal D(m) / C(m)) (copies(m, n) - drain(m, n))
//     copies(m, n) = min(free whole cards / count(m), free CPU / cpu(m)), rounded down
//     C(m) = sum of copies(m, n) over the cluster
//     leaving = given back / taken, of late: 0 where nobody leaves, 1 in a steady state
//     renewal = 1 / (1 - leaving): where tasks leave as fast as they come the idle cards last for
//               ever, and so do tasks ask for rooms. What is given back is mostly parts of nodes,
//               so it renews cards, and rooms not.
//     drain(m, n) = leaving times the sum over n's rooms for m that are not there, of the time
//               until enough of its cards are free, were no task added; in mean times that a card
//               in use stays so. The first of b such cards is free after 1 / b of that, the next
//               after 1 / (b - 1) more (exponential times: Renyi, On the theory of order
//               statistics, Acta Math. Acad. Sci. Hung. 4, 1953):
//                   1 / b + 1 / (b - 1) + ... + 1 / (a + 1)    with a cards in use at the end
//               So a task on one more card costs a room 1 / (b + 1) of its worth: least on the
//               fullest node, all on an empty one, beside the room that was there. It is this
//               that empties nodes: to copies() all nodes with a task are alike.
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
    // From the mix, from what is free in the cluster now, and from what was taken and given back
    // since it was last asked. Looks at each node once.
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
    void note_departures(const Fleet& fleet);
    static std::int32_t copies(const Room& room, const NodeLoad& load, std::int32_t whole);
    [[nodiscard]] double drain(const Room& room, const NodeLoad& load, std::int32_t whole) const;

    std::vector<Room> rooms_;
    // As of the last look; and, with a half-life of a look, since the looks before.
    std::int64_t placed_milli_ = 0;
    std::int64_t released_milli_ = 0;
    double taken_ = 0;
    double given_back_ = 0;
    double leaving_ = 0;
    std::array<double, kMaxModels> prices_{};
};

}  // namespace tessera
