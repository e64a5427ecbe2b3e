#include "wire/workload/data_volume_json.hpp"

#include <gtest/gtest.h>

namespace tessera::workload {
namespace {

TEST(DataVolumeJson, Reads) {
    const auto read = [](std::string_view text) {
        return read_data_volume(JsonDocument::parse(text)->root());
    };
    EXPECT_EQ(read(R"({"metadata":{"namespace":"team","name":"models","annotations":)"
                   R"({"description":"for mnist","owner":"tester"},)"
                   R"("creationTimestamp":"2026-07-01T09:30:00Z"},)"
                   R"("status":{"phase":"Bound","accessModes":["ReadWriteMany","ReadOnlyMany"]}})"),
              (DataVolume{"team", "models", "ReadWriteMany,ReadOnlyMany", "for mnist", "tester",
                          1'782'898'200, true}));
    EXPECT_FALSE(read(R"({"status":{"phase":"Pending","accessModes":"x"}})").is_bound);
    for (const char* text : {"{}", "[]", "7", R"({"metadata":7,"status":{"accessModes":[7]}})"})
        EXPECT_EQ(read(text), DataVolume{}) << text;
}

}  // namespace
}  // namespace tessera::workload
