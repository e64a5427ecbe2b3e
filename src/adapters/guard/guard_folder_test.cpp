// Goal: a container gets the files that enforce its share, the same ones when it restarts. Removed
// containers leave nothing. The library of a running container is never changed.
#include "adapters/guard/guard_folder.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "adapters/guard/reported_limits.hpp"
#include "adapters/os/system_clock.hpp"
#include "adapters/os/text_file.hpp"
#include "guard/region/account.hpp"
#include "guard/region/life.hpp"
#include "guard/region/limits.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

const GpuUuid gpu("GPU-01234567-89ab-cdef-0123-456789abcdef");
constexpr ShareResources kBoth{.memory = true, .compute = true};

class GuardFolderTest : public testing::Test {
  protected:
    fs::path scratch_ = fs::temp_directory_path() / ("guard-folder-" + std::to_string(getpid()));
    fs::path folder_ = scratch_ / "a" / "guard";
    fs::path region_ = folder_ / "pods/uid-p/main";
    SystemClock clock_;
    GuardFolder guard_{{.folder = folder_, .library = scratch_ / "new.so"}, clock_};

    void SetUp() override {
        fs::create_directories(scratch_);
        write(scratch_ / "new.so", "the library");
    }
    void TearDown() override { fs::remove_all(scratch_); }

    static void write(const fs::path& path, const std::string& text) {
        std::ofstream(path) << text;
    }
    static std::string read(const fs::path& path) {
        std::stringstream text;
        text << std::ifstream(path).rdbuf();
        return text.str();
    }
    Result<std::vector<FileMount>> hold(std::int64_t gib) {
        return mounts_of({PodUid("uid-p"), {"space", "p"}, "main"},
                         {{gpu, Bytes{gib << 30}, Percent{25}}});
    }
    Result<std::vector<FileMount>> mounts_of(const EnforcedContainer& container,
                                             const std::vector<EnforcedShare>& shares) {
        TRY(auto edits, guard_.prepare(container, shares, kBoth));
        return std::move(edits.mounts);
    }
};

TEST_F(GuardFolderTest, GivesAContainerItsRegionAndTheLibrary) {
    ASSERT_TRUE(guard_.install());
    const auto mounts = hold(3);
    ASSERT_TRUE(mounts) << mounts.error().text;
    EXPECT_EQ(*mounts,
              (std::vector<FileMount>{
                  {folder_ / "libtessera-guard.so", "/usr/local/tessera/libtessera-guard.so"},
                  {region_ / "limits", "/usr/local/tessera/limits"},
                  {region_ / "accounts", "/usr/local/tessera/accounts", false},
                  {folder_ / "ld.so.preload", "/etc/ld.so.preload"},
                  {folder_ / "ld.so.preload", "/etc/ld-nix.so.preload"},
              }));
    EXPECT_EQ(read(mounts->at(0).source), "the library");
    EXPECT_EQ(read(mounts->at(3).source), "/usr/local/tessera/libtessera-guard.so\n");
    EXPECT_EQ(guard::open_limits((region_ / "limits").c_str())->gpus[0].memory, 3U * 512);
}

