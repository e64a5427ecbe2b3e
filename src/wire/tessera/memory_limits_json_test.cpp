#include "wire/tessera/memory_limits_json.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Goal: an agent that starts again reads what an earlier one wrote.
TEST(MemoryLimitsJson, IsReadBack) {
    ContainerMemoryLimits limits{.cgroup = "/sys/fs/cgroup/kubepods/pod1/c0ffee",
                                 .limits = {{GpuUuid("GPU-a"), gibibytes(3)}}};
    EXPECT_EQ(write_memory_limits(limits),
              "{\"version\":1,\"cgroup\":\"/sys/fs/cgroup/kubepods/pod1/c0ffee\",\"limits\":["
              "{\"gpu\":\"GPU-a\",\"memoryBytes\":3221225472}]}\n");
    EXPECT_EQ(read_memory_limits(write_memory_limits(limits)).value(), limits);
    limits.limits.push_back({GpuUuid("GPU-b"), {1}});
    EXPECT_EQ(read_memory_limits(write_memory_limits(limits)).value(), limits);
}

TEST(MemoryLimitsJson, RefusesWhatIsNoRecord) {
    struct Case {
        const char* text;
        const char* error;
    };
    for (const Case& c :
         {Case{R"({"limits":[]})", "version: missing"},
          {R"({"version":2})", "version: 2 is of a newer release"},
          {R"({"version":1,"limits":[]})", "cgroup: missing"},
          {R"({"version":1,"cgroup":"/x"})", "limits: has no entry"},
          {R"({"version":1,"cgroup":"/x","limits":[]})", "limits: has no entry"},
          {R"({"version":1,"cgroup":"x","limits":[]})", "cgroup: is no absolute path"},
          {R"({"version":1,"cgroup":"/x","limits":[{"memoryBytes":1}]})", "limits[0].gpu: missing"},
          {R"({"version":1,"cgroup":"/x","limits":[{"gpu":"GPU-a","memoryBytes":0}]})",
           "limits[0].memoryBytes: is not a whole number from 1 to 9223372036854775807"}}) {
        const auto read = read_memory_limits(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().text, c.error);
    }
    EXPECT_FALSE(read_memory_limits("{\"version\":1,\"lim"));
    EXPECT_FALSE(read_memory_limits(""));
}

}  // namespace
}  // namespace tessera
