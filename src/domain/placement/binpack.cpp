#include "domain/placement/binpack.hpp"

namespace tessera {
namespace {

class Binpack final : public Policy {
  public:
    [[nodiscard]] std::int64_t price(const Candidate& candidate) const override {
        return (candidate.card.free() - candidate.own_after).count;
    }

    [[nodiscard]] PricedCard cheapest(std::span<const Bytes> free, Bytes ask) const override {
        PricedCard best;
        for (std::size_t i = 0; i < free.size(); ++i) {
            const std::int64_t left = (free[i] - ask).count;
            if (left < 0 || (best.card >= 0 && left >= best.price)) continue;
            best = {static_cast<int>(i), left};
        }
        return best;
    }
};

}  // namespace

const Policy& binpack_policy() {
    static const Binpack policy;
    return policy;
}

}  // namespace tessera
