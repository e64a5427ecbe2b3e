#include "domain/doctor/nominations_check.hpp"

#include <gtest/gtest.h>

#include "testing/builders/builders.hpp"

namespace tessera::doctor {
namespace {

class NominationsCheckTest : public ::testing::Test {
  protected:
    NominationsCheckTest() {
        facts_.controller = Workload{.nominate_for = "tessera-scheduler", .nominate_from = 2};
        facts_.nodes = std::vector<Node>{{.inventory = {.name = NodeName("a")}},
                                         {.inventory = {.name = NodeName("b")}}};
        facts_.pods = std::vector<Pod>{};
    }
    void waits(const std::string& name, const char* nominated, const char* node = "") {
        PodInfo info = build::pod(name, build::native(gibibytes(4)));
        info.nominated = NodeName(nominated);
        info.node = NodeName(node);
        facts_.pods->push_back({.info = info});
    }
    void expect(Status status, const std::string& found) {
        const Judgement judged = nominations(facts_);
        EXPECT_EQ(judged.status, status);
        EXPECT_EQ(judged.found, found);
        EXPECT_EQ(judged.fix.empty(), status == Status::ok);
    }

    Facts facts_;
};

TEST_F(NominationsCheckTest, On) {
    waits("p", "a");
    waits("q", "");
    waits("bound", "a", "a");
    expect(Status::ok, "on for tessera-scheduler, 1 of the waiting pods are nominated");
}

TEST_F(NominationsCheckTest, Off) {
    facts_.controller->nominate_for = "";
    facts_.pods = fail(Code::permission_denied, "list pods");
    expect(Status::ok, "off (controller.nominate of the Helm chart)");
}

TEST_F(NominationsCheckTest, TooFewNodes) {
    facts_.controller->nominate_from = 3;
    expect(Status::ok, "on for tessera-scheduler, without effect: 2 nodes, and it begins at 3");
}

TEST_F(NominationsCheckTest, ANodeThatIsGone) {
    waits("p", "c");
    expect(Status::warning, "nominated to a node that is gone: default/p to c");
}

TEST_F(NominationsCheckTest, WithoutTheRight) {
    facts_.pods = fail(Code::permission_denied, "list pods");
    expect(Status::skipped, "needs the right to list pods");
}

}  // namespace
}  // namespace tessera::doctor
