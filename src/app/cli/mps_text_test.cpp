#include "app/cli/mps_text.hpp"

#include <gtest/gtest.h>

#include "wire/mps/mps_report_json.hpp"

namespace tessera {
namespace {

MpsReport node_a() {
    return {.node = NodeName("node-a"),
            .is_offered = true,
            .is_supervised = true,
            .gpus = {{.state = {.gpu = GpuUuid("GPU-1"),
                                .phase = MpsPhase::ready,
                                .pid = 7,
                                .settings = {.threads = {50}, .memory = gibibytes(4)},
                                .servers = {{.pid = 8,
                                             .clients = {{.pid = 20, .pod = PodUid("uid-s")},
                                                         {.pid = 21, .pod = PodUid("uid-s")},
                                                         {.pid = 22}}}}},
                      .grants = {{.pod = PodUid("uid-s"),
                                  .container = "main",
                                  .name = {"team", "serve"},
                                  .gpu = GpuUuid("GPU-1"),
                                  .threads = {25},
                                  .memory = gibibytes(3),
                                  .has_probe = true}},
                      .multiprocessors = 132}}};
}

TEST(MpsText, ShowsGpusAndTheirContainers) {
    const MpsReport idle{.node = NodeName("node-b"), .is_offered = true, .is_supervised = true};
    EXPECT_EQ(mps_table(std::vector{node_a(), idle}),
              "NODE    GPU    DAEMON  PID  CONTAINER        THREADS%  MEMORY  CLIENTS\n"
              "node-a  GPU-1  ready   7                     50        4Gi     3\n"
              "                            team/serve main  25        3Gi     2\n");
    EXPECT_EQ(mps_faults(std::vector{node_a(), idle}), "");
    EXPECT_EQ(mps_table(std::vector{idle}),
              "NVIDIA MPS is offered by 1 node(s), and no GPU uses it now.\n");
    EXPECT_EQ(mps_table(std::vector{MpsReport{.node = NodeName("c")}}),
              "No node offers NVIDIA MPS (mps.enabled of the Helm chart).\n");
}

TEST(MpsText, NamesFaults) {
    MpsReport node = node_a();
    node.is_supervised = false;
    node.gpus[0].state.reason = "no answer";
    EXPECT_EQ(mps_faults(std::vector{node}),
              "node-a: tessera-mps does not run; look at the pod of its DaemonSet\n"
              "node-a: GPU-1: no answer\n");
}

TEST(MpsText, TheJsonIsWhatAgentsReport) {
    const std::string one = write_mps_report(node_a());
    EXPECT_EQ(mps_json({}), "{\"nodes\":[]}");
    EXPECT_EQ(mps_json(std::vector{node_a(), node_a()}), "{\"nodes\":[" +
                                                             one.substr(0, one.size() - 1) + "," +
                                                             one.substr(0, one.size() - 1) + "]}");
    EXPECT_EQ(read_mps_report(one).value(), node_a());
    EXPECT_FALSE(read_mps_report("{}"));
    EXPECT_FALSE(read_mps_report(R"({"version":2})"));
    EXPECT_FALSE(read_mps_report(R"({"version":1,"node":"a","gpus":[{"gpu":"G"}]})"));
}

// Goal: what a container or a log says cannot change the user's terminal.
TEST(MpsText, OnlyWhatATerminalMayGet) {
    EXPECT_EQ(for_terminal("a\x1b]0;x\x07\tb\n\xc3\xa9", 100), "a?]0;x?\tb\n??");
    EXPECT_EQ(for_terminal("abc", 2), "ab");
    const MpsLogs logs{.node = NodeName("a"), .logs = {{"daemon.log", "\x1b[2J\n"}}};
    EXPECT_EQ(mps_logs_text(logs, 1), "?[2J\n");
}

TEST(MpsText, TheLastLinesOfLogs) {
    MpsLogs logs{.node = NodeName("a"), .logs = {{"daemon.log", "1\n2\n3\n"}}};
    EXPECT_EQ(mps_logs_text(logs, 2), "2\n3\n");
    EXPECT_EQ(mps_logs_text(logs, 3), "1\n2\n3\n");
    EXPECT_EQ(mps_logs_text(logs, 9), "1\n2\n3\n");
    logs.logs.push_back({"server.log", "\n\nlast"});
    logs.logs.push_back({"empty.log", ""});
    EXPECT_EQ(mps_logs_text(logs, 2),
              "==> daemon.log <==\n2\n3\n==> server.log <==\n\nlast\n==> empty.log <==\n");
    EXPECT_EQ(read_mps_logs(write_mps_logs(logs)).value(), logs);
    EXPECT_FALSE(read_mps_logs(R"({"version":1,"node":"a","logs":[{}]})"));
    EXPECT_EQ(mps_logs_text({}, 2), "");
}

}  // namespace
}  // namespace tessera
