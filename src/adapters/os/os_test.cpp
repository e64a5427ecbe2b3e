#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "adapters/os/cdi_folder.hpp"
#include "adapters/os/pause.hpp"
#include "adapters/os/proc_table.hpp"
#include "adapters/os/process_facts.hpp"
#include "adapters/os/text_file.hpp"
#include "adapters/os/unix_socket.hpp"
#include "wire/text/base64.hpp"

namespace tessera {
namespace {

// Goal: this process's facts agree with those of the system.
TEST(ProcessFacts, OfThisProcess) {
    const ProcessFacts facts = read_process_facts("me");
    EXPECT_EQ(facts.program, "me");
    EXPECT_GT(facts.resident, Bytes{1 << 20});
    EXPECT_GT(facts.cpu.count(), 0);
    EXPECT_GE(facts.open_files, 3);
    EXPECT_NEAR(static_cast<double>(facts.started_s), static_cast<double>(std::time(nullptr)), 120);
    const int more = ::dup(0);
    EXPECT_EQ(read_process_facts("me").open_files, facts.open_files + 1);
    ::close(more);
}

// Goal: only processes of the named pod are killed. A process of no pod, or a missing one, gives
// not_found. (testing/e2e/guard.py checks that they are killed, because its pods have cgroups.)
TEST(ProcTable, EndsNobodyElse) {
    ProcTable table;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const auto refused = table.end(child, PodUid("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::not_found);
    EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it lives";
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(table.pod_of(child));
    const auto gone = table.end(child, PodUid("any"));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Code::not_found);
}

// Goal: base64 with and without padding; nothing for any other text.
TEST(Base64, Decodes) {
    EXPECT_EQ(decode_base64("Q0E="), "CA");
    EXPECT_EQ(decode_base64("S0VZ"), "KEY");
    EXPECT_EQ(decode_base64("QQ=="), "A");
    EXPECT_EQ(decode_base64(""), "");
    for (const char* text : {"=", "==", "Q", "QQ", "QQ=", "Q===Q", "****", "é"})
        EXPECT_FALSE(decode_base64(text)) << text;
}

class CdiTest : public ::testing::Test {
  protected:
    CdiTest() {
        std::filesystem::create_directories(folder_ / "static");
        std::filesystem::create_directories(folder_ / "dynamic");
    }
    ~CdiTest() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    std::vector<std::string> files() const {
        std::vector<std::string> out;
        for (const auto& file : std::filesystem::directory_iterator(folder_ / "dynamic"))
            out.push_back(file.path().filename().string());
        std::ranges::sort(out);
        return out;
    }
    // Its name; empty if no specification has it.
    std::string device(const GpuUuid& uuid, int minor) {
        const auto found = cdi_.vendor_device(uuid, minor);
        return found ? found->name : "";
    }
    nlohmann::json share(const std::string& name) const {
        std::ifstream in(folder_ / "dynamic" / ("tessera.dev-share-" + name + ".json"));
        return nlohmann::json::parse(in);
    }

    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("tessera-cdi-" + std::to_string(getpid()));
    CdiFolder cdi_{
        {.folders = {(folder_ / "static").string(), (folder_ / "dynamic").string(), "/nonexistent"},
         .dynamic = (folder_ / "dynamic").string()}};
};

constexpr const char* kVendorSpec = R"(cdiVersion: "0.5.0"
kind: nvidia.com/gpu
containerEdits:
  env: [NVIDIA_DRIVER=1]
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - {path: /dev/nvidia0, major: 195, minor: 0}
- name: GPU-1
  containerEdits:
    deviceNodes: [{path: /dev/nvidia1, fileMode: 438}]
    env: ["A=true", 'B=5']
)";

// Goal: a GPU is found by UUID, else by a number whose device has this GPU's node, in any folder
// and format. A broken specification of another vendor hides nothing.
TEST_F(CdiTest, VendorDevices) {
    EXPECT_EQ(device(GpuUuid("GPU-1"), 1), "");
    write("static/nvidia.yaml", kVendorSpec);
    write("static/broken.yaml", "kind: [");
    write("static/other.json", R"({"kind":"other.com/x","devices":[{"name":"GPU-9"}]})");
    write("static/notes.txt", kVendorSpec);
    write("static/tessera.dev-share-1.json",
          R"({"kind":"nvidia.com/gpu","devices":[{"name":"GPU-9"}]})");
    EXPECT_EQ(device(GpuUuid("GPU-1"), 7), "nvidia.com/gpu=GPU-1");
    EXPECT_EQ(device(GpuUuid("GPU-0"), 0), "nvidia.com/gpu=0");
    EXPECT_EQ(device(GpuUuid("GPU-9"), 9), "");
}

// Goal: the error for a GPU that no specification has names the searched folders, and the files
// that cannot be used. The contents of a device are known.
TEST_F(CdiTest, SaysWhatWasSearched) {
    write("static/nvidia.yaml", kVendorSpec);
    EXPECT_EQ(cdi_.vendor_device(GpuUuid("GPU-1"), 7),
              (CdiDevice{"nvidia.com/gpu=GPU-1", {"/dev/nvidia1"}, {}}));
    write("static/broken.yaml", "kind: [");
    write("dynamic/operator.json", R"({"kind":"management.nvidia.com/gpu"})");
    const auto missing = cdi_.vendor_device(GpuUuid("GPU-9"), 9);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::not_found);
    for (const std::string& part :
         {std::string("kind nvidia.com/gpu for GPU-9 in "), (folder_ / "static").string(),
          std::string("operator.json is of kind management.nvidia.com/gpu"),
          std::string("broken.yaml cannot be used: not a CDI specification")})
        EXPECT_NE(missing.error().text.find(part), std::string::npos) << missing.error().text;
}

// Goal: the runtime ignores a file in which a map stands for a text, or a text for a list. So do
// we, and we report it; other files count.
TEST_F(CdiTest, FilesOfAnotherForm) {
    write("dynamic/good.yaml", "kind: nvidia.com/gpu\ndevices: [{name: GPU-3}]\n");
    for (const auto& [edits, why] : std::vector<std::pair<std::string, std::string>>{
             {"{env: A=1}", "containerEdits.env is not a list"},
             {"{env: [{A: b}]}", "an entry of containerEdits.env is not a text"},
             {"{mounts: [x]}", "an entry of containerEdits.mounts is not a map"},
             {"{mounts: [{hostPath: [a]}]}", "containerEdits.mounts.hostPath is not a text"},
             {"{deviceNodes: {path: /dev/nvidia2}}", "containerEdits.deviceNodes is not a list"},
             {"{deviceNodes: [{path: {a: b}}]}",
              "containerEdits.deviceNodes.path is not a text"}}) {
        write("static/nvidia.yaml",
              "kind: nvidia.com/gpu\ndevices:\n- {name: GPU-2, containerEdits: " + edits + "}\n");
        const auto missing = cdi_.vendor_device(GpuUuid("GPU-2"), 2);
        ASSERT_FALSE(missing) << edits;
        EXPECT_NE(missing.error().text.find(why), std::string::npos) << missing.error().text;
        EXPECT_EQ(device(GpuUuid("GPU-3"), 3), "nvidia.com/gpu=GPU-3");
    }
    EXPECT_TRUE(cdi_.write_share("s1", {{{"X", "\xff"}}, {"nvidia.com/gpu=GPU-3"}}));
}

// Goal: what the runtime drops is not found either: devices that two files of one folder define,
// even if a later folder has them too, and files that it does not read.
TEST_F(CdiTest, DevicesThatTheRuntimeDrops) {
    const std::string spec = "kind: nvidia.com/gpu\ndevices: [{name: GPU-1}, {name: GPU-2}]\n";
    write("static/nvidia.yml", spec);
    EXPECT_EQ(device(GpuUuid("GPU-1"), 1), "");
    write("static/nvidia.yaml", spec);
    EXPECT_EQ(device(GpuUuid("GPU-1"), 1), "nvidia.com/gpu=GPU-1");
    write("static/left-over.json", R"({"kind":"nvidia.com/gpu","devices":[{"name":"GPU-1"}]})");
    write("dynamic/nvidia.yaml", "kind: nvidia.com/gpu\ndevices: [{name: GPU-1}]\n");
    const auto missing = cdi_.vendor_device(GpuUuid("GPU-1"), 1);
    ASSERT_FALSE(missing);
    for (const char* part :
         {"left-over.json and ", "nvidia.yaml define the same devices", "remove"})
        EXPECT_NE(missing.error().text.find(part), std::string::npos) << missing.error().text;
    EXPECT_EQ(device(GpuUuid("GPU-2"), 2), "nvidia.com/gpu=GPU-2");
}

// Goal: a vendor's field without a value removes none of the share's own mounts and variables.
TEST_F(CdiTest, AVendorsEmptyFieldTakesNothingAway) {
    write("static/nvidia.yaml",
          "kind: nvidia.com/gpu\ncontainerEdits:\n  mounts:\n  env:\n"
          "devices:\n- {name: GPU-1, containerEdits: {mounts: [{hostPath: /v, containerPath: "
          "/v}]}}\n");
    ASSERT_TRUE(cdi_.write_share(
        "s1",
        {{{"X", "1"}}, {"nvidia.com/gpu=GPU-1"}, {{.source = "/from", .destination = "/to"}}}));
    const auto edits = share("s1")["devices"][0]["containerEdits"];
    EXPECT_EQ(edits["env"], nlohmann::json({"X=1"}));
    ASSERT_EQ(edits["mounts"].size(), 2U);
    EXPECT_EQ(edits["mounts"][0]["containerPath"], "/to");
}

// Goal: a file is read again after a change, even if its modification time, size and inode are the
// same.
TEST_F(CdiTest, ReadsAFileAgainOnceItChanged) {
    write("static/nvidia.yaml", kVendorSpec);
    EXPECT_EQ(device(GpuUuid("GPU-1"), 7), "nvidia.com/gpu=GPU-1");
    const auto path = folder_ / "static" / "nvidia.yaml";
    const auto changed = std::filesystem::last_write_time(path);
    std::string other = kVendorSpec;
    other.replace(other.find("GPU-1"), 5, "GPU-2");
    write("static/nvidia.yaml", other);
    std::filesystem::last_write_time(path, changed);
    EXPECT_EQ(device(GpuUuid("GPU-1"), 7), "");
    EXPECT_EQ(device(GpuUuid("GPU-2"), 7), "nvidia.com/gpu=GPU-2");
    std::filesystem::remove(path);
    EXPECT_EQ(device(GpuUuid("GPU-2"), 7), "");
}

// Goal: a container start does not read a vendor's unchanged file again, whatever number of GPUs it
// has. Method: the kernel tells of each time that the file is opened.
TEST_F(CdiTest, ReadsAnUnchangedFileOnce) {
    write("static/nvidia.yaml", kVendorSpec);
    const int events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ASSERT_GE(inotify_add_watch(events, (folder_ / "static").c_str(), IN_OPEN), 0);
    int opened = 0;
    const auto count_opened = [&] {
        alignas(inotify_event) std::array<char, 4096> buffer{};
        ssize_t size = 0;
        while ((size = read(events, buffer.data(), buffer.size())) > 0) {
            for (ssize_t at = 0; at < size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
                if (event->len > 0 && event->name == std::string_view("nvidia.yaml")) ++opened;
                at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
            }
        }
        return opened;
    };
    for (const char* gpu : {"GPU-0", "GPU-1", "GPU-2"})
        device(GpuUuid(gpu), 0);
    EXPECT_TRUE(cdi_.write_share("a", {{}, {"nvidia.com/gpu=GPU-1"}, {}}));
    EXPECT_EQ(count_opened(), 1);
    close(events);
}

// Goal: a number in a specification is no current index. After a GPU is gone the driver renumbers,
// and the number may mean another tenant's GPU. Method: numbers whose nodes belong to another GPU,
// to several GPUs, to a part of one, and to none.
TEST_F(CdiTest, NumbersAreProvenByTheirNode) {
    write("static/nvidia.yaml", R"(cdiVersion: "0.5.0"
kind: nvidia.com/gpu
devices:
- {name: "0", containerEdits: {deviceNodes: [{path: /dev/nvidia3}, {path: /dev/nvidiactl}]}}
- {name: "1", containerEdits: {deviceNodes: [{path: /dev/nvidia1}, {path: /dev/nvidia0}]}}
- {name: "2", containerEdits: {env: [X=1]}}
- {name: "4:0", containerEdits: {deviceNodes: [{path: /dev/nvidia4}]}}
- {name: all, containerEdits: {deviceNodes: [{path: /dev/nvidia5}]}}
)");
    EXPECT_EQ(device(GpuUuid("GPU-a"), 3), "nvidia.com/gpu=0");
    for (const int minor : {0, 1, 2, 4, 5})
        EXPECT_EQ(device(GpuUuid("GPU-a"), minor), "") << minor;
}

// Goal: a share is one device with our variables, the vendor's edits of its GPUs and, once, those
// of the vendor's whole specification. Numbers stay numbers and strings stay strings.
TEST_F(CdiTest, WritesShares) {
    write("static/nvidia.yaml", kVendorSpec);
    ASSERT_TRUE(cdi_.write_share(
        "s1", {{{"X", "1"}}, {"nvidia.com/gpu=GPU-1", "nvidia.com/gpu=0", "nvidia.com/gpu=no"}}));
    EXPECT_EQ(files(), std::vector<std::string>{"tessera.dev-share-s1.json"});
    const auto spec = share("s1");
    EXPECT_EQ(spec["kind"], "tessera.dev/share");
    ASSERT_EQ(spec["devices"].size(), 1U);
    EXPECT_EQ(spec["devices"][0]["name"], "s1");
    const auto& edits = spec["devices"][0]["containerEdits"];
    EXPECT_EQ(edits["env"], nlohmann::json({"X=1", "NVIDIA_DRIVER=1", "A=true", "B=5"}));
    ASSERT_EQ(edits["deviceNodes"].size(), 2U);
    EXPECT_EQ(edits["deviceNodes"][0]["major"], 195);
    EXPECT_EQ(edits["deviceNodes"][1]["fileMode"], 438);
    EXPECT_EQ(edits["deviceNodes"][1]["path"], "/dev/nvidia1");
}

// Goal: what CDI 0.7 and 1.1 added is copied with its type, and the share names the version that it
// needs. A newer specification that is not used does not raise the version.
TEST_F(CdiTest, NewerSpecs) {
    write("static/nvidia.yaml", R"(cdiVersion: "0.7.0"
kind: nvidia.com/gpu
containerEdits:
  additionalGids: [44, 107]
  intelRdt: {closID: "1", l3CacheSchema: "L3:0=f"}
devices:
- name: GPU-1
  containerEdits:
    additionalGids: [109]
    hooks: [{hookName: createContainer, path: /bin/hook, args: [hook, 5], timeout: 3}]
)");
    write("dynamic/newer.json", R"({"cdiVersion":"1.1.0","kind":"nvidia.com/gpu","devices":[
        {"name":"GPU-2","containerEdits":{"intelRdt":{"closID":"2","enableMonitoring":true}}}]})");
    ASSERT_TRUE(cdi_.write_share("s1", {{}, {"nvidia.com/gpu=GPU-1"}}));
    EXPECT_EQ(share("s1")["cdiVersion"], "0.7.0");
    auto edits = share("s1")["devices"][0]["containerEdits"];
    EXPECT_EQ(edits["additionalGids"], nlohmann::json({44, 107, 109}));
    EXPECT_EQ(edits["intelRdt"], (nlohmann::json{{"closID", "1"}, {"l3CacheSchema", "L3:0=f"}}));
    EXPECT_EQ(edits["hooks"][0]["args"], nlohmann::json({"hook", "5"}));
    EXPECT_EQ(edits["hooks"][0]["timeout"], 3);

    ASSERT_TRUE(cdi_.write_share("s2", {{}, {"nvidia.com/gpu=GPU-1", "nvidia.com/gpu=GPU-2"}}));
    EXPECT_EQ(share("s2")["cdiVersion"], "1.1.0");
    EXPECT_EQ(share("s2")["devices"][0]["containerEdits"]["intelRdt"],
              (nlohmann::json{{"closID", "2"}, {"enableMonitoring", true}}));
    ASSERT_TRUE(cdi_.write_share("s3", {{{"X", "1"}}, {}, {{"/from", "/to", true}}}));
    EXPECT_EQ(share("s3")["cdiVersion"], "0.6.0");
    EXPECT_EQ(share("s3")["devices"][0]["containerEdits"]["mounts"],
              (nlohmann::json::array({{{"hostPath", "/from"},
                                       {"containerPath", "/to"},
                                       {"options", {"bind", "ro", "nosuid", "nodev"}}}})));
}

