#include "app/cli/clean_nodes.hpp"

#include <gtest/gtest.h>

#include "testing/fakes/fake_clock.hpp"

namespace tessera {
namespace {

class FakePublishedNodes final : public PublishedNodes {
  public:
    std::vector<NodeName> agents;
    std::vector<PublishedNode> nodes;
    std::vector<std::string> removed;
    std::string refused;  // the node that cannot be patched

    Result<std::vector<NodeName>> nodes_with_agents() override { return agents; }
    Result<std::vector<PublishedNode>> list() override { return nodes; }
    Result<> remove(const PublishedNode& node) override {
        if (node.name.str() == refused) return fail(Code::permission_denied, "no right");
        removed.push_back(node.name.str());
        return {};
    }
};

class CleanNodesTest : public ::testing::Test {
  protected:
    CleanNodesTest() {
        nodes_.nodes = {{.name = NodeName("a"), .annotations = {"x"}, .amounts = {"y", "z"}},
                        {.name = NodeName("b"), .annotations = {"x"}, .labels = {"l"}}};
    }
    Result<> clean(CleanNodesOptions options = {}) {
        return clean_nodes(
            nodes_, clock_, options,
            {.print = [this](const std::string& line) { text_ += line + "\n"; },
             .report = [this](const std::string& line) { reports_.push_back(line); }});
    }

    FakePublishedNodes nodes_;
    FakeClock clock_;
    std::string text_;
    std::vector<std::string> reports_;
};

TEST_F(CleanNodesTest, RemovesFromEachNode) {
    ASSERT_TRUE(clean());
    EXPECT_EQ(nodes_.removed, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(text_,
              "a: removed 1 annotation, 0 labels and 2 amounts\n"
              "b: removed 1 annotation, 1 label and 0 amounts\n"
              "2 nodes cleaned\n");
    EXPECT_TRUE(reports_.empty());
}

// Goal: a dry run removes nothing and says what it would remove.
TEST_F(CleanNodesTest, DryRun) {
    ASSERT_TRUE(clean({.dry_run = true}));
    EXPECT_TRUE(nodes_.removed.empty());
    EXPECT_TRUE(text_.starts_with("a: would remove 1 annotation")) << text_;
    EXPECT_TRUE(text_.ends_with("\n2 nodes would be cleaned\n")) << text_;
    EXPECT_TRUE(reports_.empty());
}

// Goal: a dry run while agents run does not claim that the nodes can be cleaned now.
TEST_F(CleanNodesTest, DryRunBesideAgents) {
    nodes_.agents = {NodeName("a")};
    ASSERT_TRUE(clean({.dry_run = true}));
    EXPECT_EQ(clock_.sleeps(), 0);
    EXPECT_EQ(reports_, (std::vector<std::string>{
                            "nothing can be removed yet: agents run on a and would publish the "
                            "nodes again; uninstall Tessera first (helm uninstall tessera)"}));
    EXPECT_TRUE(text_.starts_with("a: would remove 1 annotation")) << text_;
    EXPECT_TRUE(text_.ends_with("\n2 nodes would be cleaned, after the agents have ended\n"))
        << text_;
}

// Goal: nothing is removed before the last agent has ended, and what is waited for is reported
// before the waiting begins, and when it changes.
TEST_F(CleanNodesTest, WaitsForAgents) {
    nodes_.agents = {NodeName("a"), NodeName("b")};
    clock_.on_sleep([this] {
        EXPECT_TRUE(nodes_.removed.empty());
        EXPECT_FALSE(reports_.empty());
        if (clock_.sleeps() == 2) nodes_.agents.pop_back();
        if (clock_.sleeps() == 5) nodes_.agents.clear();
    });
    ASSERT_TRUE(clean());
    EXPECT_EQ(nodes_.removed.size(), 2);
    EXPECT_EQ(reports_,
              (std::vector<std::string>{"waiting up to 120 s for the agents on a, b to end",
                                        "waiting up to 118 s for the agents on a to end"}));
}

// Goal: agents that do not end are named, with the fix.
TEST_F(CleanNodesTest, AgentsThatStay) {
    for (int i = 1; i <= 7; ++i)
        nodes_.agents.emplace_back("n" + std::to_string(i));
    const auto done = clean({.patience = std::chrono::seconds(3)});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::conflict);
    EXPECT_TRUE(done.error().text.starts_with("agents run on n1, n2, n3, n4, n5 and 2 more and"))
        << done.error().text;
    EXPECT_TRUE(nodes_.removed.empty());
}

TEST_F(CleanNodesTest, AnErrorNamesTheNode) {
    nodes_.refused = "b";
    const auto done = clean();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::permission_denied);
    EXPECT_EQ(done.error().text, "node b: no right");
}

}  // namespace
}  // namespace tessera
