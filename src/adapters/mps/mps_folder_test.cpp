#include "adapters/mps/mps_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "adapters/mps/agent_mps_folder.hpp"
#include "wire/mps/mps_folder_json.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class MpsFolderTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "tessera-mps-folder.XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
    }
    void TearDown() override { fs::remove_all(root_); }
    [[nodiscard]] MpsFolder made() const { return MpsFolder(root_ / "mps"); }
    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / "mps" / path).parent_path());
        std::ofstream(root_ / "mps" / path) << text;
    }

    fs::path root_;
    const GpuUuid gpu_{"GPU-40a36dc3-72da-b80a-372e-63d5e03ba048"};
    const MpsSettings settings_{.threads = {50}, .memory = gibibytes(3)};
};

// Goal: two supervisors of one node would end each other's daemons.
TEST_F(MpsFolderTest, IsOfOneProcess) {
    {
        MpsFolder first = made();
        ASSERT_TRUE(first.take());
        const auto second = made().take();
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, Code::conflict);
        EXPECT_THAT(second.error().text, HasSubstr("another tessera-mps has it"));
    }
    EXPECT_TRUE(made().take());
}

// Goal: people see the last whole lines, and nothing that changes their terminal.
TEST_F(MpsFolderTest, ShowsLogs) {
    const AgentMpsFolder agent(root_ / "mps");
    EXPECT_THAT(agent.logs(gpu_), testing::IsEmpty());
    std::string many;
    for (int i = 0; i < 20'000; ++i)
        many += "line " + std::to_string(i) + "\n";
    const std::string folder = gpu_.str() + "/logs/";
    write(folder + "server.log", "a\x1b[2Jb\n\xff\n");
    write(folder + "daemon.log", many);
    write(folder + "daemon.log.1", "older\n");
    write(folder + "long.log", std::string(100'000, 'x'));
    write("GPU-1/logs/daemon.log", "another\n");
    fs::create_symlink("/etc/passwd", root_ / "mps" / folder / "link.log");
    const auto logs = agent.logs(gpu_);
    ASSERT_EQ(logs.size(), 3U);
    EXPECT_EQ(logs[0].name, "daemon.log");
    EXPECT_TRUE(logs[0].text.starts_with("line ")) << logs[0].text.substr(0, 20);
    EXPECT_TRUE(many.ends_with("\n" + logs[0].text));
    EXPECT_GT(logs[0].text.size(), 60'000U);
    EXPECT_LE(logs[0].text.size(), 65'536U);
    EXPECT_EQ(logs[1].text, "") << "no whole line";
    EXPECT_EQ(logs[2].text, "a?[2Jb\n?\n");
    EXPECT_THAT(agent.logs(GpuUuid("../" + gpu_.str())), testing::IsEmpty());
}

TEST_F(MpsFolderTest, ListsGpus) {
    EXPECT_THAT(made().gpus(), testing::IsEmpty());
    write(gpu_.str() + "/wanted.json", write_mps_settings(settings_));
    write("GPU-1/state.json", "");
    write("GPU-2/pipes/control", "");
    write("GPU-3/logs/daemon.log", "");
    write("GPU-..1/wanted.json", "");
    write("other/wanted.json", "");
    EXPECT_THAT(made().gpus(), UnorderedElementsAre(gpu_, GpuUuid("GPU-1"), GpuUuid("GPU-2")));
}

// Goal: what cannot be read is an error, and does not mean that no daemon is wanted.
TEST_F(MpsFolderTest, ReadsWhatIsWanted) {
    EXPECT_EQ(made().wanted(gpu_).value(), std::nullopt);
    write(gpu_.str() + "/wanted.json", write_mps_settings(settings_));
    EXPECT_EQ(made().wanted(gpu_).value(), settings_);
    for (const std::string& text : {std::string("{"), std::string(), std::string(20'000, ' ')}) {
        write(gpu_.str() + "/wanted.json", text);
        const auto wanted = made().wanted(gpu_);
        ASSERT_FALSE(wanted);
        EXPECT_THAT(wanted.error().text, HasSubstr(gpu_.str() + "/wanted.json"));
    }
}

TEST_F(MpsFolderTest, WritesStatesAndForgets) {
    const MpsFolder folder = made();
    write(gpu_.str() + "/wanted.json", "x");
    write(gpu_.str() + "/pipes/control", "");
    write(gpu_.str() + "/tenants/control", "");
    write(gpu_.str() + "/logs/daemon.log", "");
    ASSERT_TRUE(folder.write_state({.gpu = gpu_, .phase = MpsPhase::ready}));
    EXPECT_TRUE(fs::exists(folder.paths(gpu_).state()));
    folder.forget(gpu_);
    EXPECT_FALSE(fs::exists(folder.paths(gpu_).state()));
    EXPECT_FALSE(fs::exists(folder.paths(gpu_).pipes()));
    EXPECT_TRUE(fs::exists(folder.paths(gpu_).tenants())) << "a container may have mounted it";
    EXPECT_TRUE(fs::exists(folder.paths(gpu_).wanted()));
    EXPECT_TRUE(fs::exists(folder.paths(gpu_).logs())) << "they say what happened";
}

}  // namespace
}  // namespace tessera
