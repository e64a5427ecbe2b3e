#include "app/agent/inventory/node_config_label.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_kube_api.hpp"

namespace tessera {
namespace {

const NodeName kNode("n1");

StringMap label(const std::string& name) {
    return {{"tessera.dev/agent-config", name}};
}

// Goal: the label chooses a configuration; a Node without the label uses none.
TEST(NodeConfigLabel, IsReadAtTheStart) {
    FakeKubeApi kube;
    FakeClock clock;
    kube.label_node(kNode, {});
    NodeConfigLabel choice({"a100", "t4"}, [] { FAIL() << "nothing changed"; });
    EXPECT_EQ(choice.wait(kube, kNode, clock, {}), "");
    kube.label_node(kNode, label("t4"));
    EXPECT_EQ(choice.wait(kube, kNode, clock, {}), "t4");
    EXPECT_TRUE(choice.ready());
    EXPECT_TRUE(choice.take(label("t4")));
}

// Goal: an agent whose label names no configuration says so, and starts once the label is correct.
TEST(NodeConfigLabel, UnknownNameAtTheStart) {
    FakeKubeApi kube;
    kube.label_node(kNode, label("t5"));
    NodeConfigLabel choice({"a100", "t4"}, [] {});
    FakeClock clock;
    clock.on_sleep([&] {
        ASSERT_FALSE(choice.ready());
        EXPECT_EQ(choice.ready().error().text,
                  "the Node's label tessera.dev/agent-config=t5 names no configuration; there are "
                  "a100, t4: correct the label, or add the configuration to the chart's "
                  "agent.nodeConfigs");
        if (clock.sleeps() == 3) kube.label_node(kNode, label("t4"));
    });
    EXPECT_EQ(choice.wait(kube, kNode, clock, {}), "t4");
    EXPECT_EQ(clock.sleeps(), 3);
    EXPECT_TRUE(choice.ready());
}

// Goal: while the API server does not answer, the agent does not guess its configuration. If there
// is none, it starts without the API server.
TEST(NodeConfigLabel, WithoutTheApiServer) {
    FakeKubeApi kube;
    kube.set_down(true);
    FakeClock clock;
    clock.on_sleep([&] {
        if (clock.sleeps() < 3) return;
        kube.label_node(kNode, label("t4"));
        kube.set_down(false);
    });
    EXPECT_EQ(NodeConfigLabel({}, [] {}).wait(kube, kNode, clock, {}), "");
    EXPECT_EQ(clock.sleeps(), 0);
    EXPECT_EQ(NodeConfigLabel({"t4"}, [] {}).wait(kube, kNode, clock, {}), "t4");
    EXPECT_EQ(clock.sleeps(), 3);
}

// Goal: another configuration makes the agent start again, once. A label that names none keeps the
// configuration, and the agent is not ready until the label is correct.
TEST(NodeConfigLabel, Changes) {
    FakeKubeApi kube;
    FakeClock clock;
    kube.label_node(kNode, label("t4"));
    int changes = 0;
    NodeConfigLabel choice({"a100", "t4"}, [&] { ++changes; });
    choice.wait(kube, kNode, clock, {});
    EXPECT_TRUE(choice.take(label("t5")));
    EXPECT_FALSE(choice.ready());
    EXPECT_EQ(changes, 0);
    EXPECT_TRUE(choice.take(label("t4")));
    EXPECT_TRUE(choice.ready());
    EXPECT_EQ(changes, 0);
    EXPECT_FALSE(choice.take({}));
    EXPECT_EQ(changes, 1);
    EXPECT_FALSE(choice.take(label("a100")));
    EXPECT_EQ(changes, 1);
}

}  // namespace
}  // namespace tessera