TEST_F(GuardFolderTest, AContainerThatStartsAgainKeepsItsRegion) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    struct stat before = {};
    struct stat after = {};
    ASSERT_EQ(stat((region_ / "accounts").c_str(), &before), 0);
    ASSERT_TRUE(hold(3));
    ASSERT_EQ(stat((region_ / "accounts").c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(GuardFolderTest, ANewLibraryIsANewFile) {
    ASSERT_TRUE(guard_.install());
    const std::ifstream mapped(folder_ / "libtessera-guard.so");
    write(scratch_ / "new.so", "a newer library");
    ASSERT_TRUE(guard_.install());
    std::stringstream old;
    old << mapped.rdbuf();
    EXPECT_EQ(old.str(), "the library");
    EXPECT_EQ(read(folder_ / "libtessera-guard.so"), "a newer library");
}

TEST_F(GuardFolderTest, ForgetsTheGone) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    EXPECT_EQ(guard_.pods(), std::set<PodUid>{PodUid("uid-p")});
    guard_.cleanup(PodUid("another"));
    EXPECT_TRUE(fs::exists(region_ / "accounts"));
    guard_.cleanup(PodUid("uid-p"));
    EXPECT_FALSE(fs::exists(region_.parent_path()));
}

// Goal: a container whose compute another enforcer limits gets no compute limit of the guard, also
// after a resize and a restart of the agent. Its memory is limited in any case.
TEST_F(GuardFolderTest, LimitsWhatItIsAskedFor) {
    ASSERT_TRUE(guard_.install());
    const EnforcedContainer container{PodUid("uid-p"), {"space", "p"}, "main"};
    const auto shares = [](int gib, int percent) {
        return std::vector<EnforcedShare>{{gpu, gibibytes(gib), {percent}, {50}}};
    };
    const auto limit = [&]() -> const guard::GpuLimit& {
        return guard::open_limits((region_ / "limits").c_str())->gpus[0];
    };
    EXPECT_EQ(guard_.enforces(container.pod, "main"), ShareResources{});
    ASSERT_TRUE(guard_.prepare(container, shares(3, 25), {.memory = true}));
    EXPECT_EQ(limit().memory, 3U * 512);
    EXPECT_EQ(limit().cores, 0U);
    EXPECT_EQ(limit().cores_limit, guard::kWhole);
    GuardFolder after_a_restart({.folder = folder_, .library = {}}, clock_);
    EXPECT_EQ(after_a_restart.enforces(container.pod, "main"), ShareResources{.memory = true});
    EXPECT_TRUE(after_a_restart.update(container.pod, "main", shares(2, 30)).value());
    EXPECT_EQ(limit().memory, 2U * 512);
    EXPECT_EQ(limit().cores, 0U);
    ASSERT_TRUE(guard_.prepare(container, shares(3, 25), {.compute = true}));
    EXPECT_EQ(guard_.enforces(container.pod, "main"), ShareResources{.compute = true});
    EXPECT_EQ(limit().memory, 3U * 512);
    EXPECT_EQ(limit().cores, guard::kWhole / 4);
    ASSERT_TRUE(guard_.prepare(container, shares(3, 25), kBoth));
    EXPECT_EQ(guard_.enforces(container.pod, "main"), kBoth);
    EXPECT_FALSE(fs::exists(region_ / "enforces"));
    guard_.release(container.pod, "main");
    EXPECT_EQ(guard_.enforces(container.pod, "main"), ShareResources{});
    EXPECT_FALSE(fs::exists(region_));
}

TEST_F(GuardFolderTest, KnowsWhetherAPodIsInUse) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    EXPECT_FALSE(guard_.is_in_use(PodUid("uid-p")));
    guard::ProcessSlot process_slot;
    ASSERT_EQ(guard::register_process((region_ / "accounts").c_str(), process_slot),
              guard::ProcessSlotError::none);
    EXPECT_TRUE(guard_.is_in_use(PodUid("uid-p")));
    EXPECT_FALSE(guard_.is_in_use(PodUid("another")));
    // Limits of another release cannot be read, but the process is alive.
    std::ofstream(region_ / "limits") << "of another release";
    EXPECT_EQ(guard_.usage().unreadable, std::set{PodUid("uid-p")});
    EXPECT_TRUE(guard_.is_in_use(PodUid("uid-p")));
    munmap(process_slot.accounts, sizeof(guard::Accounts));
    EXPECT_FALSE(guard_.is_in_use(PodUid("uid-p")));
    std::ofstream(region_.parent_path() / "allocation.json") << "of a pod that was resized";
    EXPECT_FALSE(guard_.is_in_use(PodUid("uid-p")));
}

