#include "domain/placement/binpack.hpp"

namespace tessera {
namespace {

struct Binpack {
    static constexpr std::string_view kName = "binpack";

    static std::int64_t price(const Candidate& candidate) {
        return (candidate.card.free() - candidate.own_after).count;
    }
};

}  // namespace

const Policy& binpack_policy() {
    static const PolicyOf<Binpack> policy;
    return policy;
}

}  // namespace tessera
