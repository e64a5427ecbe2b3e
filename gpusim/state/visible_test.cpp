// Goal: a process sees the cards that its container has, in the order that CUDA_VISIBLE_DEVICES
// says. Method: three cards whose UUIDs share beginnings, tables of variables and what they leave.
#include "gpusim/state/visible.hpp"

#include <gmock/gmock.h>

#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr char kThreeCards[] =
    "cards:\n"
    "  - {model: A, memory: 1GiB, uuid: GPU-aaaa0000-0000-0000-0000-000000000000, minor: 2}\n"
    "  - {model: B, memory: 1GiB, uuid: GPU-aabb0000-0000-0000-0000-000000000000, minor: 0}\n"
    "  - {model: C, memory: 1GiB, uuid: GPU-cccc0000-0000-0000-0000-000000000000, minor: 7}\n";

class Visible : public testing::Test {
  protected:
    std::vector<int> present(const char* nvidia) const {
        return cards(present_cards(state_, nvidia));
    }
    std::vector<int> cuda(const char* nvidia, const char* cuda) const {
        return cards(cuda_cards(state_, present_cards(state_, nvidia), cuda));
    }
    static std::vector<int> cards(const CardList& list) {
        return {list.cards, list.cards + list.count};
    }

    SimulatedNode node_{kThreeCards};
    const State& state_ = node_.state();
};

using Cards = std::vector<int>;

TEST_F(Visible, MarkersDecide) {
    EXPECT_EQ(present(nullptr), (Cards{0, 1, 2}));
    node_.hide(0);
    EXPECT_EQ(present(nullptr), (Cards{0, 2}));
    EXPECT_EQ(present("1"), Cards{}) << "the variable cannot bring a card back";
    EXPECT_EQ(cuda(nullptr, "1"), Cards{2}) << "CUDA counts the cards that are there";
}

TEST_F(Visible, NvidiaVisibleDevicesOnlyTakesAway) {
    const struct {
        const char* value;
        Cards left;
    } rows[] = {
        {"all", {0, 1, 2}},
        {"void", {0, 1, 2}},
        {"", {0, 1, 2}},
        {"none", {}},
        {"1", {1}},
        {"2,0", {0, 2}},
        {"GPU-cccc0000-0000-0000-0000-000000000000", {2}},
        {"GPU-cccc0000-0000-0000-0000-000000000000,0", {0, 2}},
        {"5", {}},
        {"5,1", {1}},
        {"nonsense", {}},
    };
    for (const auto& row : rows)
        EXPECT_EQ(present(row.value), row.left) << row.value;
}

TEST_F(Visible, CudaVisibleDevicesChoosesAndOrders) {
    const struct {
        const char* value;
        Cards left;
    } rows[] = {
        {"0,1,2", {0, 1, 2}},
        {"2,0", {2, 0}},
        {" 2 , 0 ", {2, 0}},
        {"", {}},
        {"-1", {}},
        {"0,-1,1", {0}},
        {"0,9,1", {0}},
        {"9", {}},
        {"1x,2y", {1, 2}},
        {"x", {}},
        {"0,,1", {0}},
        {"0,1,0", {}},
        {"NoDevFiles", {}},
        {"99999999999999999999", {}},
        {"GPU-cccc0000-0000-0000-0000-000000000000", {2}},
        {"GPU-cc,GPU-aaaa", {2, 0}},
        {"gpu-CC", {2}},
        {"GPU-aa", {}},
        {"GPU-cc,GPU-aa,GPU-aabb", {2}},
        {"GPU-cc,GPU-cccc", {}},
        {"GPU-", {}},
        {"GPU-dddd", {}},
        {"1,GPU-cc", {1, 2}},
    };
    for (const auto& row : rows)
        EXPECT_EQ(cuda(nullptr, row.value), row.left) << row.value;
    EXPECT_EQ(cuda(nullptr, nullptr), (Cards{0, 1, 2}));
    EXPECT_EQ(cuda("1,2", "1"), Cards{2});
}

}  // namespace
}  // namespace gpusim