// A process of the container, as recorded in the accounts.
TEST_F(GuardFolderTest, SaysWhatContainersMakeOfTheirShares) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    guard::ProcessSlot process_slot;
    ASSERT_EQ(guard::register_process((region_ / "accounts").c_str(), process_slot),
              guard::ProcessSlotError::none);
    ASSERT_TRUE(guard::reserve(*process_slot.accounts, 0, process_slot.slot, 512, 1536));
    process_slot.accounts->gpus[0].refusals = 2;
    process_slot.accounts->times[process_slot.slot][0].waited_ns = 7;
    const auto uses = guard_.usage().uses;
    ASSERT_EQ(uses.size(), 1U);
    EXPECT_EQ(uses[0].pod, PodUid("uid-p"));
    EXPECT_EQ(uses[0].name, (PodName{"space", "p"}));
    EXPECT_EQ(uses[0].container, "main");
    EXPECT_EQ(uses[0].cores, Percent{25});
    EXPECT_EQ(uses[0].cores_limit, kNoCoresLimit);
    EXPECT_FALSE(uses[0].is_damaged);
    EXPECT_EQ(uses[0].gpu, gpu);
    EXPECT_EQ(uses[0].used, Bytes{std::int64_t{1} << 30});
    EXPECT_EQ(uses[0].limit, Bytes{std::int64_t{3} << 30});
    EXPECT_EQ(uses[0].refusals, 2);
    EXPECT_EQ(uses[0].waited_ns, 7);
    EXPECT_EQ(uses[0].processes,
              (std::vector<ProcessUse>{{.pid = getpid(), .used = Bytes{std::int64_t{1} << 30}}}));
    process_slot.accounts->gpus[0].refusals = ~std::uint64_t{0};
    process_slot.accounts->slots[process_slot.slot].pid = -1;
    process_slot.accounts->slots[process_slot.slot].held[0].value = ~std::uint64_t{0};
    process_slot.accounts->gpus[0].last_move = {};
    const ShareUse lies = guard_.usage().uses.at(0);
    EXPECT_EQ(lies.used, lies.limit) << "no container counts for more than it can ever have";
    EXPECT_GE(lies.refusals, 0);
    EXPECT_EQ(lies.processes.at(0).pid, 0);
    fs::resize_file(region_ / "accounts", 3);
    ASSERT_EQ(guard_.usage().uses.size(), 1U) << "the container's share is enforced anyway";
    EXPECT_EQ(guard_.usage().uses[0].limit, Bytes{std::int64_t{3} << 30});
    EXPECT_EQ(guard_.usage().uses[0].used, Bytes{});
    EXPECT_TRUE(guard_.usage().uses[0].is_damaged);
    ASSERT_TRUE(hold(3));
    EXPECT_FALSE(guard_.usage().uses[0].is_damaged) << "repaired at a restart";
    std::fstream(region_ / "accounts", std::ios::in | std::ios::out) << "overwritten";
    EXPECT_TRUE(guard_.usage().uses[0].is_damaged);
    EXPECT_EQ(guard_.usage().uses[0].refusals, 0);
}

// Goal: what is kept beside a region stays while the pod is kept, also when its container starts
// again.
TEST_F(GuardFolderTest, KeepsWhatWasToldAsLongAsThePod) {
    ASSERT_TRUE(hold(3));
    const ShareUse use{.pod = PodUid("uid-p"), .container = "main", .gpu = gpu};
    ReportedLimitFiles reported(guard_.pods_folder());
    const ReportedLimit all{gibibytes(3), ReportedLimit::kAll};
    reported.note_reported(use, all);
    reported.note_reported(ContainerNotice::damaged_accounts, use, true);
    ASSERT_TRUE(hold(3));
    EXPECT_EQ(reported.reported(use), all);
    EXPECT_TRUE(reported.is_reported(ContainerNotice::damaged_accounts, use));
    guard_.cleanup(PodUid("uid-p"));
    EXPECT_EQ(reported.reported(use), std::nullopt);
    EXPECT_FALSE(reported.is_reported(ContainerNotice::damaged_accounts, use));
}

