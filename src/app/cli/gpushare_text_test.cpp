#include "app/cli/gpushare_text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "testing/builders/builders.hpp"
#include "wire/kube/kube_objects.hpp"

namespace tessera {
namespace {

// The original's output, by section and command line ("", "-d", "-d two").
using Golden = std::map<std::pair<std::string, std::string>, std::string>;

Golden golden() {
    std::ifstream in(TESSERA_SOURCE_DIR "/src/app/cli/testdata/kubectl-inspect.txt");
    EXPECT_TRUE(in);
    constexpr std::string_view kCommand = "$ kubectl inspect gpushare";
    constexpr std::string_view kLineEnd = "⏎";
    Golden out;
    std::string section;
    std::string* text = nullptr;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("##### ")) section = line.substr(6);
        if (line.starts_with(kCommand)) {
            std::string arguments = line.substr(kCommand.size());
            std::erase_if(arguments, [](char c) { return c == '\n'; });
            const std::size_t first = arguments.find_first_not_of(' ');
            text = &out[{section, first == std::string::npos ? "" : arguments.substr(first)}];
        } else if (text != nullptr && line.ends_with(kLineEnd)) {
            *text += line.substr(0, line.size() - kLineEnd.size()) + "\n";
        }
    }
    return out;
}

NodeInventory node(const std::string& name, const std::string& ip, const std::string& capacity) {
    const std::string addresses =
        ip.empty() ? "" : R"({"type":"InternalIP","address":")" + ip + R"("})";
    const auto document =
        JsonDocument::parse(R"({"metadata":{"name":")" + name + R"("},"status":{"addresses":[)" +
                            addresses + R"(],"capacity":{)" + capacity + "}}}");
    return read_node(document->root());
}

NodeInventory legacy(const std::string& name, const std::string& ip, int mem, int count) {
    return node(name, ip,
                R"("aliyun.com/gpu-mem":")" + std::to_string(mem) +
                    R"(","aliyun.com/gpu-count":")" + std::to_string(count) + "\"");
}

PodInfo pod(const std::string& name, const std::string& ns, const std::string& on, int units,
            const std::string& annotations) {
    const auto document = JsonDocument::parse(
        R"({"metadata":{"uid":"u-)" + name + R"(","name":")" + name + R"(","namespace":")" + ns +
        R"(","annotations":{)" + annotations + R"(}},"spec":{"nodeName":")" + on +
        R"(","containers":[{"name":"c","resources":{"limits":{"aliyun.com/gpu-mem":")" +
        std::to_string(units) + R"("}}}]},"status":{"phase":"Running"}})");
    EXPECT_TRUE(document) << name;
    return read_pod(document->root());
}

std::string gpu(const std::string& index, int units) {
    return R"("ALIYUN_COM_GPU_MEM_IDX":")" + index + R"(","ALIYUN_COM_GPU_MEM_POD":")" +
           std::to_string(units) + "\"";
}

// The clusters of the recording.
std::vector<NodeUsage> one_gpu() {
    return usage_of({legacy("cn-shanghai.i-aaa", "192.168.0.71", 15, 1),
                     node("cpu-only", "10.1.1.9", R"("cpu":"4")")},
                    std::vector{
                        pod("binpack-0", "default", "cn-shanghai.i-aaa", 2, gpu("0", 2)),
                        pod("binpack-1", "default", "cn-shanghai.i-aaa", 4, gpu("0", 4)),
                    });
}

std::vector<PodInfo> pods_of_two() {
    const std::string shares =
        R"("scheduler.framework.gpushare.allocation":"{\"0\":{\"0\":4,\"1\":4}}")";
    return {pod("multi", "default", "two", 8, shares), pod("a", "team-a", "two", 3, gpu("2", 3)),
            pod("pend", "default", "two", 5, ""), pod("badidx", "default", "two", 1, gpu("x", 1))};
}

std::vector<NodeUsage> two_nodes() {
    std::vector<PodInfo> pods = pods_of_two();
    pods.push_back(pod("binpack-0", "default", "cn-shanghai.i-aaa", 2, gpu("0", 2)));
    pods.push_back(pod("binpack-1", "default", "cn-shanghai.i-aaa", 4, gpu("0", 4)));
    return usage_of(
        {legacy("two", "10.1.1.2", 64, 4), legacy("cn-shanghai.i-aaa", "192.168.0.71", 15, 1)},
        pods);
}

std::vector<NodeUsage> mib() {
    return usage_of({legacy("mib", "10.1.1.3", 32552, 2), legacy("noip", "", 16276, 1),
                     node("nocount", "10.1.1.8", R"("aliyun.com/gpu-mem":"100")")},
                    std::vector{pod("m1", "default", "mib", 8138, gpu("1", 8138)),
                                pod("oor", "default", "mib", 100, gpu("7", 100))});
}

// The lines in any order: the original's had the random order of Go maps, ours are sorted.
std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        out.push_back(line);
    std::ranges::sort(out);
    return out;
}