// Goal: a device that two folders have is used once, from the later folder, as in the runtime.
TEST_F(CdiTest, LaterFolderWins) {
    const auto spec = [](const std::string& value) {
        return R"({"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[
            {"name":"GPU-1","containerEdits":{"env":["FROM=)" +
               value + R"("]}}]})";
    };
    write("dynamic/a.json", spec("dynamic"));
    write("static/b.json", spec("static"));
    ASSERT_TRUE(cdi_.write_share("s1", {{}, {"nvidia.com/gpu=GPU-1"}}));
    EXPECT_EQ(share("s1")["devices"][0]["containerEdits"]["env"], nlohmann::json({"FROM=dynamic"}));
}

// Goal: a share is replaced as a whole, others are removed by name, and files of other programs
// stay.
TEST_F(CdiTest, KeepsOnlyNamedShares) {
    write("dynamic/nvidia.json", "{}");
    for (const char* name : {"a", "b", "c"})
        ASSERT_TRUE(cdi_.write_share(name, {{{"X", name}}, {}}));
    ASSERT_TRUE(cdi_.write_share("b", {{{"X", "new"}}, {}}));
    EXPECT_EQ(share("b")["devices"][0]["containerEdits"]["env"][0], "X=new");
    cdi_.keep_only_shares({"b", "unknown"});
    EXPECT_EQ(files(), (std::vector<std::string>{"nvidia.json", "tessera.dev-share-b.json"}));
}

