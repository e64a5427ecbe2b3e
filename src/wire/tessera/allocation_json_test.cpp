#include "wire/tessera/allocation_json.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "domain/dialect/gpushare.hpp"
#include "testing/builders/random_text.hpp"

namespace tessera {
namespace {

const Allocation kExample = {
    PodUid("6db7844c"),
    NodeName("n1"),
    &kGpushareDialect,
    {{"main", ContainerKind::app, {{GpuUuid("GPU-a"), 0, gibibytes(4), {25}, false}}},
     {"prepare", ContainerKind::init, {{GpuUuid("GPU-b"), 1, gibibytes(16), {0}, true}}}}};

constexpr std::string_view kText =
    R"({"version":1,"pod":"6db7844c","node":"n1","dialect":"gpushare","containers":[)"
    R"({"name":"main","kind":"app","gpus":[{"uuid":"GPU-a","index":0,"memory":4294967296,"cores":25}]},)"
    R"({"name":"prepare","kind":"init","gpus":[)"
    R"({"uuid":"GPU-b","index":1,"memory":17179869184,"cores":0,"whole":true}]}]})";

// Goal: the written text is the one in docs/formats/allocation.md, and it reads back.
TEST(AllocationJson, Text) {
    EXPECT_EQ(write_allocation(kExample), kText);
    const auto read = read_allocation(kText);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, kExample);
}

// Goal: the fields that a resize adds are in the text, and only if they have a value.
TEST(AllocationJson, RevisionAndCoresLimit) {
    Allocation resized = kExample;
    resized.revision = 3;
    resized.containers[0].gpus[0].cores_limit = {80};
    const std::string text = write_allocation(resized);
    EXPECT_NE(text.find(R"("revision":3)"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("cores":25,"cores_limit":80})"), std::string::npos) << text;
    const auto read = read_allocation(text);
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(*read, resized);
}

// Goal: unknown fields of a later minor change, white space and another order do no harm.
TEST(AllocationJson, ReadsTolerantly) {
    const auto read = read_allocation(
        R"( {"mac":"x","containers":[{"gpus":[{"cores":0,"memory":1,"index":0,"uuid":"u","y":[]}],)"
        R"("name":"c"}],"dialect":"native","node":"n","pod":"p","version":1} )");
    ASSERT_TRUE(read) << read.error().text;
    EXPECT_EQ(read->containers[0].kind, ContainerKind::app);
    EXPECT_FALSE(read->containers[0].gpus[0].whole);
}

// Goal: a newer version has an error of its own, so that no caller treats it as no allocation.
TEST(AllocationJson, NewerVersionIsUnsupported) {
    for (const char* text : {R"({"version":2})", R"({"version":9,"pod":7})"}) {
        const auto read = read_allocation(text);
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().code, Code::unsupported) << text;
        EXPECT_NE(read.error().text.find("upgrade Tessera"), std::string::npos);
    }
}

std::string with(std::string_view from, std::string_view to) {
    std::string text(kText);
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

// Goal: every field is checked, and the error names it. Method: the good text with one thing wrong.
TEST(AllocationJson, RefusesWrongFields) {
    struct Case {
        std::string text;
        std::string names;
    };
    const std::vector<Case> cases = {
        {"", "not JSON"},
        {"null", "version"},
        {"[]", "version"},
        {"7", "version"},
        {"{}", "version"},
        {with(R"("version":1)", R"("version":0)"), "version"},
        {with(R"("version":1)", R"("version":-1)"), "version"},
        {with(R"("version":1)", R"("version":"1")"), "version"},
        {with(R"("version":1)", R"("version":null)"), "version"},
        {with(R"("version":1)", R"("version":1.5)"), "version"},
        {with(R"("pod":"6db7844c")", R"("pod":"")"), "pod"},
        {with(R"("pod":"6db7844c")", R"("pod":null)"), "pod"},
        {with(R"("node":"n1")", R"("node":1)"), "node"},
        {with(R"("dialect":"gpushare")", R"("dialect":"klingon")"), "dialect"},
        {with(R"("dialect":"gpushare",)", ""), "dialect"},
        {with(R"("containers":)", R"("boxes":)"), "containers"},
        {with(R"("containers":[)", R"("containers":null,"x":[)"), "containers"},
        {with(R"("name":"main")", R"("name":"")"), "name"},
        {with(R"("kind":"app")", R"("kind":"cron")"), "kind"},
        {with(R"("gpus":[{"uuid":"GPU-a")", R"("gpus":[],"x":[{"uuid":"GPU-a")"), "gpus"},
        {with(R"("uuid":"GPU-a")", R"("uuid":"")"), "uuid"},
        {with(R"("index":0)", R"("index":-1)"), "index"},
        {with(R"("index":0)", R"("index":1000001)"), "index"},
        {with(R"("index":0,)", ""), "index"},
        {with(R"("memory":4294967296)", R"("memory":-1)"), "memory"},
        {with(R"("memory":4294967296)", R"("memory":1125899906842625)"), "memory"},
        {with(R"("memory":4294967296)", R"("memory":99999999999999999999)"), "not JSON"},
        {with(R"("memory":4294967296)", R"("memory":"4Gi")"), "memory"},
        {with(R"("cores":25)", R"("cores":101)"), "cores"},
        {with(R"("cores":25)", R"("cores":-1)"), "cores"},
        {with(R"("cores":25)", R"("cores":25,"cores_limit":24)"), "cores_limit"},
        {with(R"("cores":25)", R"("cores":25,"cores_limit":101)"), "cores_limit"},
        {with(R"("cores":25)", R"("cores":25,"cores_limit":"80")"), "cores_limit"},
        {with(R"("cores":0)", R"("cores":0,"cores_limit":0)"), "cores_limit"},
        {with(R"("dialect")", R"("revision":-1,"dialect")"), "revision"},
        {with(R"("dialect")", R"("revision":1.5,"dialect")"), "revision"},
        {with(R"("dialect")", R"("revision":9999999999999999,"dialect")"), "revision"},
        {std::string(kText) + "x", "not JSON"},
        {std::string(100, '[') + std::string(100, ']'), "not JSON"},
        {"\xff\xfe", "not JSON"},
    };
    for (const Case& c : cases) {
        const auto read = read_allocation(c.text);
        ASSERT_FALSE(read) << c.text;
        EXPECT_EQ(read.error().code, Code::invalid_argument) << c.text;
        EXPECT_TRUE(read.error().text.starts_with("allocation: ")) << read.error().text;
        EXPECT_NE(read.error().text.find(c.names), std::string::npos)
            << c.text << ": " << read.error().text;
    }
}

// Goal: a text that was cut off anywhere is refused, and never read as a smaller allocation.
TEST(AllocationJson, RefusesEveryTruncation) {
    for (std::size_t size = 0; size < kText.size(); ++size)
        ASSERT_FALSE(read_allocation(kText.substr(0, size))) << size;
}

// Goal: parse(print(x)) == x for every allocation. Method: random allocations, names of any text.
RC_GTEST_PROP(AllocationJsonProperty, ComesBack, ()) {
    const auto draw = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(0, most); };
    Allocation allocation{PodUid(random_text()),
                          NodeName(random_text()),
                          all_dialects().all()[static_cast<std::size_t>(draw(2))],
                          {}};
    for (std::int64_t c = draw(3); c >= 0; --c) {
        ContainerAllocation container{random_text(), static_cast<ContainerKind>(draw(3)), {}};
        for (std::int64_t g = draw(3); g >= 0; --g) {
            container.gpus.push_back({GpuUuid(random_text()),
                                      static_cast<int>(draw(1'000'001)),
                                      {draw((std::int64_t{1} << 50) + 1)},
                                      {static_cast<int>(draw(101))},
                                      draw(2) == 1});
        }
        allocation.containers.push_back(std::move(container));
    }
    const auto read = read_allocation(write_allocation(allocation));
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == allocation);
}

}  // namespace
}  // namespace tessera
