// Goal: the build's files are what others rely on: libraries that need only libc and export only
// the API, and programs with stable lines. Method: readelf, nm and the programs themselves.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "gpusim/test_support/child_process.hpp"
#include "gpusim/test_support/simulated_node.hpp"

namespace gpusim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

std::string built(const char* name) {
    return std::string(TESSERA_BINARY_DIR "/") + name;
}

TEST(Programs, LibrariesNeedLibcAlone) {
    for (const char* name : {"gpusim/lib/libcuda.so.1", "gpusim/lib/libnvidia-ml.so.1"}) {
        const std::string needed = output_of("readelf -dW " + built(name) +
                                             " | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'");
        EXPECT_THAT(lines_of(needed), ElementsAre("libc.so.6")) << name;
    }
    for (const auto& [name, library] :
         {std::pair("bin/gpuhog", "libcuda.so.1"), std::pair("bin/gpusmi", "libnvidia-ml.so.1")}) {
        const std::string about = output_of("readelf -dW " + built(name));
        EXPECT_THAT(about, testing::Not(testing::ContainsRegex("R(UN)?PATH"))) << name;
        const std::string needed = output_of("readelf -dW " + built(name) +
                                             " | sed -n 's/.*NEEDED.*\\[\\(.*\\)\\]/\\1/p'");
        EXPECT_THAT(lines_of(needed), testing::UnorderedElementsAre(library, "libc.so.6"));
    }
}

TEST(Programs, LibrariesExportTheApiAlone) {
    const struct {
        const char* name;
        const char* soname;
        const char* pattern;
    } rows[] = {{"gpusim/lib/libcuda.so.1", "libcuda.so.1", "^cu[A-Z]"},
                {"gpusim/lib/libnvidia-ml.so.1", "libnvidia-ml.so.1", "^nvml[A-Z]"}};
    for (const auto& row : rows) {
        const std::string exported =
            "nm -D --defined-only " + built(row.name) + " | awk '{print $3}' | grep -E";
        EXPECT_THAT(output_of(exported + "v '" + row.pattern + "'"), IsEmpty());
        EXPECT_GT(lines_of(output_of(exported + " '" + row.pattern + "'")).size(), 30U);
        EXPECT_THAT(output_of("readelf -dW " + built(row.name)),
                    HasSubstr(std::string("Library soname: [") + row.soname + "]"));
    }
}

// Container images are older than this machine: Debian 10 and Ubuntu 20.04 must be able to load
// them.
TEST(Programs, LibrariesRunOnOldGlibc) {
    for (const char* name : {"gpusim/lib/libcuda.so.1", "gpusim/lib/libnvidia-ml.so.1"}) {
        const std::string newest = output_of("objdump -T " + built(name) +
                                             " | grep -o 'GLIBC_2[.][0-9]*' | sort -uV | tail -1");
        const auto lines = lines_of(newest);
        ASSERT_EQ(lines.size(), 1U);
        EXPECT_LE(std::stoi(lines[0].substr(std::string("GLIBC_2.").size())), 28) << lines[0];
    }
}

// Becomes gpuhog, with its lines going to the file `log`.
void run_gpuhog(const SimulatedNode& node, const std::string& size, const std::string& log) {
    if (std::freopen(log.c_str(), "w", stdout) == nullptr) _exit(127);
    setenv("LD_LIBRARY_PATH", node.library("").c_str(), 1);
    execl(built("bin/gpuhog").c_str(), "gpuhog", size.c_str(), nullptr);
    _exit(127);
}

// Waits until gpuhog holds its memory, and returns its further lines. Read them, or gpuhog may
// block.
std::ifstream await_hog(const std::string& log) {
    std::ifstream lines(log);
    std::string line;
    while (std::getline(lines, line) && !line.starts_with("holding"))
        continue;
    return lines;
}

std::string hog_once(const SimulatedNode& node, const std::string& arguments) {
    return output_of("LD_LIBRARY_PATH=" + node.library("").string() + " " + built("bin/gpuhog") +
                     " " + arguments + " 2>&1; echo status $?");
}

TEST(Gpuhog, PrintsStableLines) {
    const SimulatedNode node(kTwoGpus);
    const auto& gpus = node.gpus();
    EXPECT_THAT(
        lines_of(hog_once(node, "--once 3GiB")),
        ElementsAre("devices: 2",
                    "device 0: uuid " + gpus[0].uuid + ", name Tesla T4, total 16106127360 bytes",
                    "device 1: uuid " + gpus[1].uuid + ", name Tesla T4, total 16106127360 bytes",
                    "allocated 3221225472 bytes on device 0",
                    "memory: free 12884901888 of 16106127360 bytes on device 0", "status 0"));
    EXPECT_THAT(hog_once(node, "0 --once"),
                AllOf(testing::Not(HasSubstr("allocated")), HasSubstr("status 0")));
    EXPECT_THAT(hog_once(node, "--once 16GiB"),
                AllOf(HasSubstr("gpuhog: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"),
                      HasSubstr("status 1")));
    EXPECT_THAT(hog_once(node, "--once lots"), AllOf(StartsWith("usage:"), HasSubstr("status 2")));
}