// Goal: a missing folder is an error that names the file, and leaves nothing behind.
TEST_F(CdiTest, FolderMissing) {
    CdiFolder nowhere({.folders = {}, .dynamic = (folder_ / "gone").string()});
    const auto written = nowhere.write_share("a", {});
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, Code::unavailable);
    EXPECT_NE(written.error().text.find("tessera.dev-share-a.json"), std::string::npos);
    nowhere.keep_only_shares({});
}

// Goal: a missing socket, or one with a name that is too long, is an error with the name.
TEST(UnixSocketTest, ConnectErrors) {
    const auto missing = UnixSocket::connect("/nonexistent/x.sock");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::unavailable);
    EXPECT_NE(missing.error().text.find("/nonexistent/x.sock"), std::string::npos);
    EXPECT_EQ(UnixSocket::connect(std::string(200, 'x')).error().code, Code::invalid_argument);
}

// A socket that listens and does nothing more.
class DeafListener {
  public:
    DeafListener() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::filesystem::remove(path);
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        fd_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
        EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(fd_, 0), 0);
    }
    ~DeafListener() {
        ::close(fd_);
        std::filesystem::remove(path);
    }
    const std::string path =
        std::filesystem::temp_directory_path() / ("tessera-deaf-" + std::to_string(getpid()));

  private:
    int fd_ = -1;
};

