// Goal: what containers hold above lowered limits is nobody's while they do; what pods have and can
// have of the card is as before.
#include <gtest/gtest.h>

#include "domain/cluster/state.hpp"
#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

class StateExcess : public ::testing::Test {
  protected:
    void set_excess(Bytes excess) {
        NodeInventory node = build::node("n1", 1, gibibytes(16));
        node.gpus[0].excess = excess;
        state_.set_node(node);
    }
    Result<Reservation> reserve(const PodFacts& pod) {
        return state_.reserve(build::ask(pod), NodeName("n1"));
    }
    Card card() { return state_.view()->find("n1")->cards[0]; }

    ClusterState state_;
};

TEST_F(StateExcess, IsNotGivenOut) {
    set_excess({});
    ASSERT_TRUE(reserve(build::pod("lowered", build::aliyun(4))));
    set_excess(gibibytes(6));
    EXPECT_EQ(card().held, gibibytes(4));
    EXPECT_EQ(card().capacity, gibibytes(16)) << "the card is overcommitted to nobody";
    const auto seven = reserve(build::pod("seven", build::aliyun(7)));
    ASSERT_FALSE(seven);
    EXPECT_NE(seven.error().text.find("6"), std::string::npos) << seven.error().text;
    EXPECT_TRUE(reserve(build::pod("six", build::aliyun(6))));
}

// Method: a pod that asks for the whole card comes when the one with the excess has gone, and the
// agent has not looked since.
TEST_F(StateExcess, IsNoPartOfAWholeCardThatIsMissing) {
    set_excess(gibibytes(3));
    const PodFacts pod = build::pod("whole", build::whole());
    EXPECT_FALSE(reserve(pod));
    set_excess({});
    const auto whole = reserve(pod);
    ASSERT_TRUE(whole) << whole.error().text;
    EXPECT_EQ(whole->allocation.containers[0].gpus[0].memory, gibibytes(16));
}

TEST_F(StateExcess, OfACardThatWasGivenOutMeanwhileIsNoRoom) {
    set_excess({});
    ASSERT_TRUE(reserve(build::pod("all", build::aliyun(16))));
    set_excess(gibibytes(3));
    EXPECT_EQ(card().held, gibibytes(16));
    EXPECT_FALSE(reserve(build::pod("one", build::aliyun(1))));
}

}  // namespace
}  // namespace tessera
