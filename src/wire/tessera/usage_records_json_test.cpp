#include "wire/tessera/usage_records_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr const char* kRecord =
    R"("podUid":"u1","namespace":"lab","pod":"train","from":60,"to":120,"container":"main",)"
    R"("gpu":"GPU-a","model":"A100","memoryBytes":3221225472,"capacityBytes":85899345920,)"
    R"("computePercent":25)";

UsageRecord record() {
    return {.pod = PodUid("u1"),
            .container = "main",
            .gpu = GpuUuid("GPU-a"),
            .time = {60, 120},
            .name = {"lab", "train"},
            .model = "A100",
            .memory = gibibytes(3),
            .capacity = gibibytes(80),
            .compute = Percent{25}};
}

std::string one(std::string text) {
    return R"({"version":1,"records":[{)" + std::move(text) + "}]}";
}

// The record with one field's text replaced.
std::string with(const std::string& field, const std::string& value) {
    std::string text = kRecord;
    const std::size_t at = text.find("\"" + field + "\":");
    const std::size_t from = at + field.size() + 3;
    const std::size_t to = std::min(text.find(",\"", from), text.size());
    return one(text.replace(from, to - from, value));
}

// Goal: the ledger, or the next agent, reads what an agent wrote.
TEST(UsageRecordsJson, IsReadBack) {
    EXPECT_EQ(write_usage_records({{record()}}),
              one(std::string(kRecord) + R"(,"whole":false)") + "\n");
    EXPECT_EQ(read_usage_records(one(kRecord)).value(), std::vector{record()});
    UsageRecord whole = record();
    whole.whole = true;
    whole.container = "ü\"\n";
    const std::vector<UsageRecord> both = {record(), whole};
    EXPECT_EQ(read_usage_records(write_usage_records(both)).value(), both);
    EXPECT_EQ(read_usage_records(write_usage_records({})).value(), std::vector<UsageRecord>());
}

// Goal: no text makes a charge that is not one.
TEST(UsageRecordsJson, RefusesWhatCannotBeCharged) {
    struct Case {
        std::string text;
        const char* error;
    };
    for (const Case& c : std::initializer_list<Case>{
             {"{}", "version: missing"},
             {R"({"version":2})", "version: 2 is of a newer release"},
             {R"({"version":1})", "records: missing"},
             {R"({"version":1,"records":{}})", "records: is not a list"},
             {one(""), "records[0].podUid: missing"},
             {with("podUid", "7"), "records[0].podUid: is not a text, or is empty"},
             {with("container", "\"\""), "records[0].container: is not a text, or is empty"},
             {with("gpu", "null"), "records[0].gpu: missing"},
             {with("namespace", "\"\""), "records[0].namespace: is not a text, or is empty"},
             {with("pod", "[]"), "records[0].pod: is not a text, or is empty"},
             {with("model", "\"\""), "records[0].model: is not a text, or is empty"},
             {with("from", "-1"), "records[0].from: is not a whole number from 0 to 16725225600"},
             {with("from", "1e2"), "records[0].from: is not a whole number from 0 to 16725225600"},
             {with("to", "60"),
              "records[0]: usage record: time is empty; write a start before the end"},
             {with("to", "3661"),
              "records[0]: usage record: time is of several hours; write a record for each"},
             {with("memoryBytes", "-1"),
              "records[0].memoryBytes: is not a whole number from 0 to 85899345920"},
             {with("memoryBytes", "99999999999"),
              "records[0].memoryBytes: is not a whole number from 0 to 85899345920"},
             {with("capacityBytes", "0"),
              "records[0].capacityBytes: is not a whole number from 1 to 1125899906842624"},
             {with("computePercent", "101"),
              "records[0].computePercent: is not a whole number from 0 to 100"},
             {one(std::string(kRecord) + R"(,"whole":1)"),
              "records[0].whole: is neither true nor false"}}) {
        const auto read = read_usage_records(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().text, c.error) << c.text;
    }
    EXPECT_FALSE(read_usage_records(""));
    EXPECT_FALSE(read_usage_records(R"({"version":1,"records":[)"));
}

}  // namespace
}  // namespace tessera
