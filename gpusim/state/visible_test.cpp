// Goal: a process sees the GPUs that its container has, in the order of CUDA_VISIBLE_DEVICES.
// Method: three GPUs whose UUIDs share beginnings, and tables of variables with the GPUs that
// remain.
#include "gpusim/state/visible.hpp"

#include <gmock/gmock.h>

#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

constexpr char kThreeGpus[] =
    "gpus:\n"
    "  - {model: A, memory: 1GiB, uuid: GPU-aaaa0000-0000-0000-0000-000000000000, minor: 2}\n"
    "  - {model: B, memory: 1GiB, uuid: GPU-aabb0000-0000-0000-0000-000000000000, minor: 0}\n"
    "  - {model: C, memory: 1GiB, uuid: GPU-cccc0000-0000-0000-0000-000000000000, minor: 7}\n";

class Visible : public testing::Test {
  protected:
    std::vector<int> present(const char* nvidia) const {
        return gpus(present_gpus(state_, nvidia));
    }
    std::vector<int> cuda(const char* nvidia, const char* cuda) const {
        return gpus(cuda_gpus(state_, present_gpus(state_, nvidia), cuda));
    }
    static std::vector<int> gpus(const GpuList& list) {
        return {list.gpus, list.gpus + list.count};
    }

    SimulatedNode node_{kThreeGpus};
    const State& state_ = node_.state();
};

using Gpus = std::vector<int>;

TEST_F(Visible, MarkersDecide) {
    EXPECT_EQ(present(nullptr), (Gpus{0, 1, 2}));
    node_.hide(0);
    EXPECT_EQ(present(nullptr), (Gpus{0, 2}));
    EXPECT_EQ(present("1"), Gpus{}) << "the variable cannot bring a GPU back";
    EXPECT_EQ(cuda(nullptr, "1"), Gpus{2}) << "CUDA counts the GPUs that are there";
}

TEST_F(Visible, NvidiaVisibleDevicesOnlyTakesAway) {
    const struct {
        const char* value;
        Gpus left;
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
        Gpus left;
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
    EXPECT_EQ(cuda(nullptr, nullptr), (Gpus{0, 1, 2}));
    EXPECT_EQ(cuda("1,2", "1"), Gpus{2});
}

}  // namespace
}  // namespace gpusim
