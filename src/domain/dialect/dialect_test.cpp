#include "domain/dialect/dialect.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "testing/builders/builders.hpp"

namespace tessera {
namespace {

using build::container;
using build::Limits;

const std::string kGpu(resource::kGpu);
const std::string kShare(resource::kGpuShare);
const std::string kMemory(resource::kGpuMemory);
const std::string kCores(resource::kGpuCores);
const std::string kMem(resource::kAliyunMem);
const std::string kCount(resource::kAliyunCount);
const std::string kPercentage(resource::kAliyunCores);

GpuRequest native(int gpus, MemoryRequest memory, int cores) {
    return {.gpus = gpus, .memory = memory, .cores = {cores}, .dialect = &kNativeDialect};
}
GpuRequest aliyun(int gpus, std::int64_t units, int cores) {
    return {.gpus = gpus,
            .memory = {MemoryRequest::Kind::node_units, units},
            .cores = {cores},
            .dialect = &kGpushareDialect};
}

Result<ContainerRequests> parse(std::vector<ContainerSpec> containers,
                                std::optional<std::string> cores_limit = {}) {
    return parse_container_requests(
        {.containers = std::move(containers), .cores_limit = std::move(cores_limit)});
}

// Goal: each way to write a request has one meaning. Method: a table of one container's limits and
// values.
TEST(ParsePodRequest, ReadsEveryWayOfAsking) {
    struct Case {
        Limits limits;
        GpuRequest expected;
    };
    const MemoryRequest whole{MemoryRequest::Kind::whole_gpu, 0};
    const MemoryRequest three{MemoryRequest::Kind::bytes, 3 * kGiB};
    const std::vector<Case> cases = {
        {{{kGpu, "1"}}, native(1, whole, 0)},
        {{{kGpu, "4"}}, native(4, whole, 0)},
        {{{kShare, "1"}, {kMemory, "3Gi"}}, native(1, three, 0)},
        {{{kMemory, "3Gi"}, {kShare, "2"}}, native(2, three, 0)},
        {{{kShare, "1"}, {kMemory, "3221225472"}, {kCores, "30"}}, native(1, three, 30)},
        {{{kShare, "64"}, {kMemory, "3Gi"}, {kCores, "100"}}, native(64, three, 100)},
        {{{kMem, "3"}}, aliyun(1, 3, 0)},
        {{{kMem, "3000m"}}, aliyun(1, 3, 0)},
        {{{kMem, "1Ki"}}, aliyun(1, 1024, 0)},
        {{{kMem, "8"}, {kCount, "2"}}, aliyun(2, 4, 0)},
        {{{kMem, "8"}, {kPercentage, "25"}}, aliyun(1, 8, 25)},
    };
    for (const Case& c : cases) {
        const auto request = parse(std::vector{container("main", c.limits)});
        ASSERT_TRUE(request) << request.error().text;
        ASSERT_EQ(request->size(), 1U);
        EXPECT_EQ(request->front(), (ContainerRequest{"main", ContainerKind::app, c.expected}));
    }
}

// Goal: a pod without GPU resources gives no request and no error.
TEST(ParsePodRequest, NothingAskedIsNoRequest) {
    const std::vector<Limits> cases = {
        {},
        {{"cpu", "1"}, {"memory", "rubbish"}},
        {{"nvidia.com/gpu", "1"}},
        {{kGpu, "0"}},
        {{kShare, "0"}},
        {{kGpu, "0"}, {kShare, "0"}},
        {{kMem, "0"}},
        {{kMem, "0Gi"}},
    };
    for (const Limits& limits : cases) {
        const auto request = parse(std::vector{container("main", limits)});
        ASSERT_TRUE(request) << request.error().text;
        EXPECT_TRUE(request->empty());
    }
    EXPECT_TRUE(parse({})->empty());
}

struct BadCase {
    Limits limits;
    std::string resource;  // that the message must name
    std::string fix;       // part of the text that says how to fix it
};

void expect_refused(const std::vector<BadCase>& cases) {
    for (const BadCase& c : cases) {
        const auto request = parse(std::vector{container("worker", c.limits)});
        ASSERT_FALSE(request) << c.resource << " " << c.fix;
        const std::string& text = request.error().text;
        EXPECT_EQ(request.error().code, Code::invalid_argument) << text;
        EXPECT_TRUE(text.starts_with("container worker: " + c.resource + ": ")) << text;
        EXPECT_NE(text.find(c.fix), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    }
}

// Goal: an invalid quantity is refused, for every resource. Method: bad texts in each of the
// resources; the message names the container, the resource and the fix.
TEST(ParsePodRequest, RefusesBadQuantities) {
    struct Text {
        std::string quantity;
        std::string fix;
    };
    const std::vector<Text> texts = {
        {"", "write a whole number"}, {"abc", "write a whole number"},
        {"-1", "write a positive"},   {"-3Gi", "write a positive"},
        {"1.5", "round it up"},       {"1500m", "round it up"},
        {"3 Gi", "use none, k, M"},   {"3GiB", "use none, k, M"},
        {"8Ei", "is too large"},      {"9223372036854775808", "is too large"},
    };
    for (const Text& text : texts) {
        for (const std::string& name : {kGpu, kShare, kMemory, kCores}) {
            Limits limits = {{name, text.quantity}};
            if (name == kMemory || name == kCores) limits.emplace_back(kShare, "1");
            expect_refused({{limits, name, text.fix}});
        }
        for (const std::string& name : {kMem, kCount, kPercentage}) {
            Limits limits = {{name, text.quantity}};
            if (name != kMem) limits.emplace_back(kMem, "4");
            expect_refused({{limits, name, text.fix}});
        }
    }
}

// Goal: valid numbers that are wrong together or alone are refused with the fix.
TEST(ParsePodRequest, RefusesNonsense) {
    expect_refused({
        {{{kMemory, "3Gi"}}, kMemory, "needs tessera.dev/gpu-share: 1 beside it"},
        {{{kShare, "0"}, {kMemory, "3Gi"}}, kMemory, "needs tessera.dev/gpu-share: 1 beside it"},
        // Both are named at once: the user fixes the pod once.
        {{{kCores, "30"}},
         kCores,
         "needs tessera.dev/gpu-share: 1 beside it (the number of GPUs to take it from), and "
         "tessera.dev/gpu-memory, such as 3Gi"},
        {{{kShare, "1"}, {kMemory, "0"}}, kMemory, "write the bytes that you need"},
        {{{kShare, "1"}, {kCores, "30"}}, kShare, "needs tessera.dev/gpu-memory beside it"},
        {{{kShare, "1"}, {kMemory, "3"}}, kMemory, "is 3 bytes; is the unit missing?"},
        {{{kShare, "1"}, {kMemory, "2047Ki"}}, kMemory, "Write at least 2Mi"},
        {{{kShare, "1"}, {kMemory, "3Gi"}, {kCores, "0"}}, kCores, "write 1 to 100"},
        {{{kShare, "1"}, {kMemory, "3Gi"}, {kCores, "101"}}, kCores, "write 1 to 100"},
        {{{kShare, "1"}, {kMemory, "3Gi"}, {kCores, "9223372036854775807"}},
         kCores,
         "write 1 to 100"},
        {{{kShare, "1"}},
         kShare,
         "needs tessera.dev/gpu-memory beside it, such as 3Gi; for whole "
         "GPUs write tessera.dev/gpu"},
        {{{kGpu, "1"}, {kShare, "1"}, {kMemory, "3Gi"}},
         kGpu,
         "stands beside tessera.dev/gpu-share"},
        // The form before there was gpu-share.
        {{{kMemory, "3Gi"}, {kGpu, "1"}},
         kGpu,
         "counts whole GPUs, so tessera.dev/gpu-memory beside it has no meaning; for a share of a "
         "GPU's memory and compute write tessera.dev/gpu-share: 1 instead"},
        {{{kGpu, "2"}, {kCores, "30"}}, kGpu, "write tessera.dev/gpu-share: 2 instead"},
        {{{kShare, "65"}, {kMemory, "3Gi"}}, kShare, "write 1 to 64"},
        {{{kGpu, "65"}}, kGpu, "write 1 to 64"},
        {{{kGpu, "9223372036854775807"}}, kGpu, "write 1 to 64"},
        {{{kGpu, "4294967297"}}, kGpu, "write 1 to 64"},
        {{{kShare, "1"}, {kMemory, "2Pi"}}, kMemory, "is the unit right?"},
        {{{kShare, "1"}, {kMemory, "7Ei"}}, kMemory, "is the unit right?"},
        {{{kMem, "10G"}}, kMem, "is the unit right?"},
        {{{kMem, "9223372036854775807"}}, kMem, "is the unit right?"},
        {{{kCount, "2"}}, kCount, "needs aliyun.com/gpu-mem beside it"},
        {{{kMem, "0"}, {kCount, "2"}}, kCount, "needs aliyun.com/gpu-mem beside it"},
        {{{kPercentage, "20"}}, kPercentage, "needs aliyun.com/gpu-mem beside it"},
        {{{kMem, "4"}, {kPercentage, "0"}}, kPercentage, "write 1 to 100"},
        {{{kMem, "4"}, {kPercentage, "101"}}, kPercentage, "write 1 to 100"},
        {{{kMem, "4"}, {kCount, "0"}}, kCount, "write 1 to 64"},
        {{{kMem, "4"}, {kCount, "65"}}, kCount, "write 1 to 64"},
        {{{kMem, "5"}, {kCount, "2"}}, kMem, "write a multiple of 2"},
        {{{kMem, "1"}, {kCount, "2"}}, kMem, "write a multiple of 2"},
    });
}

// Goal: two dialects in one pod are refused, in one container or in two, and both are named.
TEST(ParsePodRequest, RefusesTwoDialects) {
    const auto one = parse(std::vector{container("a", {{kGpu, "1"}, {kMem, "3"}})});
    ASSERT_FALSE(one);
    EXPECT_TRUE(one.error().text.starts_with("container a: " + kMem + ": ")) << one.error().text;
    EXPECT_NE(one.error().text.find(kGpu), std::string::npos);
    EXPECT_NE(one.error().text.find("either native or gpushare"), std::string::npos);

    const auto two = parse(std::vector{container("a", {{kMem, "3"}}),
                                       container("b", {{kMemory, "3Gi"}, {kShare, "1"}})});
    ASSERT_FALSE(two);
    EXPECT_TRUE(two.error().text.starts_with("container b: " + kMemory + ": "));
    EXPECT_NE(two.error().text.find("either gpushare or native"), std::string::npos);
}

// Goal: containers keep their order and kind; those without a request are left out.
TEST(ParsePodRequest, KeepsKindsAndOrder) {
    const auto request = parse(std::vector{
        container("prepare", {{kMem, "6"}}, ContainerKind::init),
        container("proxy", {{kMem, "1"}}, ContainerKind::sidecar),
        container("idle", {{kMem, "0"}}),
        container("main", {{kMem, "4"}}),
    });
    ASSERT_TRUE(request) << request.error().text;
    ASSERT_EQ(request->size(), 3U);
    EXPECT_EQ((*request)[0].container, "prepare");
    EXPECT_EQ((*request)[0].kind, ContainerKind::init);
    EXPECT_EQ((*request)[1].kind, ContainerKind::sidecar);
    EXPECT_EQ((*request)[2].container, "main");
    EXPECT_EQ((*request)[2].kind, ContainerKind::app);
}

// Goal: the error of an init or sidecar container names that container.
TEST(ParsePodRequest, NamesTheInitContainerThatIsWrong) {
    for (const ContainerKind kind : {ContainerKind::init, ContainerKind::sidecar}) {
        const auto request = parse(
            std::vector{container("warm-up", {{kMem, "x"}}, kind), container("b", {{kMem, "1"}})});
        ASSERT_FALSE(request);
        EXPECT_TRUE(request.error().text.starts_with("container warm-up: "))
            << request.error().text;
    }
}

// Goal: the table is complete: every dialect is found by its name, can be read, and shares no
// resource with another; what a device plugin counts is among its resources.
TEST(Dialects, TableIsWhole) {
    std::vector<std::string_view> seen;
    for (const Dialect* dialect : all_dialects().all()) {
        EXPECT_EQ(all_dialects().find(dialect->name), dialect);
        EXPECT_NE(dialect->read, nullptr);
        EXPECT_FALSE(dialect->summary.empty());
        for (const DeviceList& list : dialect->device_lists)
            EXPECT_EQ(all_dialects().of_resource(list.resource), dialect) << list.resource;
        for (const std::string_view resource : dialect->resources) {
            EXPECT_EQ(all_dialects().of_resource(resource), dialect);
            EXPECT_EQ(std::ranges::find(seen, resource), seen.end()) << resource;
            seen.push_back(resource);
        }
    }
    for (const char* other : {"cpu", "nvidia.com/gpu", ""})
        EXPECT_EQ(all_dialects().of_resource(other), nullptr) << other;
}

// Goal: a dialect can be switched off; a pod in it is then refused with the fix, and a wrong list
// of names is refused with the right ones.
TEST(Dialects, SwitchedOff) {
    const std::vector<std::string> native = {"native"};
    const auto only = all_dialects().only(native);
    ASSERT_TRUE(only);
    EXPECT_EQ(only->on().size(), 1U);
    EXPECT_TRUE(only->is_on(kNativeDialect));
    EXPECT_FALSE(only->is_on(kGpushareDialect));
    EXPECT_EQ(only->find("gpushare"), &kGpushareDialect) << "allocations stay readable";
    const auto parse_in = [&](Limits limits) {
        return parse_container_requests({.containers = {container("main", std::move(limits))}},
                                        *only);
    };
    EXPECT_TRUE(parse_in({{kGpu, "1"}}));
    EXPECT_TRUE(parse_in({{"cpu", "1"}})->empty());
    const auto off = parse_in({{kMem, "3"}});
    ASSERT_FALSE(off);
    EXPECT_EQ(off.error().text,
              "container main: aliyun.com/gpu-mem: the dialect gpushare is switched off in this "
              "cluster; write the pod in another one (native), or ask an administrator to add it "
              "to `dialects` of the controller and the agents");
    EXPECT_EQ(all_dialects().only(std::vector<std::string>{}).error().text,
              "dialects: none is given; write one or more of: native, gpushare, gpu-manager");
    EXPECT_EQ(all_dialects().only(std::vector<std::string>{"native", "hami"}).error().text,
              "dialects: \"hami\" is unknown; write one or more of: native, gpushare, gpu-manager");
}

// Goal: no text gives a request out of bounds. Method: random limits of all dialects. A parsed
// request has 1 to 64 GPUs, 0 to 100 percent, and memory that can be summed.
RC_GTEST_PROP(ParsePodRequestProperty, WhatParsesIsWithinBounds, ()) {
    const auto quantity = rc::gen::oneOf(
        rc::gen::map(rc::gen::inRange<std::int64_t>(-2, 200),
                     [](std::int64_t n) { return std::to_string(n); }),
        rc::gen::map(rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 62),
                     [](std::int64_t n) { return std::to_string(n); }),
        rc::gen::elementOf(std::vector<std::string>{"", "3Gi", "1e30", "7Ei", "2.5", "1Ki", "m"}));
    const auto name = rc::gen::elementOf(
        std::vector<std::string>{kGpu, kShare, kMemory, kCores, kMem, kCount, kPercentage, "cpu",
                                 "tencent.com/vcuda-core", "tencent.com/vcuda-memory"});
    const auto limits = *rc::gen::container<Limits>(rc::gen::pair(name, quantity));
    const auto request = parse(std::vector{container("main", limits)});
    if (!request) {
        RC_ASSERT(request.error().code == Code::invalid_argument);
        RC_ASSERT(request.error().text.find("container main: ") == 0U);
        return;
    }
    for (const ContainerRequest& c : *request) {
        RC_ASSERT(c.gpu.gpus >= 1 && c.gpu.gpus <= kMaxGpusPerContainer);
        RC_ASSERT(c.gpu.cores.value >= 0 && c.gpu.cores.value <= 100);
        const bool whole = c.gpu.memory.kind == MemoryRequest::Kind::whole_gpu;
        RC_ASSERT(whole || c.gpu.memory.amount > 0);
        RC_ASSERT(c.gpu.memory.amount <= std::int64_t{1} << 50);
    }
}

// Goal: the pod's compute limit applies to all its shares. An invalid one is refused with the
// annotation's name and what to write. Method: a table.
TEST(ParsePodRequest, ComputeLimit) {
    struct Case {
        const char* text;
        Limits main;
        Limits side;
        int main_cores_limit;  // 0: refused
        const char* words;
    };
    const Limits share = {{kShare, "1"}, {kMemory, "3Gi"}, {kCores, "30"}};
    const Limits gpushares = {{kMem, "3"}, {kPercentage, "30"}};
    const std::vector<Case> cases = {
        {"50", share, {}, 50, ""},
        {"30", share, {}, 30, ""},
        {"1", {{kShare, "1"}, {kMemory, "3Gi"}}, {}, 1, ""},
        {"100", share, {}, 100, ""},
        {"50", gpushares, {}, 50, ""},
        {"50", {{kGpu, "1"}}, share, 100, ""},
        {"29", share, {}, 0, "29 is below the 30 percent that container main asks for; write 30"},
        {"29", {{kGpu, "1"}}, share, 0, "container side asks for; write 30 or more"},
        {"0", share, {}, 0, "\"0\" is not a percentage of one GPU; write 1 to 100"},
        {"101", share, {}, 0, "\"101\" is not"},
        {"-5", share, {}, 0, "\"-5\" is not"},
        {"fifty", share, {}, 0, "\"fifty\" is not"},
        {"", share, {}, 0, "\"\" is not"},
        {"50", {{kGpu, "1"}}, {}, 0, "whole GPUs, which have no compute limit; remove it"},
    };
    for (const Case& c : cases) {
        std::vector<ContainerSpec> containers = {container("main", c.main)};
        if (!c.side.empty()) containers.push_back(container("side", c.side));
        const auto request = parse(containers, c.text);
        if (c.main_cores_limit > 0) {
            ASSERT_TRUE(request) << c.text << ": " << request.error().text;
            EXPECT_EQ(request->front().gpu.cores_limit.value, c.main_cores_limit) << c.text;
            continue;
        }
        ASSERT_FALSE(request) << c.text;
        EXPECT_EQ(request.error().code, Code::invalid_argument);
        EXPECT_TRUE(request.error().text.starts_with("annotation tessera.dev/gpu-cores-limit: "));
        EXPECT_NE(request.error().text.find(c.words), std::string::npos) << request.error().text;
    }
    EXPECT_TRUE(parse({container("main", {{kGpu, "0"}})}, "50")) << "it asks for no GPU";
}

// Goal: only a memory limit that equals the request is accepted; the others are refused with the
// annotation's name and what to do. Method: a table.
TEST(ParsePodRequest, MemoryLimit) {
    struct Case {
        const char* text;
        Limits main;
        const char* words;  // empty: accepted
    };
    const Limits share = {{kShare, "1"}, {kMemory, "3Gi"}};
    const std::vector<Case> cases = {
        {"3Gi", share, ""},
        {"3221225472", share, ""},
        {"4Gi", share,
         "4Gi is above the 3Gi that container main asks for; a limit above the "
         "request is not supported yet, so remove it"},
        {"2Gi", share, "is below the 3Gi that container main asks for; write that amount"},
        {"much", share, "write a whole number"},
        {"", share, "write a whole number"},
        {"3Gi", {{kGpu, "1"}}, "whole GPUs, which have no memory limit; remove it"},
        {"3Gi", {{kMem, "3"}}, "works only with tessera.dev/gpu-memory"},
        {"3Gi", {{kGpu, "0"}}, ""},
    };
    for (const Case& c : cases) {
        const auto request = parse_container_requests(
            {.containers = {container("main", c.main)}, .memory_limit = c.text});
        if (*c.words == '\0') {
            EXPECT_TRUE(request) << c.text << ": " << request.error().text;
            continue;
        }
        ASSERT_FALSE(request) << c.text;
        EXPECT_EQ(request.error().code, Code::invalid_argument);
        EXPECT_TRUE(request.error().text.starts_with("annotation tessera.dev/gpu-memory-limit: "));
        EXPECT_NE(request.error().text.find(c.words), std::string::npos) << request.error().text;
    }
}

}  // namespace
}  // namespace tessera