// Goal: a write to a peer that reads nothing ends at its deadline.
TEST(UnixSocketTest, WriteHasADeadline) {
    const DeafListener listener;
    auto socket = UnixSocket::connect(listener.path);
    ASSERT_TRUE(socket) << socket.error().text;
    const auto written =
        socket->write(std::string(std::size_t{16} << 20, 'x'), std::chrono::milliseconds(20));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().text, "write: the other side does not read");
    std::array<char, 8> buffer{};
    EXPECT_EQ(*socket->read(buffer, std::chrono::milliseconds(1)), 0U);
}

// Goal: a peer that accepts no more connections is an error, not a wait. Method: more connections
// than its queue holds.
TEST(UnixSocketTest, ConnectDoesNotWait) {
    const DeafListener listener;
    std::vector<UnixSocket> queued;
    Result<UnixSocket> next = UnixSocket::connect(listener.path);
    for (int i = 0; i < 10 && next; ++i) {
        queued.push_back(*std::move(next));
        next = UnixSocket::connect(listener.path);
    }
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code, Code::unavailable);
}

// Goal: a pause ends if a stop is requested, before or during it, and otherwise with its time.
TEST(Pause, EndsWithAStop) {
    constexpr std::chrono::seconds kWhole{60};
    const auto lasted = [](std::chrono::milliseconds duration, const std::stop_token& stop) {
        const auto began = std::chrono::steady_clock::now();
        pause_for(duration, stop);
        return std::chrono::steady_clock::now() - began;
    };
    std::stop_source source;
    source.request_stop();
    EXPECT_LT(lasted(kWhole, source.get_token()), kWhole);
    std::stop_source later;
    const std::jthread stopper([&] { later.request_stop(); });
    EXPECT_LT(lasted(kWhole, later.get_token()), kWhole);
    constexpr std::chrono::milliseconds kShort{1};
    EXPECT_GE(lasted(kShort, {}), kShort);
}

