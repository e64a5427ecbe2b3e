#include "wire/mps/mps_folder_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

MpsState ready() {
    return {.gpu = GpuUuid("GPU-0"),
            .phase = MpsPhase::ready,
            .pid = 4711,
            .settings = {.threads = {50}, .memory = gibibytes(3)},
            .protects_settings = true,
            .servers = {{.pid = 4712,
                         .clients = {{.pid = 5000, .pod = PodUid("uid-a")}, {.pid = 5001}}}},
            .faults = {{.client = {.pid = 5000, .pod = PodUid("uid-a")}, .unix_ns = 17}},
            .servers_lost = 1,
            .failures = 2,
            .checked_unix_ns = 1'700'000'000'000'000'000};
}

TEST(MpsFolderJson, KeepsWhatIsWritten) {
    const MpsSettings settings{.threads = {50}, .memory = gibibytes(3)};
    EXPECT_EQ(write_mps_settings(settings),
              "{\"version\":1,\"threadsPercent\":50,\"memoryBytes\":3221225472}\n");
    EXPECT_EQ(read_mps_settings(write_mps_settings(settings)).value(), settings);
    EXPECT_EQ(write_mps_state(ready()),
              "{\"version\":1,\"gpu\":\"GPU-0\",\"phase\":\"ready\",\"pid\":4711,"
              "\"threadsPercent\":50,\"memoryBytes\":3221225472,\"protectsSettings\":true,"
              "\"servers\":[{\"pid\":4712,\"clients\":[{\"pid\":5000,\"pod\":\"uid-a\"},"
              "{\"pid\":5001}]}],"
              "\"faults\":[{\"pid\":5000,\"pod\":\"uid-a\",\"unixNs\":17}],\"serversLost\":1,"
              "\"failures\":2,\"checkedUnixNs\":1700000000000000000}\n");
    EXPECT_EQ(read_mps_state(write_mps_state(ready())).value(), ready());
    const MpsState failed{.gpu = GpuUuid("GPU-1"), .phase = MpsPhase::failed, .reason = "why"};
    EXPECT_EQ(read_mps_state(write_mps_state(failed)).value(), failed);
}

TEST(MpsFolderJson, KeepsWhatAContainerStartedWith) {
    MpsGrant grant{
        .gpu = GpuUuid("GPU-0"), .threads = {25}, .memory = gibibytes(3), .user_id = 1000};
    EXPECT_EQ(write_mps_grant(grant),
              "{\"version\":1,\"gpu\":\"GPU-0\",\"threadsPercent\":25,"
              "\"memoryBytes\":3221225472,\"userId\":1000}\n");
    EXPECT_EQ(read_mps_grant(write_mps_grant(grant)).value(), grant);
    grant.name = {"default", "serve"};
    grant.shares_memory = true;
    EXPECT_EQ(read_mps_grant(write_mps_grant(grant)).value(), grant);
    grant.user_id.reset();
    EXPECT_EQ(read_mps_grant(write_mps_grant(grant)).value(), grant);
    std::string text = write_mps_grant(grant);
    EXPECT_FALSE(read_mps_grant(text.replace(text.find("25"), 2, "0")));
    EXPECT_FALSE(read_mps_grant(R"({"version":1,"threadsPercent":25,"memoryBytes":1})"));
    EXPECT_FALSE(read_mps_grant(
        R"({"version":1,"gpu":"G","threadsPercent":25,"memoryBytes":1,"userId":-1})"));
}

TEST(MpsFolderJson, KeepsWhatWasReported) {
    const MpsReported reported{.pid = 7,
                               .fault_unix_ns = 17,
                               .servers_lost = 2,
                               .faults = {{PodUid("a"), 3}, {PodUid("b"), 1}}};
    EXPECT_EQ(write_mps_reported(reported),
              "{\"version\":1,\"pid\":7,\"faultUnixNs\":17,\"serversLost\":2,\"faults\":["
              "{\"pod\":\"a\",\"count\":3},{\"pod\":\"b\",\"count\":1}]}\n");
    EXPECT_EQ(read_mps_reported(write_mps_reported(reported)).value(), reported);
    EXPECT_FALSE(read_mps_reported(R"({"version":1,"pid":7})"));
}

struct BadText {
    std::string_view text;
    std::string_view error;
};

// Goal: a setting that is no limit, or that is not understood, is an error that names the field.
TEST(MpsFolderJson, RefusesBadSettings) {
    const BadText texts[] = {
        {R"({"threadsPercent":50,"memoryBytes":1048576})", "version: missing"},
        {R"({"version":2,"threadsPercent":50})", "version: 2 is of a newer release"},
        {R"({"version":1,"threadsPercent":0,"memoryBytes":1048576})",
         "threadsPercent: is not a whole number from 1 to 100"},
        {R"({"version":1,"threadsPercent":101,"memoryBytes":1048576})",
         "threadsPercent: is not a whole number from 1 to 100"},
        {R"({"version":1,"threadsPercent":50,"memoryBytes":1048575})",
         "memoryBytes: is not a whole number from 1048576 to 1125899906842624"},
    };
    for (const auto& [text, error] : texts) {
        const auto settings = read_mps_settings(text);
        ASSERT_FALSE(settings) << text;
        EXPECT_EQ(settings.error().text, error);
    }
    EXPECT_FALSE(read_mps_settings("{"));
    EXPECT_FALSE(read_mps_settings(""));
}

TEST(MpsFolderJson, RefusesBadStates) {
    const std::string good = write_mps_state(ready());
    const std::pair<std::string, std::string> changes[] = {
        {"\"GPU-0\"", "7"}, {"\"ready\"", "\"done\""}, {"4711", "-1"}, {"true", "1"}};
    for (const auto& [from, to] : changes) {
        std::string text = good;
        text.replace(text.find(from), from.size(), to);
        EXPECT_FALSE(read_mps_state(text)) << text;
    }
}

}  // namespace
}  // namespace tessera
