#include "app/agent/inventory/startup_taint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

constexpr const char* kKey = "tessera.dev/agent-not-ready";

class OneNode final : public NodeTaints {
  public:
    Result<TaintedNode> tainted_node(const NodeName& /*node*/) override {
        ++reads;
        if (is_down) return fail(Code::unavailable, "no answer");
        return shown;
    }
    Result<> remove_taints(const NodeName& /*node*/, const TaintedNode& seen,
                           const std::string& key) override {
        if (is_forbidden) return fail(Code::permission_denied, "forbidden");
        if (std::exchange(changes_meanwhile, false))
            shown.taints.insert(shown.taints.begin(), "new");
        if (seen.taints != shown.taints) return fail(Code::invalid_argument, "changed");
        std::erase(shown.taints, key);
        return {};
    }

    TaintedNode shown{.taints = {"other", kKey}, .allocatable = {{"gpu", "1"}, {"share", "64"}}};
    bool is_down = false;
    bool is_forbidden = false;
    bool changes_meanwhile = false;
    int reads = 0;
};

// The agent of the node, with all that it waits for. Each sleep takes the next of `steps`.
struct Agent {
    OneNode node;
    bool is_ready = true;
    DeviceLists lists{{"gpu", {{.id = "a"}}}, {"share", {{.id = "b"}}}};
    std::string key = kKey;
    std::vector<std::function<void()>> steps;

    void run() {
        FakeClock clock;
        std::stop_source stop;
        std::size_t step = 0;
        clock.on_sleep([&] {
            if (step == steps.size()) {
                stop.request_stop();
            } else {
                steps[step++]();
            }
        });
        const auto ready = [&]() -> Result<> {
            if (is_ready) return {};
            return fail(Code::unavailable, "starting");
        };
        remove_startup_taint(
            node, {NodeName("n"), key}, ready, [&] { return lists; }, clock, stop.get_token());
    }
    [[nodiscard]] bool is_tainted() const {
        return std::ranges::find(node.shown.taints, kKey) != node.shown.taints.end();
    }
};

// Goal: a ready agent removes its taint, and no other.
TEST(StartupTaint, RemovedWhenReady) {
    Agent agent;
    agent.run();
    EXPECT_EQ(agent.node.shown.taints, std::vector<std::string>{"other"});
}

// Goal: the taint stays while the agent is not ready, and no request is made.
TEST(StartupTaint, StaysUntilReady) {
    Agent agent;
    agent.is_ready = false;
    agent.steps = {[&] { EXPECT_TRUE(agent.is_tainted()); },
                   [&] {
                       EXPECT_EQ(agent.node.reads, 0);
                       agent.is_ready = true;
                   }};
    agent.run();
    EXPECT_FALSE(agent.is_tainted());
}

// Goal: the taint stays until kubelet has shown the devices, because no pod fits before. A resource
// without a healthy device is not waited for.
TEST(StartupTaint, StaysUntilDevicesAreShown) {
    Agent agent;
    agent.lists["broken"] = {{.id = "c", .healthy = false}};
    agent.node.shown.allocatable = {{"gpu", "1"}};
    agent.steps = {[&] {
                       EXPECT_TRUE(agent.is_tainted());
                       agent.node.shown.allocatable["share"] = "0";
                   },
                   [&] {
                       EXPECT_TRUE(agent.is_tainted());
                       agent.node.shown.allocatable["share"] = "64";
                   }};
    agent.run();
    EXPECT_FALSE(agent.is_tainted());
}

// Goal: an API server that does not answer is asked again. A stop ends the wait.
TEST(StartupTaint, TriedAgain) {
    Agent agent;
    agent.node.is_down = true;
    agent.steps = {[] {}};
    agent.run();
    EXPECT_EQ(agent.node.reads, 2);
    agent.steps = {[&] { agent.node.is_down = false; }};
    agent.run();
    EXPECT_FALSE(agent.is_tainted());
}

// Goal: a taint that another program sets at the same moment stays. A right that comes late is
// used.
TEST(StartupTaint, OthersChangeTheNode) {
    Agent agent;
    agent.node.changes_meanwhile = true;
    agent.node.is_forbidden = true;
    agent.steps = {[&] {
                       EXPECT_TRUE(agent.is_tainted());
                       agent.node.is_forbidden = false;
                   },
                   [&] { EXPECT_TRUE(agent.is_tainted()); }};
    agent.run();
    EXPECT_EQ(agent.node.shown.taints, (std::vector<std::string>{"new", "other"}));
}

// Goal: the taint is removed again if kubelet registered the Node again.
TEST(StartupTaint, ComesBack) {
    Agent agent;
    agent.steps = {[&] {
        EXPECT_FALSE(agent.is_tainted());
        agent.node.shown.taints.emplace_back(kKey);
    }};
    agent.run();
    EXPECT_FALSE(agent.is_tainted());
}

// Goal: without a key, the Node is neither read nor changed.
TEST(StartupTaint, Off) {
    Agent agent;
    agent.key = "";
    agent.run();
    EXPECT_EQ(agent.node.reads, 0);
    EXPECT_TRUE(agent.is_tainted());
}

}  // namespace
}  // namespace tessera
