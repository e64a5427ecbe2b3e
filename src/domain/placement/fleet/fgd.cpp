#include "domain/placement/fleet/fgd.hpp"

#include <cmath>

#include "domain/placement/fleet/fragmentation.hpp"

namespace tessera {
namespace {

class Fgd final : public FleetPolicy {
  public:
    explicit Fgd(std::span<const MixClass> mix) : fragmentation_(mix) {}

    [[nodiscard]] std::unique_ptr<FleetPolicy> copy() const override {
        return std::make_unique<Fgd>(*this);
    }
    [[nodiscard]] bool is_slow() const override { return true; }

    [[nodiscard]] Rating rate(const NodeLoad& load, const Task& task, std::uint64_t) override {
        const double before = fragmentation_.of(load);
        const bool is_share = task.count == 1 && task.milli < kMilliPerCard;
        if (!is_share) {
            const CardSet cards = tightest_cards(load, task);
            return {score(before, load, task, cards), cards};
        }
        Rating best{-1, 0};
        for (int card = 0; card < load.cards; ++card) {
            if (load.milli[static_cast<std::size_t>(card)] < task.milli) continue;
            if (has_twin_before(load, card)) continue;
            const int one = score(before, load, task, card_bit(card));
            if (one > best.score) best = {one, card_bit(card)};
        }
        return best;
    }

    [[nodiscard]] std::vector<ScoreTerm> terms(const NodeLoad& load, const Task& task) override {
        const CardSet cards = rate(load, task, 0).cards;
        return {{"fragmentation before", fragmentation_.of(load)},
                {"after", fragmentation_.of(load_after(load, task, cards))}};
    }

  private:
    int score(double before, const NodeLoad& load, const Task& task, CardSet cards) {
        const double after = fragmentation_.of(load_after(load, task, cards));
        return static_cast<int>(1.0 / (1.0 + std::exp(-((before - after) / 1000))) * 100.0);
    }

    Fragmentation fragmentation_;
};

}  // namespace

std::unique_ptr<FleetPolicy> fgd_policy(const PolicyInputs& inputs) {
    return std::make_unique<Fgd>(inputs.mix);
}

}  // namespace tessera