TEST(Gpuhog, HoldsUntilItIsTerminated) {
    const SimulatedNode node(kTwoGpus);
    const std::string log = (node.root() / "log").string();
    ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
    ChildProcess hog([&](Wire&) { run_gpuhog(node, "512MiB", log); });
    const std::ifstream lines = await_hog(log);
    EXPECT_EQ(node.used(0), 512 * kMiB);
    EXPECT_THAT(output_of(built("bin/gpusimctl") + " show " + node.root().string()),
                HasSubstr("process " + std::to_string(hog.pid()) +
                          ": GPU 0, used 536870912 bytes, contexts 1"));
    kill(hog.pid(), SIGTERM);
    EXPECT_EQ(hog.join(), 0);
    EXPECT_EQ(node.used(0), 0U);
}

TEST(Gpusmi, PrintsStableLines) {
    const SimulatedNode node(kTwoGpus);
    const std::string log = (node.root() / "log").string();
    ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
    ChildProcess hog([&](Wire&) { run_gpuhog(node, "512MiB", log); });
    const std::ifstream lines = await_hog(log);
    const std::string smi =
        "LD_LIBRARY_PATH=" + node.library("").string() + " " + built("bin/gpusmi") + " 2>&1";
    const auto line_of = [&](int gpu, const char* used) {
        return "GPU " + std::to_string(gpu) + ": uuid " + node.gpus()[gpu].uuid +
               ", name Tesla T4, used " + used + " of 16106127360 bytes";
    };
    EXPECT_THAT(lines_of(output_of(smi)),
                ElementsAre(line_of(0, "536870912"),
                            "GPU 0: process " + std::to_string(hog.pid()) + " uses 536870912 bytes",
                            line_of(1, "0")));
    node.control("driver dead");
    EXPECT_EQ(output_of(smi), "gpusmi: nvmlDeviceGetCount: Unknown Error (999)\n");
    kill(hog.pid(), SIGTERM);
    EXPECT_EQ(hog.join(), 0);
}

TEST(Gpusimctl, CreatesFromAFile) {
    const SimulatedNode scratch(kTwoGpus);
    const std::string root = (scratch.root() / "made").string();
    const std::string create =
        built("bin/gpusimctl") + " create " TESSERA_SOURCE_DIR "/gpusim/gpus/15-and-24gib.yaml ";
    EXPECT_THAT(output_of(create + root + " 2>&1; echo status $?"), "status 0\n");
    const std::string shown = output_of(built("bin/gpusimctl") + " show " + root);
    EXPECT_THAT(shown, HasSubstr("NVIDIA A10, minor 1, memory 25769803776 bytes"));
    EXPECT_THAT(output_of(create + root + " 2>&1; echo status $?"),
                AllOf(HasSubstr("exists already"), HasSubstr("status 1")));
    const std::string seeded = built("bin/gpusimctl") + " create --seed node-b " +
                               TESSERA_SOURCE_DIR "/gpusim/gpus/15-and-24gib.yaml " + root + "-b";
    EXPECT_THAT(output_of(seeded + " 2>&1"), IsEmpty());
    EXPECT_NE(output_of(built("bin/gpusimctl") + " show " + root + "-b"), shown);
}

TEST(Gpusimctl, SaysWhatIsWrong) {
    const SimulatedNode node(kTwoGpus);
    const auto says = [&](const std::string& arguments) {
        return output_of(built("bin/gpusimctl") + " --root " + node.root().string() + " " +
                         arguments + " 2>&1; echo status $?");
    };
    EXPECT_THAT(says("--help"), AllOf(StartsWith("usage:"), HasSubstr("status 0")));
    EXPECT_THAT(says("xid --help"), AllOf(StartsWith("usage:"), HasSubstr("status 0")));
    EXPECT_THAT(says(""), HasSubstr("status 2"));
    EXPECT_THAT(says("explode 0"), AllOf(HasSubstr("no command"), HasSubstr("status 2")));
    EXPECT_THAT(says("xid 0"),
                AllOf(HasSubstr("usage: gpusimctl xid GPU CODE"), HasSubstr("status 2")));
    EXPECT_THAT(says("xid 0 many"), AllOf(HasSubstr("is no Xid"), HasSubstr("status 1")));
    EXPECT_THAT(says("xid 2 48"), AllOf(HasSubstr("no GPU 2"), HasSubstr("status 1")));
    EXPECT_THAT(says("lose GPU-x"), AllOf(HasSubstr("no GPU GPU-x"), HasSubstr("status 1")));
    EXPECT_THAT(says("ecc 0 triple"), HasSubstr("neither single nor double"));
    EXPECT_THAT(says("driver new"), HasSubstr("neither current, old, dead nor reload"));
    EXPECT_THAT(says("show /nowhere"),
                AllOf(HasSubstr("no simulated driver here"), HasSubstr("status 1")));
    EXPECT_THAT(says("create /nowhere.yaml /tmp/x"), HasSubstr("/nowhere.yaml: No such file"));
    EXPECT_THAT(says("lose 0; " + built("bin/gpusimctl") + " show " + node.root().string()),
                HasSubstr("bytes, lost"));
}

}  // namespace
}  // namespace gpusim
