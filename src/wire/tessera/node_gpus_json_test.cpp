#include "wire/tessera/node_gpus_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "testing/builders/builders.hpp"
#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

constexpr std::string_view kText =
    R"({"version":1,"unit":"GiB","identity":"nri","shares":"none","gpus":[)"
    R"({"uuid":"GPU-n1-0","index":0,"minor":0,"model":"Simulated T4","memory":17179869184,)"
    R"("reserved":536870912,"health":"healthy"},)"
    R"({"uuid":"GPU-n1-1","index":1,"minor":4,"model":"Simulated T4","memory":17179869184,)"
    R"("reserved":0,"health":"unhealthy","reason":"Xid 79"}]})";

NodeGpusReport example() {
    NodeGpusReport gpus{MemoryUnit::gib, "nri", EnforcementMode::none,
                        build::node("n1", 2, gibibytes(16)).gpus};
    gpus.gpus[0].reserved = mebibytes(512);
    gpus.gpus[1].minor = 4;
    gpus.gpus[1].condition = GpuCondition::unhealthy;
    gpus.gpus[1].reason = "Xid 79";
    return gpus;
}

// Goal: the written text is the one in docs/formats/node-gpus.md, and it reads back.
TEST(NodeGpusJson, Text) {
    EXPECT_EQ(write_node_gpus(example()), kText);
    const auto read = read_node_gpus(kText);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, example());
}

// Goal: memory that is used above lowered limits is in the text only if there is some.
TEST(NodeGpusJson, Excess) {
    NodeGpusReport gpus = example();
    gpus.gpus[0].over_limit = gibibytes(2);
    gpus.enforcement_fault = "the guard needs Linux 4.14";
    gpus.injection_fault = "no CDI device";
    const std::string text = write_node_gpus(gpus);
    EXPECT_NE(text.find(R"("reserved":536870912,"overLimit":2147483648,)"), std::string::npos);
    const auto read = read_node_gpus(text);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, gpus);
}

// Goal: what a GPU offers is in the text only if it does.
TEST(NodeGpusJson, Offers) {
    NodeGpusReport gpus = example();
    gpus.gpus[0].offers_mps = true;
    gpus.gpus[1].limits_memory = true;
    const std::string text = write_node_gpus(gpus);
    EXPECT_NE(text.find(R"("health":"healthy","mps":true})"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("reason":"Xid 79","memoryLimits":true})"), std::string::npos) << text;
    EXPECT_EQ(read_node_gpus(text).value(), gpus);
}

// Goal: pods to evict are in the text only if there are some, and a broken list is refused.
TEST(NodeGpusJson, Offenders) {
    NodeGpusReport gpus = example();
    gpus.gpus[0].mps_offenders = {PodUid("a"), PodUid("b")};
    const std::string text = write_node_gpus(gpus);
    EXPECT_NE(text.find(R"("mpsOffenders":["a","b"])"), std::string::npos) << text;
    EXPECT_EQ(read_node_gpus(text).value(), gpus);
    for (const char* broken : {R"("mpsOffenders":"a")", R"("mpsOffenders":[""])",
                               R"("mpsOffenders":[1])", R"("mpsOffenders":{})"}) {
        std::string with = text;
        constexpr std::string_view kGood = R"("mpsOffenders":["a","b"])";
        with.replace(with.find(kGood), kGood.size(), broken);
        EXPECT_FALSE(read_node_gpus(with)) << broken;
    }
}

// Goal: links are in the text if the driver reported them, and read back.
TEST(NodeGpusJson, Links) {
    NodeGpusReport gpus = example();
    gpus.gpus[0].links = {.numa = 1, .pcie = 0b10, .nvlink = std::uint64_t{1} << 63 | 0b110};
    const std::string text = write_node_gpus(gpus);
    EXPECT_NE(text.find(R"("health":"healthy","numa":1,"pcie":[1],"nvlink":[1,2,63]})"),
              std::string::npos)
        << text;
    const auto read = read_node_gpus(text);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, gpus);
    for (const char* wrong : {R"("numa":-1)", R"("numa":"0")", R"("pcie":1)", R"("pcie":[64])",
                              R"("nvlink":[-1])", R"("nvlink":["GPU-1"])"}) {
        const auto refused =
            read_node_gpus(R"({"version":1,"gpus":[{"uuid":"a","index":1,"memory":9,)" +
                           std::string(wrong) + "}]}");
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().code, Code::invalid_argument);
    }
}

// Goal: a node without GPUs is not an error, and GPUs are in order of their index, whatever the
// text's order.
TEST(NodeGpusJson, EmptyAndSorted) {
    const auto empty = read_node_gpus(R"({"version":1,"unit":"MiB","gpus":[]})");
    ASSERT_TRUE(empty) << empty.error().text;
    EXPECT_EQ(empty->unit, MemoryUnit::mib);
    EXPECT_TRUE(empty->gpus.empty());
    const auto read = read_node_gpus(
        R"({"version":1,"gpus":[{"uuid":"b","index":3,"memory":9},{"uuid":"a","index":1,"memory":9}]})");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->gpus[0].uuid, GpuUuid("a"));
    EXPECT_EQ(read->gpus[0].minor, kMinorUnknown);
    EXPECT_TRUE(read->gpus[0].usable());
    EXPECT_EQ(read->unit, MemoryUnit::gib);
}