// Goal: a device that a user names is written to, not replaced, and a full one is an error.
TEST(TextFile, DevicesStay) {
    EXPECT_TRUE(write_text_file("/dev/null", "text"));
    const auto full = write_text_file("/dev/full", "text");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().text, "/dev/full: No space left on device");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// Goal: a caller that checks first gets the reason why the file cannot be written, and nothing is
// changed.
TEST(TextFile, CheckedBeforeItIsWritten) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("tessera-check-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder / "of");
    const std::string path = (folder / "file").string();
    EXPECT_TRUE(check_writable(path));
    EXPECT_TRUE(files_in(folder.string()).empty());
    ASSERT_TRUE(write_text_file(path, "text"));
    EXPECT_TRUE(check_writable(path));
    EXPECT_EQ(*read_text_file(path), "text");
    EXPECT_TRUE(check_writable("/dev/null"));
    const auto nowhere = check_writable((folder / "no" / "file").string());
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, Code::invalid_argument);
    EXPECT_NE(nowhere.error().text.find("no/file: No such file or directory; name a file"),
              std::string::npos);
    EXPECT_FALSE(check_writable((folder / "of").string()));
    ASSERT_TRUE(write_text_file((folder / "of" / "more").string(), ""));
    auto files = files_in(folder.string());
    std::ranges::sort(files);
    EXPECT_EQ(files, (std::vector<std::string>{"file", "of/more"}));
    EXPECT_TRUE(files_in((folder / "no").string()).empty());
    std::filesystem::remove_all(folder);
}