// Goal: a region of another release is distinguished from one that is being created.
TEST_F(GuardFolderTest, RegionsOfAnotherRelease) {
    ASSERT_TRUE(hold(3));
    EXPECT_TRUE(guard_.usage().unreadable.empty());
    const fs::path limits = region_ / "limits";
    const auto text = read_text_file(limits);
    ASSERT_TRUE(text);
    ASSERT_TRUE(write_text_file(limits, "TSL0" + text->substr(4)));
    EXPECT_EQ(guard_.usage().unreadable, std::set{PodUid("uid-p")});
    EXPECT_TRUE(guard_.usage().uses.empty());
    fs::remove(limits);
    EXPECT_TRUE(guard_.usage().unreadable.empty());
}

TEST_F(GuardFolderTest, SaysWhatItIsSureOfOfAGpusTime) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    const guard::Limits* limits = guard::open_limits((region_ / "limits").c_str());
    ASSERT_NE(limits, nullptr);
    EXPECT_EQ(limits->gpus[0].cores.load(), guard::kWhole / 4);
    EXPECT_EQ(limits->gpus[0].cores_limit.load(), guard::kWhole);
}

TEST_F(GuardFolderTest, SaysWhatIsWrong) {
    fs::remove(scratch_ / "new.so");
    const auto none = guard_.install();
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().text,
              "guard_library: there is no file " + (scratch_ / "new.so").string());
    const auto odd =
        mounts_of({PodUid("uid-p"), {}, "main"}, {{GpuUuid("index-3"), Bytes{1}, Percent{0}}});
    ASSERT_FALSE(odd);
    EXPECT_NE(odd.error().text.find("Invalid argument"), std::string::npos) << odd.error().text;
    write(scratch_ / "file", "");
    GuardFolder nowhere({.folder = scratch_ / "file", .library = scratch_ / "new.so"}, clock_);
    EXPECT_FALSE(nowhere.install());
}

// Goal: with SELinux on, containers may read the folder's files. Files that were created before the
// node had SELinux, or before this release, get the label at the start. The kernel gives later
// files the label of their folder.
TEST_F(GuardFolderTest, LabelsItsFilesForContainers) {
    fs::create_directories(region_);
    write(region_ / "limits", "of an earlier agent");
    write(scratch_ / "elsewhere", "");
    fs::create_symlink(scratch_ / "elsewhere", region_ / "link");
    const auto label_of = [](const fs::path& path) {
        std::array<char, 256> label{};
        const ssize_t size =
            lgetxattr(path.c_str(), "security.selinux", label.data(), label.size() - 1);
        return size > 0 ? std::string(label.data()) : "";
    };
    GuardFolder guard({.folder = folder_, .library = scratch_ / "new.so", .has_selinux = true},
                      clock_);
    ASSERT_TRUE(guard.install());
    if (label_of(folder_).empty()) {
        EXPECT_NE(guard.fault(ShareResource::memory).find("SELinux is on"), std::string::npos);
        GTEST_SKIP() << "needs the right to label files";
    }
    EXPECT_EQ(guard.fault(ShareResource::memory), "");
    for (const fs::path& path : {folder_, folder_ / "pods", region_, region_ / "limits"})
        EXPECT_NE(label_of(path).find(":container_file_t:"), std::string::npos) << path;
    EXPECT_EQ(label_of(scratch_ / "elsewhere"), "");
    GuardFolder without(
        {.folder = scratch_ / "b", .library = scratch_ / "new.so", .has_selinux = false}, clock_);
    ASSERT_TRUE(without.install());
    EXPECT_EQ(label_of(scratch_ / "b"), "");
}