// Goal: GPUs with one index have a fixed order: a lost GPU may have an index that another has now.
TEST(NodeGpusJson, EqualIndexesByUuid) {
    const auto read =
        read_node_gpus(R"({"version":1,"unit":"GiB","gpus":[{"uuid":"c","index":1,"memory":9},)"
                       R"({"uuid":"b","index":0,"memory":9},{"uuid":"a","index":1,"memory":9}]})");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->gpus[0].uuid, GpuUuid("b"));
    EXPECT_EQ(read->gpus[1].uuid, GpuUuid("a"));
    EXPECT_EQ(read->gpus[2].uuid, GpuUuid("c"));
}

// Goal: an unknown health counts as unhealthy, so that nothing is placed on a GPU that may be
// broken.
TEST(NodeGpusJson, UnknownHealthIsUnhealthy) {
    const auto read = read_node_gpus(
        R"({"version":1,"gpus":[{"uuid":"a","index":0,"memory":9,"health":"draining"}]})");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->gpus[0].condition, GpuCondition::unhealthy);
}

// Goal: a GPU that cannot be shared is distinguished from a faulty one, and needs no size; other
// GPUs need a size.
TEST(NodeGpusJson, NotShareable) {
    const auto read = read_node_gpus(
        R"({"version":1,"gpus":[{"uuid":"a","index":0,"memory":0,"health":"not-shareable",)"
        R"("reason":"MIG mode is on"}]})");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->gpus[0].condition, GpuCondition::not_shareable);
    EXPECT_EQ(read->gpus[0].reason, "MIG mode is on");
    EXPECT_EQ(read->gpus[0].memory, Bytes{});
    EXPECT_FALSE(read_node_gpus(
        R"({"version":1,"gpus":[{"uuid":"a","index":0,"memory":0,"health":"healthy"}]})"));
}

std::string with(std::string_view from, std::string_view to) {
    std::string text(kText);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

// Goal: every field is checked, and the error names it. Method: the good text with one thing wrong.
TEST(NodeGpusJson, RefusesWrongFields) {
    struct Case {
        std::string text;
        std::string names;
    };
    const std::vector<Case> cases = {
        {"", "not JSON"},
        {"null", "version"},
        {with(R"("version":1)", R"("version":"1")"), "version"},
        {with(R"("unit":"GiB")", R"("unit":"Gi")"), "unit"},
        {with(R"("uuid":"GPU-n1-0")", R"("uuid":"")"), "uuid"},
        {with(R"("uuid":"GPU-n1-0")", R"("uuid":null)"), "uuid"},
        {with(R"("uuid":"GPU-n1-0")", R"("uuid":"GPU-n1-1")"), "uuid: GPU-n1-1 appears twice"},
        {with(R"("index":0)", R"("index":-1)"), "index"},
        {with(R"("index":0)", R"("index":1025)"), "index"},
        {with(R"("index":0,)", ""), "index"},
        {with(R"("memory":17179869184)", R"("memory":0)"), "memory"},
        {with(R"("memory":17179869184)", R"("memory":-5)"), "memory"},
        {with(R"("memory":17179869184)", R"("memory":"16Gi")"), "memory"},
        {with(R"("memory":17179869184)", R"("memory":1125899906842625)"), "memory"},
        {with(R"("reserved":536870912)", R"("reserved":-1)"), "reserved"},
        {with(R"("reserved":536870912)", R"("reserved":17179869184)"), "reserved"},
        {with(R"("reserved":0)", R"("reserved":0,"overLimit":-1)"), "overLimit"},
        {with(R"("reserved":536870912)", R"("reserved":536870912,"overLimit":17179869184)"),
         "overLimit"},
        {with(R"("gpus":[)", R"("gpus":[7,)"), "uuid"},
    };
    for (const Case& c : cases) {
        const auto read = read_node_gpus(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().code, Code::invalid_argument) << c.text;
        EXPECT_TRUE(read.error().text.starts_with("tessera.dev/gpus: ")) << read.error().text;
        EXPECT_NE(read.error().text.find(c.names), std::string::npos) << read.error().text;
    }
    for (std::size_t size = 0; size < kText.size(); ++size)
        ASSERT_FALSE(read_node_gpus(kText.substr(0, size))) << size;
}

// Goal: text of a newer agent has an error of its own, which says what to do.
TEST(NodeGpusJson, NewerVersionIsUnsupported) {
    const auto read = read_node_gpus(with(R"("version":1)", R"("version":2)"));
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::unsupported);
    EXPECT_NE(read.error().text.find("upgrade the controller"), std::string::npos);
}

// Goal: parse(print(x)) == x. Method: random GPUs with distinct UUIDs, in order of index.
RC_GTEST_PROP(NodeGpusJsonProperty, ComesBack, ()) {
    const auto draw = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(0, most); };
    NodeGpusReport gpus{draw(2) == 0 ? MemoryUnit::gib : MemoryUnit::mib, random_text(), {}};
    const auto count = draw(5);
    for (std::int64_t i = 0; i < count; ++i) {
        Gpu gpu = build::gpu(random_text(), static_cast<int>(i), {1 + draw(std::int64_t{1} << 50)});
        gpu.minor = static_cast<int>(draw(257)) - 1;
        gpu.model = random_text();
        gpu.reserved = {draw(gpu.memory.count)};
        gpu.over_limit = {draw(gpu.capacity().count + 1)};
        gpu.condition = static_cast<GpuCondition>(draw(3));
        gpu.reason = gpu.usable() ? "" : random_text();
        if (!gpu.usable() && draw(4) == 0) gpu.memory = gpu.reserved = gpu.over_limit = {};
        gpus.gpus.push_back(std::move(gpu));
    }
    const auto read = read_node_gpus(write_node_gpus(gpus));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == gpus);
}

}  // namespace
}  // namespace tessera