// Goal: `kubectl inspect gpushare` prints what the original printed, byte for byte. Method: the
// recorded clusters; if the original's order was random, the same lines.
TEST(GpushareText, AsRecorded) {
    const Golden texts = golden();
    const auto text = [&](const char* section, const char* arguments) {
        const auto at = texts.find({section, arguments});
        EXPECT_NE(at, texts.end()) << section << "/" << arguments;
        return at == texts.end() ? std::string() : at->second;
    };
    EXPECT_EQ(gpushare_summary({}), text("no gpu nodes", ""));
    EXPECT_EQ(gpushare_details({}), text("no gpu nodes", "-d"));
    EXPECT_EQ(gpushare_summary(one_gpu()), text("one node one gpu", ""));
    EXPECT_EQ(gpushare_details(one_gpu()), text("one node one gpu", "-d"));
    const char* second = "second node 4 gpus, pending + multi";
    EXPECT_EQ(gpushare_summary(two_nodes()), text(second, ""));
    EXPECT_EQ(lines(gpushare_details(two_nodes())), lines(text(second, "-d")));
    const auto two = usage_of({legacy("two", "10.1.1.2", 64, 4)}, pods_of_two());
    EXPECT_EQ(gpushare_summary(two), text(second, "two"));
    EXPECT_EQ(lines(gpushare_details(two)), lines(text(second, "-d two")));
    EXPECT_EQ(lines(gpushare_summary(mib())), lines(text("MiB", "")));
    EXPECT_EQ(lines(gpushare_details(mib())), lines(text("MiB", "-d")));
}

// Goal: unit and amounts are the agent's: the amount of a GPU above 100 GiB is not read as MiB, and
// an unhealthy GPU still counts.
TEST(GpushareText, UnitAndAmountsOfTheAgent) {
    NodeInventory large = build::node("n1", 1, gibibytes(141));
    large.gpus[0].condition = GpuCondition::unhealthy;
    const std::string text = gpushare_summary(usage_of({large}, {}));
    EXPECT_NE(text.find("GPU Memory(GiB)"), std::string::npos) << text;
    EXPECT_NE(text.find(" 0/141\n"), std::string::npos) << text;
}

// Goal: for `tessera inspect`, GPUs that accept no pods do not count as free, nor as used, and the
// row says which they are.
TEST(GpushareText, UnusableGpusApart) {
    NodeInventory sick = build::node("n1", 2, gibibytes(16));
    sick.address = "10.0.0.1";
    sick.gpus[1].condition = GpuCondition::unhealthy;
    NodeInventory excluded = build::node("n2", 1, gibibytes(24));
    excluded.address = "10.0.0.2";
    excluded.gpus[0].condition = GpuCondition::not_shareable;
    const auto placed = [](const char* name, int gpu) {
        const PodInfo pod = build::pod(name, build::native(gibibytes(4)));
        return build::bound(
            pod, build::allocation(
                     pod, "n1",
                     {{GpuUuid("GPU-n1-" + std::to_string(gpu)), gpu, gibibytes(4), {}, false}}));
    };
    const auto nodes = usage_of({sick, excluded}, std::vector{placed("good", 0), placed("bad", 1)});
    const std::string text = gpushare_summary(nodes, CountedGpus::usable);
    EXPECT_NE(text.find("n1    10.0.0.1   4/16                   4/16 unhealthy         4/16\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("n2    10.0.0.2   0/24 not shareable     0/0                    0/0\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\n4/16 (25%)  \n"), std::string::npos) << text;
    const std::string details = gpushare_details(nodes, CountedGpus::usable);
    EXPECT_NE(details.find("In Cluster:  4/16 (25%)"), std::string::npos) << details;
    EXPECT_NE(details.find("bad          default    0                4"), std::string::npos)
        << details;
    EXPECT_NE(gpushare_summary(nodes).find("8/56 (14%)"), std::string::npos) << "the original's";
}

// Goal: an index without an amount does not name a GPU: the pod is pending, with its request.
TEST(GpushareText, IndexWithoutAmountIsPending) {
    const auto nodes =
        usage_of({legacy("two", "10.1.1.2", 32, 2)},
                 std::vector{pod("half", "default", "two", 3, R"("ALIYUN_COM_GPU_MEM_IDX":"1")")});
    EXPECT_EQ(nodes[0].pending(), gibibytes(3));
    EXPECT_NE(gpushare_summary(nodes).find("PENDING(Allocated)"), std::string::npos);
}

// Goal: nodes and pods are sorted by name, whatever the order of the API.
TEST(GpushareText, IsSorted) {
    const std::string text = gpushare_details(two_nodes());
    EXPECT_LT(text.find("cn-shanghai"), text.find("two"));
    EXPECT_LT(text.find("badidx"), text.find("multi"));
    EXPECT_LT(text.find("multi"), text.find("pend"));
}

// Goal: pods that Tessera placed are shown in the same tables, GPUs of different sizes with their
// own size, and fractions of a unit rounded up.
TEST(GpushareText, TesserasOwnPods) {
    NodeInventory mixed = build::node("n1", 2, gibibytes(16));
    mixed.address = "10.0.0.1";
    mixed.gpus[1].memory = gibibytes(24);
    const PodInfo p = build::pod("p", build::native(mebibytes(1536)));
    const PodInfo bound = build::bound(
        p, build::allocation(p, "n1", {{GpuUuid("GPU-n1-1"), 1, mebibytes(1536), {}, false}}));
    const std::string text = gpushare_summary(usage_of({mixed}, std::vector{bound}));
    EXPECT_NE(text.find("n1    10.0.0.1   0/16                   2/24                   2/40\n"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace tessera
