// Goal: memory that containers use above lowered limits is not free as long as they use it. What
// pods have and can have of the GPU does not change.
#include <gtest/gtest.h>

#include "domain/scheduling/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class StateOverLimit : public ::testing::Test {
  protected:
    void set_over_limit(Bytes over_limit) {
        NodeInventory node = build::node("n1", 1, gibibytes(16));
        node.gpus[0].over_limit = over_limit;
        state_.set_node(node);
    }
    Result<Reservation> reserve(const PodInfo& pod) {
        return state_.reserve(build::request(pod), NodeName("n1"));
    }
    GpuState gpu() { return state_.snapshot()->find("n1")->gpus[0]; }

    ClusterState state_;
};

TEST_F(StateOverLimit, IsNotGivenOut) {
    set_over_limit({});
    ASSERT_TRUE(reserve(build::pod("lowered", build::aliyun(4))));
    set_over_limit(gibibytes(6));
    EXPECT_EQ(gpu().allocated, gibibytes(4));
    EXPECT_EQ(gpu().capacity, gibibytes(16)) << "the GPU is not overcommitted";
    const auto seven = reserve(build::pod("seven", build::aliyun(7)));
    ASSERT_FALSE(seven);
    EXPECT_NE(seven.error().text.find("6"), std::string::npos) << seven.error().text;
    EXPECT_TRUE(reserve(build::pod("six", build::aliyun(6))));
}

// Method: a pod that requests the whole GPU arrives when the pod above its limit is gone, but
// before the agent has read the GPU again.
TEST_F(StateOverLimit, IsNoPartOfAWholeGpuThatIsMissing) {
    set_over_limit(gibibytes(3));
    const PodInfo pod = build::pod("whole", build::whole());
    EXPECT_FALSE(reserve(pod));
    set_over_limit({});
    const auto whole = reserve(pod);
    ASSERT_TRUE(whole) << whole.error().text;
    EXPECT_EQ(whole->allocation.containers[0].gpus[0].memory, gibibytes(16));
}

TEST_F(StateOverLimit, OfAGpuThatWasGivenOutMeanwhileIsNoRoom) {
    set_over_limit({});
    ASSERT_TRUE(reserve(build::pod("all", build::aliyun(16))));
    set_over_limit(gibibytes(3));
    EXPECT_EQ(gpu().allocated, gibibytes(16));
    EXPECT_FALSE(reserve(build::pod("one", build::aliyun(1))));
}

}  // namespace
}  // namespace tessera
