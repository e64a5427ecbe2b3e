#include "wire/tessera/share_uses_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::string_view kText =
    R"({"version":1,"node":"n1","shares":[{"podUid":"u","namespace":"s","pod":"p",)"
    R"("container":"main","uuid":"GPU-a","usedBytes":2097152,"limitBytes":3221225472,)"
    R"("coresPercent":30,"coresLimitPercent":60,"refusals":1,"timed":true,"kernelsNs":5,"copiesNs":6,)"
    R"("hadKernelsNs":3,"hadCopiesNs":4,"waitedNs":7,"damaged":true,)"
    R"("processes":[{"pid":17,"usedBytes":2097152}]}]})";

// Goal: the text is the one in the header's comment, and it reads back.
TEST(ShareUsesJson, Text) {
    const NodeShareUses uses{NodeName("n1"),
                             {{.pod = PodUid("u"),
                               .name = {"s", "p"},
                               .container = "main",
                               .gpu = GpuUuid("GPU-a"),
                               .used = mebibytes(2),
                               .limit = gibibytes(3),
                               .cores = {30},
                               .cores_limit = {60},
                               .refusals = 1,
                               .is_timed = true,
                               .in_flight = {5, 6},
                               .had = {3, 4},
                               .waited_ns = 7,
                               .processes = {{.pid = 17, .used = mebibytes(2)}},
                               .is_damaged = true}}};
    EXPECT_EQ(write_share_uses(uses), kText);
    const auto read = read_share_uses(kText);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, uses);
}

// Goal: a newer command understands an older agent.
TEST(ShareUsesJson, OfBefore) {
    std::string text(kText);
    for (const std::string_view newer :
         {R"("coresLimitPercent":60,)", R"("timed":true,)", R"("hadKernelsNs":3,"hadCopiesNs":4,)",
          R"("damaged":true,)"})
        text.erase(text.find(newer), newer.size());
    const auto read = read_share_uses(text);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->shares[0].cores_limit, kNoCoresLimit);
    EXPECT_EQ(read->shares[0].had, GpuTime{});
    EXPECT_FALSE(read->shares[0].is_timed || read->shares[0].is_damaged);
}

// Goal: the error names the broken field. Method: the good text with one piece replaced.
TEST(ShareUsesJson, Faults) {
    struct Case {
        const char* from;
        const char* to;
        const char* fault;
    };
    for (const Case& c :
         {Case{R"("version":1,)", "", "an agent's shares: version: missing or out of range"},
          {R"("version":1)", R"("version":2)",
           "an agent's shares: version 2 is newer than 1; use the tessera command of that release"},
          {R"("node":"n1",)", "", "an agent's shares: node: missing or out of range"},
          {R"("uuid":"GPU-a")", R"("uuid":7)", "an agent's shares: uuid: missing or out of range"},
          {R"("usedBytes":2097152,"limit)", R"("usedBytes":-1,"limit)",
           "an agent's shares: usedBytes: missing or out of range"},
          {R"("coresPercent":30)", R"("coresPercent":101)",
           "an agent's shares: coresPercent: missing or out of range"},
          {R"("coresLimitPercent":60,)", R"("coresLimitPercent":160,)",
           "an agent's shares: coresLimitPercent: missing or out of range"},
          {R"("pid":17)", R"("pid":"x")", "an agent's shares: pid: missing or out of range"}}) {
        std::string text(kText);
        text.replace(text.find(c.from), std::string_view(c.from).size(), c.to);
        const auto read = read_share_uses(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().text, c.fault);
    }
    EXPECT_FALSE(read_share_uses("{"));
}

}  // namespace
}  // namespace tessera
