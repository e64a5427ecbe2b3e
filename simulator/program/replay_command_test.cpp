// `tessera-sim replay` as a process: behaviour that only the whole program shows.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "adapters/os/text_file.hpp"
#include "programs/common/started_program_test.hpp"
#include "simulator/program/simulator_output_test.hpp"

namespace tessera {
namespace {

// Goal: the simulator reads a folder, and names the file or policy that does not exist.
TEST(Simulator, ReplaysAFolder) {
    const Folder folder;
    const std::string data = "--data=" TESSERA_SOURCE_DIR "/testing/fixtures/openb";
    Program good("tessera-sim",
                 {"replay", data, "--trace=multigpu40", "--policy=BestFit,Packing", "-o", "csv"},
                 folder.file("good"));
    ASSERT_EQ(good.wait(kNotHanging), 0) << good.output();
    EXPECT_TRUE(good.output().starts_with("trace,policy,seed,percent,allocation,"))
        << good.output();
    EXPECT_NE(good.output().find("\nmultigpu40,best-fit,42,100,95.0"), std::string::npos);
    EXPECT_NE(good.output().find("\nmultigpu40,packing,42,130,"), std::string::npos);
    for (const auto& [arguments, text] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"replay", data},
              "/openb_pod_list_default.csv: No such file or directory; there is no trace "
              "\"default\" there, only gpuspec25, multigpu40 (--trace)\n"},
             {{"replay", data, "--trace=multigpu40", "--policy=x"},
              "tessera-sim: no placement policy \"x\"; there is binpack,"}}) {
        Program bad("tessera-sim", arguments, folder.file("bad"));
        EXPECT_EQ(bad.wait(kNotHanging), 3);
        EXPECT_NE(bad.output().find(text), std::string::npos) << bad.output();
    }
}

// Goal: models that no node has are output once for all orders. A pod that names only such models
// fits nowhere.
TEST(Simulator, SaysWhichModelsNoNodeHas) {
    const Folder folder;
    const std::string data = folder.file("data");
    std::filesystem::create_directories(data + "/arrivals");
    for (const auto& [name, text] :
         {std::pair("openb_node_list_gpu_node.csv",
                    "sn,cpu_milli,memory_mib,gpu,model\nn,1000,100,1,T4\n"),
          std::pair("openb_pod_list_default.csv",
                    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,1,500,t4\n"),
          std::pair("arrivals/default.seed1.txt", "N 0\nP 0\n"),
          std::pair("arrivals/default.seed2.txt", "N 0\nP 0\n")})
        ASSERT_TRUE(write_text_file(data + "/" + name, text));
    const std::string output = output_of("tessera-sim", {"replay", "--data=" + data, "--seed=1,2"});
    const std::string line = "default: models that pods name and no node has: t4 (1 pod)\n";
    const std::size_t at = output.find(line);
    ASSERT_NE(at, std::string::npos) << output;
    EXPECT_EQ(output.find(line, at + 1), std::string::npos) << output;
}

// Goal: a snapshot can be replayed and bounded; a fault in it is output with the file.
TEST(Simulator, ReplaysASnapshot) {
    const Folder folder;
    const std::string file = folder.file("snapshot");
    const std::string text =
        R"({"version":1,"taken":"2026-01-31T12:00:00Z","nodes":[{"name":"n","unit":"GiB","host":)"
        R"({"cpuMilli":8000,"memory":34359738368},"gpus":[{"model":"T4","memory":1000},)"
        R"({"model":"T4","memory":1000}]}],"pods":[{"namespace":"s","name":"p","node":"n","host":)"
        R"({"cpuMilli":1,"memory":1},"requests":[{"kind":"app","gpus":1,"memory":"bytes",)"
        R"("amount":500}],"allocated":[{"kind":"app","shares":[{"gpu":1,"memory":500}]}]},)"
        R"({"namespace":"s","name":"q","host":{"cpuMilli":1,"memory":1},"requests":[{"kind":"app",)"
        R"("gpus":1,"memory":"wholeGpu"}]}]})";
    ASSERT_TRUE(write_text_file(file, text));
    const std::string output =
        same_with_any_jobs(folder, {"replay", "--snapshot=" + file, "--policy=fgd,binpack,random"});
    EXPECT_NE(output.find("s/q          n:0"), std::string::npos) << output;
    const std::string bound =
        same_with_any_jobs(folder, {"bound", "--snapshot=" + file, "--policy=binpack"});
    EXPECT_NE(bound.find("snapshot     0   75.00   75.00           -  binpack   75.00"),
              std::string::npos)
        << bound;
    ASSERT_TRUE(
        write_text_file(file, R"({"version":1,"taken":"2026-01-31T12:00:00Z","nodes":[{}]})"));
    Program bad("tessera-sim", {"replay", "--snapshot=" + file}, folder.file("bad"));
    EXPECT_EQ(bad.wait(kNotHanging), 2);
    EXPECT_NE(bad.output().find("snapshot: nodes[0].name: missing"), std::string::npos)
        << bad.output();
}

}  // namespace
}  // namespace tessera
