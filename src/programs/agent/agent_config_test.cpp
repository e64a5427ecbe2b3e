// The agent's configuration, checked by the program.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "programs/common/started_program_test.hpp"

namespace tessera {
namespace {

struct Row {
    std::vector<std::string> flags;
    int status;
    const char* text;  // in the output
};

void check(const std::vector<Row>& rows) {
    const Folder folder;
    for (const Row& row : rows) {
        std::vector<std::string> flags{"--check-config", "--node=n1"};
        flags.insert(flags.end(), row.flags.begin(), row.flags.end());
        Program agent("tessera-agent", flags, folder.file("log"));
        EXPECT_EQ(agent.wait(kNotHanging), row.status) << row.text;
        EXPECT_NE(agent.output().find(row.text), std::string::npos) << agent.output();
    }
}

// Goal: a fault in the configuration of any node is found before the agent starts, and the message
// names the configuration, the key and what to write.
TEST(AgentConfig, NodeConfigs) {
    check({
        {{R"(--node-configs={"a":{"slots_per_gpu":8,"excluded_gpus":[0,"GPU-1"]},"b":{}})"},
         0,
         "is good"},
        {{R"(--node-configs={"a":{"slots_per_gpu":0}})"},
         78,
         "node_configs: a: slots_per_gpu: \\\"0\\\" is not a whole number from 1 to 1000"},
        {{R"(--node-configs={"b":{},"a":{"excluded_gpus":[1,1]}})"},
         78,
         "node_configs: a: excluded_gpus: \\\"1\\\" appears twice; remove one of them"},
        {{R"(--node-configs={"a":{"excluded_gpus":["x"]}})"},
         78,
         "node_configs: a: excluded_gpus: \\\"x\\\" is neither an index nor a UUID"},
        {{R"(--node-configs={"a":{"slots":8}})"},
         78,
         "node_configs: a: slots: unknown key; there are cdi_kind, "},
        {{R"(--node-configs={"a":{"cdi_kind":"x"}})"},
         78,
         "node_configs: a: cdi_kind: \\\"x\\\" is not a kind"},
    });
}

// Goal: what cannot enforce a share alone is refused without the guard, with the fix.
TEST(AgentConfig, EnforcersThatNeedTheGuard) {
    check({
        {{"--cgroup-folder=/sys/fs/cgroup", "--guard-library=/lib/guard.so"}, 0, "is good"},
        {{"--cgroup-folder=/sys/fs/cgroup"}, 78, "set guard_library too"},
        {{"--cgroup-folder=cgroup", "--guard-library=/lib/guard.so"},
         78,
         "cgroup_folder: \\\"cgroup\\\" is not an absolute path"},
        {{"--mps-folder=/run/tessera/mps"}, 78, "set guard_library too"},
    });
}

// Goal: an agent never sends its token to a server for which no authority vouches.
TEST(AgentConfig, TheLedger) {
    check({
        {{"--ledger-url=https://a.svc", "--ledger-ca-file=/ca.crt"}, 0, "is good"},
        {{"--ledger-url=http://127.0.0.1:1"}, 0, "is good"},
        {{"--ledger-url=http://a.svc"}, 78, "without encryption; write https"},
        {{"--ledger-url=https://a.svc"}, 78, "ledger_ca_file: missing; name the file"},
        {{"--ledger-url=a.svc"}, 78, "ledger_url: server \\\"a.svc\\\" is not an http or https"},
        {{"--usage-folder=usage"}, 78, "usage_folder"},
        {{"--usage-mib=0"}, 78, "usage_mib"},
    });
}

}  // namespace
}  // namespace tessera