// Goal: the pod's own list of libraries is merged with ours as long as the pod has one; a link in
// its place is not followed.
TEST_F(GuardFolderTest, MergesAPodsPreloadList) {
    ASSERT_TRUE(guard_.install());
    const fs::path theirs = fs::canonical(scratch_) / "apm" / "ld.so.preload";
    fs::create_directories(theirs.parent_path());
    write(theirs, "/apm/lib.so\n");
    const auto preload_with = [&](const std::string& list) {
        const auto mounts =
            mounts_of({PodUid("uid-p"), {}, "main", list}, {{gpu, Bytes{kGiB}, Percent{0}}});
        EXPECT_TRUE(mounts);
        EXPECT_EQ(mounts->size(), 5U);
        EXPECT_EQ(mounts->at(3).destination, "/etc/ld.so.preload");
        EXPECT_EQ(mounts->at(4).destination, "/etc/ld-nix.so.preload");
        EXPECT_EQ(mounts->at(3).source, mounts->at(4).source);
        return read_text_file(mounts->at(3).source).value_or("");
    };
    const std::string ours = "/usr/local/tessera/libtessera-guard.so\n";
    EXPECT_EQ(preload_with(theirs), ours + "/apm/lib.so\n");
    EXPECT_EQ(preload_with(""), ours);
    EXPECT_FALSE(fs::exists(region_ / "ld.so.preload"));
    fs::create_symlink(theirs, theirs.parent_path() / "link");
    const auto refused =
        mounts_of({PodUid("uid-p"), {}, "main", (theirs.parent_path() / "link").string()}, {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().text.find("symbolic link"), std::string::npos);
    const auto unseen = mounts_of({PodUid("uid-p"), {}, "main", "/not/there/ld.so.preload"}, {});
    ASSERT_FALSE(unseen);
    EXPECT_NE(unseen.error().text.find("mount each into the agent's pod"), std::string::npos);
}

// Goal: the mounts of the container's process show whether our files are in force. This process has
// none of them, and a missing process cannot be checked.
TEST_F(GuardFolderTest, MissesItsMounts) {
    ASSERT_TRUE(guard_.install());
    ASSERT_TRUE(hold(3));
    const auto none = guard_.verify({PodUid("uid-p"), {}, "main"}, getpid());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::conflict);
    EXPECT_NE(none.error().text.find("/usr/local/tessera/libtessera-guard.so"), std::string::npos);
    EXPECT_EQ(guard_.verify({PodUid("uid-p"), {}, "main"}, 0).error().code, Code::unavailable);
    EXPECT_FALSE(guard_.verify({PodUid("uid-p"), {}, "main"}, 1 << 30));
}

// A process in its own mount namespace with these mounts, as the runtime makes them.
class ContainerProcess {
  public:
    enum class Leader { stays, ends };
    enum class Image { plain, links_usr_local };

    // Without the permission to mount: pid() is 0.
    explicit ContainerProcess(const std::vector<FileMount>& mounts, Leader leader = Leader::stays,
                              Image image = Image::plain) {
        std::array<int, 2> ready{};
        EXPECT_EQ(pipe(ready.data()), 0);
        const pid_t child = fork();
        if (child == 0) {
            const char is_done = mount_all(mounts, image) ? 'y' : 'n';
            if (write(ready[1], &is_done, 1) != 1) _exit(1);
            std::thread other([] { pause(); });
            if (leader == Leader::ends) syscall(SYS_exit, 0);
            other.join();
            _exit(0);
        }
        char is_done = 'n';
        EXPECT_EQ(read(ready[0], &is_done, 1), 1);
        close(ready[0]);
        close(ready[1]);
        pid_ = child;
        if (is_done != 'y') end();
        while (pid_ != 0 && leader == Leader::ends && !has_ended_leader())
            std::this_thread::yield();
    }
    ContainerProcess(const ContainerProcess&) = delete;
    ContainerProcess& operator=(const ContainerProcess&) = delete;
    ~ContainerProcess() { end(); }

    [[nodiscard]] pid_t pid() const { return pid_; }

