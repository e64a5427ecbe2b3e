#include "wire/tessera/run_lease_json.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "wire/text/json.hpp"

namespace tessera {
namespace {

RunLease lease() {
    return {.gpu = GpuUuid("GPU-01234567-89ab-cdef-0123-456789abcdef"),
            .gpu_index = 1,
            .memory = gibibytes(4),
            .cores = {30},
            .cores_limit = {60},
            .pid = 4711,
            .start_ticks = 99,
            .started_unix_ns = 1'700'000'000'000'000'000,
            .command = "python \"a b\".py"};
}

// Goal: what is written is read back.
TEST(RunLeaseJson, RoundTrip) {
    const auto read = read_run_lease(write_run_lease(lease()));
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, lease());
}

// Goal: each fault is named by its field.
TEST(RunLeaseJson, Faults) {
    struct Row {
        std::string from;
        std::string to;
        std::string error;
    };
    const std::vector<Row> table{
        {"\"version\":1", "\"version\":2", "version: 2 is of a newer release"},
        {"\"version\":1,", "", "version: missing"},
        {"\"gpu\":\"GPU-01234567-89ab-cdef-0123-456789abcdef\"", "\"gpu\":\"\"",
         "gpu: is not a text, or is empty"},
        {"\"gpuIndex\":1", "\"gpuIndex\":-1", "gpuIndex: is not a whole number from 0 to 1000"},
        {"\"memoryBytes\":4294967296", "\"memoryBytes\":0",
         "memoryBytes: is not a whole number from 1 to 1125899906842624"},
        {"\"coresPercent\":30", "\"coresPercent\":101",
         "coresPercent: is not a whole number from 0 to 100"},
        {"\"coresLimitPercent\":60", "\"coresLimitPercent\":\"60\"",
         "coresLimitPercent: is not a whole number from 1 to 100"},
        {"\"pid\":4711", "\"pid\":0", "pid: is not a whole number from 1 to 2147483647"},
        {"\"startTicks\":99,", "", "startTicks: missing"},
        {"\"startedUnixNs\":1700000000000000000,", "", "startedUnixNs: missing"},
        {"\"command\":\"python \\\"a b\\\".py\"", "\"command\":7",
         "command: is not a text, or is empty"},
    };
    for (const Row& row : table) {
        std::string text = write_run_lease(lease());
        const std::size_t at = text.find(row.from);
        ASSERT_NE(at, std::string::npos) << row.from;
        text.replace(at, row.from.size(), row.to);
        const auto read = read_run_lease(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().text, row.error);
    }
    for (const char* text : {"", "{", "[]", "null", "4Gi"})
        EXPECT_FALSE(read_run_lease(text)) << text;
}

// Goal: a lease can hold any command line, and stays short.
TEST(RunLeaseJson, CommandText) {
    EXPECT_EQ(command_text("python a.py"), "python a.py");
    EXPECT_EQ(command_text("a\nb\x7f"), "a b ");
    EXPECT_EQ(command_text("caf\xc3\xa9 \xff"), "caf?? ?");
    EXPECT_EQ(command_text("caf\xc3\xa9"), "caf\xc3\xa9");
    const std::string cut = command_text(std::string(199, 'x') + "\xc3\xa9\xc3\xa9");
    EXPECT_EQ(cut, std::string(199, 'x') + "...");
}

// Goal: the list is JSON with the numbers of each run.
TEST(RunLeaseJson, List) {
    const std::vector<LiveRun> runs{{.id = "abc",
                                     .lease = lease(),
                                     .uid = 1000,
                                     .is_program_alive = true,
                                     .used = gibibytes(1),
                                     .refusals = 2}};
    const auto document = JsonDocument::parse(write_run_list(runs));
    ASSERT_TRUE(document);
    const auto shown = document->root()["runs"].elements();
    ASSERT_EQ(shown.size(), 1U);
    EXPECT_EQ(shown[0]["id"].text(), "abc");
    EXPECT_EQ(shown[0]["usedBytes"].integer(), kGiB);
    EXPECT_EQ(shown[0]["memoryBytes"].integer(), 4 * kGiB);
    EXPECT_EQ(write_run_list({}), "{\"version\":1,\"runs\":[]}\n");
}

}  // namespace
}  // namespace tessera