// Goal: the write replaces no other file, whatever its name is.
TEST(TextFile, NeighboursStay) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                         ("tessera-beside-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "x.svg").string();
    ASSERT_TRUE(write_text_file(path + ".tmp", "mine"));
    EXPECT_TRUE(check_writable(path));
    ASSERT_TRUE(write_text_file(path, "text"));
    EXPECT_EQ(*read_text_file(path + ".tmp"), "mine");
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0644});
    EXPECT_EQ(files_in(folder.string()).size(), 2U) << "and nothing else is left there";
    EXPECT_TRUE(is_same_file(path, (folder / "." / "x.svg").string()));
    EXPECT_FALSE(is_same_file(path, path + ".tmp"));
    EXPECT_FALSE(is_same_file(path + ".no", path));
    EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
    std::filesystem::remove_all(folder);
}

// Goal: reading a file gives its text or an error that names it, also for a folder and a missing
// file.
TEST(TextFile, TextOrReason) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("tessera-text-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "file").string();
    const std::string large(100'000, 'x');
    std::ofstream(path) << large;
    EXPECT_EQ(read_text_file(path), large);
    EXPECT_EQ(read_text_file(path + "s").error().code, Code::not_found);
    const auto refused = read_text_file(folder.string());
    EXPECT_EQ(refused.error().code, Code::unavailable);
    EXPECT_EQ(refused.error().text, folder.string() + ": Is a directory");
    EXPECT_EQ(read_text_file_up_to(path, large.size()), large);
    const auto endless = read_text_file_up_to("/dev/zero", large.size());
    EXPECT_EQ(endless.error().code, Code::invalid_argument);
    EXPECT_EQ(endless.error().text,
              "/dev/zero: is larger than 100000 bytes, the most that is read of a file");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
