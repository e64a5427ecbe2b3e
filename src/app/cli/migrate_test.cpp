#include "app/cli/migrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cli/migrate_text.hpp"
#include "testing/fakes/fake_clock.hpp"
#include "testing/fakes/fake_migration_cluster.hpp"

namespace tessera {
namespace {

using migration::Direction;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class MigrateTest : public ::testing::Test {
  protected:
    MigrateTest() {
        cluster_.add_node("a");
        cluster_.add_node("b");
    }
    Result<> migrate(Direction direction, std::vector<std::string> nodes = {}) {
        return apply_migration(cluster_, clock_,
                               {.direction = direction, .nodes = std::move(nodes)},
                               [&](const std::string& line) { printed_.push_back(line); });
    }
    Result<> forth(std::vector<std::string> nodes = {}) {
        return migrate(Direction::to_tessera, std::move(nodes));
    }
    Result<> back(std::vector<std::string> nodes = {}) {
        return migrate(Direction::to_gpushare, std::move(nodes));
    }
    void expect(const char* name, bool is_migrated) {
        const migration::Node& node = cluster_.node(NodeName(name));
        EXPECT_EQ(node.has_agent_label, is_migrated) << name;
        EXPECT_EQ(node.has_old_label, !is_migrated) << name;
        EXPECT_EQ(node.is_migrated, is_migrated) << name;
        EXPECT_FALSE(node.is_cordoned || node.cordoned_by_us) << name;
        EXPECT_EQ(node.published.empty(), !is_migrated) << name;
        EXPECT_EQ(std::ranges::count(node.pods, migration::Role::workload, &migration::Pod::role),
                  1)
            << "its pod runs";
    }

    FakeMigrationCluster cluster_;
    FakeClock clock_;
    std::vector<std::string> printed_;
};

TEST_F(MigrateTest, OneNodeAfterTheOther) {
    ASSERT_TRUE(forth());
    expect("a", true);
    expect("b", true);
    EXPECT_EQ(cluster_.written.size(), 8);
    EXPECT_EQ(printed_.front(), "a: cordon, and annotate tessera.dev/migrated-from=gpushare");
    EXPECT_EQ(printed_.back(), "b: migrated");
    for (int i = 0; i < 4; ++i)
        EXPECT_THAT(cluster_.written[static_cast<std::size_t>(i)], StartsWith("a: "));
    ASSERT_TRUE(forth()) << "again";
    EXPECT_EQ(cluster_.written.size(), 8) << "nothing is left to do";
}

TEST_F(MigrateTest, BackInReverseOrder) {
    ASSERT_TRUE(forth());
    cluster_.written.clear();
    ASSERT_TRUE(back());
    expect("a", false);
    expect("b", false);
    EXPECT_EQ(cluster_.written.front(), "b: cordon");
    EXPECT_EQ(cluster_.written.back(), "a: uncordon, and remove the annotation");
}

// Goal: the command may be killed after any write, in both directions. Repeated, it completes, and
// a rollback in its place completes too. The fake checks each moment in between.
TEST_F(MigrateTest, InterruptedAfterEachWrite) {
    for (const bool turns_around : {false, true}) {
        for (const Direction direction : {Direction::to_tessera, Direction::to_gpushare}) {
            for (int writes = 0; writes < 10; ++writes) {
                cluster_ = {};
                cluster_.add_node("a");
                cluster_.add_node("b");
                const bool is_forth = direction == Direction::to_tessera;
                if (!is_forth) {
                    ASSERT_TRUE(forth());
                }
                cluster_.writes_left = writes;
                const auto first = migrate(direction);
                cluster_.writes_left = -1;
                const auto other = is_forth ? Direction::to_gpushare : Direction::to_tessera;
                const auto second = migrate(turns_around ? other : direction);
                ASSERT_TRUE(second) << second.error().text;
                expect("a", is_forth != turns_around);
                expect("b", is_forth != turns_around);
            }
        }
    }
}

// Goal: a node that fails is put back, and the next one is not touched.
TEST_F(MigrateTest, PutsAFailedNodeBack) {
    cluster_.without_agent = {NodeName("a")};
    const auto done = forth();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::conflict);
    EXPECT_THAT(done.error().text,
                StartsWith("node a: put back to gpushare, because it took more than 120 s until "
                           "Tessera's agent is ready; "));
    expect("a", false);
    expect("b", false);
    cluster_.without_agent.clear();
    ASSERT_TRUE(forth());
    expect("a", true);
}

TEST_F(MigrateTest, PutsANodeBackWhosePluginStays) {
    cluster_.keeps_plugin = {NodeName("a")};
    const auto done = forth();
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text, HasSubstr("until pod default/plugin has ended"));
    expect("a", false);
}

TEST_F(MigrateTest, WaitsForPodsThatHaveNotStarted) {
    cluster_.node(NodeName("a")).pods.front().info.started = false;
    clock_.on_sleep([&] { cluster_.node(NodeName("a")).pods.front().info.started = true; });
    ASSERT_TRUE(forth({"a"}));
    EXPECT_THAT(printed_, ::testing::Contains("a: waiting until pod default/train-a has started"));
    expect("a", true);
    expect("b", false);
}

TEST_F(MigrateTest, AChangedNodeIsReadAgain) {
    cluster_.conflicts = 3;
    ASSERT_TRUE(forth());
    expect("b", true);
}

// Goal: what hinders a migration stops it before the first write.
TEST_F(MigrateTest, BlockedBeforeTheFirstWrite) {
    cluster_.facts.old_plugins.front().unit = MemoryUnit::mib;
    const auto done = forth();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::conflict);
    EXPECT_THAT(done.error().text, HasSubstr("set the chart's agent.memoryUnit=MiB"));
    EXPECT_TRUE(cluster_.written.empty());
}

TEST_F(MigrateTest, NodesByName) {
    ASSERT_TRUE(forth({"b"}));
    expect("a", false);
    expect("b", true);
    EXPECT_EQ(forth({"x"}).error().code, Code::not_found);
    EXPECT_EQ(back({"a"}).error().code, Code::invalid_argument);
}

TEST_F(MigrateTest, ThePlan) {
    cluster_.facts.waiting = {
        {.info = build::pod("w", build::aliyun(3)), .scheduler = "default-scheduler"}};
    ASSERT_TRUE(forth({"b"}));
    const MigrateRequest request;
    const auto plan = plan_migration(cluster_, request);
    ASSERT_TRUE(plan);
    EXPECT_FALSE(plan->is_blocked());
    EXPECT_EQ(
        migration_text(request, *plan),
        "a: served by gpushare, 1 pod with 3 GiB of aliyun.com/gpu-mem\n"
        "  pod default/train-a, GPU 0: 3 GiB\n"
        "  1. cordon, and annotate tessera.dev/migrated-from=gpushare\n"
        "  2. remove the label gpushare=true\n"
        "  3. wait until pod default/plugin has ended\n"
        "  4. set the label tessera.dev/agent=true\n"
        "  5. wait until Tessera's agent is ready\n"
        "  6. uncordon\n"
        "\n"
        "b: migrated to Tessera, 1 pod with 3 GiB of aliyun.com/gpu-mem\n"
        "  pod default/train-b, GPU 0: 3 GiB\n"
        "  nothing to do\n"
        "\n"
        "warning: pod default/w waits for default-scheduler, which cannot place it; delete it "
        "and create it again; Tessera's scheduler then places it\n");
}

}  // namespace
}  // namespace tessera
