#include "domain/placement/binpack.hpp"

namespace tessera {
namespace {

class Binpack final : public Policy {
  public:
    [[nodiscard]] std::string_view name() const override { return "binpack"; }

    [[nodiscard]] std::int64_t price(const Candidate& candidate) const override {
        return (candidate.card.free() - candidate.own_after).count;
    }
};

}  // namespace

const Policy& binpack_policy() {
    static const Binpack policy;
    return policy;
}

}  // namespace tessera
