#include "wire/shell/agent_arguments.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Words = std::vector<std::string>;

TEST(AgentArguments, AsMpirunCalls) {
    struct Row {
        Words words;
        const char* host;
        const char* command;
    };
    const std::vector<Row> rows = {
        // Open MPI 4.1, MPICH 4.0 and Intel MPI.
        {{"job-worker-0.job", "orted", "-mca", "ess", "\"env\""},
         "job-worker-0.job",
         "orted -mca ess \"env\""},
        {{"-x", "job-worker-0.job", "\"/usr/bin/hydra_pmi_proxy\"", "--rmk", "user"},
         "job-worker-0.job",
         "\"/usr/bin/hydra_pmi_proxy\" --rmk user"},
        {{"-q", "-x", "h", "c"}, "h", "c"},
        {{"-qx", "h", "c", "-x"}, "h", "c -x"},
        {{"-l", "root", "-p", "22", "h", "c"}, "h", "c"},
        {{"-lroot", "-o", "StrictHostKeyChecking=no", "h", "c"}, "h", "c"},
        {{"-o", "-x", "h", "c"}, "h", "c"},
        {{"--", "h", "c"}, "h", "c"},
        {{"user@h", "c"}, "h", "c"},
        {{"h", "", "c"}, "h", " c"},
    };
    for (const Row& row : rows) {
        const auto call = read_agent_arguments(row.words);
        ASSERT_TRUE(call) << row.command;
        EXPECT_EQ(*call, (AgentCall{row.host, row.command}));
    }
}

TEST(AgentArguments, Mistakes) {
    struct Row {
        Words words;
        const char* why;
    };
    const std::vector<Row> rows = {
        {{}, "host is missing"},
        {{"-x"}, "host is missing"},
        {{"-l"}, "host is missing"},
        {{"-l", "root"}, "host is missing"},
        {{"--"}, "host is missing"},
        {{"h"}, "command is missing"},
        {{"h", ""}, "command is missing"},
        {{"root@", "c"}, "host is empty"},
        {{"", "c"}, "host is empty"},
        {{"-Z", "h", "c"}, "-Z: is not an option of ssh"},
        {{"--help"}, "--help: is not an option of ssh"},
    };
    for (const Row& row : rows) {
        const auto call = read_agent_arguments(row.words);
        ASSERT_FALSE(call) << row.why;
        EXPECT_NE(call.error().text.find(row.why), std::string::npos) << call.error().text;
    }
}

}  // namespace
}  // namespace tessera