  private:
    static bool mount_all(const std::vector<FileMount>& mounts, Image image) {
        const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;
        if (unshare(user | CLONE_NEWNS) != 0) return false;
        if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
        const bool has_link = image == Image::links_usr_local;
        for (const char* folder : {has_link ? "/usr" : "/usr/local", "/etc"})
            if (::mount("none", folder, "tmpfs", 0, nullptr) != 0) return false;
        std::error_code error;
        if (has_link) fs::create_directory("/usr/elsewhere", error);
        if (has_link) fs::create_directory_symlink("elsewhere", "/usr/local", error);
        for (const FileMount& file : mounts) {
            fs::create_directories(fs::path(file.destination).parent_path(), error);
            std::ofstream(file.destination).flush();
            if (::mount(file.source.c_str(), file.destination.c_str(), nullptr, MS_BIND, nullptr) !=
                0)
                return false;
        }
        return true;
    }
    [[nodiscard]] bool has_ended_leader() const {
        const auto status = read_text_file("/proc/" + std::to_string(pid_) + "/status");
        return !status || status->find("State:\tZ") != std::string::npos;
    }
    void end() {
        if (pid_ == 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

    pid_t pid_ = 0;
};

// Goal: our files are recognised as in force, also if the program's first thread has ended and
// others run, and after an upgrade of the agent.
TEST_F(GuardFolderTest, SeesItsMounts) {
    ASSERT_TRUE(guard_.install());
    const auto mounts = hold(3);
    ASSERT_TRUE(mounts);
    const ContainerProcess good(*mounts);
    if (good.pid() == 0) GTEST_SKIP() << "needs the right to mount";
    const EnforcedContainer container{PodUid("uid-p"), {}, "main"};
    EXPECT_TRUE(guard_.verify(container, good.pid()));
    const ContainerProcess without_leader(*mounts, ContainerProcess::Leader::ends);
    EXPECT_TRUE(guard_.verify(container, without_leader.pid()));
    write(scratch_ / "new.so", "another library");
    ASSERT_TRUE(guard_.install());
    EXPECT_TRUE(guard_.verify(container, good.pid()));
    ASSERT_TRUE(mounts_of({PodUid("uid-p"), {}, "another"}, {}));
    EXPECT_EQ(guard_.container_of(PodUid("uid-p"), good.pid()), "main");
    EXPECT_FALSE(guard_.container_of(PodUid("uid-p"), getpid()));
    EXPECT_FALSE(guard_.container_of(PodUid("uid-q"), good.pid()));
    auto covered = *mounts;
    covered.push_back({.source = scratch_ / "new.so", .destination = "/etc/ld.so.preload"});
    const ContainerProcess bad(covered, ContainerProcess::Leader::ends);
    const auto refused = guard_.verify(container, bad.pid());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::conflict);
    EXPECT_NE(refused.error().text.find("/etc/ld.so.preload"), std::string::npos);
}

// Goal: an image whose /usr/local is a link (ostree): the mounts are at the link's target. A mount
// that covers them there is found.
TEST_F(GuardFolderTest, FollowsTheLinksOfAnImage) {
    using Process = ContainerProcess;
    ASSERT_TRUE(guard_.install());
    const auto mounts = hold(3);
    ASSERT_TRUE(mounts);
    const Process good(*mounts, Process::Leader::stays, Process::Image::links_usr_local);
    if (good.pid() == 0) GTEST_SKIP() << "needs the right to mount";
    const EnforcedContainer container{PodUid("uid-p"), {}, "main"};
    const auto checked = guard_.verify(container, good.pid());
    EXPECT_TRUE(checked) << checked.error().text;
    auto covered = *mounts;
    covered.push_back({.source = scratch_ / "new.so",
                       .destination = "/usr/elsewhere/tessera/libtessera-guard.so"});
    const Process bad(covered, Process::Leader::stays, Process::Image::links_usr_local);
    EXPECT_FALSE(guard_.verify(container, bad.pid()));
}

TEST_F(GuardFolderTest, MountPointsAreThoseOfEveryContainer) {
    ASSERT_TRUE(guard_.install());
    const auto mounts = hold(3);
    ASSERT_TRUE(mounts);
    std::vector<std::string> destinations;
    for (const FileMount& mount : *mounts)
        destinations.push_back(mount.destination);
    EXPECT_EQ(guard_.mount_points(), destinations);
}

}  // namespace
}  // namespace tessera
